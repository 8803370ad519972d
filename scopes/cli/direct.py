"""Run a command without typer, which takes most of the start-up time, if its words are an ordinary command line.

`parse_words` reads the types of the parameters from options.tsv. It returns what typer would give the function, or None
if it cannot be sure of that: for every error, and for types of values that are not described there. The parser of typer
reads those words. A test compares both on random words for every command.
"""

from __future__ import annotations

from scopes.cli.command_line import expand_counts
from scopes.cli.global_options import GLOBAL_OPTIONS, HELP
from scopes.cli.option_rows import read_rows
from scopes.cli.table import PACKAGE
from scopes.cli.usage import Context
from scopes.loading import load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.cli.command_line import CommandLine
    from scopes.cli.invocation import Invocation
    from scopes.cli.option_rows import OptionRow
    from scopes.cli.table import Command, Table

Values = dict[str, object]
_MAX_DIGITS = 18  # of a number; Python refuses to read very long ones


class _Parameter:
    """An option or argument: the name of its parameter, and the type of its value.

    kind: `flag`, `text`, `texts` (any number of them), `whole` (a number, at least `smallest`), `choice`; empty for any
    other type.
    """

    __slots__ = ("choices", "is_global", "kind", "name", "required", "smallest")

    def __init__(self, name: str, kind: str, choices: list[str], *, is_global: bool = False) -> None:
        self.name = name
        self.required = kind.endswith("!")
        self.kind, _, smallest = kind.removesuffix("!").partition(">=")
        self.choices = choices
        self.smallest = int(smallest) if smallest else None
        self.is_global = is_global

    def convert(self, text: str) -> str | int | None:
        """Return the value of a text; None if typer may refuse it or read it in another way."""
        if self.kind in {"text", "texts"}:
            return text
        if self.kind == "choice":
            return text if text in self.choices else None
        digits = text.removeprefix("-")
        if self.kind != "whole" or not (digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS):
            return None
        number = int(text)
        return None if self.smallest is not None and number < self.smallest else number


def run(table: Table, line: CommandLine, invocation: Invocation) -> int:
    """Run a command and return its exit code (None is 0), with typer if the words are not certain.

    Raises:
        Invalid: the words are not valid for this command.
    """
    command = line.command
    assert command is not None  # noqa: S101  `dispatch` calls this only with a command
    values = parse_words(command, line)
    if values is None:
        from scopes.cli.parser import run

        return int(run(table, line, invocation))
    own, shared = values
    invocation.begin(command, table.spelling(command.path), shared)
    return load(command.target)(Context(invocation), **own) or 0


def parse_words(command: Command, line: CommandLine) -> tuple[Values, Values] | None:
    """Return the values that the words give to the function and to the global options; None to leave them to typer.

    Parameters of the function that were not given are left out: the function has their defaults.
    """
    if not command.target.startswith(PACKAGE):
        return None  # the rows describe the commands of scopes
    try:
        rows = read_rows(command)
    except OSError:
        return None
    options = _options_of(rows)
    with_value = {name for name, option in options.items() if option.kind != "flag"}
    reader = _Reader(options)
    arguments = [_of_row(row) for row in rows if row.name[0].isdigit()]
    certain = (
        reader.read([*line.leading, *expand_counts(line.rest, options, with_value)])
        and reader.give(arguments)
        and all(option.name in reader.own for option in (*options.values(), *arguments) if option.required)
    )
    return (reader.own, reader.shared) if certain else None


def _of_row(row: OptionRow) -> _Parameter:
    name, _, kind = row.parameter.partition(" ")
    return _Parameter(name, kind, row.choices)


def _options_of(rows: list[OptionRow]) -> dict[str, _Parameter]:
    """Return the options of a command by each of their names: its own, and the global ones that it does not replace."""
    options = {row.name: _of_row(row) for row in rows if not row.name[0].isdigit()}
    own = set(options)
    for option in GLOBAL_OPTIONS:
        if option is not HELP and own.isdisjoint(option.names):
            kind = "flag" if option.value is None else "texts" if option.repeated else "text"
            shared = _Parameter(option.key, kind, [], is_global=True)
            options.update(dict.fromkeys(option.names, shared))
    return options


class _Reader:
    """The values read so far; `arguments` are the words that are not options."""

    def __init__(self, options: dict[str, _Parameter]) -> None:
        self._options = options
        self._arguments: list[str] = []
        self.own: Values = {}
        self.shared: Values = {
            option.name: () if option.kind == "texts" else None for option in options.values() if option.is_global
        }

    def read(self, words: list[str]) -> bool:
        """Read the words up to `--` as typer does; return False if one is not certain."""
        waiting = words[::-1]
        while waiting:
            word = waiting.pop()
            if word == "--":
                self._arguments += waiting[::-1]
                return True
            if word.startswith("--"):
                certain = self._read_long(word, waiting)
            elif len(word) > 1 and word[0] == "-":
                certain = self._read_short(word, waiting)
            else:
                self._arguments.append(word)
                continue
            if not certain:
                return False
        return True

    def _read_long(self, word: str, waiting: list[str]) -> bool:
        """Read `--name`, `--name value` or `--name=value`."""
        name, equals, value = word.partition("=")
        option = self._options.get(name)
        if option is None or (equals and option.kind == "flag"):
            return False
        if equals:
            waiting.append(value)
        return self._store(option, waiting)

    def _read_short(self, word: str, waiting: list[str]) -> bool:
        """Read `-n 3`, `-n3` or several in one word, such as `-qn3`."""
        for place, letter in enumerate(word[1:], start=2):
            option = self._options.get(f"-{letter}")
            if option is None:
                return False
            takes_rest = option.kind != "flag" and place < len(word)
            if takes_rest:
                waiting.append(word[place:])
            if not self._store(option, waiting):
                return False
            if takes_rest:
                break
        return True

    def _store(self, option: _Parameter, waiting: list[str]) -> bool:
        """Store the value of an option, the next word unless it is a flag."""
        values = self.shared if option.is_global else self.own
        if option.kind == "flag":
            values[option.name] = True
            return True
        value = option.convert(waiting.pop()) if waiting else None
        if value is None:
            return False
        if option.kind != "texts":
            values[option.name] = value
        elif option.is_global:
            self.shared[option.name] = (*self._before(self.shared, option), value)
        else:
            self.own[option.name] = [*self._before(self.own, option), value]
        return True

    @staticmethod
    def _before(values: Values, option: _Parameter) -> list[object] | tuple[object, ...]:
        """Return the values that an option was given before."""
        before = values.get(option.name)
        return before if isinstance(before, (list, tuple)) else ()

    def give(self, parameters: list[_Parameter]) -> bool:
        """Give the words that are not options to the arguments, in order; return False if they do not fit."""
        position = 0
        for parameter in parameters:
            words = self._arguments[position : None if parameter.kind == "texts" else position + 1]
            if not words:
                continue
            position += len(words)
            found = [parameter.convert(word) for word in words]
            if None in found:
                return False
            self.own[parameter.name] = found if parameter.kind == "texts" else found[0]
        return position == len(self._arguments)
