"""The one table of commands: which there are, one line about each, and where its function is.

Dispatch, help, completion and the manual pages all read it. It imports nothing, so that completion and `--version`
are answered before anything else is loaded.
"""

PACKAGE = "scopes.cli.commands"


class Command:
    """One verb. `path` is its full name without `ai`; `quick` answers bare words without building a parser."""

    __slots__ = ("path", "quick", "section", "summary", "target")

    def __init__(
        self, path: tuple[str, ...], section: str, summary: str, target: str, quick: str | None = None
    ) -> None:
        self.path = path
        self.section = section
        self.summary = summary
        self.target = target
        self.quick = quick


class Group:
    """Several verbs under one name; `short` is the name that people type."""

    __slots__ = ("path", "short", "summary")

    def __init__(self, path: tuple[str, ...], summary: str, short: str | None = None) -> None:
        self.path = path
        self.summary = summary
        self.short = short or path[-1]


class Table:
    """Commands and groups by path; `default` is the group whose verbs `scopes help VERB` finds without its name."""

    __slots__ = ("aliases", "commands", "default", "groups")

    def __init__(self, commands: tuple[Command, ...], groups: tuple[Group, ...], lifted: tuple[str, ...]) -> None:
        self.commands = {command.path: command for command in commands}
        self.groups = {group.path: group for group in groups}
        self.default = groups[0].path
        self.aliases: dict[str, tuple[str, ...]] = {g.short: g.path for g in groups if len(g.path) == 1}
        self.aliases |= {verb: (*self.default, verb) for verb in lifted}

    def extend(self, path: tuple[str, ...], word: str) -> tuple[str, ...]:
        """Return the path that a further word leads to, aliases resolved; it may name nothing."""
        return (*path, word) if path else self.aliases.get(word, (word,))

    def members(self, path: tuple[str, ...]) -> list[Command | Group]:
        """List what stands directly under a path, in the order of the table, groups last."""
        depth = len(path) + 1
        nodes: list[Command | Group] = [*self.commands.values(), *self.groups.values()]
        return [node for node in nodes if len(node.path) == depth and node.path[:-1] == path]

    def short_path(self, path: tuple[str, ...]) -> tuple[str, ...]:
        """Return a path without the default group: what `scopes help` takes and manual pages are named by."""
        return path[len(self.default) :] if path[: len(self.default)] == self.default else path

    def spelling(self, path: tuple[str, ...]) -> str:
        """Write a path the way people type it: `scopes conv append`."""
        first = self.groups[path[:1]].short if path[:1] in self.groups else path[0]
        return " ".join(("scopes", first, *path[1:]))


def _verb(section: str, name: str, summary: str) -> Command:
    path = ("conversations", *name.split())
    function = name.replace(" ", "_").replace("-", "_")
    if function in {"import", "list"}:  # a keyword of the language, and a type that every signature needs
        function += "_"
    module = function if " " not in name else name.split(maxsplit=1)[0]
    return Command(path, section, summary, f"{PACKAGE}.{module}:{function}")


def _token(name: str, summary: str) -> Command:
    return Command(("tokens", name), LOOK, summary, f"{PACKAGE}.tokens:tokens_{name}")


def _top(section: str, name: str, summary: str, quick: str | None = None) -> Command:
    function = "help_" if name == "help" else name
    return Command((name,), section, summary, f"{PACKAGE}.{name}:{function}", quick)


def _setting(name: str, summary: str) -> Command:
    function = f"{name}_setting" if name != "list" else "list_settings"
    return Command(("config", name), REST, summary, f"{PACKAGE}.config:{function}")


def _memory(name: str, summary: str) -> Command:
    return Command(("memory", name), MEMORY, summary, f"{PACKAGE}.memory:memory_{name}")


START = "start a conversation"
WRITE = "write to it"
LOOK = "look at it"
SHORT = "keep it in short"
MEMORY = "remember it"
BRANCH = "go several ways"
MERGE = "bring ways together"
BACK = "take things back"
STORE = "look after the store"
REST = "scopes itself"

