"""Recognize shell commands whose effect on files is certain: removals, renames, and simple scripts of `sed -i`."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scopes.model.quoted_words import split_quoted

_SPECIAL = re.compile(r"[*?\[\]{}$`~!;&|<>()\\#\n\r]")  # what a shell would expand, or begin another command with
_AND = " && "
_BLANKS = " \t\n"  # not the spaces of Unicode: to a shell they belong to a word
_REMOVALS = {  # commands that remove files, with the options that change nothing about that
    ("rm",): {"-f", "-r", "-R", "-rf", "-fr", "-v", "-fv", "-vf", "--force", "--recursive", "--verbose"},
    ("git", "rm"): {"-f", "-r", "-rf", "-fr", "-q", "-fq", "-qf", "--force", "--quiet"},
}
_RENAMES = {("mv",): {"-f", "-v", "--force", "--verbose"}, ("git", "mv"): {"-f", "-v", "--force", "--verbose"}}
_MOVE = re.compile(r"(?<![^\s;&|({])(?:cd|pushd|popd)(?![^\s;&|)}])")
_REPLACEMENT = re.compile(r"(?:\d+(?:,\d+)?)?s([/|,#:@])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gIi0-9]*")
MAX_COMMAND = 100_000  # characters that are looked at


class Removal(NamedTuple):
    """A path that a command removed, with all files below it; `new` is the path that it was renamed to, if it was.

    `into` is the path that it has instead of `new` if `new` was a directory.
    """

    path: str
    new: str | None = None
    into: str | None = None


def changes_directory(command: str) -> bool:
    """Return True if a command line seems to change the directory of its shell, as `cd src && make` does."""
    return _MOVE.search(command) is not None


def split_plain(command: str) -> list[list[str]] | None:
    """Return the words of the commands in a command line; None unless they are plain and joined by `&&`.

    A plain command has nothing that a shell expands or redirects. If it succeeds, all of them were run.
    """
    pieces = command.strip(_BLANKS).split(_AND)
    if len(command) > MAX_COMMAND or any(_SPECIAL.search(piece) for piece in pieces):
        return None
    try:
        return [split_quoted(piece) for piece in pieces]
    except ValueError:
        return None


def find_removals(words: Sequence[str]) -> list[Removal] | None:
    """Return what a plain command that succeeded removed or renamed; None if it is another one."""
    for name, options in _REMOVALS.items():
        given = _operands(words, name, options)
        if given:
            return [Removal(path) for path in given]
    for name, options in _RENAMES.items():
        given = _operands(words, name, options)
        if given is not None and len(given) > 1:
            *sources, target = given
            inner = [posixpath.join(target, posixpath.basename(source.rstrip("/"))) for source in sources]
            if len(sources) == 1 and posixpath.basename(target) not in {"", ".", ".."}:
                return [Removal(sources[0], target, inner[0])]
            return [Removal(source, new) for source, new in zip(sources, inner, strict=True)]
    return None


def _operands(words: Sequence[str], name: Sequence[str], options: Iterable[str]) -> list[str] | None:
    """Return the paths given to a command; None if it is another one, or has other options."""
    if [*words[: len(name)]] != [*name]:
        return None
    given = [*words[len(name) :]]
    while given and given[0] in options:
        del given[0]
    if given[:1] == ["--"]:
        del given[0]
    elif any(word.startswith("-") for word in given):
        return None
    return given if all(given) else None


def is_repeatable(command: str) -> bool:
    """Return True for a `sed -i` that makes the same text of the same text: it only replaces what is in its script."""
    try:
        words = split_quoted(command) if command[:3] == "sed" and len(command) <= MAX_COMMAND else []
    except ValueError:
        return False
    plain = all(_SPECIAL.search(word) is None for word in words[3:])
    quoted = "$" not in command and "`" not in command and "\n" not in command
    is_script = len(words) > 3 and words[:2] == ["sed", "-i"] and _REPLACEMENT.fullmatch(words[2]) is not None
    return is_script and plain and quoted and not any(word.startswith("-") for word in words[3:])
