"""The table of commands: section, name and one-line summary of each, and where its function is.

Dispatch, help, completion and the manual pages read it. It imports nothing, because every run and every completion
loads it. To add a command: one row here, and one function in `scopes.cli.commands`.
"""

PACKAGE = "scopes.cli.commands"
# Commands that change something. `branch` and `tag` are not here: without a name they list, as in git.
_WRITING = frozenset({
    "new", "import", "reproject", "append", "amend", "retract", "summarize", "compact", "uncompact", "memory update",
    "memory add", "memory done", "memory prune", "tokens fetch", "switch", "checkout", "rename",
    "abandon", "delete-branch", "merge", "rebase",
    "cherry-pick", "conflicts resolve", "conflicts intervene", "conflicts argue", "conflicts escalate",
    "rewind", "delete", "undo", "redo",
    "init", "repair", "gc", "config set", "config unset", "decisions withdraw", "decisions accept",
    "decisions dismiss", "merge-requests open",
    "merge-requests merge", "merge-requests close", "agents register", "agents update", "agents remove",
    "agents available", "agents away", "agents import", "send", "proposals create",
    "proposals accept", "proposals reject", "proposals modify", "proposals apply", "proposals rollback",
    "proposals feedback", "facts propose", "facts promote", "facts accept",
    "facts reject", "facts decide", "facts run", "facts key add", "collaborate", "collaborate join",
    "collaborate argue", "collaborate close", "acp", "mcp", "mcp install", "mcp remove", "resume",
    "skills install", "skills remove", "hooks install", "hooks remove",
    "secrets allow", "purge", "redact", "retention run", "watch", "remote add", "remote rename",
    "remote set-url", "remote remove", "push", "fetch", "pull", "clone", "bundle create", "bundle import",
})  # fmt: skip


class Command:
    """One command. `path` is its full name without `ai`; `target` is its function, as `module:name`.

    `quick` names a function that runs the command without a parser when no option is given. `pages` is False if the
    command changes something: what it prints does not go through the pager. `reads_past` is True if the command can
    read an earlier state of the store, with --at-operation.
    """

    __slots__ = ("pages", "path", "quick", "reads_past", "section", "summary", "target")

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
        self.pages = " ".join(path).removeprefix("conversations ") not in _WRITING
        self.reads_past = reads_past


class Group:
    """A group of commands; `short` is the name that people type."""

    __slots__ = ("path", "short", "summary")

    def __init__(self, path: tuple[str, ...], summary: str, short: str | None = None) -> None:
        self.path = path
        self.summary = summary
        self.short = short or path[-1]


