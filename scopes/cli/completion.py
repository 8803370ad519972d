"""Complete a command line from the command table, the generated options.tsv and the names in the store."""

from __future__ import annotations

import os
import sys

from scopes.cli.command_line import CommandLine, expand_words, split_words, with_optional_values
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.option_rows import OptionRow, choices_of, find_argument, find_option, needs_value, read_keys, read_rows
from scopes.store.projects import (
    cache_directory,
    choose_store,
    find_project,
    index_directory,
    list_branches,
    list_conversations,
    list_operations,
    may_user_have_set,
)

_ALIASES = (b'[scopes "alias"', b"[scopes.alias")
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import NoReturn

    from scopes.cli.table import Table

Candidates = list[tuple[str, str]]

_OF_CONFLICTS = "conflict-resolution/"
# Placeholders whose values are revisions: conversations, branches, messages.
_REVISIONS = ("MESSAGE", "MESSAGE|CONV", "SOURCE", "A..B", "B")
# Placeholders whose values are in the index of conversations, and their columns there.
_INDEX_COLUMNS = {"AGENT": "participants", "MODEL": "model", "PROJECT": "directory", "TAG": "tags"}


# The exit code if the word is one of scopes, such as an id, and none matches: the shell should offer no file names.
NO_FILES = 1
# Placeholders of names that completion knows, where a path is possible too; and of words that are never a path.
_NAME_OR_PATH = frozenset({"PROJECT", "FILE", "VALUE", "-- PATH", "CONV[/BRANCH]|FILE"})
_NEVER_A_PATH = frozenset({"COMMAND", "ID", "N", "NAME", "NEW", "SHARE", "TOKENS", "TOPIC", "WHEN"})
_FEW_MESSAGES = 5


class ParsedWords:
    """The words before the current one: arguments, options with values, and the option that still needs its value."""

    __slots__ = ("arguments", "environ", "open_option", "options", "options_ended", "path")

    def __init__(self, environ: Mapping[str, str], path: tuple[str, ...] = ()) -> None:
        self.environ = environ
        self.path = path
        self.arguments: list[str] = []
        self.options: list[tuple[str, str]] = []
        self.open_option: OptionRow | None = None
        self.options_ended = False


class Request:
    """A word to complete: the command line before it, and the option or argument that it is the value of, if any."""

    __slots__ = ("current", "line", "parsed", "prefix", "row", "rows")

    def __init__(self, line: CommandLine, current: str, environ: Mapping[str, str]) -> None:
        self.line = line
        self.rows = [] if line.command is None else read_rows(line.command)
        self.parsed = _parse_words(line, self.rows, environ)
        self.prefix, self.current = "", current
        self.row = self.parsed.open_option
        name, equals, value = current.partition("=")
        if self.row is None and self.is_plain:
            self.row = find_argument(self.rows, len(self.parsed.arguments) + 1)
        elif self.row is None and equals:
            self.row = find_option(self.rows, name)
            self.prefix, self.current = f"{name}=", value

    @property
    def is_plain(self) -> bool:
        """Whether the word is a command or an argument: neither an option nor the value of one."""
        dashed = self.current.startswith("-") and not self.parsed.options_ended
        return self.parsed.open_option is None and not dashed and not self.prefix

    @property
    def may_be_path(self) -> bool:
        """Whether the shell may offer file names if there are no candidates."""
        row = self.row
        if row is None or row.choices or not row.value:
            return False
        if _is_command(self.parsed) or (self.parsed.options_ended and row.value == "WHERE"):  # `log -- PATH`
            return True
        return row.value in _NAME_OR_PATH or not (row.value in _SOURCES or row.value in _NEVER_A_PATH)


def answer(table: Table, arguments: list[str], environ: Mapping[str, str]) -> NoReturn:
    """Print the candidates for the last word after `--`, and end the process with exit code 0, or NO_FILES.

    Errors print nothing, because a completion must not disturb the line being typed. `os._exit` avoids the
    interpreter's shutdown, which would take longer than the completion.
    """
    code = 0
    try:
        words = arguments[1:] if arguments[:1] == ["--"] else arguments
        request = parse_request(table, words or [""], environ)
        found = [] if request is None else find_candidates(table, request)
        code = NO_FILES if request is not None and not found and not request.may_be_path else 0
        lines = "".join(f"{word}\t{text}\n" for word, text in found if word.isprintable() and text.isprintable())
        sys.stdout.buffer.write(lines.encode())
        sys.stdout.buffer.flush()
    finally:
        os._exit(code)


def complete(table: Table, words: list[str], environ: Mapping[str, str]) -> Candidates:
    """Return the candidates for the last word, with their descriptions."""
    request = parse_request(table, words, environ)
    return [] if request is None else find_candidates(table, request)


