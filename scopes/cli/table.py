"""The table of commands: section, name and one-line summary of each, and where its function is; and the options that
every command accepts, before or after its name.

Dispatch, help, completion and the manual pages read it. It imports nothing, because every run and every completion
loads it. To add a command: one row here, and one function in `scopes.cli.commands`.
"""

PACKAGE = "scopes.cli.commands"
PREFIXES = ("ai", "conversations", "conv")  # words before a command that change nothing
# Commands that change something. `branch` and `tag` are not here: without a name they list, as in git.
_WRITING = frozenset({
    "new", "import", "append", "amend", "retract", "summarize", "memory update", "memory add", "memory done",
    "memory prune", "switch", "rename", "merge", "rebase", "cherry-pick", "conflicts resolve", "conflicts argue",
    "conflicts escalate", "rewind", "delete", "undo", "redo", "mr open", "mr close", "init", "gc", "agents register",
    "agents remove", "send", "proposals create", "proposals accept", "proposals reject", "proposals apply",
    "proposals rollback", "facts propose", "facts accept", "facts reject", "facts decide", "facts run",
    "collaborate open", "collaborate argue", "collaborate close", "acp", "mcp", "setup", "resume", "secrets allow",
    "purge", "redact", "remote add", "remote set-url", "remote remove", "push", "fetch", "pull", "clone",
})  # fmt: skip


# Commands that change files or programs beside the store, which a dry run of the store would not hold back.
_OWN_EFFECTS = frozenset({
    "acp", "mcp", "secrets allow", "remote add", "remote set-url", "fetch", "pull", "clone",
})  # fmt: skip


class Command:
    """One command. `path` is its full name; `target` is its function, as `module:name`.

    `quick` names a function that runs the command without a parser when no option is given. `pages` is False if the
    command changes something: what it prints does not go through the pager. `has_own_effects` is True if it changes
    more than the store, and has no dry run of that. `forms` are the values of --format that are no template.
    `reads_past` is True if the command can read an earlier state of the store, with --at.
    """

    __slots__ = ("forms", "has_own_effects", "pages", "path", "quick", "reads_past", "section", "summary", "target")

    def __init__(
        self,
        path: tuple[str, ...],
        section: str,
        summary: str,
        target: str,
        quick: str | None = None,
        *,
        forms: tuple[str, ...] = (),
        reads_past: bool = False,
    ) -> None:
        self.path = path
        self.section = section
        self.summary = summary
        self.target = target
        self.quick = quick
        self.forms = forms
        self.pages = " ".join(path) not in _WRITING
        self.has_own_effects = " ".join(path) in _OWN_EFFECTS
        self.reads_past = reads_past

    @property
    def spelling(self) -> str:
        """The command as people type it."""
        return " ".join(("scopes", *self.path))


class Group:
    """A group of commands. Without one of its commands it runs `default`, if it has that.

    The word of another default than `list` may be left out before arguments, too.
    """

    __slots__ = ("default", "path", "summary")

    def __init__(self, path: tuple[str, ...], summary: str, default: str = "list") -> None:
        self.path = path
        self.summary = summary
        self.default = default

    @property
    def spelling(self) -> str:
        """The group as people type it."""
        return " ".join(("scopes", *self.path))


class Table:
    """Commands and groups by path.

    `taken` are other words for a command: those of git and those that a command had before, with the words that they
    stand for. `renamed` are earlier commands that do not run any more, with the line to type now.
    `first_page` has the commands that people install the program for, by heading; a text stands for the summary.
    """

    __slots__ = ("commands", "first_page", "groups", "renamed", "taken")

    def __init__(
        self,
        commands: tuple[Command, ...],
        groups: tuple[Group, ...] = (),
        taken: dict[str, str] | None = None,
        renamed: dict[str, str] | None = None,
        first_page: dict[str, dict[str, str]] | None = None,
    ) -> None:
        self.commands = {command.path: command for command in commands}
        self.groups = {group.path: group for group in groups}
        self.taken = {tuple(words.split()): now.split() for words, now in (taken or {}).items()}
        self.renamed = {tuple(words.split()): now for words, now in (renamed or {}).items()}
        self.first_page = first_page or {}

    @property
    def sections(self) -> dict[str, list[Command]]:
        """The commands that help lists, by section."""
        found: dict[str, list[Command]] = {}
        for command in self.commands.values():
            found.setdefault(command.section, []).append(command)
        return found

    def members(self, path: tuple[str, ...]) -> list[Command | Group]:
        """List the direct members of a group, in the order of the table, groups last."""
        depth = len(path) + 1
        nodes: list[Command | Group] = [*self.commands.values(), *self.groups.values()]
        return [node for node in nodes if len(node.path) == depth and node.path[:-1] == path]


