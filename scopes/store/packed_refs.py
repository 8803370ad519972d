"""Parse `packed-refs`, with `os` and string methods alone: completion has five milliseconds."""

from __future__ import annotations

import os

from scopes.regular_file import read_regular

MAX_PACKED_REFS_BYTES = 256 << 20  # about two million refs
_NAME_START = 41  # after the object id and a space


def read_packed_refs(store: str) -> bytes:
    """Return the content of a store's `packed-refs`; empty if there is no such file.

    Raises:
        UnusableFile: it is not a regular file, or it is too large.
        OSError: the file cannot be read.
    """
    try:
        return read_regular(os.path.join(store, "packed-refs"), MAX_PACKED_REFS_BYTES)
    except FileNotFoundError:
        return b""


def parse_packed_refs(content: bytes, prefixes: tuple[str, ...]) -> dict[str, str]:
    """Return object ids by ref name, for the names that begin with one of the prefixes.

    Lines that are not refs (the header, peeled tags, damage) are skipped, and so is an incomplete last line.
    """
    return {line[_NAME_START:]: line[: _NAME_START - 1] for line in _choose_lines(content, prefixes)}


def parse_packed_names(content: bytes, prefixes: tuple[str, ...]) -> list[str]:
    """Return the names of the refs of `parse_packed_refs`."""
    return [line[_NAME_START:] for line in _choose_lines(content, prefixes)]


def _choose_lines(content: bytes, prefixes: tuple[str, ...]) -> list[str]:
    """Return the lines with refs that begin with a prefix; only those from the first to the last one are looked at.

    The file is sorted, so that few others are between them: a store has thousands of refs, a conversation a few.
    """
    marks = [b" " + prefix.encode("utf-8", "surrogateescape") for prefix in prefixes]
    places = [place for mark in marks for place in (content.find(mark), content.rfind(mark)) if place >= 0]
    if not places:
        return []
    end = content.find(b"\n", max(places)) + 1 or content.rfind(b"\n") + 1  # the last line may be incomplete
    *lines, _ = content[content.rfind(b"\n", 0, min(places)) + 1 : end].decode("utf-8", "surrogateescape").split("\n")
    return [line for line in lines if line.startswith(prefixes, _NAME_START)]
