"""Calculate with the changed lines of texts: move changes to another text, join those of patches, find overlaps.

Lines are numbered from 1. Nothing here knows files or messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from scopes.model.file_edits import Hunk
from scopes.store.text_merge import LineChange, list_line_changes


class LineRange(NamedTuple):
    """Lines that both sides changed, from 1, in the text of the merge base and in both new ones; the last is included.

    An empty range has a `last` before its `first`. A range that is not known is None.
    """

    base: tuple[int, int] | None
    target: tuple[int, int] | None
    source: tuple[int, int] | None


def overlapping_ranges(
    target: Sequence[LineChange], source: Sequence[LineChange], texts: tuple[str, str] | None = None
) -> tuple[LineRange, ...]:
    """Return the places that both sides changed, also where the changes only touch each other, as git merges them.

    Places with equal lines in the new texts of target and source are left out, if these texts are given.
    """
    spans = sorted(
        (_start(change), _start(change) + change.old_lines, side, change)
        for side, changes in enumerate((target, source))
        for change in changes
    )
    groups: list[tuple[int, int, tuple[list[LineChange], list[LineChange]]]] = []
    for start, end, side, change in spans:
        if groups and start <= groups[-1][1]:
            first, last, members = groups.pop()
            members[side].append(change)
            groups.append((first, max(last, end), members))
        else:
            members = ([], [])
            members[side].append(change)
            groups.append((start, end, members))
    found = (
        LineRange((start, end - 1), _new_range(members[0], start, end), _new_range(members[1], start, end))
        for start, end, members in groups
        if members[0] and members[1]
    )
    if texts is None:
        return tuple(found)
    lines = [_split(text) for text in texts]
    return tuple(each for each in found if _slice(lines[0], each.target) != _slice(lines[1], each.source))


def _split(text: str) -> list[str]:
    """Return the lines of a text as git counts them: form feeds and other separators of Unicode end no line."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _slice(lines: Sequence[str], wanted: tuple[int, int] | None) -> Sequence[str]:
    return () if wanted is None else lines[wanted[0] - 1 : wanted[1]]


def list_moved_changes(first: tuple[str, str], source: str) -> list[LineChange]:
    """Return the changes of the source as changes of the text that the target began with.

    A change that this text has already is left out. One at lines that differ in it replaces all of these lines.
    """
    between = list_line_changes(first[1], first[0])
    old_lines, new_lines = _split(first[0]), _split(source)
    found: list[LineChange] = []
    for change in list_line_changes(first[1], source):
        start, end = _start(change), _start(change) + change.old_lines
        touched = [each for each in between if _start(each) <= end and start <= _start(each) + each.old_lines]
        lines = new_lines[_new_start(change) - 1 :][: change.new_lines]
        if any(_contains(each, change, old_lines, lines) for each in touched):
            continue
        start, end = (
            min([start, *map(_start, touched)]),
            max([end, *(_start(each) + each.old_lines for each in touched)]),
        )
        offset = sum(_growth(each) for each in between if _start(each) + each.old_lines < start)
        length = end - start + sum(map(_growth, touched))
        found.append(_change(start + offset, length, _new_start(change), change.new_lines))
    return found


def kept_share(old: str, new: str, later: str) -> float:
    """Return how many of the lines that `new` has and `old` has not are in a later text too, from 0 to 1."""
    added = {number for each in list_line_changes(old, new) for number in _numbers(_new_start(each), each.new_lines)}
    gone = {number for each in list_line_changes(new, later) for number in _numbers(_start(each), each.old_lines)}
    return len(added - gone) / len(added) if added else 0.0


def was_changed_throughout(old: str, new: str, later: str) -> bool:
    """Return True if a later text has other lines than `old` wherever `new` has: it may have been made of `new`."""
    places = [(_start(each), _start(each) + each.old_lines) for each in list_line_changes(old, later)]
    return all(
        any(start <= _start(each) + each.old_lines and _start(each) <= end for start, end in places)
        for each in list_line_changes(old, new)
    )


def _numbers(start: int, count: int) -> range:
    return range(start, start + count)