def _command(
    section: str, name: str, summary: str, quick: str | None = None, module: str = "", *, forms: tuple[str, ...] = ()
) -> Command:
    """Return the row of one command; its path and its function follow from the name, and its module if none is given.

    `cherry-pick` is `cherry_pick:cherry_pick`, `memory add` is `memory:memory_add`; `import`, `list` and `help`
    get an underscore, because Python uses these names. `module` is where it is if that is another one.
    """
    words = name.replace("-", "_").split()
    function = "_".join(words)
    if function in {"import", "list", "help"}:
        function += "_"
    module = module or (function if len(words) == 1 else words[0])
    target = f"{PACKAGE}.{module}:{function}"
    return Command(tuple(name.split()), section, summary, target, quick, forms=forms, reads_past=name in _READ_PAST)


# The commands that accept --at. `branch` and `tag` do to list.
_READ_PAST = frozenset({
    "list", "show", "log", "cat", "search", "decisions", "diff", "changes", "usage", "export", "context", "branch",
    "tag", "conflicts list", "conflicts show", "mr list", "mr show", "operations", "agents list", "agents show",
    "inbox", "facts list", "facts show", "facts log", "proposals list", "proposals show", "proposals test",
    "collaborate list", "collaborate show", "memory list", "memory context", "memory actions", "tokens", "why",
})  # fmt: skip


READ = "Find and read"
WRITE = "Bring in, write, hand out"
BRANCH = "Branch and merge"
CHECK = "Check runs"
SHARE = "Share and keep secrets"
AGENTS = "Work beside agents"
MEMORY = "Remember"
AGREE = "Agree"
STORE = "The store"

EXPORTS = ("md", "markdown", "html", "json", "jsonl", "openai", "atif", "otel", "original", "agent-trace", "git-ai")

