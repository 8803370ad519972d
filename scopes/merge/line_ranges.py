"""Calculate with the changed lines of texts: move changes to another text, find overlaps.

Lines are numbered from 1. Nothing here knows files or messages.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

from scopes.merge.patched_lines import change_of
from scopes.store.text_merge import LineChange, list_line_changes

_MAX_PLACES = 100  # where the lines of a change are looked for in another change
ReadLines: TypeAlias = Callable[[int, int], Sequence[Any]]
"""Returns the lines from a first to a last number, which is included."""


class LineRange(NamedTuple):
    """Lines that both sides changed, from 1, in the text of the merge base and in both new ones; the last is included.

    An empty range has a `last` before its `first`. A range that is not known is None.
    """

    base: tuple[int, int] | None
    target: tuple[int, int] | None
    source: tuple[int, int] | None


class ChangeGroup(NamedTuple):
    """Changes of target and source to the lines from `start` to before `end` of the merge base."""

    start: int
    end: int
    changes: tuple[list[LineChange], list[LineChange]]


def group_changes(target: Sequence[LineChange], source: Sequence[LineChange]) -> list[ChangeGroup]:
    """Group the changes of both sides that overlap or touch each other, as git merges them; in order."""
    spans = sorted(
        (_start(change), _start(change) + change.old_lines, side, change)
        for side, changes in enumerate((target, source))
        for change in changes
    )
    groups: list[ChangeGroup] = []
    for start, end, side, change in spans:
        if groups and start <= groups[-1].end:
            group = groups[-1]
            groups[-1] = group._replace(end=max(group.end, end))
        else:
            group = ChangeGroup(start, end, ([], []))
            groups.append(group)
        group.changes[side].append(change)
    return groups


def overlapping_ranges(groups: Iterable[ChangeGroup], lines: tuple[ReadLines, ReadLines]) -> tuple[LineRange, ...]:
    """Return the places that both sides changed to different lines; `lines` reads the new texts."""
    found = []
    for start, end, (target, source) in groups:
        if target and source:
            ranges = _new_range(target, start, end), _new_range(source, start, end)
            if lines[0](*ranges[0]) != lines[1](*ranges[1]):
                found.append(LineRange((start, end - 1), *ranges))
    return tuple(found)


def lines_of(text: str) -> ReadLines:
    """Return a function that returns the lines of a text, given the numbers of the first and the last one."""
    lines = _split(text)
    return lambda first, last: lines[first - 1 : last]


def _split(text: str) -> list[str]:
    """Return the lines of a text as git counts them: form feeds and other separators of Unicode end no line."""
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


class _ChangedText:
    """The changes that lead from one text to another, and the lines of the latter; finds both by binary search."""

    def __init__(self, old: str, new: str) -> None:
        self.changes = list_line_changes(old, new)
        self._lines = _split(new)
        self._starts = [_start(each) for each in self.changes]
        self._ends = [_start(each) + each.old_lines for each in self.changes]
        self._growth = [0, *accumulate(map(_growth, self.changes))]
        self._places: dict[str, list[int]] = {}
        for number, line in enumerate(self._lines):
            self._places.setdefault(line, []).append(number)

    def touching(self, start: int, end: int) -> range:
        """Return the indexes of the changes that overlap or touch the lines of the old text before `end`."""
        first = bisect_left(self._ends, start)
        return range(first, max(first, bisect_right(self._starts, end)))

    def growth(self, indexes: range) -> int:
        """Return how many lines consecutive changes added, less those that they removed."""
        return self._growth[indexes.stop] - self._growth[indexes.start]

    def has(self, index: int, change: LineChange, lines: Sequence[str]) -> bool:
        """Return True if a change has made another change of the old text too: the same lines at the same place."""
        own = self.changes[index]
        if _start(change) < self._starts[index] or self._ends[index] < _start(change) + change.old_lines:
            return False
        first = _new_start(own) - 1
        last = first + own.new_lines - len(lines)  # where the lines could begin
        if not lines:
            return True
        rarest = min(range(len(lines)), key=lambda at: len(self._places.get(lines[at], ())))
        places = self._places.get(lines[rarest], [])
        begin, end = bisect_left(places, first + rarest), bisect_right(places, last + rarest)
        tried = (place - rarest for place in places[begin : min(end, begin + _MAX_PLACES)])
        return any(self._lines[place : place + len(lines)] == lines for place in tried)


def list_moved_changes(first: tuple[str, str], source: str) -> list[LineChange]:
    """Return the changes of the source as changes of the text that the target began with.

    A change that this text has already is left out. One at lines that differ in it replaces all of these lines.
    """
    between = _ChangedText(first[1], first[0])
    new_lines = lines_of(source)
    found: list[LineChange] = []
    for change in list_line_changes(first[1], source):
        start, end = _start(change), _start(change) + change.old_lines
        touched = between.touching(start, end)
        lines = new_lines(_new_start(change), _new_start(change) + change.new_lines - 1)
        if any(between.has(index, change, lines) for index in touched):
            continue
        if touched:
            outer = between.changes[touched[0]], between.changes[touched[-1]]
            start, end = min(start, _start(outer[0])), max(end, _start(outer[1]) + outer[1].old_lines)
        offset = between.growth(range(touched.start))
        length = end - start + between.growth(touched)
        found.append(change_of(start + offset, length, _new_start(change), change.new_lines))
    return found


def kept_share(old: str, new: str, later: str) -> float:
    """Return how many of the lines that `new` has and `old` has not are in a later text too, from 0 to 1."""
    added = {number for each in list_line_changes(old, new) for number in _numbers(_new_start(each), each.new_lines)}
    gone = {number for each in list_line_changes(new, later) for number in _numbers(_start(each), each.old_lines)}
    return len(added - gone) / len(added) if added else 0.0


def has_all_changes(old: str, new: str, later: str) -> bool:
    """Return True if a later text has all changes that lead from `old` to `new`.

    No later change is in the new lines, or next to them and with lines that were removed there. Where lines were only
    removed, there is no later change at all.
    """
    changes = list_line_changes(old, new)
    changed = _ChangedText(new, later)
    old_lines, later_lines = lines_of(old), lines_of(later)
    for each in changes:
        start, end = _new_start(each), _new_start(each) + each.new_lines
        removed = set(old_lines(_start(each), _start(each) + each.old_lines - 1))
        for other in (changed.changes[index] for index in changed.touching(start, end)):
            first, last = _start(other), _start(other) + other.old_lines
            is_next_to = start < end and (last <= start or first >= end)
            added = later_lines(_new_start(other), _new_start(other) + other.new_lines - 1)
            if not is_next_to or not removed.isdisjoint(added):
                return False
    return bool(changes)


def was_changed_throughout(old: str, new: str, later: str) -> bool:
    """Return True if a later text has other lines than `old` wherever `new` has: it may have been made of `new`."""
    changed = _ChangedText(old, later)
    return all(changed.touching(_start(each), _start(each) + each.old_lines) for each in list_line_changes(old, new))


def _numbers(start: int, count: int) -> range:
    return range(start, start + count)


def _growth(change: LineChange) -> int:
    return change.new_lines - change.old_lines


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
