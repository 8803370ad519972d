"""Recognize edits that change only comments and blank lines, which no test can see.

A comment is recognized line by line, by the mark of the language. What cannot be told apart counts as code: text of
block comments and docstrings, and comments that a compiler or a test runner reads, such as `//go:build`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from scopes.model.file_edits import FileEdit

_SLASHES = (
    "c", "cc", "cpp", "cs", "dart", "go", "h", "hpp", "java", "js", "jsx", "kt", "kts", "mjs", "mts", "php", "rs",
    "scala", "swift", "ts", "tsx", "zig",
)  # fmt: skip
_HASHES = ("bash", "ex", "exs", "jl", "pl", "py", "pyi", "r", "rb", "sh", "tf", "toml", "yaml", "yml", "zsh")
_MARKS = {**dict.fromkeys(_SLASHES, "//"), **dict.fromkeys(_HASHES, "#")}  # by the suffix of the file
_READ_BY_TOOLS = re.compile(
    r"(?i)^#!|^//[/!]|@|>>>|go:|\+build|^//export|output:|#(?:cgo|include|define)|coding[:=]|pragma|frozen_string_literal"
)
_QUOTES = "\"'`"


def changes_only_comments(edit: FileEdit) -> bool:
    """Return True if the code before and after an edit is recorded and equal without comments and blank lines."""
    mark = _MARKS.get(edit.path.rpartition(".")[2].lower())
    if mark is None or edit.op != "edit":
        return False
    sides = list(_sides(edit))
    return bool(sides) and all(list(_code(old, mark)) == list(_code(new, mark)) for old, new in sides)


def _sides(edit: FileEdit) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the lines before and after, of each hunk or each replacement."""
    if edit.hunks:
        for hunk in edit.hunks:
            yield (
                [line[1:] for line in hunk.lines if line[:1] in " -"],
                [line[1:] for line in hunk.lines if line[:1] in " +"],
            )
    elif edit.replacements:
        for each in edit.replacements:
            yield each.old.splitlines(), each.new.splitlines()
    elif edit.before is not None and edit.after is not None:
        yield edit.before.splitlines(), edit.after.splitlines()


def _code(lines: Iterable[str], mark: str) -> Iterator[str]:
    """Yield the lines without comments at their ends; lines of a comment alone and blank ones are left out."""
    for line in lines:
        at = _find_comment(line, mark)
        code = line if at is None or _READ_BY_TOOLS.search(line, at) else line[:at]
        if code.strip():
            yield code.rstrip()


def _find_comment(line: str, mark: str) -> int | None:
    """Return where a comment begins: at the start or behind a blank, and not in a quoted text."""
    at = line.find(mark)
    while at >= 0:
        before = line[:at]
        if (not before or before[-1].isspace()) and not any(before.count(quote) % 2 for quote in _QUOTES):
            return at
        at = line.find(mark, at + 1)
    return None
