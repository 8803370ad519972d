"""Compare and merge texts with git's own xdiff; the objects it needs exist in memory only, never in a store."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from scopes.store.libgit2 import pygit2

MAX_TEXT = 1 << 20  # characters of a text that is compared
_MAX_PAIRS = 1 << 30  # of equal lines in two texts: 30,000 lines that are all alike
_BASE, _TARGET, _SOURCE = "base", "target", "source"  # also the labels of the conflict markers
_MODE = pygit2.enums.FileMode.BLOB
_ESCAPE = "\U0010fffd"  # a character for private use
_ESCAPED = re.compile(f"[\0{_ESCAPE}\ud800-\udfff]")
_ESCAPES = re.compile(f"{_ESCAPE}([0-9a-f]{{6}})")


class LineChange(NamedTuple):
    """Lines of one text that another one has instead; lines are numbered from 1, a count may be 0."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int


class MergedText(NamedTuple):
    """A merged text; with `conflicts`, it has markers around what both sides changed differently."""

    text: str
    conflicts: bool


class _MemoryObjects(pygit2.OdbBackend):
    """Objects of a repository without files."""

    def __init__(self) -> None:
        super().__init__()
        self._objects: dict[pygit2.Oid, tuple[int, bytes]] = {}

    def read_cb(self, oid: pygit2.Oid) -> tuple[int, bytes]:
        return self._objects[oid]

    def read_header_cb(self, oid: pygit2.Oid) -> tuple[int, int]:
        kind, data = self._objects[oid]
        return kind, len(data)

    def exists_cb(self, oid: pygit2.Oid) -> bool:
        return oid in self._objects

    def write_cb(self, oid: pygit2.Oid, data: bytes, kind: int) -> None:
        self._objects[oid] = kind, data

    def refresh_cb(self) -> None:
        """Nothing else writes these objects."""

    def __iter__(self) -> Iterator[pygit2.Oid]:
        return iter(self._objects)


def is_costly(old: str, new: str) -> bool:
    """Return True if a comparison would take seconds: so many lines of one text are equal to many of the other one."""
    if old == new or min(len(old), len(new)) ** 2 <= _MAX_PAIRS:
        return False
    lines = Counter(old.split("\n"))
    return sum(count * lines[line] for line, count in Counter(new.split("\n")).items()) > _MAX_PAIRS


def diff_texts(old: str, new: str, old_name: str, new_name: str) -> str:
    """Return the unified diff of two texts; empty if they are equal."""
    one, two = _encode(old), _encode(new)  # libgit2 reads them until the text is made: they must not be freed before
    patch = pygit2.Patch.create_from(one, two)
    text = _decode((patch.data or b"").decode("utf-8", "replace"))
    start = text.find("@@ ")
    return f"--- {old_name}\n+++ {new_name}\n{text[start:]}" if start >= 0 else ""


def list_line_changes(old: str, new: str) -> list[LineChange]:
    """Return the changed lines between two texts, without context, in order."""
    one, two = _encode(old), _encode(new)
    patch = pygit2.Patch.create_from(one, two, context_lines=0)
    return [LineChange(hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines) for hunk in patch.hunks]


def merge_texts(base: str, target: str, source: str) -> MergedText:
    """Merge two texts that were both made from `base`."""
    if source in {base, target} or target == base:  # also because pygit2 cannot read an empty merged text
        return MergedText(target if source == base else source, conflicts=False)
    objects = pygit2.Odb()
    objects.add_backend(_MemoryObjects(), 1)
    repository = pygit2.Repository()
    repository.set_odb(objects)
    ancestor, ours, theirs = (
        pygit2.IndexEntry(name, repository.create_blob(_encode(text)), _MODE)
        for name, text in ((_BASE, base), (_TARGET, target), (_SOURCE, source))
    )
    merged = repository.merge_file_from_index(ancestor, ours, theirs)
    return MergedText(_decode(str(merged.contents)), not merged.automergeable)


def _encode(text: str) -> bytes:
    """Return a text in UTF-8, with escapes for NUL and for lone surrogates: different texts stay different.

    pygit2 decodes a merged text strictly, so surrogates cannot be encoded as they are. It finds no lines in a text with
    NUL, and cannot merge it.
    """
    return _ESCAPED.sub(lambda match: f"{_ESCAPE}{ord(match[0]):06x}", text).encode()


def _decode(text: str) -> str:
    return _ESCAPES.sub(lambda match: chr(int(match[1], 16)), text)
