"""`scopes __complete -- WORDS... CURRENT`: what may stand in the place of CURRENT, one `word<TAB>description` a line.

Answered from the table, from the generated `options.tsv` and from the ref files, before anything heavy is loaded.
"""

from __future__ import annotations

import os
import sys

from scopes.cli import candidates
from scopes.cli.candidates import Candidates, Place, Row
from scopes.cli.global_options import GLOBAL_OPTIONS
from scopes.cli.words import LONG, SHORT, CommandLine, expects_value, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    from scopes.cli.table import Table


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
    rows = [] if line.command is None else candidates.read_rows(line.command)
    place = _place(line, rows, environ)
    name, equals, typed = current.partition("=")
    if place.row is not None:
        found = candidates.values(place.row, current, place)
    elif place.options_ended or not current.startswith("-"):
        found = _plain_word(table, line, rows, current, place)
    elif equals:
        row = _row(rows, name)
        found = [] if row is None else [(f"{name}={w}", about) for w, about in candidates.values(row, typed, place)]
    else:
        everywhere = [(name, option.help) for option in GLOBAL_OPTIONS for name in option.names]
        found = [(row.name, row.help) for row in rows if row.name.startswith("-")] + everywhere
    return [pair for pair in found if pair[0].startswith(current)]


def _plain_word(table: Table, line: CommandLine, rows: list[Row], current: str, place: Place) -> Candidates:
    """Answer for a word that is no option: a command, or an argument of one."""
    if line.command is None:
        return candidates.members(table, line.path)
    if line.command.path == ("help",):
        path = split_words(table, line.rest).path
        return candidates.members(table, path) + ([] if path else candidates.members(table, table.default))
    row = _argument_row(rows, len(place.arguments) + 1)
    return [] if row is None else candidates.values(row, current, place)


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
