"""Which lines a tool call added to which files, as the stored call and its result say.

The hunks that an agent recorded come first, because they are what was written; else the new text minus the old one. A
whole file that was written over an unknown one counts as added completely.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from scopes.code_links.known_texts import KnownTexts
from scopes.code_links.line_hash import normalize_line
from scopes.history.activity import is_failed
from scopes.model.message import Part
from scopes.model.tools import FileEdit, edits_of_result, is_refused

MAX_LINES = 50_000  # of one call; a larger file is data


class AddedLines(NamedTuple):
    """The lines that a call added to a file, each once, without blanks at the ends."""

    path: str
    lines: Sequence[str]

    @property
    def base_name(self) -> str:
        """The last part of the path, with either kind of separator."""
        return base_name_of(self.path)


def base_name_of(path: str) -> str:
    """Return the last part of a path, with either kind of separator."""
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]


def list_added(call: Part, result: Part, texts: KnownTexts | None = None) -> list[AddedLines]:
    """Return what a call added, one entry a file; nothing if the call failed, was refused, or changed no file.

    `texts` are those of the files before the call, as far as they are known; they are changed to those after it.
    """
    if is_failed(result) or is_refused(result):
        return []
    texts = texts or KnownTexts()
    found: dict[str, dict[str, None]] = {}
    for edit in edits_of_result(call, result):
        if edit.op == "read":
            continue
        lines = found.setdefault(edit.path, {})
        for line in _walk_added(edit, texts):
            text = normalize_line(line)
            if text and len(lines) < MAX_LINES:
                lines[text] = None
        texts.take(edit)
    return [AddedLines(path, tuple(lines)) for path, lines in found.items() if lines]


def _walk_added(edit: FileEdit, texts: KnownTexts) -> Iterator[str]:
    if edit.op == "delete":
        return
    if edit.hunks:
        for hunk in edit.hunks:
            yield from (line[1:] for line in hunk.lines if line.startswith("+"))
    elif edit.replacements:
        for each in texts.complete(edit):
            yield from _walk_new(each.old, each.new)
    elif edit.after is not None:
        yield from _walk_new(edit.before or "", edit.after)


def _walk_new(old: str, new: str) -> Iterator[str]:
    """Yield the lines of a text that another one has not, or has less often."""
    left = Counter(map(normalize_line, old.splitlines()))
    for line in new.splitlines():
        text = normalize_line(line)
        if left[text] > 0:
            left[text] -= 1
        else:
            yield line