TABLE = Table(
    commands=(
        _verb(START, "new", "Start a conversation"),
        _verb(START, "import", "Bring in transcripts that other tools have written"),
        _verb(START, "export", "Write a conversation out: Markdown, JSON or original"),
        _verb(WRITE, "append", "Add a message, or many as JSON lines"),
        _verb(WRITE, "amend", "Replace the text of a message by a new version"),
        _verb(WRITE, "retract", "Mark a message as taken back"),
        _verb(LOOK, "list", "List conversations, newest first"),
        _verb(LOOK, "show", "Show participants, branches and recent activity"),
        _verb(LOOK, "log", "Show the messages of a branch"),
        _verb(LOOK, "cat", "Print one message"),
        _verb(LOOK, "search", "Find messages by words and fields"),
        _verb(LOOK, "files", "List the files that a conversation touched"),
        _verb(LOOK, "decisions", "List what was decided"),
        _verb(LOOK, "diff", "Compare two branches, messages or conversations"),
        _verb(LOOK, "blame", "Show which message decided something or wrote a file"),
        _verb(LOOK, "changes", "List every change of a conversation, with its cause"),
        _verb(LOOK, "stats", "Count messages, authors, tools, files and tokens"),
        _verb(SHORT, "summarize", "Say in short what was said since the last summary"),
        _verb(SHORT, "compact", "Put a summary in line with which a context begins"),
        _memory("update", "Remember what is new in conversations"),
        _memory("add", "Remember something by your own words"),
        _memory("list", "List what is remembered, newest first"),
        _memory("show", "Show one entry of the memory"),
        _memory("search", "Find what is remembered by its words"),
        _memory("context", "Print what an agent is told of the past"),
        _memory("actions", "List what is left to do"),
        _memory("done", "Mark something as done"),
        _memory("stats", "Count what is remembered: by whom, since when"),
        _memory("prune", "Forget old entries; conversations stay as they are"),
        _verb(LOOK, "context", "Give what fits into a number of tokens"),
        _verb(LOOK, "history", "Write the block of history that goes before a prompt"),
        _verb(LOOK, "budget", "Divide a model's context window"),
        _token("count", "Count the tokens of a text or a conversation"),
        _token("status", "Show which encodings can be counted exactly here"),
        _token("fetch", "Download what exact counts need"),
        _verb(BRANCH, "branch", "Create a branch, or list the branches"),
        _verb(BRANCH, "switch", "Make another branch the active one"),
        _verb(BRANCH, "rename", "Rename a conversation or a branch"),
        _verb(BRANCH, "tag", "Tag a message, or list the tags"),
        _verb(BRANCH, "abandon", "Hide a branch from lists and keep its history"),
        _verb(BRANCH, "delete-branch", "Delete a branch"),
        _verb(MERGE, "merge", "Join a branch into another one"),
        _verb(MERGE, "rebase", "Put a branch's own messages on top of another place"),
        _verb(MERGE, "cherry-pick", "Put single messages on top of a branch"),
        _verb(MERGE, "conflicts list", "List what branches disagree on"),
        _verb(MERGE, "conflicts show", "Show both sides of a conflict"),
        _verb(MERGE, "conflicts resolve", "Decide a conflict"),
        _verb(MERGE, "conflicts intervene", "Decide a conflict over the heads of those who disagree"),
        _verb(MERGE, "conflicts escalate", "Hand a conflict to somebody who is to decide it"),
        _verb(BACK, "rewind", "Move a branch back to an earlier message"),
        _verb(BACK, "delete", "Delete a conversation"),
        _verb(BACK, "undo", "Take back the last operation"),
        _verb(BACK, "redo", "Do again what undo took back"),
        _verb(BACK, "operations list", "List the operations, newest first"),
        _verb(BACK, "operations show", "Show what one operation changed"),
        _top(STORE, "init", "Make a store for the project at hand"),
        _top(STORE, "verify", "Check every object, ref and operation, or a transcript"),
        _top(STORE, "gc", "Pack the store and drop what expired"),
        _top(STORE, "doctor", "Check that scopes and its surroundings work"),
        _setting("get", "Print the value of a setting"),
        _setting("set", "Give a setting a value"),
        _setting("unset", "Remove a setting"),
        _setting("list", "List every setting, with its origin if asked"),
        _top(
            REST,
            "completion",
            "Print the completion script of a shell",
            quick="scopes.cli.completion_scripts:print_script",
        ),
        _top(REST, "help", "Explain a command", quick="scopes.cli.help:explain"),
        _top(REST, "version", "Print the version", quick="scopes.cli.version:print_version"),
    ),
    groups=(
        Group(("conversations",), "Everything about conversations", short="conv"),
        Group(("conversations", "conflicts"), "What branches disagree on, until it is resolved"),
        Group(("conversations", "operations"), "What was done to the store, for undo and redo"),
        Group(("memory",), "What is remembered of conversations"),
        Group(("tokens",), "Count tokens, exactly or by an estimate"),
        Group(("config",), "Read and change settings"),
    ),
    lifted=("undo", "redo", "conflicts", "operations"),
)
