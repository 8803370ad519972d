"""The table of commands: section, name and one-line summary of each, and where its function is.

Dispatch, help, completion and the manual pages read it. It imports nothing, because every run and every completion
loads it. To add a command: one row here, and one function in `scopes.cli.commands`.
"""

PACKAGE = "scopes.cli.commands"
PREFIXES = ("ai", "conversations", "conv")  # words before a command that change nothing
# Commands that change something. `branch` and `tag` are not here: without a name they list, as in git.
_WRITING = frozenset({
    "new", "import", "reproject", "append", "amend", "retract", "summarize", "compact", "uncompact", "memory update",
    "memory add", "memory done", "memory prune", "tokens fetch", "switch", "checkout", "rename",
    "merge", "rebase",
    "cherry-pick", "conflicts resolve", "conflicts argue", "conflicts escalate",
    "rewind", "delete", "undo", "redo", "mr open", "mr close",
    "init", "repair", "gc", "config set", "config unset", "decisions withdraw", "decisions accept",
    "decisions dismiss",
    "agents register", "agents update", "agents remove",
    "agents available", "agents away", "agents import", "send", "proposals create",
    "proposals accept", "proposals reject", "proposals modify", "proposals apply", "proposals rollback",
    "proposals feedback", "facts propose", "facts promote", "facts accept",
    "facts reject", "facts decide", "facts run", "facts key add", "collaborate", "collaborate join",
    "collaborate argue", "collaborate close", "acp", "mcp", "mcp install", "mcp remove", "resume",
    "skills install", "skills remove", "hooks install", "hooks remove",
    "secrets allow", "purge", "redact", "watch", "remote add",
    "remote set-url", "remote remove", "push", "fetch", "pull", "clone",
})  # fmt: skip


# Commands that change files or programs beside the store, which a dry run of the store would not hold back.
_OWN_EFFECTS = frozenset({
    "tokens fetch", "init", "config set", "config unset", "inbox", "facts run", "acp", "mcp", "mcp install",
    "mcp remove", "resume", "skills install", "skills remove", "hooks install", "hooks remove", "secrets allow",
    "watch", "remote add", "remote set-url", "fetch", "pull", "clone",
    "export",
})  # fmt: skip


class Command:
    """One command. `path` is its full name; `target` is its function, as `module:name`.

    `quick` names a function that runs the command without a parser when no option is given. `pages` is False if the
    command changes something: what it prints does not go through the pager. `has_own_effects` is True if it changes
    more than the store, and has no dry run of that. `reads_past` is True if the command can read an earlier state of
    the store, with --at.
    """

    __slots__ = ("has_own_effects", "pages", "path", "quick", "reads_past", "section", "summary", "target")

    def __init__(
        self,
        path: tuple[str, ...],
        section: str,
        summary: str,
        target: str,
        quick: str | None = None,
        *,
        reads_past: bool = False,
    ) -> None:
        self.path = path
        self.section = section
        self.summary = summary
        self.target = target
        self.quick = quick
        self.pages = " ".join(path) not in _WRITING
        self.has_own_effects = " ".join(path) in _OWN_EFFECTS
        self.reads_past = reads_past

    @property
    def spelling(self) -> str:
        """The command as people type it."""
        return " ".join(("scopes", *self.path))


class Group:
    """A group of commands. Without one of its commands it runs `list`, if it has that."""

    __slots__ = ("path", "summary")

    def __init__(self, path: tuple[str, ...], summary: str) -> None:
        self.path = path
        self.summary = summary

    @property
    def spelling(self) -> str:
        """The group as people type it."""
        return " ".join(("scopes", *self.path))