class Table:
    """Commands and groups by path.

    `default` is the first group. Its members are also commands of the top level, unless one there has that name.
    `synonyms` are second names of members of the default group; they are not listed.
    `overview` holds sections of the commands that people start with, by the names that follow `scopes`.
    """

    __slots__ = ("aliases", "commands", "default", "groups", "overview", "synonyms")

    def __init__(
        self,
        commands: tuple[Command, ...],
        groups: tuple[Group, ...],
        synonyms: dict[str, str] | None = None,
        overview: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.overview = overview or {}
        self.commands = {command.path: command for command in commands}
        self.groups = {group.path: group for group in groups}
        self.default = groups[0].path
        self.synonyms = synonyms or {}
        own = {path[0] for path in (*self.commands, *self.groups)}
        members = [path[-1] for path in (*self.commands, *self.groups) if path[:-1] == self.default]
        self.aliases: dict[str, tuple[str, ...]] = {name: (*self.default, name) for name in members if name not in own}
        self.aliases |= {group.short: group.path for group in groups if len(group.path) == 1}

    def extend(self, path: tuple[str, ...], word: str) -> tuple[str, ...]:
        """Return the path with one more word, aliases resolved; the result may be neither a command nor a group."""
        if path in ((), self.default):
            word = self.synonyms.get(word, word)
        return (*path, word) if path else self.aliases.get(word, (word,))

    def members(self, path: tuple[str, ...]) -> list[Command | Group]:
        """List the direct members of a group, in the order of the table, groups last."""
        depth = len(path) + 1
        nodes: list[Command | Group] = [*self.commands.values(), *self.groups.values()]
        return [node for node in nodes if len(node.path) == depth and node.path[:-1] == path]

    def short_path(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return a path without the default group, as in `scopes help append` and the names of manual pages."""
        return path[len(self.default) :] if path[: len(self.default)] == self.default else path

    def spelling(self, path: tuple[str, ...]) -> str:
        """Return a path as people type it: `scopes conv append`."""
        first = self.groups[path[:1]].short if path[:1] in self.groups else path[0]
        return " ".join(("scopes", first, *path[1:]))


def _command(section: str, name: str, summary: str, quick: str | None = None) -> Command:
    """Return the row of one command; its path and its function follow from the name.

    `conv delete-branch` is `delete_branch:delete_branch`, `config get` is `config:config_get`; `import`, `list` and
    `help` get an underscore, because Python uses these names.
    """
    words = name.replace("-", "_").removeprefix("conv ").split()
    function = "_".join(words)
    if function in {"import", "list", "help"}:
        function += "_"
    module = function if len(words) == 1 else words[0]
    path = tuple(name.split())
    if path[0] == "conv":
        path = ("conversations", *path[1:])
    target = f"{PACKAGE}.{module}:{function}"
    return Command(path, section, summary, target, quick, reads_past=name.removeprefix("conv ") in _READ_PAST)


# The commands that accept --at-operation. `branch` and `tag` do to list.
_READ_PAST = frozenset({
    "list", "show", "log", "cat", "search", "files", "decisions", "diff", "range-diff", "blame", "changes", "stats",
    "usage", "export", "context", "history", "branch", "tag", "conflicts list", "conflicts show", "merge-requests list",
    "operations list", "operations show", "tokens count",
    "agents list", "agents show", "agents export", "inbox",
    "facts list", "facts show", "facts explain", "facts log", "facts eligible",
    "proposals list", "proposals show", "proposals test", "collaborate status", "collaborate show",
    "memory list", "memory show", "memory search", "memory context", "memory actions", "memory stats",
})  # fmt: skip


START = "start a conversation"
WRITE = "add and correct messages"
READ = "read and search"
SUMMARIZE = "summarize"
MEMORY = "remember across conversations"
CONTEXT = "build context and count tokens"
BRANCH = "branch"
MERGE = "merge"
UNDO = "undo"
AGENTS = "agents"
PROPOSE = "propose changes"
FACTS = "agree on facts"
LIVE = "work with running agents"
CHECK = "check what agents did"
SECRETS = "keep secrets"
SHARE = "share with others"
STORE = "maintain the store"
PROGRAM = "settings and help"

TABLE = Table(
    commands=(
        _command(START, "conv new", "Start a conversation"),
        _command(START, "conv import", "Import transcripts from other tools"),
        _command(START, "conv reproject", "Read imported transcripts again with newer parsers"),
        _command(START, "conv export", "Export a conversation as Markdown, HTML or JSON"),
        _command(WRITE, "conv append", "Add a message, or many as JSON lines"),
        _command(WRITE, "conv amend", "Replace the text of a message with a new version"),
        _command(WRITE, "conv retract", "Mark a message as retracted"),
        _command(READ, "conv list", "List conversations, newest first"),
        _command(READ, "conv show", "Show participants, branches and recent activity"),
        _command(READ, "conv log", "Show the messages of a branch"),
        _command(READ, "conv cat", "Print one message"),
        _command(READ, "conv search", "Find messages by words and fields"),
        _command(READ, "conv files", "List the files that a conversation touched"),
        _command(READ, "conv decisions", "List the decisions of a conversation"),
        _command(WRITE, "conv decisions accept", "Make a decision of a sentence that states one"),
        _command(WRITE, "conv decisions dismiss", "Take a sentence off the list of candidates"),
        _command(WRITE, "conv decisions withdraw", "Withdraw the decision on a topic"),
        _command(READ, "conv diff", "Compare two branches, messages or conversations"),
        _command(READ, "conv range-diff", "Compare two versions of a branch, or two runs"),
        _command(READ, "conv bisect run", "Find the first message at which a command fails"),
        _command(READ, "conv blame", "Show which message made a decision or wrote a file"),
        _command(READ, "conv why", "Show which prompt a line of code is from"),
        _command(READ, "conv changes", "List every change of a conversation and its cause"),
        _command(READ, "conv stats", "Count messages, authors, tools, files and tokens"),
        _command(READ, "conv usage", "Show tokens and cost by day, model or project"),
        _command(SUMMARIZE, "conv summarize", "Summarize new messages"),
        _command(SUMMARIZE, "conv compact", "Add a summary that future context starts from"),
        _command(SUMMARIZE, "conv uncompact", "Make contexts start from the full history again"),
        _command(MEMORY, "memory update", "Create memory entries from new messages"),
        _command(MEMORY, "memory add", "Add a memory entry in your own words"),
        _command(MEMORY, "memory list", "List memory entries, newest first"),
        _command(MEMORY, "memory show", "Show one memory entry"),
        _command(MEMORY, "memory search", "Search memory entries by words"),
        _command(MEMORY, "memory context", "Print the memory as context for an agent"),
        _command(MEMORY, "memory actions", "List open action items"),
        _command(MEMORY, "memory done", "Mark an action item as done"),
        _command(MEMORY, "memory stats", "Count memory entries by agent and date"),
        _command(MEMORY, "memory prune", "Delete old memory entries, but no conversation"),
        _command(CONTEXT, "conv context", "Build context within a token budget"),
        _command(CONTEXT, "conv history", "Print a block of history to put before a prompt"),
        _command(CONTEXT, "conv budget", "Divide a model's context window"),
        _command(CONTEXT, "tokens count", "Count the tokens of a text or a conversation"),
        _command(CONTEXT, "tokens status", "Show which encodings can be counted exactly"),
        _command(CONTEXT, "tokens fetch", "Download the data for exact token counts"),
        _command(BRANCH, "conv branch", "Create a branch, or list the branches"),
        _command(BRANCH, "conv switch", "Make another branch the active one (also: checkout)"),
        _command(BRANCH, "conv rename", "Rename a conversation or a branch"),
        _command(BRANCH, "conv tag", "Tag a message, or list the tags"),
        _command(BRANCH, "conv abandon", "Hide a branch from lists and keep its history"),
        _command(BRANCH, "conv delete-branch", "Delete a branch"),
        _command(MERGE, "conv merge", "Merge a branch into another one"),
        _command(MERGE, "conv rebase", "Move a branch's own messages onto another base"),
        _command(MERGE, "conv cherry-pick", "Copy single messages onto a branch"),
        _command(MERGE, "conv conflicts list", "List the conflicts between branches"),
        _command(MERGE, "conv conflicts show", "Show both sides of a conflict"),
        _command(MERGE, "conv conflicts resolve", "Resolve a conflict"),
        _command(MERGE, "conv conflicts intervene", "Override both sides of a conflict"),
        _command(MERGE, "conv conflicts argue", "State a position about a conflict"),
        _command(MERGE, "conv conflicts escalate", "Assign a conflict to someone else"),
        _command(MERGE, "conv merge-requests open", "Ask for a branch to be merged"),
        _command(MERGE, "conv merge-requests list", "List merge requests, newest first"),
        _command(MERGE, "conv merge-requests show", "Show a merge request and what its merge would do"),
        _command(MERGE, "conv merge-requests merge", "Merge the branch of a merge request"),
        _command(MERGE, "conv merge-requests close", "Close a merge request without merging"),
        _command(UNDO, "conv rewind", "Move a branch back to an earlier message"),
        _command(UNDO, "conv delete", "Delete a conversation"),
        _command(UNDO, "conv undo", "Undo your last command: an append or any operation"),
        _command(UNDO, "conv redo", "Redo what you undid last"),
        _command(UNDO, "conv operations list", "List the operations, newest first"),
        _command(UNDO, "conv operations show", "Show what one operation changed"),
        _command(AGENTS, "agents register", "Register a person or a program"),
        _command(AGENTS, "agents list", "List agents and other participants"),
        _command(AGENTS, "agents show", "Show an agent"),
        _command(AGENTS, "agents update", "Change what is known about an agent"),
        _command(AGENTS, "agents remove", "Remove an agent from the registry"),
        _command(AGENTS, "agents available", "Make an agent available"),
        _command(AGENTS, "agents away", "Make an agent unavailable"),
        _command(AGENTS, "agents export", "Print the A2A agent card of an agent"),
        _command(AGENTS, "agents import", "Register the agent of an A2A agent card"),
        _command(AGENTS, "send", "Add a message and put it into the inboxes of agents"),
        _command(AGENTS, "inbox", "List the unread messages of an agent"),
        _command(PROPOSE, "proposals create", "Propose to change fields of an entity"),
        _command(PROPOSE, "proposals list", "List the proposals of a conversation, open ones first"),
        _command(PROPOSE, "proposals show", "Show a proposal, its state and how it got there"),
        _command(PROPOSE, "proposals test", "Show what applying a proposal would change"),
        _command(PROPOSE, "proposals accept", "Accept a proposal, and apply it"),
        _command(PROPOSE, "proposals reject", "Reject a proposal, with a reason"),
        _command(PROPOSE, "proposals modify", "Accept a proposal with other values, and apply it"),
        _command(PROPOSE, "proposals apply", "Apply an accepted proposal"),
        _command(PROPOSE, "proposals rollback", "Take back an applied proposal"),
        _command(PROPOSE, "proposals feedback", "Say how an applied proposal worked out"),
        _command(AGENTS, "collaborate", "Open a collaboration of agents on a task"),
        _command(AGENTS, "collaborate status", "List collaborations, the newest first"),
        _command(AGENTS, "collaborate show", "Report on a collaboration"),
        _command(AGENTS, "collaborate join", "Take part in a collaboration"),
        _command(AGENTS, "collaborate argue", "State a position in a collaboration"),
        _command(AGENTS, "collaborate close", "Close a collaboration"),
        _command(FACTS, "facts propose", "Propose a fact about a conversation"),
        _command(FACTS, "facts list", "List the facts of a conversation"),
        _command(FACTS, "facts show", "Show a fact or a proposed fact"),
        _command(FACTS, "facts explain", "Show how a fact came about"),
        _command(FACTS, "facts promote", "Make a fact of a proposed fact, if it is valid"),
        _command(FACTS, "facts accept", "Approve a proposed fact: it becomes a fact"),
        _command(FACTS, "facts reject", "Reject a proposed fact, with a reason"),
        _command(FACTS, "facts decide", "Answer a question of an agent"),
        _command(FACTS, "facts run", "Let agents derive facts until nothing changes"),
        _command(FACTS, "facts log", "Show the cycles of a conversation, newest first"),
        _command(FACTS, "facts eligible", "List the agents that the next cycle would run"),
        _command(FACTS, "facts key add", "Add a context key"),
        _command(LIVE, "acp", "Record an agent while it works behind an editor"),
        _command(LIVE, "acp stats", "Count the sessions behind scopes acp by agent"),
        _command(LIVE, "acp log", "Show what happened to sessions behind scopes acp"),
        _command(LIVE, "conv resume", "Go on with a conversation in its agent"),
        _command(LIVE, "conv checkout", "Write a conversation as a session of another agent"),
        _command(LIVE, "mcp", "Serve the store to agents, by MCP"),
        _command(LIVE, "mcp install", "Add the server to the configuration of a program"),
        _command(LIVE, "mcp status", "Show which programs have the server"),
        _command(LIVE, "mcp remove", "Remove the server from the configuration of a program"),
        _command(LIVE, "skills install", "Teach an agent when and how to use scopes"),
        _command(LIVE, "skills status", "Show which agents have the skill file"),
        _command(LIVE, "skills remove", "Delete the skill file of an agent"),
        _command(LIVE, "hooks install", "Record every turn of an agent as soon as it ends"),
        _command(LIVE, "hooks status", "Show the hooks, and what they did last"),
        _command(LIVE, "hooks remove", "Remove the hooks of an agent or of git"),
        _command(LIVE, "watch", "Import transcripts as they change"),
        _command(CHECK, "check", "Check what agents did against rules"),
        _command(SECRETS, "secrets scan", "Look for secrets in conversations"),
        _command(SECRETS, "secrets list", "List the secrets of all conversations"),
        _command(SECRETS, "secrets allow", "Let a secret leave, because it is none"),
        _command(SECRETS, "secrets explain", "Explain a rule, or where a secret is"),
        _command(SECRETS, "redact", "Copy a conversation with its secrets masked"),
        _command(SECRETS, "purge", "Remove messages, files or a conversation for good"),
        _command(SECRETS, "retention status", "List conversations older than the rules keep them"),
        _command(SECRETS, "retention run", "Purge conversations older than the rules keep them"),
        _command(SHARE, "remote add", "Add a git repository to share through"),
        _command(SHARE, "remote list", "List the remotes"),
        _command(SHARE, "remote show", "Show what is known about a remote"),
        _command(SHARE, "remote rename", "Rename a remote"),
        _command(SHARE, "remote set-url", "Change the address of a remote"),
        _command(SHARE, "remote remove", "Remove a remote"),
        _command(SHARE, "push", "Send conversations to a remote"),
        _command(SHARE, "fetch", "Get conversations from a remote"),
        _command(SHARE, "pull", "Get conversations, and merge what differs"),
        _command(SHARE, "clone", "Make a store of the conversations of a remote"),
        _command(SHARE, "bundle create", "Write conversations into a file, to carry them by hand"),
        _command(SHARE, "bundle import", "Get conversations from a bundle"),
        _command(SHARE, "bundle verify", "Check a bundle, and list what it has"),
        _command(STORE, "init", "Create a store for this project"),
        _command(STORE, "verify", "Check the whole store, or one imported transcript"),
        _command(STORE, "repair", "Repair what verify finds, where nothing can be lost"),
        _command(STORE, "gc", "Pack the store and delete what has expired"),
        _command(STORE, "doctor", "Check the installation and the store"),
        _command(PROGRAM, "config get", "Print the value of a setting"),
        _command(PROGRAM, "config set", "Change a setting"),
        _command(PROGRAM, "config unset", "Remove a setting"),
        _command(PROGRAM, "config list", "List all settings, with their origin if asked"),
        _command(
            PROGRAM, "completion", "Print a completion script for a shell", "scopes.cli.completion_scripts:print_script"
        ),
        _command(PROGRAM, "help", "Explain a command", "scopes.cli.help:explain"),
        _command(PROGRAM, "version", "Print the version", "scopes.cli.version:print_version"),
    ),
    groups=(
        Group(("conversations",), "Commands for conversations", short="conv"),
        Group(("conversations", "bisect"), "Search the message where something went wrong"),
        Group(("conversations", "conflicts"), "Show and resolve conflicts between branches"),
        Group(("conversations", "merge-requests"), "Ask for merges, and answer (short: mr)"),
        Group(("conversations", "operations"), "Show the operation log, for undo and redo"),
        Group(("agents",), "Register agents, and say who is available"),
        Group(("proposals",), "Propose changes, review and apply them"),
        Group(("facts",), "Validate what agents propose, and keep it as facts"),
        Group(("facts", "key"), "Add context keys"),
        Group(("hooks",), "Record agents at the end of each turn"),
        Group(("memory",), "Keep a memory of past conversations"),
        Group(("remote",), "Name git repositories to share through"),
        Group(("bundle",), "Share through files that are carried by hand"),
        Group(("tokens",), "Count tokens, exactly or by an estimate"),
        Group(("secrets",), "Find secrets, and say which may leave"),
        Group(("retention",), "Remove old conversations by rules"),
        Group(("skills",), "Teach agents to use scopes"),
        Group(("config",), "Read and change settings"),
    ),
    synonyms={"events": "changes", "mr": "merge-requests", "view": "cat"},
    overview={
        "start": ("init", "import", "new", "append"),
        "read": ("list", "log", "show", "search"),
        "branch and merge": ("branch", "merge", "undo"),
        "build context": ("context", "memory update"),
    },
)
