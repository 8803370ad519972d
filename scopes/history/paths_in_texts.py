"""Which texts are paths of files: many messages may have the same, where a key or a password is of one alone."""

from __future__ import annotations

import re
from typing import Final

_FIRST: Final = re.compile(r"\.?[A-Za-z][a-z_-]*\d{0,2}")  # no key begins with an ordinary word
_NAME: Final = re.compile(r"[\w.-]{1,63}")
_START: Final = re.compile(r"/|~/|(?:\.\.?/)+")
_SEPARATORS: Final = 2
_DIRECTORIES: Final = frozenset(  # arguments of tools
    {"cwd", "workdir", "working_directory", "workingDirectory", "dir_path", "directory", "target_directory", "path"}
)
_RANDOM: Final = 16  # characters of a name with letters of both cases and digits


def is_path(text: str) -> bool:
    """Return True for a text that looks like the path of a file or directory, and not like a key.

    A path begins with / ~/ ./ or ../ and has ordinary names with `/` between them.
    """
    start = _START.match(text)
    if start is None or text.count("/") < _SEPARATORS:
        return False
    first, *names = text[start.end() :].removesuffix("/").split("/")
    return _FIRST.fullmatch(first) is not None and all(map(_is_name, names))


def is_directory(name: str, text: str) -> bool:
    """Return True for a path in an argument that says where a tool works: every message of a session may have it."""
    return name in _DIRECTORIES and is_path(text)


def _is_name(name: str) -> bool:
    if _NAME.fullmatch(name) is None:
        return False
    is_mixed = name.lower() != name != name.upper() and any(map(str.isdecimal, name))
    return len(name) < _RANDOM or not is_mixed
