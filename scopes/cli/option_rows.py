"""Read the options and arguments of the commands from the generated options.tsv, which needs no import of a command."""

from __future__ import annotations

import os

from scopes.cli.command_line import LONG, SHORT, expects_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.cli.table import Command

OPTIONS_FILE = os.path.join(os.path.dirname(__file__), "options.tsv")


class OptionRow:
    """One line of options.tsv; `name` is an option's name, or the position of an argument (`1`, `2...`).

    `parameter` is the name of its parameter in the command's function and the type of its value, for `direct`.
    """

    __slots__ = ("choices", "help", "name", "parameter", "value")

    def __init__(self, name: str, value: str, choices: str, help_text: str, parameter: str = "") -> None:
        self.name = name
        self.value = value
        self.choices = choices.split(",") if choices else []
        self.help = help_text
        self.parameter = parameter


def read_rows(command: Command) -> list[OptionRow]:
    """Read the options and arguments of one command, in the order of its help."""
    start = " ".join(command.path) + "\t"
    return [OptionRow(*line.rstrip("\n").split("\t")[1:]) for line in _lines() if line.startswith(start)]


def read_keys() -> list[tuple[str, str]]:
    """Read the names and descriptions of the settings."""
    return [
        (row.name, row.help)
        for row in (OptionRow(*line.rstrip("\n").split("\t")[1:]) for line in _lines() if line[0] == "=")
    ]


def choices_of(key: str) -> list[tuple[str, str]]:
    """Return the values of a setting, if there are only a few."""
    rows = [OptionRow(*line.rstrip("\n").split("\t")[1:]) for line in _lines() if line[0] == "="]
    return [(choice, "") for row in rows if row.name == key for choice in row.choices]


def needs_value(rows: list[OptionRow], word: str) -> bool:
    """Return True if the next word is the value of an option."""
    own = next((row for row in rows if row.name == word), None)
    return expects_value(word) if own is None else bool(own.value)


def find_option(rows: list[OptionRow], word: str) -> OptionRow | None:
    """Return the row of an option of the command, else of a global option; None if it is unknown."""
    own = next((row for row in rows if row.name == word), None)
    option = LONG.get(word) if word.startswith("--") else SHORT.get(word[-1:])
    if own is not None or option is None:
        return own
    name = word if word.startswith("--") else "-" + word[-1:]
    return OptionRow(name, option.value or "", ",".join(option.choices), option.help)


def find_argument(rows: list[OptionRow], number: int) -> OptionRow | None:
    """Return the row of an argument by its position, counted from 1; a repeated last argument takes all later ones."""
    arguments = [row for row in rows if row.name[0].isdigit()]
    if number <= len(arguments):
        return arguments[number - 1]
    return arguments[-1] if arguments and arguments[-1].name.endswith("...") else None


def _lines() -> list[str]:
    with open(OPTIONS_FILE, encoding="utf-8") as file:
        return file.readlines()
