"""Recognize edits that change only comments and blank lines, which no test can see.

A comment is recognized line by line, by the mark of the language. These count as code: lines of block comments and of
strings of several lines, and comments that a compiler or a test runner reads, such as `//go:build`. If only a piece of
a file is recorded, it is taken to begin outside of a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from scopes.lazy_patterns import compile_lazily
from scopes.model.tools import FileEdit, apply_edit

_SLASHES = (
    "c", "cc", "cpp", "cs", "dart", "go", "h", "hpp", "java", "js", "jsx", "kt", "kts", "mjs", "mts", "php", "rs",
    "scala", "swift", "ts", "tsx", "zig",
)  # fmt: skip
_HASHES = ("bash", "ex", "exs", "jl", "pl", "py", "pyi", "r", "rb", "sh", "tf", "toml", "yaml", "yml", "zsh")
_MARKS = {**dict.fromkeys(_SLASHES, "//"), **dict.fromkeys(_HASHES, "#")}  # by the suffix of the file
_READ_BY_TOOLS = compile_lazily(
    r"(?i)^#!|^//[/!]|@|>>>|go:|\+build|^//export|output:|#(?:cgo|include|define)|coding[:=]|pragma|frozen_string_literal"
)
# What can hold a mark of a comment, and comments, which can hold a quote; by the suffix of the file.
_STRINGS = r"""\"(?:\\.|[^\"\\\n])*+\"|'(?:\\.|[^'\\\n])*+'"""
_LONG_STRINGS = r"""\"(?:\\.|[^\"\\])*+(?:\"|\Z)|'(?:\\.|[^'\\])*+(?:'|\Z)"""
_RUST_STRINGS = r"""\"(?:\\.|[^\"\\])*+(?:\"|\Z)|'(?:\\.|[^'\\])'"""
_TRIPLE = r"""(?P<triple>\"{3}|'{3})(?:\\.|.)*?(?:(?P=triple)|\Z)"""
_TEMPLATE = r"`(?:\\.|[^`\\])*+(?:`|\Z)"
_HEREDOC = r"""<<<?[-~]?[ \t]*[\"'\\]?(?P<end>[A-Za-z_]\w*)[^\n]*\n.*?(?:^[ \t]*(?P=end)\b|\Z)"""
_YAML_BLOCK = r"^(?P<indent> *+)[^\n#]*[|>][-+\d]*[ \t]*(?:\n(?:(?P=indent) [^\n]*|[ \t]*)(?=\n|\Z))*+"
_RAW_CPP = r'R"(?P<raw>\w*)\(.*?(?:\)(?P=raw)"|\Z)'
_LITERALS = (
    (("py", "pyi", "toml", "ex", "exs", "java", "kt", "kts", "scala", "swift", "cs", "dart"), f"{_TRIPLE}|{_STRINGS}"),
    (("js", "jsx", "mjs", "mts", "ts", "tsx", "go"), f"{_TEMPLATE}|{_STRINGS}"),
    (("bash", "sh", "zsh", "rb", "pl", "php", "r", "jl", "tf"), f"{_HEREDOC}|{_LONG_STRINGS}"),
    (("rs",), _RUST_STRINGS),
    (("c", "cc", "cpp", "h", "hpp", "zig"), f"{_RAW_CPP}|{_STRINGS}"),
    (("yaml", "yml"), _YAML_BLOCK),
)
_COMMENTS = {"#": r"(?:^|(?<=\s))#[^\n]*", "//": r"//[^\n]*|/\*.*?(?:\*/|\Z)"}
_QUOTES = "\"'`"


def changes_only_comments(edit: FileEdit) -> bool:
    """Return True if the code before and after an edit is recorded and equal without comments and blank lines."""
    suffix = edit.path.rpartition(".")[2].lower()
    if suffix not in _MARKS or edit.op != "edit":
        return False
    sides = list(_sides(edit))
    return bool(sides) and all(list(_code(old, suffix)) == list(_code(new, suffix)) for old, new in sides)


def _sides(edit: FileEdit) -> Iterator[tuple[str, str]]:
    """Yield the texts before and after: of the whole file if they are known, else of each changed piece."""
    after = None if edit.before is None else apply_edit(edit, None)
    if edit.before is not None and after is not None:
        yield edit.before, after
        return
    for old, new in pieces_of_edit(edit):
        yield "\n".join(line[1:] for line in old), "\n".join(line[1:] for line in new)


def _code(text: str, suffix: str) -> Iterator[str]:
    """Yield the lines without comments at their ends; lines of a comment alone and blank ones are left out."""
    mark, literal = _MARKS[suffix], _find_literal_lines(text, suffix)
    for number, line in enumerate(text.split("\n")):
        at = None if number in literal else _find_comment(line, mark)
        code = line if at is None or _READ_BY_TOOLS.search(line[at:]) else line[:at]
        if number in literal or code.strip():
            yield code.rstrip()


@cache
def _tokens(suffix: str) -> re.Pattern[str]:
    literals = next(pattern for suffixes, pattern in _LITERALS if suffix in suffixes)
    return re.compile(f"(?sm){literals}|{_COMMENTS[_MARKS[suffix]]}")


def _find_literal_lines(text: str, suffix: str) -> set[int]:
    """Return the numbers, from 0, of the lines that begin inside a string or a block comment."""
    found: set[int] = set()
    line = position = 0
    for match in _tokens(suffix).finditer(text):
        line += text.count("\n", position, match.start())
        inside = match[0].count("\n")
        found.update(range(line + 1, line + inside + 1))
        line, position = line + inside, match.end()
    return found


def _find_comment(line: str, mark: str) -> int | None:
    """Return where a comment begins: at the start or behind a blank, and not in a quoted text."""
    at, counted = line.find(mark), 0
    open_quotes: set[str] = set()
    while at >= 0:
        open_quotes ^= {quote for quote in _QUOTES if line.count(quote, counted, at) % 2}
        counted = at
        if (not at or line[at - 1].isspace()) and not open_quotes:
            return at
        at = line.find(mark, at + 1)
    return None


def pieces_of_edit(edit: FileEdit) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the old and the new lines of each hunk, of each replacement, or of the whole file.

    The lines have `-` and `+` in front, those around the change in a hunk a blank. Yield nothing if they are unknown.
    """
    if edit.hunks:
        for hunk in edit.hunks:
            yield [line for line in hunk.lines if line[:1] in " -"], [line for line in hunk.lines if line[:1] in " +"]
    elif edit.replacements:
        for each in edit.replacements:
            yield _marked(each.old, "-"), _marked(each.new, "+")
    elif edit.before is not None and edit.after is not None:
        yield _marked(edit.before, "-"), _marked(edit.after, "+")


def _marked(text: str, mark: str) -> list[str]:
    return [mark + line for line in text.splitlines()]
