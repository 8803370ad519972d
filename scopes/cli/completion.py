"""Complete a command line from the command table, the generated options.tsv and the names in the store."""

from __future__ import annotations

import os
import sys

from scopes.cli.command_line import LONG, SHORT, CommandLine, expects_value, split_words, with_config_command
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.loading import load
from scopes.store.discovery import (
    cache_directory,
    choose_store,
    list_branches,
    list_conversations,
    list_operations,
)
from scopes.store.projects import find_project

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from scopes.cli.table import Command, Table

Candidates = list[tuple[str, str]]

OPTIONS_FILE = os.path.join(os.path.dirname(__file__), "options.tsv")
# Placeholders whose values are operations, or are or begin with the name of a conversation.
_STORE_NAMES = {"OPERATION", "OPERATION|CONV", "CONV", "CONV[/BRANCH]", "WHERE", "BRANCH", "MESSAGE"}


# Placeholders whose values are in the index of conversations, and their columns there.
_INDEX_COLUMNS = {"AGENT": "participants", "MODEL": "model", "PROJECT": "directory", "TAG": "tags"}


class OptionRow:
    """One line of options.tsv; `name` is an option's name, or the position of an argument (`1`, `2...`)."""

    __slots__ = ("choices", "help", "name", "value")

    def __init__(self, name: str, value: str, choices: str, help_text: str) -> None:
        self.name = name
        self.value = value
        self.choices = choices.split(",") if choices else []
        self.help = help_text


class ParsedWords:
    """The words before the current one: arguments, options with values, and the option that still needs its value."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.arguments: list[str] = []
        self.options: list[tuple[str, str]] = []
        self.open_option: OptionRow | None = None
        self.options_ended = False


def answer(table: Table, arguments: list[str], environ: Mapping[str, str]) -> NoReturn:
    """Print the candidates for the last word after `--`, and end the process with exit code 0.

    Errors print nothing, because a completion must not disturb the line being typed. `os._exit` avoids the
    interpreter's shutdown, which would take longer than the completion.
    """
    try:
        words = arguments[1:] if arguments[:1] == ["--"] else arguments
        found = complete(table, words or [""], environ)
        lines = "".join(f"{word}\t{text}\n" for word, text in found if word.isprintable() and text.isprintable())
        sys.stdout.buffer.write(lines.encode())
        sys.stdout.buffer.flush()
    finally:
        os._exit(0)


def complete(table: Table, words: list[str], environ: Mapping[str, str]) -> Candidates:
    """Return the candidates for the last word, with their descriptions."""
    *before, current = words
    line = split_words(table, before)
    if line.path == ("config",) and line.unknown is not None:
        line = split_words(table, with_config_command(words, split_words(table, words))[:-1])
    if line.unknown is not None:
        return []
    rows = [] if line.command is None else read_rows(line.command)
    parsed = _parse_words(line, rows, environ)
    name, equals, typed = current.partition("=")
    if parsed.open_option is not None:
        found = values(parsed.open_option, current, parsed)
    elif parsed.options_ended or not current.startswith("-"):
        found = _plain_word(table, line, rows, current, parsed)
    elif equals:
        row = _row(rows, name)
        found = [] if row is None else [(f"{name}={value}", text) for value, text in values(row, typed, parsed)]
    else:
        found = [(row.name, row.help) for row in rows if row.name.startswith("-")]
        own = {name for name, _ in found}
        found += [(name, option.help) for option in GLOBAL_OPTIONS for name in option.names if name not in own]
    return [pair for pair in found if pair[0].startswith(current)]


def members(table: Table, path: tuple[str, ...]) -> Candidates:
    """Return the commands and groups under a path, with their aliases."""
    found = [(node.path[-1], node.summary) for node in table.members(path)]
    if not path:
        nodes = table.commands | table.groups
        found += [(name, nodes[target].summary) for name, target in table.aliases.items() if (name,) != target]
        found.append(("ai", "Prefix of the long form of all groups"))
    return found


def values(row: OptionRow, current: str, parsed: ParsedWords) -> Candidates:
    """Return the possible values: choices, settings or names from the store; none if the shell should offer files."""
    if row.choices:
        return [(choice, "") for choice in row.choices]
    if row.value == "KEY":
        return read_keys()
    if row.value == "VALUE":
        return _setting_values(parsed.arguments)
    if row.value in _INDEX_COLUMNS:
        return _index_values(row.value, current, parsed)
    return _store_values(row.value, current, parsed) if row.value in _STORE_NAMES else []


def _store_values(value: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return the names of operations, conversations or branches in the store."""
    store = _store_path(parsed)
    if value == "OPERATION":
        return list_operations(store)
    conversations = list_conversations(store)
    if value == "OPERATION|CONV":
        return [*list_operations(store), *((conversation, "conversation") for conversation in conversations)]
    if value in {"BRANCH", "MESSAGE"} and parsed.arguments:
        conversation = _complete_name(conversations, parsed.arguments[0].partition("/")[0])
        return [(branch, f"branch of {conversation}") for branch in list_branches(store, conversation)]
    name, slash, _ = current.partition("/")
    if slash:
        return [(f"{name}/{branch}", "branch") for branch in list_branches(store, _complete_name(conversations, name))]
    return [(conversation, "conversation") for conversation in conversations]