TABLE = Table(
    commands=(
        _command(READ, "list", "List conversations, newest first", module="conversation"),
        _command(
            READ, "show", "Show a conversation, message, operation, ...", module="conversation", forms=("mermaid",)
        ),
        _command(READ, "log", "Show the messages of a branch", module="read"),
        _command(READ, "cat", "Print messages, and nothing else", module="read"),
        _command(READ, "search", "Find messages, calls and results", module="read"),
        _command(READ, "why", "Show which prompt a line or a decision is from", module="compare"),
        _command(READ, "diff", "Compare two runs, branches or messages", module="compare"),
        _command(READ, "usage", "Show tokens and cost by day, model or project", module="conversation"),
        _command(READ, "changes", "List every change of a conversation", module="conversation"),
        _command(READ, "bisect", "Find the first message where a command fails", module="compare"),
        _command(WRITE, "import", "Take in sessions of coding agents"),
        _command(
            WRITE,
            "export",
            "Write a conversation as Markdown, HTML, JSON, ...",
            forms=EXPORTS,
        ),
        _command(WRITE, "new", "Start a conversation", module="conversation"),
        _command(WRITE, "append", "Add a message, or many as JSON lines", module="messages"),
        _command(WRITE, "amend", "Replace the text of a message, keeping the old", module="messages"),
        _command(WRITE, "retract", "Mark messages as taken back", module="messages"),
        _command(WRITE, "decisions", "List decisions, and sentences that may be some"),
        _command(WRITE, "summarize", "Summarize new messages", module="context"),
        _command(WRITE, "context", "Build context for a model within a budget", forms=("markdown", "messages", "json")),
        _command(WRITE, "resume", "Go on with a conversation in its agent"),
        _command(BRANCH, "branch", "List, create, rename, hide or delete branches"),
        _command(BRANCH, "switch", "Make another branch the active one", module="branch"),
        _command(BRANCH, "rename", "Rename a conversation or a branch", module="branch"),
        _command(BRANCH, "tag", "Tag a message, or list the tags", module="branch"),
        _command(BRANCH, "merge", "Merge a branch into another"),
        _command(BRANCH, "rebase", "Move a branch's own messages onto another base", module="merge"),
        _command(BRANCH, "cherry-pick", "Copy single messages onto a branch", module="merge"),
        _command(BRANCH, "rewind", "Move a branch back to an earlier message", module="branch"),
        _command(BRANCH, "delete", "Delete conversations; undo brings them back", module="branch"),
        _command(BRANCH, "undo", "Undo your last command"),
        _command(BRANCH, "redo", "Redo what you undid last", module="undo"),
        _command(BRANCH, "operations", "List operations, or show what one changed", module="undo"),
        _command(BRANCH, "conflicts list", "List the conflicts between branches"),
        _command(BRANCH, "conflicts show", "Show both sides of a conflict"),
        _command(BRANCH, "conflicts resolve", "Decide conflicts; on a terminal one by one"),
        _command(BRANCH, "conflicts argue", "State a position about a conflict"),
        _command(BRANCH, "conflicts escalate", "Hand a conflict to somebody else"),
        _command(BRANCH, "mr open", "Ask for a branch to be merged", module="merge"),
        _command(BRANCH, "mr list", "List merge requests, newest first", module="merge"),
        _command(BRANCH, "mr show", "Show a request, and what its merge would do", module="merge"),
        _command(BRANCH, "mr close", "Close a merge request without merging", module="merge"),
        _command(CHECK, "check", "Check what agents did against rules"),
        _command(SHARE, "push", "Send conversations to a remote or a bundle", module="share"),
        _command(SHARE, "fetch", "Get conversations, and merge nothing", module="share"),
        _command(SHARE, "pull", "Get conversations, and merge what differs", module="share"),
        _command(SHARE, "clone", "Make a store of the conversations of a remote", module="share"),
        _command(SHARE, "remote add", "Add a repository to share through"),
        _command(SHARE, "remote list", "List the remotes"),
        _command(SHARE, "remote set-url", "Change the address or the name of a remote"),
        _command(SHARE, "remote remove", "Remove a remote, and nothing on it"),
        _command(SHARE, "secrets list", "List possible secrets, and the rules"),
        _command(SHARE, "secrets allow", "Let a secret leave, because it is none"),
        _command(SHARE, "redact", "Copy a conversation with its secrets masked", module="secrets"),
        _command(SHARE, "purge", "Remove messages, files or secrets for good"),
        _command(AGENTS, "setup", "Connect agents: hooks, MCP and skill file"),
        _command(AGENTS, "acp", "Record an agent while it works behind an editor", module="live"),
        _command(AGENTS, "mcp", "Serve the store to agents, by MCP", module="live"),
        _command(AGENTS, "agents register", "Register an agent or person, or change one"),
        _command(AGENTS, "agents list", "List agents and other participants"),
        _command(AGENTS, "agents show", "Show an agent"),
        _command(AGENTS, "agents remove", "Remove an agent from the registry"),
        _command(AGENTS, "send", "Add a message and put it into inboxes", module="agents"),
        _command(AGENTS, "inbox", "List the unread messages of an agent", module="agents"),
        _command(MEMORY, "memory update", "Create memory entries from new messages"),
        _command(MEMORY, "memory add", "Add an entry in your own words"),
        _command(MEMORY, "memory list", "List entries, newest first, or find some"),
        _command(MEMORY, "memory context", "Print the memory as context for an agent"),
        _command(MEMORY, "memory actions", "List what is still to do"),
        _command(MEMORY, "memory done", "Mark action items as done"),
        _command(MEMORY, "memory prune", "Delete old memory entries, but no conversation"),
        _command(AGREE, "proposals create", "Propose to change fields of an entity"),
        _command(AGREE, "proposals list", "List proposals, open ones first"),
        _command(AGREE, "proposals show", "Show a proposal, and how it got there"),
        _command(AGREE, "proposals test", "Show what applying it would change"),
        _command(AGREE, "proposals accept", "Accept a proposal, and apply it"),
        _command(AGREE, "proposals reject", "Reject a proposal, with a reason"),
        _command(AGREE, "proposals apply", "Apply an accepted proposal"),
        _command(AGREE, "proposals rollback", "Take back an applied proposal"),
        _command(AGREE, "facts propose", "Propose a fact about a conversation"),
        _command(AGREE, "facts list", "List facts, or what waits for a decision"),
        _command(AGREE, "facts show", "Show a fact, and how it came about"),
        _command(AGREE, "facts accept", "Make a fact of a proposed one, if it is valid"),
        _command(AGREE, "facts reject", "Reject a proposed fact, with a reason"),
        _command(AGREE, "facts decide", "Answer a question of an agent"),
        _command(AGREE, "facts run", "Let agents derive facts until nothing changes"),
        _command(AGREE, "facts log", "Show the cycles of a conversation, newest first"),
        _command(AGREE, "collaborate open", "Open a collaboration of agents on a task"),
        _command(AGREE, "collaborate list", "List collaborations, newest first"),
        _command(AGREE, "collaborate show", "Report on a collaboration"),
        _command(AGREE, "collaborate argue", "State a position, or only join"),
        _command(AGREE, "collaborate close", "Close a collaboration"),
        _command(STORE, "init", "Create a store for this project", module="store"),
        _command(STORE, "verify", "Check the whole store, or one transcript", module="store"),
        _command(STORE, "gc", "Pack the store and delete what has expired", module="store"),
        _command(STORE, "doctor", "Check the installation and the store", module="store"),
        _command(STORE, "config", "Read or change settings", module="store"),
        _command(STORE, "tokens", "Count tokens, or divide a context window", module="store"),
        _command(
            STORE, "completion", "Print a completion script", "scopes.cli.completion_scripts:print_script", "store"
        ),
        _command(STORE, "help", "Explain a command", "scopes.cli.help:explain", "store"),
    ),
    groups=(
        Group(("conflicts",), "Conflicts between branches"),
        Group(("mr",), "Merge requests"),
        Group(("agents",), "People and programs"),
        Group(("proposals",), "Proposed changes of entities"),
        Group(("facts",), "Facts that agents derive and people accept"),
        Group(("collaborate",), "Work of agents on one task", default="open"),
        Group(("memory",), "What to remember across conversations"),
        Group(("remote",), "Repositories to share through"),
        Group(("secrets",), "Possible secrets"),
    ),
    taken={
        "abandon": "branch --hide",
        "acp stats": "acp --log",
        "agents update": "agents register --existing",
        "bisect run": "bisect",
        "blame": "why",
        "budget": "tokens --budget",
        "checkout": "switch",
        "collaborate join": "collaborate argue",
        "collaborate status": "collaborate list",
        "conflicts intervene": "conflicts resolve --override",
        "delete-branch": "branch -d",
        "events": "changes",
        "facts eligible": "facts run --dry-run",
        "facts promote": "facts accept",
        "files": "show --files",
        "history": "context --for-prompt",
        "memory search": "memory list",
        "memory stats": "memory list --stat",
        "merge-requests": "mr",
        "mr create": "mr open",
        "mr ls": "mr list",
        "mr merge": "merge --request",
        "mr view": "mr show",
        "op": "operations",
        "operations list": "operations",
        "operations log": "operations",
        "operations show": "operations",
        "proposals modify": "proposals accept",
        "range-diff": "diff --range",
        "remote rename": "remote set-url --rename",
        "stats": "show --stat",
        "version": "--version",
        "view": "cat",
        "watch": "import --watch",
    },
    renamed={
        "acp log": "acp --log",
        "agents available": "agents register NAME --available",
        "agents away": "agents register NAME --away",
        "agents export": "agents show NAME --card",
        "agents import": "agents register NAME --card FILE",
        "bundle create": "push FILE.bundle",
        "bundle import": "fetch FILE.bundle",
        "bundle verify": "fetch FILE.bundle --list",
        "compact": "summarize --compact",
        "config get": "config KEY",
        "config list": "config",
        "config set": "config KEY VALUE",
        "config unset": "config --unset KEY",
        "decisions accept": "decisions --accept ID",
        "decisions dismiss": "decisions --dismiss ID",
        "decisions withdraw": "decisions --withdraw TOPIC",
        "facts explain": "facts show CONV FACT",
        "facts key": "facts propose CONV KEY TEXT --new-key",
        "hooks install": "setup AGENT --only hooks",
        "hooks remove": "setup AGENT --only hooks --remove",
        "hooks status": "setup --status",
        "hooks": "setup",
        "mcp install": "setup AGENT --only mcp",
        "mcp remove": "setup AGENT --only mcp --remove",
        "mcp status": "setup --status",
        "memory show": "show ENTRY",
        "proposals feedback": "append --kind feedback --reply-to ID",
        "remote show": "show REMOTE",
        "repair": "verify --repair",
        "reproject": "import --again",
        "retention run": "purge --older-than WHEN",
        "retention status": "purge --older-than WHEN --dry-run",
        "secrets explain": "secrets list --rules RULE",
        "secrets scan": "secrets list",
        "skills install": "setup AGENT --only skill",
        "skills remove": "setup AGENT --only skill --remove",
        "skills status": "setup --status",
        "skills": "setup",
        "tokens count": "tokens WHAT",
        "tokens fetch": "tokens --fetch",
        "tokens status": "doctor",
        "uncompact": "retract ID",
    },
    first_page={
        "Take in": {"import": "", "setup": ""},
        "Look": {"list": "", "log": "", "search": "", "why": "", "usage": ""},
        "Fork and join": {"branch": "", "diff": "", "merge": "", "undo": ""},
        "Go on": {"resume": "", "context": ""},
        "Trust and share": {
            "check": "",
            "export": "",
            "push, pull": "Send and get conversations, over any git server",
        },
    },
)

