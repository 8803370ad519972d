"""Where completion finds its words: the table, the generated options file, and the names in the store."""

from __future__ import annotations

import os
import sys

from scopes.cli.command_line import LONG, SHORT, CommandLine, expects_value, split_words
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.store.discovery import choose_store, data_home, list_branches, list_conversations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from scopes.cli.table import Command, Table

Candidates = list[tuple[str, str]]

OPTIONS_FILE = os.path.join(os.path.dirname(__file__), "options.tsv")
# Value names that stand for, or begin with, the name of a conversation.
NAMED = {"CONV", "CONV[/BRANCH]", "WHERE", "BRANCH", "MESSAGE"}


class Row:
    """One line of the options file: an option's name, or the number of an argument (`1`, `2...`)."""

    __slots__ = ("choices", "help", "name", "value")

    def __init__(self, name: str, value: str, choices: str, about: str) -> None:
        self.name = name
        self.value = value
        self.choices = choices.split(",") if choices else []
        self.help = about


class Place:
    """Where in the command line the current word stands: what was given, and the option that waits for a value."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.arguments: list[str] = []
        self.given: list[tuple[str, str]] = []
        self.row: Row | None = None
        self.options_ended = False


def members(table: Table, path: tuple[str, ...]) -> Candidates:
    """Return the commands and groups under a path, under every name that they have."""
    found = [(node.path[-1], node.summary) for node in table.members(path)]
    if not path:
        nodes = table.commands | table.groups
        found += [(name, nodes[target].summary) for name, target in table.aliases.items() if (name,) != target]
        found.append(("ai", "The long form of every group"))
    return found


def values(row: Row, current: str, place: Place) -> Candidates:
    """Return what a value may be: a choice or a name from the store; nothing else, and shells then offer files."""
    if row.choices:
        return [(choice, "") for choice in row.choices]
    if row.value == "KEY":
        return read_keys()
    if row.value not in NAMED:
        return []
    store = _store(place)
    conversations = list_conversations(store)
    if row.value in {"BRANCH", "MESSAGE"} and place.arguments:
        conversation = _whole_name(conversations, place.arguments[0].partition("/")[0])
        return [(branch, f"branch of {conversation}") for branch in list_branches(store, conversation)]
    name, slash, _ = current.partition("/")
    if slash:
        return [(f"{name}/{branch}", "branch") for branch in list_branches(store, _whole_name(conversations, name))]
    return [(conversation, "conversation") for conversation in conversations]


def _whole_name(names: list[str], typed: str) -> str:
    """Return the one name that begins with what was typed; an exact name wins."""
    fitting = [name for name in names if name.startswith(typed)]
    return fitting[0] if len(fitting) == 1 else typed


def _store(place: Place) -> str:
    """Find the store that the words before mean, as `Invocation.store_path` would."""
    for name, value in place.given:
        if name == "-C":
            os.chdir(os.path.expanduser(value))
    stores = [value for name, value in place.given if name == "--store"]
    return choose_store(
        explicit=stores[-1] if stores else None,
        environment=place.environ.get("SCOPES_STORE"),
        cwd=os.getcwd(),
        data_home=data_home(place.environ),
    )


def read_rows(command: Command) -> list[Row]:
    """Read the options and arguments of one verb, in the order of its help."""
    start = " ".join(command.path) + "\t"
    return [Row(*line.rstrip("\n").split("\t")[1:]) for line in _lines() if line.startswith(start)]


def read_keys() -> Candidates:
    """Read the names of the settings and what they mean."""
    return [
        (row.name, row.help) for row in (Row(*line.rstrip("\n").split("\t")[1:]) for line in _lines() if line[0] == "=")
    ]


def _lines() -> list[str]:
    with open(OPTIONS_FILE, encoding="utf-8") as file:
        return file.readlines()


def answer(table: Table, arguments: list[str], environ: Mapping[str, str]) -> NoReturn:
    """Print the candidates for the last of the words behind `--`, and end the process with exit code 0.

    Trouble prints nothing, because a completion must never disturb the line being typed; and the interpreter's own
    tidying up at exit would cost more than the answer.
    """
    try:
        words = arguments[1:] if arguments[:1] == ["--"] else arguments
        found = complete(table, words or [""], environ)
        text = "".join(f"{word}\t{about}\n" for word, about in found if word.isprintable() and about.isprintable())
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    finally:
        os._exit(0)


def complete(table: Table, words: list[str], environ: Mapping[str, str]) -> Candidates:
    """Return the words that may stand in the place of the last one, with what they mean."""
    *before, current = words
    line = split_words(table, before)
    if line.unknown is not None:
        return []
    rows = [] if line.command is None else read_rows(line.command)
    place = _place(line, rows, environ)
    name, equals, typed = current.partition("=")
    if place.row is not None:
        found = values(place.row, current, place)
    elif place.options_ended or not current.startswith("-"):
        found = _plain_word(table, line, rows, current, place)
    elif equals:
        row = _row(rows, name)
        found = [] if row is None else [(f"{name}={w}", about) for w, about in values(row, typed, place)]
    else:
        everywhere = [(name, option.help) for option in GLOBAL_OPTIONS for name in option.names]
        found = [(row.name, row.help) for row in rows if row.name.startswith("-")] + everywhere
    return [pair for pair in found if pair[0].startswith(current)]


def _plain_word(table: Table, line: CommandLine, rows: list[Row], current: str, place: Place) -> Candidates:
    """Answer for a word that is no option: a command, or an argument of one."""
    if line.command is None:
        return members(table, line.path)
    if line.command.path == ("help",):
        path = split_words(table, line.rest).path
        return members(table, path) + ([] if path else members(table, table.default))
    row = _argument_row(rows, len(place.arguments) + 1)
    return [] if row is None else values(row, current, place)


def _place(line: CommandLine, rows: list[Row], environ: Mapping[str, str]) -> Place:
    """Read the words before the current one: which arguments and options are given, and what is waited for."""
    place = Place(environ)
    for word in (*line.leading, *line.rest):
        if place.row is not None:
            place.given.append((place.row.name, word))
            place.row = None
        elif place.options_ended or not word.startswith("-") or word == "-":
            place.arguments.append(word)
        elif word == "--":
            place.options_ended = True
        else:
            name, equals, value = word.partition("=")
            place.given += [(name, value)] if equals else []
            place.row = _row(rows, word) if _waits(rows, word) else None
    return place


def _waits(rows: list[Row], word: str) -> bool:
    own = next((row for row in rows if row.name == word), None)
    return expects_value(word) if own is None else bool(own.value)


def _row(rows: list[Row], word: str) -> Row | None:
    """Return what is known about an option, the verb's own or a global one."""
    own = next((row for row in rows if row.name == word), None)
    option = LONG.get(word) if word.startswith("--") else SHORT.get(word[-1:])
    if own is not None or option is None:
        return own
    name = word if word.startswith("--") else "-" + word[-1:]
    return Row(name, option.value or "", ",".join(option.choices), option.help)


def _argument_row(rows: list[Row], number: int) -> Row | None:
    """Return the argument at a place, counted from 1; the last one may take all further places."""
    arguments = [row for row in rows if row.name[0].isdigit()]
    if number <= len(arguments):
        return arguments[number - 1]
    return arguments[-1] if arguments and arguments[-1].name.endswith("...") else None