def _contains(outer: LineChange, inner: LineChange, outer_lines: Sequence[str], inner_lines: Sequence[str]) -> bool:
    """Return True if a change of the same text has made another change too: the same lines at the same place."""
    start, end = _start(outer), _start(outer) + outer.old_lines
    if _start(inner) < start or end < _start(inner) + inner.old_lines:
        return False
    lines = outer_lines[_new_start(outer) - 1 :][: outer.new_lines]
    count = len(inner_lines)
    return any(lines[at : at + count] == inner_lines for at in range(len(lines) - count + 1))


def _growth(change: LineChange) -> int:
    return change.new_lines - change.old_lines


def lines_before(edits: Sequence[Sequence[Hunk]]) -> dict[int, str]:
    """Return the lines of the first text that several patches, made one after the other, show; by their numbers.

    White space is left out: Claude Code writes tabs as blanks.
    """
    lines: dict[int, str] = {}
    for number, hunks in enumerate(edits):
        changes = changes_of(edits[:number])
        for hunk in hunks:
            old = (line[1:] for line in hunk.lines if line[:1] in {" ", "-"})
            for at, line in enumerate(old, hunk.old_start):
                above = [each for each in changes if _new_start(each) <= at]
                if all(_new_start(each) + each.new_lines <= at for each in above):
                    lines.setdefault(at - sum(map(_growth, above)), "".join(line.split()))
    return lines


def changes_of(edits: Sequence[Sequence[Hunk]]) -> list[LineChange]:
    """Return the changes of several patches, made one after the other, as one list of changes to the first text."""
    changes: list[LineChange] = []
    for hunks in edits:
        added = [change for hunk in hunks for change in _without_context(hunk)]
        shifted = 0
        for change in added:
            # a patch counts lines as they were before its first hunk
            changes = _add_change(changes, change, shifted)
            shifted += change.new_lines - change.old_lines
    return changes


def _add_change(changes: Sequence[LineChange], change: LineChange, shifted: int) -> list[LineChange]:
    """Add a change of the text that `changes` lead to; `shifted` lines were added above it by its own patch."""
    start = _start(change) + shifted
    end = start + change.old_lines
    grown = change.new_lines - change.old_lines
    before: list[LineChange] = []
    after: list[LineChange] = []
    touched: list[LineChange] = []
    offset = 0
    for known in changes:
        known_start = _new_start(known)
        if known_start + known.new_lines < start:
            before.append(known)
            offset += known.new_lines - known.old_lines
        elif known_start > end:
            after.append(known._replace(new_start=known.new_start + grown))
        else:
            touched.append(known)
    first, last = start - offset, end - offset
    new_first, new_last = start, end
    for known in touched:
        first = min(first, _start(known))
        new_first = min(new_first, _new_start(known))
        new_last = max(new_last, _new_start(known) + known.new_lines)
    inner = sum(known.new_lines - known.old_lines for known in touched)
    last = first + (new_last - new_first) - inner
    merged = _change(first, last - first, new_first, new_last - new_first + grown)
    return [*before, merged, *after]


def _without_context(hunk: Hunk) -> list[LineChange]:
    """Return the changes of a hunk without its context lines."""
    old, new = (_at(hunk.old_start, hunk.old_lines), _at(hunk.new_start, hunk.new_lines))
    found: list[LineChange] = []
    removed = added = 0
    for line in (*hunk.lines, " "):
        mark = line[:1]
        if mark == "-":
            removed += 1
        elif mark == "+":
            added += 1
        elif mark == " ":
            if removed or added:
                found.append(_change(old, removed, new, added))
            old, new, removed, added = old + removed + 1, new + added + 1, 0, 0
    return found


def _change(old: int, removed: int, new: int, added: int) -> LineChange:
    """Return a change with git's numbers: the start of an empty range is the line before it."""
    return LineChange(old if removed else old - 1, removed, new if added else new - 1, added)


def _at(start: int, count: int) -> int:
    return start if count else start + 1


def _start(change: LineChange) -> int:
    return _at(change.old_start, change.old_lines)


def _new_start(change: LineChange) -> int:
    return _at(change.new_start, change.new_lines)


def _new_range(changes: Sequence[LineChange], start: int, end: int) -> tuple[int, int]:
    """Return the lines that a side has instead of the lines from `start` to before `end` of the base."""
    first, last = changes[0], changes[-1]
    below = last.new_lines + end - _start(last) - last.old_lines
    return _new_start(first) - (_start(first) - start), _new_start(last) + below - 1