def parse_request(table: Table, words: list[str], environ: Mapping[str, str]) -> Request | None:
    """Parse a command line whose last word is to be completed; None if its command is unknown."""
    *before, current = with_optional_values(words)
    line = split_words(table, before)
    if line.unknown is not None:  # an alias, or `config KEY`, whose meaning depends on what follows
        line = split_words(table, expand_words(table, words)[0][:-1])
    return Request(line, current, environ) if line.unknown is None else None


def find_candidates(table: Table, request: Request) -> Candidates:
    """Return the candidates for a word, with their descriptions."""
    current, prefix, parsed = request.current, request.prefix, request.parsed
    if request.is_plain and request.line.command is None:
        found = _commands(table, request.line, parsed)
    elif request.is_plain and request.line.command is not None and request.line.command.path == ("help",):
        found = members(table, split_words(table, request.line.rest).path)
    elif request.row is not None:
        found = values(request.row, current, parsed)
        if request.is_plain and not request.line.rest:
            found = [*members(table, request.line.path), *found]
    elif request.is_plain or prefix:
        found = []
    else:
        found = [(row.name, row.help) for row in request.rows if row.name.startswith("-")]
        own = {name for name, _ in found}
        reads_past = request.line.command is None or request.line.command.reads_past
        options = [option for option in GLOBAL_OPTIONS if reads_past or not option.reads_past]
        found += [(name, option.help) for option in options for name in option.names if name not in own]
    return [(f"{prefix}{word}", text) for word, text in found if word.startswith(current)]


def members(table: Table, path: tuple[str, ...]) -> Candidates:
    """Return the commands and groups under a path, with their aliases."""
    return [(node.path[-1], node.summary) for node in table.members(path)]


def values(row: OptionRow, current: str, parsed: ParsedWords) -> Candidates:
    """Return the possible values: choices, settings or names from the store; none if the shell should offer files."""
    if row.choices:
        return [(choice, "") for choice in row.choices]
    source = _SOURCES.get(row.value)
    return [] if source is None else source(row.value, current, parsed)


def _operations(_placeholder: str, _current: str, parsed: ParsedWords) -> Candidates:
    return list_operations(_store_path(parsed))


def _operations_or_conversations(_placeholder: str, _current: str, parsed: ParsedWords) -> Candidates:
    store = _store_path(parsed)
    return [*list_operations(store), *((name, "conversation") for name in list_conversations(store))]


def _listed_branches(store: str, conversation: str, typed: str) -> list[str]:
    """Return the branches to offer; those of conflicts only if the word begins with their name.

    Most of these conflicts are closed. Which ones are is not known without reading objects.
    """
    branches = list_branches(store, conversation)
    return [name for name in branches if typed or not name.startswith(_OF_CONFLICTS)]