def _index_values(value: str, current: str, parsed: ParsedWords) -> Candidates:
    """Return names from the index of conversations; none for the beginning of a path, which the shell completes.

    SQLite is imported for these values only.
    """
    if value == "PROJECT" and current.startswith((".", "~", os.sep)):
        return []
    directory = load("scopes.index.database:index_directory")(cache_directory(parsed.environ), _store_path(parsed))
    found = load("scopes.index.conversation_table:list_values")(directory, _INDEX_COLUMNS[value])
    if value != "PROJECT":
        return [(name, value.lower()) for name in found]
    projects = {project.name: path for path in found if (project := find_project(path)) is not None}
    return sorted(projects.items())


def read_rows(command: Command) -> list[OptionRow]:
    """Read the options and arguments of one command, in the order of its help."""
    start = " ".join(command.path) + "\t"
    return [OptionRow(*line.rstrip("\n").split("\t")[1:]) for line in _lines() if line.startswith(start)]


def read_keys() -> Candidates:
    """Read the names and descriptions of the settings."""
    return [
        (row.name, row.help)
        for row in (OptionRow(*line.rstrip("\n").split("\t")[1:]) for line in _lines() if line[0] == "=")
    ]


def _setting_values(arguments: list[str]) -> Candidates:
    """Return the values of the setting that is the first argument, if there are only a few."""
    rows = [OptionRow(*line.rstrip("\n").split("\t")[1:]) for line in _lines() if line[0] == "="]
    return [(choice, "") for row in rows if arguments[:1] == [row.name] for choice in row.choices]


def _plain_word(
    table: Table, line: CommandLine, rows: list[OptionRow], current: str, parsed: ParsedWords
) -> Candidates:
    """Return the candidates for a word that is not an option: a command, or an argument of one."""
    if line.command is None:
        return members(table, line.path) + (read_keys() if line.path == ("config",) else [])
    if line.command.path == ("help",):
        path = split_words(table, line.rest).path
        return members(table, path)
    row = _argument_row(rows, len(parsed.arguments) + 1)
    return [] if row is None else values(row, current, parsed)


def _parse_words(line: CommandLine, rows: list[OptionRow], environ: Mapping[str, str]) -> ParsedWords:
    """Parse the words before the current one."""
    parsed = ParsedWords(environ)
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
            parsed.open_option = _row(rows, word) if _expects_value(rows, word) else None
    return parsed


def _expects_value(rows: list[OptionRow], word: str) -> bool:
    own = next((row for row in rows if row.name == word), None)
    return expects_value(word) if own is None else bool(own.value)


def _row(rows: list[OptionRow], word: str) -> OptionRow | None:
    """Return the row of an option of the command, else of a global option; None if it is unknown."""
    own = next((row for row in rows if row.name == word), None)
    option = LONG.get(word) if word.startswith("--") else SHORT.get(word[-1:])
    if own is not None or option is None:
        return own
    name = word if word.startswith("--") else "-" + word[-1:]
    return OptionRow(name, option.value or "", ",".join(option.choices), option.help)


def _argument_row(rows: list[OptionRow], number: int) -> OptionRow | None:
    """Return the row of an argument by its position, counted from 1; a repeated last argument takes all later ones."""
    arguments = [row for row in rows if row.name[0].isdigit()]
    if number <= len(arguments):
        return arguments[number - 1]
    return arguments[-1] if arguments and arguments[-1].name.endswith("...") else None


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


def _lines() -> list[str]:
    with open(OPTIONS_FILE, encoding="utf-8") as file:
        return file.readlines()
