"""Match patterns of policies: words of a command line, and paths."""

from __future__ import annotations

import re
from functools import lru_cache

from scopes.check.shell import Command

ANY = "**"


def matches_command(pattern: str, command: Command) -> bool:
    """Return True if a pattern such as `go test **` matches the words of a command.

    `*` in a word matches characters of that word, the word `**` any number of words. The program is compared without
    its directory. A word that the shell computes matches `*` and `**` only.
    """
    if command.program is None:
        return False
    return _match(_words(pattern), (command.program, *command.argv[1:]))


def matches_word(pattern: str, word: str) -> bool:
    """Return True if a pattern matches a whole word; `*` stands for any characters."""
    return _word_expression(pattern).fullmatch(word) is not None


def matches_path(pattern: str, path: str) -> bool:
    """Return True if a pattern such as `src/**` or `*.py` matches a path; without a slash it matches the name."""
    if "/" not in pattern:
        path = path.rsplit("/", 1)[-1]
    return _path_expression(pattern).fullmatch(path) is not None


def _match(pattern: tuple[str, ...], words: tuple[str | None, ...]) -> bool:
    if not pattern:
        return not words
    if pattern[0] == ANY:
        return any(_match(pattern[1:], words[start:]) for start in range(len(words) + 1))
    if not words:
        return False
    word = words[0]
    fits = pattern[0] == "*" if word is None else _word_expression(pattern[0]).fullmatch(word) is not None
    return fits and _match(pattern[1:], words[1:])


@lru_cache(maxsize=1024)
def _words(pattern: str) -> tuple[str, ...]:
    return tuple(pattern.split())


@lru_cache(maxsize=1024)
def _word_expression(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)


@lru_cache(maxsize=1024)
def _path_expression(pattern: str) -> re.Pattern[str]:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    kinds = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(kinds.get(piece, re.escape(piece)) for piece in pieces), re.DOTALL)