def _branches(placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return the branches of the conversation that is the first argument; before that, conversations."""
    if not parsed.arguments:
        return _conversations(placeholder, current, parsed)
    conversation = _find_conversation(parsed, parsed.arguments[0].partition("/")[0])
    return [
        (name, f"branch of {conversation}") for name in _listed_branches(_store_path(parsed), conversation, current)
    ]


def _conversations(placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return conversations; after `CONV/` its branches, after `A..` revisions."""
    if ".." in current:
        return _revisions(placeholder, current, parsed)
    store = _store_path(parsed)
    name, slash, typed = current.partition("/")
    if slash:
        branches = _listed_branches(store, _find_conversation(parsed, name), typed)
        return [(f"{name}/{branch}", "branch") for branch in branches]
    return [(conversation, "conversation") for conversation in list_conversations(store)]


def _revisions(placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return branches and the newest messages of a conversation: the one before `/`, the named one, or the latest.

    If none is named, branches cannot be given alone, and the conversations are offered too. After `A..` or `A...` the
    candidates are those for B, in the conversation of A.
    """
    conversations = list_conversations(_store_path(parsed))
    end = current.rfind("..") + 2 if ".." in current else 0
    prefix, typed = current[:end], current[end:]
    named = _named_conversation(parsed) if placeholder in _REVISIONS else None
    for text in (typed, prefix):
        head, slash, _ = text.partition("/")
        if slash and _find_conversation(parsed, head) in conversations:
            named = head
            prefix += f"{head}/" if text == typed else ""
            break
    conversation = _find_conversation(parsed, named or "@")
    found = [] if named or prefix else [(name, "conversation") for name in conversations]
    if named or prefix:
        branches = _listed_branches(_store_path(parsed), conversation, current.removeprefix(prefix))
        found += [(f"{prefix}{name}", f"branch of {conversation}") for name in branches]
    is_merge = placeholder == "SOURCE"  # a branch is merged more often than a message
    if is_merge and current and any(name.startswith(current) for name, _ in found):
        return found
    from scopes.cli.completion_values import list_values as list_values_

    list_values = list_values_
    messages = list_values("MESSAGE", _store_path(parsed), conversation, current.removeprefix(prefix))
    if not (messages or named or prefix or any(name.startswith(current) for name, _ in found)):
        messages = list_values("MESSAGE ANYWHERE", _store_path(parsed), "@", current)
    messages = messages[:_FEW_MESSAGES] if is_merge and not current else messages
    return found + [(f"{prefix}{name}", text) for name, text in messages]


def _ranges_or_paths(_placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return the revisions of `log CONV A..B`; none after `--` and as a second path."""
    is_path = parsed.options_ended or len(parsed.arguments) != 1
    return [] if is_path else _revisions("A..B", current, parsed)


def _conversations_or_paths(placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return the conversations of `log CONV`; none in `log -- PATH`."""
    return [] if parsed.options_ended else _conversations(placeholder, current, parsed)


def _recorded_files(_placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return the files that `blame` knows; the FILE of other commands is completed by the shell."""
    if parsed.path[-1:] != ("blame",):
        return []
    where = parsed.arguments[0] if parsed.arguments else "@"
    name, slash, branch = where.partition("/")
    from scopes.cli.completion_values import list_values

    found: Candidates = list_values(
        "FILE", _store_path(parsed), _find_conversation(parsed, name) + slash + branch, current
    )
    return found


def _stored_values(placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return conflicts, memory entries, action items, keys of the state or agents; ended ones only for `show`."""
    name = _find_conversation(parsed, _named_conversation(parsed) or "@")
    if placeholder in {"GROUP/NAME", "TOPIC"} and parsed.arguments:
        name += parsed.arguments[0].removeprefix(_named_conversation(parsed) or "")  # of CONV/BRANCH
    from scopes.cli.completion_values import list_values

    found: Candidates = list_values(
        placeholder, _store_path(parsed), name, current, ended=parsed.path[-1:] in {("show",), ("rollback",)}
    )
    return found


def _stored_or_conversations(placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return what the latest conversation has, which needs no conversation before it, and conversations."""
    return _stored_values(placeholder.partition("|")[2], current, parsed) + _conversations("CONV", current, parsed)


def _topics(placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return the topics that `decisions withdraw` knows; those of other commands are free."""
    return _stored_values(placeholder, current, parsed) if parsed.path[-1:] == ("withdraw",) else []


def _conversations_or_command(placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return conversations; none in `bisect run -- COMMAND`."""
    return [] if _is_command(parsed) else _conversations(placeholder, current, parsed)


def _is_command(parsed: ParsedWords) -> bool:
    """Return True if the word belongs to the command of `bisect run -- COMMAND`."""
    return parsed.options_ended and parsed.path[-2:] == ("bisect", "run")


def _sides(_placeholder: str, _current: str, parsed: ParsedWords) -> Candidates:
    """Return the sides that the conflict can take, with their values; all of them if it is not known."""
    arguments = parsed.arguments[:2]
    found: Candidates = []
    if arguments:
        conversation = _find_conversation(parsed, arguments[0]) if len(arguments) == 2 else ""
        from scopes.cli.completion_values import list_values

        found = list_values("SIDE", _store_path(parsed), conversation, arguments[-1])
    from scopes.model.conflicts import SIDES

    return found or [(side, "") for side in SIDES]


def _named_conversation(parsed: ParsedWords) -> str | None:
    """Return the conversation that the words before name, with `--in` or as the first argument."""
    named = [value for name, value in parsed.options if name == "--in"] or parsed.arguments[:1]
    return named[0].partition("/")[0] if named else None


def _find_conversation(parsed: ParsedWords, text: str) -> str:
    """Return the conversation of a unique prefix or of `@`; if there is none, the text itself."""
    if text.startswith("@"):
        from scopes.cli.completion_values import find_conversation

        return str(find_conversation(_store_path(parsed), text))
    return _complete_name(list_conversations(_store_path(parsed)), text)


def _field_values(placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return the fields of a command: after the last comma of NAMES, or in the open brace of a TEMPLATE."""
    from scopes.cli.schemas import read_rows

    rows = read_rows(parsed.path)
    if placeholder == "NAMES":
        before, comma, _ = current.rpartition(",")
        return [(f"{before}{comma}{name}", "field") for name in rows.names if name not in before.split(",")]
    before, brace, typed = current.rpartition("{")
    before = before if brace and "}" not in typed else current
    return [(f"{before}{{{name}}}", "field") for name in rows.names]


def _override_values(_placeholder: str, current: str, _parsed: ParsedWords) -> Candidates:
    """Return the settings of `-c KEY=VALUE`, or the values of the one that was typed."""
    key, equals, _ = current.partition("=")
    if equals:
        return [(f"{key}={value}", text) for value, text in choices_of(key)]
    return [(f"{key}=", text) for key, text in read_keys()]


def _index_values(placeholder: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return names from the index of conversations; none for the beginning of a path, which the shell completes.

    SQLite is imported for these values only.
    """
    if placeholder == "PROJECT" and current.startswith((".", "~", os.sep)):
        return []
    directory = index_directory(cache_directory(parsed.environ), _store_path(parsed))
    from scopes.index.caches import list_values

    found = list_values(directory, _INDEX_COLUMNS[placeholder])
    if not found and placeholder == "AGENT":  # there is no index yet
        from scopes.cli.completion_values import list_values as list_values_

        agents: Candidates = list_values_(placeholder, _store_path(parsed), "@", current)
        return agents
    if placeholder != "PROJECT":
        return [(name, placeholder.lower()) for name in found]
    projects = {project.name: path for path in found if (project := find_project(path)) is not None}
    return sorted(projects.items())


def _remotes(_placeholder: str, _current: str, parsed: ParsedWords) -> Candidates:
    """Return the remotes of the store and their addresses; none if their file is damaged."""
    from scopes.cli.completion_values import list_remotes

    found: Candidates = list_remotes(_store_path(parsed))
    return found


def _setting_values(_placeholder: str, _current: str, parsed: ParsedWords) -> Candidates:
    return choices_of(parsed.arguments[0]) if parsed.arguments else []


def _commands(table: Table, line: CommandLine, parsed: ParsedWords) -> Candidates:
    """Return the commands that may follow: also settings after `config`, and aliases of the user as the first word."""
    names = members(table, line.path) + (read_keys() if line.path == ("config",) else [])
    return names if line.path or not may_user_have_set(parsed.environ, *_ALIASES) else names + _aliases(names)


def _aliases(names: Candidates) -> Candidates:
    """Return the aliases of the user and their expansions, except those named like a command."""
    from scopes.cli.user_aliases import list_aliases

    found: Candidates = list_aliases()
    commands = {name for name, _ in names}
    return [(name, text) for name, text in found if name not in commands]


def _parse_words(line: CommandLine, rows: list[OptionRow], environ: Mapping[str, str]) -> ParsedWords:
    """Parse the words before the current one."""
    parsed = ParsedWords(environ, line.path)
    for word in (*line.leading, *line.rest):
        if parsed.open_option is not None:
            parsed.options.append((parsed.open_option.name, word))
            parsed.open_option = None
        elif parsed.options_ended or not word.startswith("-") or word == "-":
            parsed.arguments.append(word)
        elif word == "--":
            parsed.options_ended = True
        else:
            name, equals, value = word.partition("=")
            parsed.options += [(name, value)] if equals else []
            parsed.open_option = find_option(rows, word) if needs_value(rows, word) else None
    return parsed


def _complete_name(names: list[str], typed: str) -> str:
    """Return the only name that starts with `typed`; if there is none or several, `typed` itself."""
    matches = [name for name in names if name.startswith(typed)]
    return matches[0] if len(matches) == 1 else typed


def _store_path(parsed: ParsedWords) -> str:
    """Return the path of the store that the words before select, as `Invocation.store_path` does."""
    for name, value in parsed.options:
        if name == "-C":
            os.chdir(os.path.expanduser(value))
    stores = [value for name, value in parsed.options if name == "--store"]
    return choose_store(parsed.environ, os.getcwd(), stores[-1] if stores else None)


_SOURCES: dict[str, Callable[[str, str, ParsedWords], Candidates]] = {
    "KEY": lambda *_: read_keys(),
    "VALUE": _setting_values,
    "KEY=VALUE": _override_values,
    "NAMES": _field_values,
    "TEMPLATE": _field_values,
    "OPERATION": _operations,
    "OPERATION|CONV": _operations_or_conversations,
    "CONV": _conversations,
    "CONV[/BRANCH]": _conversations_or_command,
    "CONV[/BRANCH]|FILE": _conversations,
    "TOPIC": _topics,
    "WHERE": _conversations_or_paths,
    "-- PATH": _ranges_or_paths,
    "FILE": _recorded_files,
    "SIDE": _sides,
    "BRANCH": _branches,
    "REMOTE": _remotes,
    **dict.fromkeys(_REVISIONS, _revisions),
    **dict.fromkeys(("CONV|CONFLICT", "CONV|REQUEST", "CONV|CANDIDATE", "CONV|PROPOSAL"), _stored_or_conversations),
    **dict.fromkeys(
        (
            "CONFLICT",
            "REQUEST",
            "CANDIDATE",
            "PROPOSAL",
            "ENTRY",
            "ACTION",
            "GROUP/NAME",
            "AGENT|NUMBER",
            "SECRET",
            "RULE|SECRET",
        ),
        _stored_values,
    ),
    **dict.fromkeys(_INDEX_COLUMNS, _index_values),
}