COLOR_CHOICES = ("auto", "always", "never")
SECRET_CHOICES = ("refuse", "redact", "allow")


class GlobalOption:
    """One option: `key` is its name in `Invocation.configure`; `value` is a placeholder, None for a switch.

    `is_optional` is True if the value may be left out, and needs `=`. `repeated` options are lists, switches a number.
    `reads_past` is True if only commands that read an earlier state of the store accept it.
    """

    __slots__ = ("choices", "help", "is_optional", "key", "names", "reads_past", "repeated", "value")

    def __init__(
        self,
        *names: str,
        key: str,
        help: str,  # noqa: A002  the usual name in parsers
        value: str | None = None,
        choices: tuple[str, ...] = (),
        repeated: bool = False,
        is_optional: bool = False,
        reads_past: bool = False,
    ) -> None:
        self.names = names
        self.key = key
        self.help = help
        self.value = value
        self.choices = choices
        self.repeated = repeated
        self.is_optional = is_optional
        self.reads_past = reads_past

    @property
    def label(self) -> str:
        """The names and the value, as in help: `-q, --quiet`, `--json[=FIELDS]`."""
        value = "" if self.value is None else f"[={self.value}]" if self.is_optional else f" {self.value}"
        return ", ".join(self.names) + value


HELP = GlobalOption("-h", "--help", key="help", help="Show help and exit")
VERSION = GlobalOption("-V", "--version", key="version", help="Show the version and exit")

