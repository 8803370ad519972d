"""Join patches of a text that is not recorded: which of its lines they replace, and by which lines.

Between the hunks the text is unknown: only its lines are counted. Lines are numbered from 1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from scopes.model.file_edits import Hunk
from scopes.store.text_merge import LineChange

_MAX_LINE = 1 << 40
_NO_NEWLINE = "\n\\"  # ends a line at the end of a file without a newline: no other line has it
_ALL_LINES = 1 << 60  # of the first text, whose length is unknown
_MAX_PLACES = 100  # where a run of lines is looked for
_ENOUGH_LINES = 2  # with words; one line may be equal by chance


class _Piece(NamedTuple):
    """Consecutive lines: `size` lines of the first text from its line `base`, or new lines if `base` is 0."""

    base: int
    size: int
    lines: tuple[str, ...] = ()


class PatchedText:
    """The text that several patches lead to.

    Attributes:
        changes: Its changes of the first text, in order.
        shown: The lines of the first text that the patches show, by their numbers.
    """

    def __init__(self, pieces: Sequence[_Piece], shown: Mapping[int, str]) -> None:
        self.shown = shown
        self._pieces = pieces
        self._starts = list(accumulate((piece.size for piece in pieces), initial=1))
        self.changes = list(_list_changes(pieces, shown))

    def read_lines(self, first: int, last: int, known: Mapping[int, str]) -> list[str | int]:
        """Return lines of the new text; those of the first text that are not `known` as their numbers there."""
        found: list[str | int] = []
        index = bisect_right(self._starts, first) - 1
        while first <= last:
            piece, skipped = self._pieces[index], first - self._starts[index]
            part = _part(piece, skipped, min(piece.size - skipped, last - first + 1))
            found += part.lines or (known.get(line, line) for line in range(part.base, part.base + part.size))
            first += part.size
            index += 1
        return found

    def began_with(self, other: PatchedText) -> bool:
        """Return True if these patches were made to the text that other ones lead to.

        They show at least two lines with words that the other ones added, and every known line of that text as it is.
        """
        found = 0
        for number, line in self.shown.items():
            (known,) = other.read_lines(number, number, other.shown)
            if isinstance(known, str):
                if known.split() != line.split():
                    return False
                added = not isinstance(other.read_lines(number, number, {})[0], int)
                found += added and any(map(str.isalnum, line))
        return found >= _ENOUGH_LINES

    def is_in(self, text: str) -> bool:
        """Return True if a text has all changes, and at least two of the new lines have words.

        Each run of lines that the patches show around a change is at one place of the text only; the runs are in order.
        Every change has a line of the first text before it and after it. So lines that were only removed count too.
        If a run only adds lines, somebody may have changed what is before them, or what is after them.
        """
        lines = text.split("\n")
        places: dict[str, list[int]] = {}
        for number, line in enumerate(lines):
            places.setdefault(line, []).append(number)
        added = position = 0
        for run, is_enclosed, has_removed in self._list_runs():
            if not is_enclosed:
                return False
            new = [number for number, (_, is_new) in enumerate(run) if is_new]
            words = sum(any(map(str.isalnum, run[number][0])) for number in new)
            tried = [run]
            if not has_removed and words >= _ENOUGH_LINES:  # somebody may have inserted lines before or after them
                tried += [run[: new[-1] + 1], run[new[0] :]]
            for each in tried:
                starts = _find_run(lines, places, [line for line, _ in each])
                if starts:
                    break
            if len(starts) != 1 or starts[0] < position:
                return False
            position = starts[0] + len(each)
            added += words
        return added >= _ENOUGH_LINES

    def _list_runs(self) -> Iterator[tuple[list[tuple[str, bool]], bool, bool]]:
        """Yield the lines of each run with a change, if each is new, if the run is enclosed, if lines are gone.

        A line of the first text comes before the first change of an enclosed run, and one after the last change.
        """
        run: list[tuple[str, bool]] = []
        is_changed, is_enclosed, has_removed, base = False, True, False, 1
        for piece in self._pieces:
            if not piece.base:
                is_enclosed = is_enclosed and bool(run)
                run += [(line, True) for line in piece.lines]
                is_changed = True
                continue
            if piece.base != base:  # lines were removed
                is_enclosed = is_enclosed and bool(run)
                is_changed = has_removed = True
            end = base = piece.base + piece.size
            head = self._known_end(piece.base, end, 1)
            run += [(self.shown[line], False) for line in range(piece.base, head)]
            if head == end:
                continue
            if is_changed:
                yield run, is_enclosed and head > piece.base, has_removed
            # the lines before the next change
            run = [(self.shown[line], False) for line in range(self._known_end(end - 1, head - 1, -1) + 1, end)]
            is_changed, is_enclosed, has_removed = False, True, False

    def _known_end(self, first: int, end: int, step: int) -> int:
        """Return the first number from a line on, up to `end`, whose line of the first text is not shown."""
        return next((line for line in range(first, end, step) if line not in self.shown), end)


def _find_run(lines: Sequence[str], places: Mapping[str, Sequence[int]], run: Sequence[str]) -> list[int]:
    """Return where consecutive lines begin in a text, of whose lines the places are given; nothing for too many."""
    rarest = min(range(len(run)), key=lambda at: len(places.get(run[at], ())))
    tried = [place - rarest for place in places.get(run[rarest], ())]
    if len(tried) > _MAX_PLACES:
        return []
    return [start for start in tried if start >= 0 and list(lines[start : start + len(run)]) == run]


def join_patches(edits: Sequence[Sequence[Hunk]]) -> PatchedText | None:
    """Join the hunks of patches that were made one after the other; None if hunks of one patch overlap."""
    pieces = [_Piece(1, _ALL_LINES)]
    shown: dict[int, str] = {}
    for hunks in edits:
        found = _apply(pieces, hunks, shown)
        if found is None:
            return None
        pieces = found
    return PatchedText(pieces, shown)


class _Cursor:
    """A place in the lines of pieces; `line` is the number of the next line."""

    def __init__(self, pieces: Sequence[_Piece]) -> None:
        self.line = 1
        self._pieces = pieces
        self._index = 0
        self._skipped = 0  # lines of the current piece

    def take(self, count: int) -> Iterator[_Piece]:
        """Yield the next lines; fewer at the end of the text."""
        while count > 0 and self._index < len(self._pieces):
            piece = self._pieces[self._index]
            part = _part(piece, self._skipped, min(count, piece.size - self._skipped))
            yield part
            count -= part.size
            self.line += part.size
            self._skipped += part.size
            if self._skipped == piece.size:
                self._index, self._skipped = self._index + 1, 0


def _part(piece: _Piece, skipped: int, count: int) -> _Piece:
    if piece.base:
        return _Piece(piece.base + skipped, count)
    return _Piece(0, count, piece.lines[skipped : skipped + count])


def _apply(pieces: Sequence[_Piece], hunks: Sequence[Hunk], shown: dict[int, str]) -> list[_Piece] | None:
    """Apply one patch, whose hunks count lines as they were before it; add the lines of the first text to `shown`."""
    cursor = _Cursor(pieces)
    result: list[_Piece] = []
    for hunk in hunks:
        start = hunk.old_start if hunk.old_lines else hunk.old_start + 1
        if not cursor.line <= start <= _MAX_LINE:
            return None
        result += cursor.take(start - cursor.line)
        for number, line in enumerate(hunk.lines):
            mark, text = line[:1], line[1:]
            if hunk.lines[number + 1 : number + 2] and hunk.lines[number + 1].startswith("\\"):
                text += _NO_NEWLINE
            if mark == "+":
                result.append(_Piece(0, 1, (text,)))
            for piece in cursor.take(1) if mark in {" ", "-"} else ():
                if piece.base:
                    shown.setdefault(piece.base, text)
                if mark == " ":
                    result.append(piece)
    return _joined([*result, *cursor.take(_ALL_LINES)])


def _joined(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Join neighbours that continue each other."""
    found: list[_Piece] = []
    added: list[str] = []
    for piece in (*pieces, _Piece(_ALL_LINES, 0)):
        if not piece.base:
            added += piece.lines
            continue
        if added:
            found.append(_Piece(0, len(added), tuple(added)))
            added = []
        last = found[-1] if found else _Piece(0, 0)
        if last.base and last.base + last.size == piece.base:
            found[-1] = _Piece(last.base, last.size + piece.size)
        elif piece.size:
            found.append(piece)
    return found


def _list_changes(pieces: Sequence[_Piece], shown: Mapping[int, str]) -> Iterator[LineChange]:
    base = new = 1
    lines: tuple[str, ...] = ()
    for piece in pieces:
        if not piece.base:
            lines = piece.lines
            continue
        if lines or piece.base > base:
            yield from _trimmed(range(base, piece.base), new, lines, shown)
        new += len(lines) + piece.size
        base, lines = piece.base + piece.size, ()


def _trimmed(old: range, new: int, lines: Sequence[str], shown: Mapping[int, str]) -> Iterator[LineChange]:
    """Yield a change without equal lines at its ends; nothing if all are equal."""
    most = min(len(old), len(lines))
    head = next((at for at in range(most) if shown.get(old[at]) != lines[at]), most)
    most -= head
    tail = next((at for at in range(most) if shown.get(old[-1 - at]) != lines[-1 - at]), most)
    removed, added = len(old) - head - tail, len(lines) - head - tail
    if removed or added:
        yield change_of(old.start + head, removed, new + head, added)


def change_of(old: int, removed: int, new: int, added: int) -> LineChange:
    """Return a change with git's numbers: the start of an empty range is the line before it."""
    return LineChange(old if removed else old - 1, removed, new if added else new - 1, added)
