"""Compare what both sides of a merge made of a file: the same text, compatible changes, or lines that disagree.

Everything is derived from messages when a merge is planned or a conflict is shown. Nothing is stored, and no file of
the working tree is read or written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import combinations
from typing import Literal, TypeAlias

from scopes.history.messages import message_id_of
from scopes.ids import MessageId
from scopes.merge.conflict_keys import comparable_file_key, comparable_key, decoded_key, group_of
from scopes.merge.detection import Disagreement
from scopes.merge.divergence import Divergence
from scopes.merge.file_claims import FileClaims
from scopes.merge.file_steps import (
    ReadRecords,
    Step,
    add_claims,
    find_last_path,
    follow_renames,
    list_sides,
    list_steps,
    list_trees,
    mark_shared,
    name_of,
    without_other_reads,
)
from scopes.merge.file_texts import (
    IS_BINARY,
    NOT_RECORDED,
    FileSide,
    find_first_text,
    follow_steps,
    have_same_edits,
    is_binary,
    is_later,
    is_result,
    list_hunks,
    without_shared,
)
from scopes.merge.later_texts import has_all_edits
from scopes.merge.line_ranges import (
    ChangeGroup,
    LineRange,
    group_changes,
    has_all_changes,
    kept_share,
    lines_of,
    list_moved_changes,
    overlapping_ranges,
    was_changed_throughout,
)
from scopes.merge.patched_lines import join_patches
from scopes.merge.same_commands import ran_same_commands
from scopes.merge.side_calls import SideCall
from scopes.model.claims import FILES
from scopes.model.file_edits import Hunk
from scopes.store.objects import Commit
from scopes.store.text_merge import diff_texts, is_costly, list_line_changes, merge_texts

MAX_FILES = 200  # of one merge; further ones are listed without their contents
MAX_RANGES = 100
CONFLICT_BEGIN, CONFLICT_END = "<" * 7, ">" * 7
_MOST = 0.5  # of the lines that a side changed
_MAX_SPAN = 100_000  # lines between the first and the last change of patches that are compared as one change
_CONTEXT = 3  # lines around a conflict that are shown
_ONE_UNKNOWN = "the sides began with different texts, of which one is not recorded"
_SHARED_BETWEEN = "messages that both sides have changed the line numbers between the other edits"
_SEVERAL_TREES = "a side changed it in several working trees"
_OTHER_TREE = "the sides changed it in different working trees, and a text before a change is not recorded"
_TOO_MANY_EQUAL = "too many equal lines to compare"
_MAY_BE_MADE = "of which one may be made of the other"
_LAST_RECORDED = "compared with the last text before the fork that is recorded"
Outcome: TypeAlias = Literal["same", "compatible", "overlap", "unknown"]


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
    return {key: name_of(key) for key in keys}


def compare_files(
    divergence: Divergence,
    names: Mapping[str, str],
    claims: tuple[FileClaims, FileClaims],
    *,
    read_calls: Callable[[Collection[str]], tuple[Sequence[SideCall], Sequence[SideCall]]],
    read_records: ReadRecords,
    read_calls_before: Callable[[Collection[str]], Sequence[SideCall]],
    read_claims_before: Callable[[], tuple[Sequence[Commit], FileClaims]],
) -> list[FileComparison]:
    """Compare contested files, given their names by key and the claims of both sides about files; sorted by path.

    `read_calls` returns the calls of target and source about files with given names, `read_calls_before` those in the
    history of the merge base, `read_claims_before` its commits, oldest first, and their claims; they are used for files
    whose text at the merge base is not in the edits of the sides.
    """
    compared = dict(list(names.items())[:MAX_FILES])
    key_of = lru_cache(maxsize=None)(partial(comparable_file_key, directory=divergence.directory))
    known = {
        comparable_key(key, divergence.directory)
        for side in (divergence.target, divergence.source)
        for key in side.changes
        if group_of(key) == FILES
    }
    sides = list_sides(read_calls, key_of, compared, read_records, divergence.directory, known=known)
    listed = [_own_steps(divergence, side, sides[side], claims[side]) for side in (0, 1)]
    followed = {key: follow_renames(key, [side.get(key, []) for side in listed], listed) for key in names}
    undecided = {followed[key][0] for key in compared if _find_base(followed[key][1]) is None}
    before: Mapping[str, Sequence[Step]] = {}
    if undecided:
        wanted = {key: name_of(key) for key in undecided}
        before = list_steps(read_calls_before(set(wanted.values())), key_of, wanted, read_records, divergence.directory)
        before = _with_claims(divergence, before, *read_claims_before())
    found = []
    for key, (first_key, steps) in followed.items():
        earlier = before.get(first_key, ())
        is_known = earlier and len(list_trees([*earlier, *steps[0], *steps[1]])) < 2
        text = follow_steps(earlier, find_first_text(earlier)).text if is_known else None
        compared_file = compare_steps(key, steps[0], steps[1], text)
        found.append(
            _compare_last_paths(compared_file, (find_last_path(key, listed[0]), find_last_path(key, listed[1])))
        )
    return sorted(found, key=lambda each: each.path)


def _compare_last_paths(found: FileComparison, paths: tuple[str | None, str | None]) -> FileComparison:
    """Compare the paths to which both sides renamed a file that is deleted at its old path on both; None: deleted."""
    if not (found.target.deleted and found.source.deleted) or paths[0] == paths[1]:
        return found
    target, source = ("deleted it" if path is None else f"renamed it to {path_of(path)}" for path in paths)
    return replace(found, outcome="overlap", note=f"the target {target}, the source {source}", merged=None)


def _own_steps(
    divergence: Divergence, number: int, listed: Mapping[str, Sequence[Step]], claims: FileClaims
) -> dict[str, list[Step]]:
    """Return the steps of a side, with its claims; those in messages that the other side has too are marked."""
    sides = divergence.target, divergence.source
    shared = {message_id_of(commit) for commit in sides[1 - number].commits}
    return _with_claims(divergence, listed, sides[number].commits, claims, shared)


def _with_claims(
    divergence: Divergence,
    listed: Mapping[str, Sequence[Step]],
    commits: Sequence[Commit],
    claims: FileClaims,
    shared: Collection[MessageId] = (),
) -> dict[str, list[Step]]:
    """Return steps by key with the claims and merges in the commits that they are from, which are oldest first."""
    order = {message_id_of(commit): at for at, commit in enumerate(commits)}
    found: dict[str, list[Step]] = {}
    for key, steps in listed.items():
        added = add_claims(steps, claims.get(comparable_key(key, divergence.directory), ()), order)
        found[key] = mark_shared(added, commits, shared)
    return found


def compare_steps(
    key: str, target_steps: Sequence[Step], source_steps: Sequence[Step], before: str | None = None
) -> FileComparison:
    """Compare the steps of both sides on one file; `before` is its text in the history of the merge base, if known."""
    target_steps, source_steps = without_other_reads(target_steps), without_other_reads(source_steps)
    obstacle = _find_other_tree(target_steps, source_steps)
    if obstacle is not None:
        target, source = (
            replace(follow_steps(steps, None), text=None, unknown=obstacle) for steps in (target_steps, source_steps)
        )
        path = path_of(key)
        return FileComparison(key=key, path=path, target=target, source=source, outcome="unknown", note=obstacle)
    found = _compare_steps(key, target_steps, source_steps, before)
    formatters = dict.fromkeys(side.formatter for side in (found.target, found.source) if side.formatter is not None)
    if not formatters or found.outcome == "unknown":
        return found
    note = f"what {', '.join(formatters)} changed is not counted"
    return replace(found, note=note if found.note is None else f"{found.note}; {note}")


def _compare_steps(
    key: str, target_steps: Sequence[Step], source_steps: Sequence[Step], before: str | None
) -> FileComparison:
    first = [find_first_text(steps) for steps in (target_steps, source_steps)]
    base = _find_base([target_steps, source_steps])
    if base is None:
        base = first[0] if before is None or first[0] is not None else before
    if base is None and first == [None, None] and any(map(_is_created, (target_steps, source_steps))):
        base = ""
    target, source = follow_steps(target_steps, base), follow_steps(source_steps, base)
    shape = partial(FileComparison, key=key, path=path_of(key), target=target, source=source, base=base)
    if target.text is None or source.text is None:
        return _compare_unknown(shape, first, base, (target, source), (target_steps, source_steps))
    if (target.text, target.deleted) == (source.text, source.deleted):
        return shape(outcome="same", merged=target.text)
    if target.deleted or source.deleted:
        return shape(outcome="overlap", note=f"the {'target' if target.deleted else 'source'} deleted it")
    obstacle = _find_obstacle((base, *first), (target.text, source.text))
    if obstacle is not None:
        return shape(outcome="unknown", note=obstacle)
    if first[0] is not None and first[1] is not None and first[0] != first[1]:
        later = is_later(target_steps, source_steps), is_later(source_steps, target_steps)
        starts, texts = (first[0], first[1]), (target.text, source.text)
        return _compare_different_starts(shape, starts, texts, later, before)
    stale = before is not None and base == before and first == [None, None]
    return _merge_texts(shape, base, target.text, source.text, _LAST_RECORDED if stale else None)


def _find_other_tree(target: Sequence[Step], source: Sequence[Step]) -> str | None:
    """Return why changes in several working trees cannot be compared; None if they can."""
    trees = list_trees(target), list_trees(source)
    if max(map(len, trees)) > 1:
        return _SEVERAL_TREES
    is_unknown = None in map(find_first_text, (target, source))
    return _OTHER_TREE if len(trees[0] | trees[1]) > 1 and is_unknown else None


def _find_obstacle(starts: Iterable[str | None], texts: tuple[str, str]) -> str | None:
    """Return why texts cannot be compared by lines; None if they can."""
    known = [text for text in dict.fromkeys((*starts, *texts)) if text is not None]
    if any(map(is_binary, known)):
        return IS_BINARY
    return _TOO_MANY_EQUAL if any(is_costly(*pair) for pair in combinations(known, 2)) else None


def _compare_unknown(
    shape: partial[FileComparison],
    first: Sequence[str | None],
    base: str | None,
    sides: tuple[FileSide, FileSide],
    steps: tuple[Sequence[Step], Sequence[Step]],
) -> FileComparison:
    """Compare sides whose texts are not both known."""
    own = without_shared(*steps)
    if own is None:
        return shape(outcome="unknown", note=_SHARED_BETWEEN)
    if (first[0] == first[1] and have_same_edits(*own)) or ran_same_commands(*steps, base):
        return shape(outcome="same")
    if own != (list(steps[0]), list(steps[1])):
        sides = replace(sides[0], hunks=list_hunks(own[0])), replace(sides[1], hunks=list_hunks(own[1]))
        compared = _compare_hunks(shape, *sides)
        # git compares with the text before the shared messages, where changes beside theirs conflict
        return compared if compared.outcome != "compatible" else shape(outcome="unknown", note=_SHARED_BETWEEN)
    continued = _compare_continued(shape, first, sides, steps)
    if continued is not None:
        return continued
    misfit = any(side.text is None and side.hunks is not None for side in sides)
    if misfit and base is not None and base in first:
        return shape(outcome="unknown", note=_ONE_UNKNOWN)
    return _compare_hunks(shape, *sides, later=(is_later(*steps), is_later(steps[1], steps[0])))


def _compare_continued(
    shape: partial[FileComparison],
    first: Sequence[str | None],
    sides: tuple[FileSide, FileSide],
    steps: tuple[Sequence[Step], Sequence[Step]],
) -> FileComparison | None:
    """Compare sides of which one has no text of its own, but edits that fit a text of the other one; else None.

    If the other side began with the result of these edits, or ended with the text that they were made to, then one side
    went on with the text of the other one.
    """
    for number, other, names in ((0, 1, ("target", "source")), (1, 0, ("source", "target"))):
        if sides[number].text is not None:
            continue
        start, known = first[other], sides[other].text
        is_continued = start is not None and (
            is_result(steps[number], start)
            or (is_later(steps[other], steps[number]) and has_all_edits(steps[number], start))
        )
        if is_continued:
            note = f"the {names[1]} edited the text of the {names[0]}"
            return shape(outcome="compatible", merged=known, note=note)
        # the edits do not fit the text that the other side began with, or this side would have a text
        fits = start is not None and known is not None and not sides[other].deleted
        merged = follow_steps(steps[number], known).text if fits else None
        if merged not in {None, known}:
            note = f"the edits of the {names[0]} fit the text of the {names[1]}"
            return shape(outcome="compatible", merged=merged, note=note)
    return None


def _compare_different_starts(
    shape: partial[FileComparison],
    first: tuple[str, str],
    texts: tuple[str, str],
    later: tuple[bool, bool],
    before: str | None,
) -> FileComparison:
    """Compare sides that began with different texts; `before` is that in the history of the merge base, if known.

    A side that began with the text of the other one, or later and with all of its changes, went on with it. Changes are
    compatible if they do not touch each other over the text of the merge base. The changes of a side are those of its
    own start. They overlap if, from either start, both sides changed the same lines. All else is unknown.
    """
    target, source = texts
    if first[1] == target or (later[1] and has_all_changes(first[0], target, first[1])):
        return shape(outcome="compatible", merged=source, note="the source edited the text of the target")
    if first[0] == source or (later[0] and has_all_changes(first[1], source, first[0])):
        return shape(outcome="compatible", merged=target, note="the target edited the text of the source")
    if before in first:
        found = _merge_texts(partial(shape, base=before), before, target, source, None)
        if found.outcome != "overlap":
            return found
    note = "the sides began with different texts"
    if (later[1] and _may_go_on(first[0], target, first[1])) or (later[0] and _may_go_on(first[1], source, first[0])):
        return shape(outcome="unknown", note=f"{note}, {_MAY_BE_MADE}")
    ranges = _find_ranges(first, texts)
    if not ranges or not _find_ranges((first[1], first[0]), (source, target)):
        new_lines = ((first[0], target, first[1]), later[1]), ((first[1], source, first[0]), later[0])
        went_on = any(after and kept_share(*texts) for texts, after in new_lines)
        apart = "and their edits are at different lines"
        return shape(outcome="unknown", note=f"{note}, {_MAY_BE_MADE if went_on else apart}")
    merged = merge_texts(first[1], target, source)  # applies the edits of the source to the text of the target
    return shape(outcome="overlap", merged=merged.text, ranges=ranges[:MAX_RANGES], note=note)


def _find_ranges(first: tuple[str, str], texts: tuple[str, str]) -> tuple[LineRange, ...]:
    """Return the lines of the first side's start that it changed, and the other side too, from its own start.

    Changes of the other side that the first side began with do not count.
    """
    groups = group_changes(list_line_changes(first[0], texts[0]), list_moved_changes(first, texts[1]))
    return overlapping_ranges(groups, (lines_of(texts[0]), lines_of(texts[1])))


def _may_go_on(old: str, new: str, later: str) -> bool:
    """Return True if a later text has most of the lines that a side added to `old`, and changed the others."""
    return kept_share(old, new, later) > _MOST and was_changed_throughout(old, new, later)


def _merge_texts(
    shape: partial[FileComparison], base: str | None, target: str, source: str, note: str | None
) -> FileComparison:
    """Compare two different texts with that at the merge base, or as two new files if that is unknown."""
    is_known = base is not None
    if base is None:
        base, note = "", "the text at the merge base is not recorded"
    merged = merge_texts(base, target, source)
    if not merged.conflicts:
        if not is_known:
            return shape(outcome="unknown", note=note)
        return shape(outcome="compatible", merged=merged.text, note=note)
    groups = group_changes(list_line_changes(base, target), list_line_changes(base, source))
    ranges = overlapping_ranges(groups, (lines_of(target), lines_of(source)))
    return shape(outcome="overlap", merged=merged.text, ranges=ranges[:MAX_RANGES], note=note)


def _is_created(steps: Sequence[Step]) -> bool:
    """Return True if the first change of a side created the file, as far as it is recorded."""
    edit = next((step.edit for step in steps if step.changes_file), None)
    return edit is not None and edit.op == "create"


def _find_base(sides: Sequence[Sequence[Step]]) -> str | None:
    """Return the text that both sides began with, as far as they know it; None if they know none, or two."""
    first = {text for text in map(find_first_text, sides) if text is not None}
    return first.pop() if len(first) == 1 else None


def patch_of(comparison: FileComparison, side: FileSide, name: str) -> str:
    """Return the changes of one side as a unified diff: of its texts, or the hunks of its edits one after the other."""
    base = comparison.base if side.start is None else side.start
    if base is not None and side.text is not None and not is_costly(base, side.text):
        return diff_texts(base, side.text, f"base/{comparison.path}", f"{name}/{comparison.path}")
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


def path_of(key: str) -> str:
    """Return the path of a file key as it is shown."""
    return decoded_key(key).partition("/")[2]


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


def _compare_hunks(
    shape: partial[FileComparison], target: FileSide, source: FileSide, *, later: tuple[bool, bool] = (False, False)
) -> FileComparison:
    """Compare sides whose texts are not all known by the lines that their patches changed.

    `later` says of each side whether it began after the other one had ended, and may have gone on with its text.
    """
    if target.hunks is None or source.hunks is None:
        sides = {"target": target, "source": source}
        unknown = {name: side.unknown or "" for name, side in sides.items() if side.text is None and side.hunks is None}
        return shape(outcome="unknown", note=_why_unknown(unknown) or target.unknown or source.unknown)
    if target.hunks == source.hunks:
        return shape(outcome="same")
    here, there = join_patches(target.hunks), join_patches(source.hunks)
    if here is None or there is None:
        return shape(outcome="unknown", note="the hunks of a patch overlap")
    common = here.shown.keys() & there.shown.keys()
    # Claude Code writes tabs as blanks
    if any("".join(here.shown[line].split()) != "".join(there.shown[line].split()) for line in common):
        # the first patch is of the text that a side began with; the file may have changed before the next one
        started = join_patches(target.hunks[:1]), join_patches(source.hunks[:1])
        note = "the patches are of different texts, which are not recorded"
        continued = {
            "the target edited the text of the source": later[0] and started[0] and started[0].began_with(there),
            "the source edited the text of the target": later[1] and started[1] and started[1].began_with(here),
        }
        found = next((name for name, is_proven in continued.items() if is_proven), None)
        return shape(outcome="unknown" if found is None else "compatible", note=found or note)
    known = {**here.shown, **there.shown}
    groups = group_changes(here.changes, there.changes)
    lines = partial(here.read_lines, known=known), partial(there.read_lines, known=known)
    ranges = overlapping_ranges(groups, lines)
    note = "compared by the line numbers of the patches"
    if not common:
        note += ", perhaps of different texts"
    same = all(target and source for _, _, (target, source) in groups) and not ranges
    if ranges and groups[-1].end - groups[0].start <= _MAX_SPAN:  # the same text may come of other changes
        whole = ChangeGroup(groups[0].start, groups[-1].end, (here.changes, there.changes))
        same = not overlapping_ranges([whole], lines)
    if ranges and not same:
        return shape(outcome="overlap", ranges=ranges[:MAX_RANGES], note=note)
    outcome: Outcome = "same" if same else "compatible" if common else "unknown"
    return shape(outcome=outcome, note=note)


def _hunk_text(hunk: Hunk) -> str:
    heading = f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@\n"
    return heading + "".join(f"{line}\n" for line in hunk.lines)
