"""Tell whether the text that one side of a merge began with, later than the other side, has all edits of that side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from scopes.merge.file_steps import Step
from scopes.merge.file_texts import find_first_text, follow_steps, is_binary, list_hunks
from scopes.merge.line_ranges import has_all_changes
from scopes.merge.patched_lines import join_patches
from scopes.store.text_merge import is_costly

_MOVES_COMMITS = {"Bash git rebase"}  # onto another commit, with their changes


def has_all_edits(steps: Sequence[Step], later: str) -> bool:
    """Return True if a later text has all edits of a side whose last text is not known.

    They are patches; or edits of a known text, whose commits git moved after the last edit.
    """
    if is_binary(later):
        return False
    hunks = list_hunks(steps)
    patched = None if hunks is None else join_patches(hunks)
    return (patched is not None and patched.is_in(later)) or _has_moved_edits(steps, later)


def _has_moved_edits(steps: Sequence[Step], later: str) -> bool:
    edits = list(steps)
    while edits and edits[-1].edit is None and edits[-1].cause in _MOVES_COMMITS:
        edits.pop()
    first = find_first_text(edits)
    side = follow_steps(edits, first)
    if len(edits) == len(steps) or first is None or side.text is None or side.deleted or side.formatter is not None:
        return False
    if is_binary(first) or any(is_costly(*pair) for pair in combinations((first, side.text, later), 2)):
        return False
    return has_all_changes(first, side.text, later)
