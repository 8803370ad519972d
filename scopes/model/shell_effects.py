"""Tell which files a command line may change: a known writer, or a program that names a file and is no known reader.

The command line is parsed once, for all files. Where the parser cannot tell, a file counts as changed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from scopes.model.shell_words import ANY, ONE, STAR, TEMPORARY

_TOKEN = re.compile(r"[\w./+@~-]")
_MAX_MENTIONS = 1000  # of a name in one text
_SHARED = 3  # leading directories that two directories of one repository have in common


class Effect(NamedTuple):
    """What may have changed a file, such as `sed -i`; `formats` if it changes only white space and line breaks."""

    cause: str
    formats: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """A file: the components of its path, absolute if `directory` is known, and those of that directory."""

    components: tuple[str, ...]
    directory: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The last component."""
        return self.components[-1]


def path_from(path: str, directory: str | None) -> Path:
    """Return the file at a path, which is relative to a directory or absolute."""
    base = None if directory is None or not directory.startswith("/") else tuple(_components(directory))
    own = tuple(_components(path)) or (".",)
    return Path(own if base is None or path.startswith("/") else (*base, *own), base)


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A part of a command line that may change files.

    cause: for a report: `sed -i`
    operands: paths with wildcards that it changes
    trees: an operand that is a directory stands for all files below it
    everything: it changes files of the work tree that it runs in, whatever their paths
    suffixes: the endings of the files that it changes if they are not named; empty: any
    names: the names that a file must match, such as `*.py`; empty: any
    text: a text; every file that is named in it may be changed
    directory: where it runs, relative to an unknown directory, or absolute
    """

    cause: str
    operands: tuple[str, ...] = ()
    trees: bool = False
    everything: bool = False
    formats: bool = False
    suffixes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    text: str = ""
    directory: str = ""

    def find_effect(self, path: Path) -> Effect | None:
        """Return what this does to a file; None if it does not reach it."""
        if self.text and mentions(self.text, path, self.directory):
            return Effect(self.cause, self.formats)
        if self.names and not any(matches(name, path.name) for name in self.names):
            return None
        if any(reaches(word, path, self.directory) for word in self.operands) or self._reaches_unnamed(path):
            return Effect(self.cause, self.formats)
        return None

    def _reaches_unnamed(self, path: Path) -> bool:
        if self.suffixes and not path.name.endswith(self.suffixes):
            return False
        if self.everything and _is_related(self.directory, path):
            return True
        return self.trees and any(covers(word, path, self.directory) for word in self.operands)


def find_effect(actions: Iterable[Action], path: Path) -> Effect | None:
    """Return what a command line does to a file, a change of its meaning before one of its format; None: nothing."""
    formatted = None
    for action in actions:
        effect = action.find_effect(path)
        if effect is not None and not effect.formats:
            return effect
        formatted = formatted or effect
    return formatted


def reaches(word: str, path: Path, directory: str = "") -> bool:
    """Return True if a word of a command may be the path of a file."""
    return _match(word, path, directory, is_tree=False)


def covers(word: str, path: Path, directory: str = "") -> bool:
    """Return True if a word of a command may be a directory above a file."""
    return _match(word, path, directory, is_tree=True)


def _match(word: str, path: Path, directory: str, *, is_tree: bool) -> bool:
    if not word:
        return False
    if "/" in word and directory and not directory.startswith("/") and _match(word, path, "", is_tree=is_tree):
        return True  # where the command line began is unknown
    whole = posixpath.join(directory, word)
    if ANY in whole:
        return _match_text(whole, path, is_tree=is_tree)
    pattern = _components(whole)
    if whole.startswith("/"):
        if path.directory is None:
            return is_tree or _ends_with(pattern, path.components)
        size = len(pattern)
        long_enough = len(path.components) > size if is_tree else len(path.components) == size
        return long_enough and _equal(pattern, path.components[:size])
    if not is_tree:
        return bool(pattern) and _ends_with(path.components, pattern)
    size = len(pattern)
    return any(_equal(pattern, path.components[at : at + size]) for at in range(len(path.components) - size))


def _match_text(word: str, path: Path, *, is_tree: bool) -> bool:
    """Match a path with an expansion in it, which may stand for several components."""
    if is_tree:
        return any(
            _match_text(word.rstrip("/"), Path(path.components[:size], path.directory), is_tree=False)
            for size in range(1, len(path.components))
        )
    text = "/".join(path.components)
    pattern = "/".join(_components(word))
    if word.startswith("/") and path.directory is not None:
        return matches(pattern, text)
    return matches(pattern, text) or matches(f"{ANY}/{pattern}", text)


def matches(pattern: str, text: str) -> bool:
    """Return True if a text matches a pattern; `STAR` and `ANY` match any characters, in quadratic time at most."""
    at = place = 0
    star = restart = -1
    while at < len(text):
        letter = pattern[place] if place < len(pattern) else ""
        if letter and letter in (STAR, ANY, "*"):
            star, restart = place, at
            place += 1
        elif letter and letter in (ONE, "?", text[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            restart += 1
            at, place = restart, star + 1
        else:
            return False
    return all(letter in (STAR, ANY, "*") for letter in pattern[place:])


def _equal(pattern: Sequence[str], names: Sequence[str]) -> bool:
    return len(pattern) == len(names) and all(map(_equal_name, pattern, names))


def _equal_name(pattern: str, name: str) -> bool:
    return pattern == name or ((STAR in pattern or ONE in pattern) and matches(pattern, name))


def _ends_with(names: Sequence[str], pattern: Sequence[str]) -> bool:
    return len(names) >= len(pattern) and _equal(pattern, names[len(names) - len(pattern) :])


def _components(path: str) -> list[str]:
    """Return the components of a path; leading `..` are left out, since they stay unknown."""
    found: list[str] = []
    for name in path.split("/"):
        if name == "..":
            del found[-1:]
        elif name not in {"", "."}:
            found.append(name)
    return found


def _is_related(directory: str, path: Path) -> bool:
    """Return True if a command that runs in a directory may work on the repository of a file."""
    if not directory.startswith("/") or path.directory is None or ANY in directory:
        return not directory.startswith(TEMPORARY)
    here = tuple(_components(directory))
    above = path.components[: len(here)] == here and len(here) < len(path.components)
    base = path.directory
    inside = here[: len(base)] == base
    return above or inside or (len(here) >= _SHARED and here[:_SHARED] == base[:_SHARED])


def mentions(text: str, path: Path, directory: str = "") -> bool:
    """Return True if a text names a file, by its name or the end of its path."""
    name, at = path.name, -1
    for _ in range(_MAX_MENTIONS):
        at = text.find(name, at + 1)
        if at < 0:
            return False
        stop = at + len(name)
        if stop < len(text) and (text[stop].isalnum() or text[stop] in "_-/"):
            continue
        start = at
        while start > 0 and at - start < _MAX_MENTIONS and _TOKEN.match(text[start - 1]):
            start -= 1
        token = text[start:stop]
        if token.startswith("-") and "/" not in token:
            token = name
        if reaches(token, path, directory):
            return True
    return True