class Table:
    """Commands and groups by path.

    `taken` are other words for a command: those of git and those that a command had before, with the words that they
    stand for. `renamed` are earlier commands that do not run any more, with the line to type now.
    `overview` holds sections of the commands that people start with.
    """

    __slots__ = ("commands", "groups", "overview", "renamed", "taken")

    def __init__(
        self,
        commands: tuple[Command, ...],
        groups: tuple[Group, ...] = (),
        taken: dict[str, str] | None = None,
        renamed: dict[str, str] | None = None,
        overview: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.commands = {command.path: command for command in commands}
        self.groups = {group.path: group for group in groups}
        self.taken = {tuple(words.split()): now.split() for words, now in (taken or {}).items()}
        self.renamed = {tuple(words.split()): now for words, now in (renamed or {}).items()}
        self.overview = overview or {}

    def members(self, path: tuple[str, ...]) -> list[Command | Group]:
        """List the direct members of a group, in the order of the table, groups last."""
        depth = len(path) + 1
        nodes: list[Command | Group] = [*self.commands.values(), *self.groups.values()]
        return [node for node in nodes if len(node.path) == depth and node.path[:-1] == path]


def _command(section: str, name: str, summary: str, quick: str | None = None, *, module: str | None = None) -> Command:
    """Return the row of one command; its path and its function follow from the name, and without `module` that too.

    `delete-branch` is `delete_branch:delete_branch`, `config get` is `config:config_get`; `import`, `list` and `help`
    get an underscore, because Python uses these names.
    """
    words = name.replace("-", "_").split()
    function = "_".join(words)
    if function in {"import", "list", "help"}:
        function += "_"
    module = module or (function if len(words) == 1 else words[0])
    target = f"{PACKAGE}.{module}:{function}"
    return Command(tuple(name.split()), section, summary, target, quick, reads_past=name in _READ_PAST)


# The commands that accept --at-operation. `branch` and `tag` do to list.
_READ_PAST = frozenset({
    "list", "show", "log", "cat", "search", "files", "decisions", "diff", "range-diff", "blame", "changes", "stats",
    "usage", "export", "context", "history", "branch", "tag", "conflicts list", "conflicts show", "mr list", "mr show",
    "operations", "tokens count",
    "agents list", "agents show", "agents export", "inbox",
    "facts list", "facts show", "facts explain", "facts log", "facts eligible",
    "proposals list", "proposals show", "proposals test", "collaborate status", "collaborate show",
    "memory list", "memory show", "memory search", "memory context", "memory actions", "memory stats",
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
EARLIER = "Earlier commands"

TABLE = Table(
    commands=(
        _command(READ, "list", "List conversations, newest first"),
        _command(READ, "show", "Show participants, branches and recent activity"),
        _command(READ, "log", "Show the messages of a branch"),
        _command(READ, "cat", "Print one message"),
        _command(READ, "search", "Find messages by words and fields"),
        _command(READ, "why", "Show which prompt a line of code is from"),
        _command(READ, "diff", "Compare two branches, messages or conversations"),
        _command(READ, "usage", "Show tokens and cost by day, model or project"),
        _command(READ, "changes", "List every change of a conversation and its cause"),
        _command(WRITE, "import", "Import transcripts from other tools"),
        _command(WRITE, "export", "Export a conversation as Markdown, HTML or JSON"),
        _command(WRITE, "new", "Start a conversation"),
        _command(WRITE, "append", "Add a message, or many as JSON lines"),
        _command(WRITE, "amend", "Replace the text of a message with a new version"),
        _command(WRITE, "retract", "Mark a message as retracted"),
        _command(WRITE, "decisions", "List the decisions of a conversation"),
        _command(WRITE, "summarize", "Summarize new messages"),
        _command(WRITE, "context", "Build context within a token budget"),
        _command(WRITE, "resume", "Go on with a conversation in its agent"),
        _command(BRANCH, "branch", "List, create, rename, hide or delete branches"),
        _command(BRANCH, "switch", "Make another branch the active one", module="branch"),
        _command(BRANCH, "rename", "Rename a conversation or a branch", module="branch"),
        _command(BRANCH, "tag", "Tag a message, or list the tags", module="branch"),
        _command(BRANCH, "merge", "Merge a branch, or bring back its conclusion"),
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
        _command(AGENTS, "acp", "Record an agent while it works behind an editor"),
        _command(AGENTS, "mcp", "Serve the store to agents, by MCP"),
        _command(AGENTS, "agents register", "Register a person or a program"),
        _command(AGENTS, "agents list", "List agents and other participants"),
        _command(AGENTS, "agents show", "Show an agent"),
        _command(AGENTS, "agents remove", "Remove an agent from the registry"),
        _command(AGENTS, "send", "Add a message and put it into the inboxes of agents"),
        _command(AGENTS, "inbox", "List the unread messages of an agent"),
        _command(MEMORY, "memory update", "Create memory entries from new messages"),
        _command(MEMORY, "memory add", "Add a memory entry in your own words"),
        _command(MEMORY, "memory list", "List memory entries, newest first"),
        _command(MEMORY, "memory context", "Print the memory as context for an agent"),
        _command(MEMORY, "memory actions", "List open action items"),
        _command(MEMORY, "memory done", "Mark an action item as done"),
        _command(MEMORY, "memory prune", "Delete old memory entries, but no conversation"),
        _command(AGREE, "proposals create", "Propose to change fields of an entity"),
        _command(AGREE, "proposals list", "List the proposals of a conversation, open ones first"),
        _command(AGREE, "proposals show", "Show a proposal, its state and how it got there"),
        _command(AGREE, "proposals test", "Show what applying a proposal would change"),
        _command(AGREE, "proposals accept", "Accept a proposal, and apply it"),
        _command(AGREE, "proposals reject", "Reject a proposal, with a reason"),
        _command(AGREE, "proposals apply", "Apply an accepted proposal"),
        _command(AGREE, "proposals rollback", "Take back an applied proposal"),
        _command(AGREE, "facts propose", "Propose a fact about a conversation"),
        _command(AGREE, "facts list", "List the facts of a conversation"),
        _command(AGREE, "facts show", "Show a fact or a proposed fact"),
        _command(AGREE, "facts accept", "Approve a proposed fact: it becomes a fact"),
        _command(AGREE, "facts reject", "Reject a proposed fact, with a reason"),
        _command(AGREE, "facts decide", "Answer a question of an agent"),
        _command(AGREE, "facts run", "Let agents derive facts until nothing changes"),
        _command(AGREE, "facts log", "Show the cycles of a conversation, newest first"),
        _command(AGREE, "collaborate", "Open a collaboration of agents on a task"),
        _command(AGREE, "collaborate show", "Report on a collaboration"),
        _command(AGREE, "collaborate argue", "State a position in a collaboration"),
        _command(AGREE, "collaborate close", "Close a collaboration"),
        _command(STORE, "init", "Create a store for this project"),
        _command(STORE, "verify", "Check the whole store, or one imported transcript"),
        _command(STORE, "gc", "Pack the store and delete what has expired"),
        _command(STORE, "doctor", "Check the installation and the store"),
        _command(
            STORE, "completion", "Print a completion script for a shell", "scopes.cli.completion_scripts:print_script"
        ),
        _command(STORE, "help", "Explain a command", "scopes.cli.help:explain"),
        # earlier commands, until they are folded into those above
        _command(EARLIER, "reproject", "Read imported transcripts again with newer parsers"),
        _command(EARLIER, "files", "List the files that a conversation touched"),
        _command(EARLIER, "decisions accept", "Make a decision of a sentence that states one"),
        _command(EARLIER, "decisions dismiss", "Take a sentence off the list of candidates"),
        _command(EARLIER, "decisions withdraw", "Withdraw the decision on a topic"),
        _command(EARLIER, "range-diff", "Compare two versions of a branch, or two runs"),
        _command(EARLIER, "bisect run", "Find the first message at which a command fails"),
        _command(EARLIER, "blame", "Show which message made a decision or wrote a file"),
        _command(EARLIER, "stats", "Count messages, authors, tools, files and tokens"),
        _command(EARLIER, "compact", "Add a summary that future context starts from"),
        _command(EARLIER, "uncompact", "Make contexts start from the full history again"),
        _command(EARLIER, "memory show", "Show one memory entry"),
        _command(EARLIER, "memory search", "Search memory entries by words"),
        _command(EARLIER, "memory stats", "Count memory entries by agent and date"),
        _command(EARLIER, "history", "Print a block of history to put before a prompt"),
        _command(EARLIER, "budget", "Divide a model's context window"),
        _command(EARLIER, "tokens count", "Count the tokens of a text or a conversation"),
        _command(EARLIER, "tokens status", "Show which encodings can be counted exactly"),
        _command(EARLIER, "tokens fetch", "Download the data for exact token counts"),
        _command(EARLIER, "agents update", "Change what is known about an agent"),
        _command(EARLIER, "agents available", "Make an agent available"),
        _command(EARLIER, "agents away", "Make an agent unavailable"),
        _command(EARLIER, "agents export", "Print the A2A agent card of an agent"),
        _command(EARLIER, "agents import", "Register the agent of an A2A agent card"),
        _command(EARLIER, "proposals modify", "Accept a proposal with other values, and apply it"),
        _command(EARLIER, "proposals feedback", "Say how an applied proposal worked out"),
        _command(EARLIER, "collaborate status", "List collaborations, the newest first"),
        _command(EARLIER, "collaborate join", "Take part in a collaboration"),
        _command(EARLIER, "facts explain", "Show how a fact came about"),
        _command(EARLIER, "facts promote", "Make a fact of a proposed fact, if it is valid"),
        _command(EARLIER, "facts eligible", "List the agents that the next cycle would run"),
        _command(EARLIER, "facts key add", "Add a context key"),
        _command(EARLIER, "acp stats", "Count the sessions behind scopes acp by agent"),
        _command(EARLIER, "acp log", "Show what happened to sessions behind scopes acp"),
        _command(EARLIER, "checkout", "Write a conversation as a session of another agent"),
        _command(EARLIER, "mcp install", "Add the server to the configuration of a program"),
        _command(EARLIER, "mcp status", "Show which programs have the server"),
        _command(EARLIER, "mcp remove", "Remove the server from the configuration of a program"),
        _command(EARLIER, "skills install", "Teach an agent when and how to use scopes"),
        _command(EARLIER, "skills status", "Show which agents have the skill file"),
        _command(EARLIER, "skills remove", "Delete the skill file of an agent"),
        _command(EARLIER, "hooks install", "Record every turn of an agent as soon as it ends"),
        _command(EARLIER, "hooks status", "Show the hooks, and what they did last"),
        _command(EARLIER, "hooks remove", "Remove the hooks of an agent or of git"),
        _command(EARLIER, "watch", "Import transcripts as they change"),
        _command(EARLIER, "repair", "Repair what verify finds, where nothing can be lost"),
        _command(EARLIER, "config get", "Print the value of a setting"),
        _command(EARLIER, "config set", "Change a setting"),
        _command(EARLIER, "config unset", "Remove a setting"),
        _command(EARLIER, "config list", "List all settings, with their origin if asked"),
        _command(EARLIER, "version", "Print the version", "scopes.cli.version:print_version"),
    ),
    groups=(
        Group(("bisect",), "Search the message where something went wrong"),
        Group(("conflicts",), "Conflicts between branches"),
        Group(("mr",), "Merge requests"),
        Group(("agents",), "People and programs"),
        Group(("proposals",), "Proposed changes of entities"),
        Group(("facts",), "Facts that agents derive and people accept"),
        Group(("facts", "key"), "Add context keys"),
        Group(("hooks",), "Record agents at the end of each turn"),
        Group(("memory",), "What to remember across conversations"),
        Group(("remote",), "Repositories to share through"),
        Group(("tokens",), "Count tokens, exactly or by an estimate"),
        Group(("secrets",), "Possible secrets"),
        Group(("skills",), "Teach agents to use scopes"),
        Group(("config",), "Read and change settings"),
    ),
    taken={
        "events": "changes",
        "view": "cat",
        # branch and merge, share
        "abandon": "branch --hide",
        "delete-branch": "branch -d",
        "conflicts intervene": "conflicts resolve --override",
        "merge-requests": "mr",
        "mr create": "mr open",
        "mr view": "mr show",
        "mr ls": "mr list",
        "mr merge": "merge --request",
        "op": "operations",
        "operations list": "operations",
        "operations log": "operations",
        "operations show": "operations",
        "remote rename": "remote set-url --rename",
    },
    renamed={
        "secrets scan": "secrets list",
        "secrets explain": "secrets list --rules RULE",
        "retention run": "purge --older-than WHEN",
        "retention status": "purge --older-than WHEN --dry-run",
        "remote show": "show REMOTE",
        "bundle create": "push FILE.bundle",
        "bundle import": "fetch FILE.bundle",
        "bundle verify": "fetch FILE.bundle --list",
    },
    overview={
        "start": ("init", "import", "new", "append"),
        "read": ("list", "log", "show", "search"),
        "branch and merge": ("branch", "merge", "undo"),
        "build context": ("context", "memory update"),
    },
)