GLOBAL_OPTIONS = (
    GlobalOption("-C", key="directories", value="DIR", repeated=True, help="Run as if started in DIR"),
    GlobalOption("--store", key="store", value="PATH", help="Use this store"),
    GlobalOption("-c", key="settings", value="KEY=VALUE", repeated=True, help="Set a setting for this run"),
    GlobalOption(
        "--at",
        key="at_operation",
        value="WHEN",
        reads_past=True,
        help="Read the store as it was: an operation or a time",
    ),
    GlobalOption("--json", key="json", value="FIELDS", is_optional=True, help="Print JSON, errors included"),
    GlobalOption("--format", key="template", value="FORM", help="A form, or a template: '{id} {title}'"),
    GlobalOption("-z", key="nul", help="End rows with NUL"),
    GlobalOption("--as", key="actor", value="NAME", help="Act as this agent or person (default: you)"),
    GlobalOption("--dry-run", key="dry_run", help="Print what would happen, change nothing"),
    GlobalOption("--secrets", key="secrets", value="HOW", choices=SECRET_CHOICES,
                 help="At a secret: refuse (default), redact or allow"),
    GlobalOption("-y", "--yes", key="yes", help="Answer yes"),
    GlobalOption("--no-input", key="no_input", help="Never ask; fail instead"),
    GlobalOption("-q", "--quiet", key="quiet", help="Only results and errors"),
    GlobalOption("-v", "--verbose", key="verbose", repeated=True,
                 help="All notes, and the store; -vv: timings, tracebacks"),
    GlobalOption("--color", key="color", value="WHEN", choices=COLOR_CHOICES, help="auto, always or never"),
    GlobalOption("--no-pager", key="no_pager", help="Do not use a pager"),
    HELP,
    VERSION,
)  # fmt: skip
