"""Split a command line into global options, the command, and its arguments, for dispatch and completion."""

from __future__ import annotations

from scopes.cli.table import GLOBAL_OPTIONS, HELP, PREFIXES, Command, Table
from scopes.errors import Invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LONG = {name: option for option in GLOBAL_OPTIONS for name in option.names if name.startswith("--")}
SHORT = {name[1]: option for option in GLOBAL_OPTIONS for name in option.names if not name.startswith("--")}
ALL_FIELDS = "*"
_MAX_ALIAS = 64


class CommandLine:
    """The parts of a command line.

    leading: the global options before the command, with their values.
    typed: the words of the command as typed; `path` is the command without prefixes and other words for it.
    command: the command at `path`; None if the path is incomplete or unknown.
    unknown: the first word that is neither a global option nor a command.
    rest: the words after the command.
    missing_value: the global option that ends the line without its value.
    """

    def __init__(self) -> None:
        self.leading: list[str] = []
        self.path: tuple[str, ...] = ()
        self.typed: list[str] = []
        self.command: Command | None = None
        self.unknown: str | None = None
        self.rest: list[str] = []
        self.missing_value: str | None = None

    def has(self, names: Sequence[str]) -> bool:
        """Return True if the option with these names is given before or after the command."""
        words = ["", *self.leading, *before_separator(self.rest)]
        return any(word in names and not expects_value(words[place - 1]) for place, word in enumerate(words))


def split_words(table: Table, words: list[str]) -> CommandLine:
    """Split the words at the command; stop at the first word that is not in the table."""
    line = CommandLine()
    position = 0
    while position < len(words) and line.unknown is None:
        word = words[position]
        path = (*line.path, word)
        if line.command is not None and not _is_known(table, path):
            break
        position += 1
        if len(word) > 1 and word.startswith("-"):
            line.leading.append(word)
            if not is_option(word):
                line.unknown = word
            elif expects_value(word):
                line.leading += words[position : position + 1]
                line.missing_value = word if position == len(words) else None
                position += 1
            continue
        line.typed.append(word)
        if path in table.taken:
            replaced = split_words(table, [*line.leading, *table.taken[path], *words[position:]])
            replaced.typed = [*line.typed, *replaced.typed[len(replaced.path) :]]
            return replaced
        if line.path or word not in PREFIXES:
            _follow(table, line, path)
    line.rest = words[position:]
    return line


def _is_known(table: Table, path: tuple[str, ...]) -> bool:
    return path in table.commands or path in table.taken or path in table.renamed


def _follow(table: Table, line: CommandLine, path: tuple[str, ...]) -> None:
    if path not in table.commands and path not in table.groups:
        line.unknown = path[-1]
        return
    line.path = path
    line.command = table.commands.get(path)


def is_option(word: str) -> bool:
    """Return True if the word is a global option, or short ones combined, such as `-qv`."""
    if word.startswith("--"):
        return word.partition("=")[0] in LONG
    return word[1] in SHORT


def expects_value(word: str) -> bool:
    """Return True if the next word is the value of this global option: `-C dir`, but not `-Cdir` or `--store=path`."""
    if word[:1] != "-" or word.startswith("--"):
        return word in LONG and LONG[word].value is not None and not LONG[word].is_optional
    for place, letter in enumerate(word[1:], start=2):
        if letter not in SHORT:
            return False
        if SHORT[letter].value is not None:
            return place == len(word)
    return False


def before_separator(words: Sequence[str]) -> list[str]:
    """Return the words before `--`."""
    return list(words[: words.index("--")]) if "--" in words else list(words)


def after_separator(words: Sequence[str]) -> list[str]:
    """Return the words after `--`."""
    return list(words[len(before_separator(words)) + 1 :])


def expand_words(table: Table, words: list[str]) -> tuple[list[str], CommandLine]:
    """Write out an alias of the user, and the command of a group; return the words, and them split.

    Raises:
        Invalid: an alias is not valid.
    """
    line = split_words(table, words)
    if line.unknown is not None and not line.path:
        words = _expand_alias(table, words, line)
        line = split_words(table, words)
    if line.command is None and line.path and not line.has(HELP.names):
        line = _with_default(table, line)
    return words, line


def _expand_alias(table: Table, arguments: list[str], line: CommandLine) -> list[str]:
    """Return the arguments with the unknown first word replaced by its alias, if the user has set one, as in git.

        [scopes "alias"]
            last = log @ -5 --oneline

    Only the configuration of the user and of the system is read: a store may come from another person. An alias never
    replaces a command, may begin with another alias, and runs commands of scopes only, never the shell.

    Raises:
        Invalid: an alias refers to itself, runs the shell, is empty or cannot be split into words.
    """
    from scopes.store.config import ALIAS, read_user_values  # with libgit2

    seen: list[str] = []
    while line.unknown is not None and not line.path and _is_alias_name(line.unknown):
        name = line.unknown.lower()
        value = read_user_values(ALIAS + name).get("")
        if value is None:
            break
        if name in seen:
            raise Invalid(f"the alias {seen[0]} refers to itself: {' -> '.join((*seen, name))}", hint=_alias_hint(name))
        seen.append(name)
        position = len(arguments) - len(line.rest) - 1
        arguments = [*arguments[:position], *_split_alias(name, value), *line.rest]
        line = split_words(table, arguments)
    return arguments


def _split_alias(name: str, value: str) -> list[str]:
    if value.startswith("!"):
        raise Invalid(f"the alias {name} runs the shell; an alias runs commands of scopes only", hint=_alias_hint(name))
    import shlex

    try:
        words = shlex.split(value)
    except ValueError as error:
        raise Invalid(f"the alias {name} cannot be split into words: {error}", hint=_alias_hint(name)) from error
    if not words:
        raise Invalid(f"the alias {name} is empty", hint=_alias_hint(name))
    return words


def _alias_hint(name: str) -> str:
    return f"change it: scopes config scopes.alias.{name} 'log -5'"


def _is_alias_name(word: str) -> bool:
    return len(word) <= _MAX_ALIAS and word[:1].isalpha() and word.replace("-", "").isalnum() and word.isascii()


def _with_default(table: Table, line: CommandLine) -> CommandLine:
    """Return the line of a group without a command with its default: `conflicts`, `agents --json`, `remote -v`.

    An argument may follow if the default is another one than `list`: `collaborate conv-001`.
    """
    group = table.groups.get(line.path)
    command = None if group is None else table.commands.get((*line.path, group.default))
    if group is None or command is None or line.missing_value is not None:
        return line
    if line.unknown is not None:
        is_option = len(line.unknown) > 1 and line.unknown.startswith("-")
        if not is_option and (group.default == "list" or (*line.path, line.unknown) in table.renamed):
            return line
        line.rest.insert(0, line.leading.pop() if is_option else line.typed.pop())
    line.path, line.command, line.unknown = command.path, command, None
    return line
