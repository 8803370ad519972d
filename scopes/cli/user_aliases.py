"""Commands that the user named: the settings `scopes.alias.<name>`, as in git.

    [scopes "alias"]
        last = log @ -5 --oneline

Only the user's and the system's configuration is read: a store may come from another person. An alias never replaces a
command, and it runs commands of scopes only, never the shell.
"""

from __future__ import annotations

import re
import shlex

from scopes.cli.command_line import CommandLine, split_words
from scopes.cli.table import Table
from scopes.errors import Invalid
from scopes.store.config import ALIAS, read_user_values

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")


def expand_alias(table: Table, arguments: list[str], line: CommandLine) -> list[str]:
    """Return the arguments with the unknown first word replaced by its alias, if it has one.

    An alias may begin with another alias.

    Raises:
        Invalid: an alias refers to itself, runs the shell, is empty or cannot be split into words.
    """
    seen: list[str] = []
    while line.unknown is not None and not line.path and _NAME.fullmatch(line.unknown):
        name = line.unknown.lower()
        value = read_user_values(ALIAS + name).get("")
        if value is None:
            break
        if name in seen:
            raise Invalid(f"the alias {seen[0]} refers to itself: {' -> '.join((*seen, name))}", hint=_hint(name))
        seen.append(name)
        position = len(arguments) - len(line.rest) - 1
        arguments = [*arguments[:position], *_split(name, value), *line.rest]
        line = split_words(table, arguments)
    return arguments


def _split(name: str, value: str) -> list[str]:
    if value.startswith("!"):
        raise Invalid(f"the alias {name} runs the shell; an alias runs commands of scopes only", hint=_hint(name))
    try:
        words = shlex.split(value)
    except ValueError as error:
        raise Invalid(f"the alias {name} cannot be split into words: {error}", hint=_hint(name)) from error
    if not words:
        raise Invalid(f"the alias {name} is empty", hint=_hint(name))
    return words


def _hint(name: str) -> str:
    return f"change it: scopes config {ALIAS}{shlex.quote(name)} 'log -5'"
