"""Compare what both sides of a merge made of a file: the same text, compatible changes, or lines that disagree.

Everything is derived from messages when a merge is planned or a conflict is shown. Nothing is stored, and no file of
the working tree is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Literal, NamedTuple, TypeAlias

from scopes.history.messages import message_id_of
from scopes.merge.conflict_keys import comparable_key, group_of, shown_key
from scopes.merge.detection import Disagreement
from scopes.merge.divergence import Divergence
from scopes.merge.file_texts import NOT_RECORDED, FileSide, ReadRecords, Step, find_first_text, follow_steps, list_steps
from scopes.merge.side_calls import SideCall
from scopes.model.conflicts import FILES
from scopes.model.file_edits import Hunk
from scopes.model.path_encoding import file_leaf
from scopes.store.text_merge import LineChange, diff_texts, list_line_changes, merge_texts

MAX_FILES = 200  # of one merge; further ones are listed without their contents
MAX_RANGES = 100
CONFLICT_BEGIN, CONFLICT_END = "<" * 7, ">" * 7
_CONTEXT = 3  # lines around a conflict that are shown
_LAST_RECORDED = "compared with the last text before the fork that is recorded"
Outcome: TypeAlias = Literal["same", "compatible", "overlap", "unknown"]


class LineRange(NamedTuple):
    """Lines that both sides changed, from 1, in the text of the merge base and in both new ones; the last is included.

    An empty range has a `last` before its `first`. A range that is not known is None.
    """

    base: tuple[int, int] | None
    target: tuple[int, int] | None
    source: tuple[int, int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileComparison:
    """What both sides made of one file.

    Attributes:
        outcome: "same" text; "compatible" changes, which do not touch each other; "overlap"; or "unknown".
        ranges: The lines that disagree, in order, at most MAX_RANGES.
        note: What else is known: why the contents are unknown, or that a side began with the text of the other one.
        base: The text at the merge base; None if it is unknown.
        merged: The merged text, with conflict markers if lines disagree; None if it is unknown.
    """

    key: str
    path: str
    outcome: Outcome
    target: FileSide
    source: FileSide
    ranges: tuple[LineRange, ...] = ()
    note: str | None = None
    base: str | None = None
    merged: str | None = None

    @property
    def agrees(self) -> bool:
        """True if this is no conflict."""
        return self.outcome in {"same", "compatible"}


def names_of_files(disagreements: Iterable[Disagreement]) -> dict[str, str]:
    """Return the last component of the path of each contested file, by key."""
    keys = [each.key for each in disagreements if group_of(each.key) == FILES]
    return {key: path_of(key).rpartition("/")[2] for key in keys}


def compare_files(
    divergence: Divergence,
    names: Mapping[str, str],
    calls: tuple[Sequence[SideCall], Sequence[SideCall]],
    read_records: ReadRecords,
    read_calls_before: Callable[[Collection[str]], Sequence[SideCall]],
) -> list[FileComparison]:
    """Compare contested files, given their names by key and the tool calls of target and source; sorted by path.

    `read_calls_before` returns the calls about files with given names in the history of the merge base; it is used for
    files whose text at the merge base is not in the edits of the sides.
    """
    compared = dict(list(names.items())[:MAX_FILES])
    key_of = lru_cache(maxsize=None)(partial(_key_of, directory=divergence.directory))
    steps = [list_steps(each, key_of, compared, read_records) for each in calls]
    own = [frozenset(map(message_id_of, side.commits)) for side in (divergence.target, divergence.source)]
    sides = {
        key: [
            [step for step in steps[side].get(key, ()) if step.message not in own[1 - side]] for side in (0, 1)
        ]
        for key in names
    }  # fmt: skip
    undecided = {key: names[key] for key in compared if _find_base(sides[key]) is None}
    before: Mapping[str, Sequence[Step]] = {}
    if undecided:
        before = list_steps(read_calls_before(set(undecided.values())), key_of, undecided, read_records)
    found = []
    for key in names:
        earlier = before.get(key, ())
        text = follow_steps(earlier, find_first_text(earlier)).text if earlier else None
        found.append(compare_steps(key, sides[key][0], sides[key][1], text))
    return sorted(found, key=lambda each: each.path)


def compare_steps(
    key: str, target_steps: Sequence[Step], source_steps: Sequence[Step], before: str | None = None
) -> FileComparison:
    """Compare the steps of both sides on one file; `before` is its text in the history of the merge base, if known."""
    first = [find_first_text(steps) for steps in (target_steps, source_steps)]
    base = _find_base([target_steps, source_steps])
    if base is None:
        base = first[0] if before is None or first[0] is not None else before
    target, source = follow_steps(target_steps, base), follow_steps(source_steps, base)
    shape = partial(FileComparison, key=key, path=path_of(key), target=target, source=source, base=base)
    if target.text is None or source.text is None:
        misfit = any(side.text is None and side.hunks is not None for side in (target, source))
        if base is not None and base in first and misfit:
            return shape(outcome="unknown", note="the sides began with different texts, of which one is not recorded")
        return _compare_hunks(shape, target, source)
    if (target.text, target.deleted) == (source.text, source.deleted):
        return shape(outcome="same", merged=target.text)
    if target.deleted or source.deleted:
        return shape(outcome="overlap", note=f"the {'target' if target.deleted else 'source'} deleted it")
    if first[0] is not None and first[1] is not None and first[0] != first[1]:
        return _compare_different_starts(shape, (first[0], first[1]), target.text, source.text)
    stale = before is not None and base == before and first == [None, None]
    return _merge_texts(shape, base, target.text, source.text, _LAST_RECORDED if stale else None)


def _compare_different_starts(
    shape: partial[FileComparison], first: tuple[str, str], target: str, source: str
) -> FileComparison:
    """Compare sides that began with different texts: the edits of the source are moved to the start of the target."""
    if first[1] == target:
        return shape(outcome="compatible", merged=source, note="the source edited the text of the target")
    if first[0] == source:
        return shape(outcome="compatible", merged=target, note="the target edited the text of the source")
    moved = merge_texts(first[1], first[0], source)
    note = "the sides began with different texts"
    if moved.conflicts:
        return _merge_texts(shape, first[0], target, source, note)
    return _merge_texts(shape, first[0], target, moved.text, f"{note}; only their edits are compared")


def _merge_texts(
    shape: partial[FileComparison], base: str | None, target: str, source: str, note: str | None
) -> FileComparison:
    """Compare two different texts with that at the merge base, or as two new files if that is unknown."""
    if base is None:
        base, note = "", "the text at the merge base is not recorded"
    merged = merge_texts(base, target, source)
    if not merged.conflicts:
        return shape(outcome="compatible", merged=merged.text, note=note)
    ranges = overlapping_ranges(list_line_changes(base, target), list_line_changes(base, source))
    return shape(outcome="overlap", merged=merged.text, ranges=ranges[:MAX_RANGES], note=note)


def _find_base(sides: Sequence[Sequence[Step]]) -> str | None:
    """Return the text that both sides began with, as far as they know it; None if they know none, or two."""
    first = {text for text in map(find_first_text, sides) if text is not None}
    return first.pop() if len(first) == 1 else None


def patch_of(comparison: FileComparison, side: FileSide, name: str) -> str:
    """Return the changes of one side as a unified diff: of its texts, or the hunks of its edits one after the other."""
    if comparison.base is not None and side.text is not None:
        return diff_texts(comparison.base, side.text, f"base/{comparison.path}", f"{name}/{comparison.path}")
    return "".join(_hunk_text(hunk) for hunks in side.hunks or () for hunk in hunks)


def conflict_hunks(merged: str) -> str:
    """Return the conflicts of a merged text with their markers and some lines around them; empty if it has none."""
    lines = merged.split("\n")
    begins = [number for number, line in enumerate(lines) if line == f"{CONFLICT_BEGIN} target"]
    ends = [number for number, line in enumerate(lines) if line == f"{CONFLICT_END} source"]
    kept = {
        number
        for begin, end in zip(begins, ends, strict=False)
        for number in range(max(begin - _CONTEXT, 0), min(end + _CONTEXT + 1, len(lines)))
    }
    found: list[str] = []
    for number in sorted(kept):
        if number - 1 not in kept:
            found.append(f"@@ line {number + 1} @@")
        found.append(lines[number])
    return "".join(f"{line}\n" for line in found)


def overlapping_ranges(target: Sequence[LineChange], source: Sequence[LineChange]) -> tuple[LineRange, ...]:
    """Return the places that both sides changed, also where the changes only touch each other, as git merges them."""
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
    return tuple(
        LineRange((start, end - 1), _new_range(members[0], start, end), _new_range(members[1], start, end))
        for start, end, members in groups
        if members[0] and members[1]
    )


def path_of(key: str) -> str:
    """Return the path of a file key as it is shown."""
    return shown_key(key).partition("/")[2]


def _key_of(path: str, directory: str | None) -> str:
    return comparable_key(f"{FILES}/{file_leaf(path, directory)}".removesuffix("="), directory)


def _why_unknown(unknown: Mapping[str, str]) -> str:
    """Return why contents are unknown as one text, given the reason of each side that has one."""
    details = {name: reason.partition(": ")[2] for name, reason in unknown.items()}
    if len(unknown) < 2 or {reason.partition(": ")[0] for reason in unknown.values()} != {NOT_RECORDED}:
        return "; ".join(f"{reason} ({name})" for name, reason in unknown.items())
    if len(set(details.values())) == 1:
        shared = next(iter(details.values()))
        return f"{NOT_RECORDED} on either side" + (f": {shared}" if shared else "")
    named = ", ".join(f"{detail} ({name})" for name, detail in details.items() if detail)
    return f"{NOT_RECORDED} on either side: {named}"


def _compare_hunks(shape: partial[FileComparison], target: FileSide, source: FileSide) -> FileComparison:
    """Compare sides whose texts are not all known by the lines that their patches changed."""
    if target.hunks is None or source.hunks is None:
        sides = {"target": target, "source": source}
        unknown = {name: side.unknown or "" for name, side in sides.items() if side.text is None and side.hunks is None}
        return shape(outcome="unknown", note=_why_unknown(unknown) or target.unknown or source.unknown)
    if target.hunks == source.hunks:
        return shape(outcome="same")
    ranges = overlapping_ranges(*(_changes_of(side.hunks or ()) for side in (target, source)))
    note = "compared by the line numbers of the patches"
    return shape(outcome="overlap" if ranges else "compatible", ranges=ranges[:MAX_RANGES], note=note)


def _changes_of(edits: Sequence[Sequence[Hunk]]) -> list[LineChange]:
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


def _hunk_text(hunk: Hunk) -> str:
    heading = f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@\n"
    return heading + "".join(f"{line}\n" for line in hunk.lines)
