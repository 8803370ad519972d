"""Split a command line into global options, the command, and its arguments, for dispatch and completion."""

from __future__ import annotations

from scopes.cli.global_options import GLOBAL_OPTIONS, HELP
from scopes.cli.table import Command, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

LONG = {name: option for option in GLOBAL_OPTIONS for name in option.names if name.startswith("--")}
SHORT = {name[1]: option for option in GLOBAL_OPTIONS for name in option.names if not name.startswith("--")}


class CommandLine:
    """The parts of a command line.

    leading: the global options before the command, with their values.
    typed: the words of the command as typed; `path` is the same with aliases resolved.
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
        self.wants_help = False


def split_words(table: Table, words: list[str]) -> CommandLine:
    """Split the words at the command; stop at the first word that is not in the table."""
    line = CommandLine()
    position = 0
    while position < len(words) and line.unknown is None:
        word = words[position]
        if line.command is not None and table.extend(line.path, word) not in table.commands:
            break
        position += 1
        if word == "--version" and not line.path:
            word = "version"
        if len(word) > 1 and word.startswith("-"):
            line.leading.append(word)
            line.wants_help |= word in HELP.names
            if not is_option(word):
                line.unknown = word
            elif expects_value(word):
                line.leading += words[position : position + 1]
                line.missing_value = word if position == len(words) else None
                position += 1
            continue
        line.typed.append(word)
        if line.typed != ["ai"]:
            _follow(table, line, word)
    line.rest = words[position:]
    return line


def _follow(table: Table, line: CommandLine, word: str) -> None:
    path = table.extend(line.path, word)
    if path not in table.commands and path not in table.groups:
        line.unknown = word
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
    if word.startswith("--"):
        return word in LONG and LONG[word].value is not None
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


def with_optional_values(words: list[str]) -> list[str]:
    """Return the words with `--fields=` for --fields without names, and `--porcelain=v1` for --porcelain."""
    result = list(words)
    for position, word in enumerate(words):
        following = words[position + 1 : position + 2]
        if word == "--":
            break
        if word == "--porcelain":
            result[position] = "--porcelain=v1"
        elif word == "--fields" and (not following or following[0].startswith("-")):
            result[position] = "--fields="
    return result


def expand_counts(words: list[str], options: Container[str], with_value: Container[str]) -> Iterator[str]:
    """Yield the words after a command with `-3` as `-n 3` before `--`, as in git, if the command has the option -n.

    `options` are the names of its options, `with_value` those of them that need a value.
    """
    before = ""
    for position, word in enumerate(words):
        if word == "--" or "-n" not in options:
            yield from words[position:]
            return
        if word[:1] == "-" and word[1:].isdecimal() and word.isascii() and before not in with_value:
            yield from ("-n", word[1:])
        else:
            yield word
        before = word


def expand_words(table: Table, words: list[str]) -> tuple[list[str], CommandLine]:
    """Write out optional values, an alias of the user and `config KEY`; return the words, and them split.

    Raises:
        Invalid: an alias is not valid.
    """
    words = with_optional_values(words)
    line = split_words(table, words)
    if line.unknown is not None and not line.path:
        from scopes.cli.user_aliases import expand_alias

        words = with_optional_values(expand_alias(table, words, line))
        line = split_words(table, words)
    if line.unknown is not None and line.path == ("config",):
        words = _with_config_command(words, line)
        line = split_words(table, words)
    if line.path == ("remote",) and line.command is None and not line.wants_help:
        words = _with_remote_list(words, line)
        line = split_words(table, words)
    return words, line


def _with_remote_list(words: list[str], line: CommandLine) -> list[str]:
    """Return the words of `remote` and `remote -v` with `list`, as in git."""
    if line.missing_value is not None or line.rest or line.unknown not in {None, "-v"}:
        return words
    return [*(words if line.unknown is None else words[:-1]), "list"]


def _with_config_command(words: list[str], line: CommandLine) -> list[str]:
    """Return the words of `config KEY` with `get`, and those of `config KEY VALUE` with `set`, as in git."""
    if line.unknown is None or "." not in line.unknown or line.unknown[0] == "-":
        return words
    position = len(words) - len(line.rest) - 1
    arguments = 0
    is_value = options_ended = False
    for word in line.rest:
        if is_value:
            is_value = False
        elif not options_ended and word == "--":
            options_ended = True
        elif not options_ended and len(word) > 1 and word.startswith("-"):
            is_value = word == "--level" or expects_value(word)
        else:
            arguments += 1
    return [*words[:position], "set" if arguments else "get", *words[position:]]
