"""Show what both sides of a merge did to the files that both changed: the last edit of each, and whether lines overlap.

Only what the recorded edits say plainly is used: a text that was replaced by another one, or a patch with line numbers.
The text of a file is never reconstructed; where edits do not tell, the outcome is "unknown". Nothing here decides a
conflict.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from scopes.history.activity import find_call, find_call_message, is_failed
from scopes.history.messages import MessageHeader, header_of, is_root, read_body
from scopes.ids import MessageId, Oid
from scopes.merge.compare import Divergence, Side, state_of
from scopes.merge.keys import decoded_key, find_file, group_of
from scopes.model.canonical_json import file_leaf
from scopes.model.message import FILES, Message
from scopes.model.tools import FileEdit, edits_of_result, parse_unified
from scopes.result import HIDDEN, OMIT_EMPTY
from scopes.store.objects import Commit, Objects, find_subtree

MAX_FILES: Final = 200  # of one merge; the edits of further ones are not read
MAX_RANGES: Final = 100
_MAX_PIECES: Final = 100  # of one side that are compared by text
_TOOL: Final = "tool"  # kind of author
_MAX_NAMED_RANGES = 5
Outcome: TypeAlias = Literal["compatible", "overlap", "unknown"]


class LineRange(NamedTuple):
    """Lines that both sides changed, from 1, at the merge base and on both sides; the last is included.

    An empty range has a `last` before its `first`.
    """

    base: tuple[int, int]
    target: tuple[int, int]
    source: tuple[int, int]


@dataclass(frozen=True, slots=True)
class FileSide:
    """What one side did to a file.

    Attributes:
        agents: Who changed it, in the order of their first change.
        messages: The messages that changed it, oldest first.
        unknown: Why the last edit is not known; None if it is.
        deleted: True if the file is gone.
        edit: The edit that overlaps with one of the other side, if that was found; else the last one.
    """

    agents: tuple[str, ...] = ()
    messages: tuple[MessageId, ...] = ()
    unknown: str | None = None
    deleted: bool = field(default=False, metadata=OMIT_EMPTY)
    edit: FileEdit | None = field(default=None, metadata=HIDDEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileComparison:
    """A file that both sides changed: "compatible" edits share no line; "overlap"; or "unknown".

    `ranges` are the lines that both changed, in order, at most MAX_RANGES, if line numbers are recorded. `note` says
    what else is known.
    """

    key: str
    path: str
    outcome: Outcome
    target: FileSide
    source: FileSide
    ranges: tuple[LineRange, ...] = ()
    note: str | None = None

    @property
    def verdict(self) -> str:
        """What both sides made of the file: `both edited, lines 40-52 disagree`."""
        match self.outcome:
            case "compatible":
                text = "both edited, compatible"
            case "overlap" if self.ranges:
                text = f"both edited, {_name_lines(self.ranges)} disagree"
            case "unknown":
                text = "both edited, not compared"
            case _:
                text = "both edited" if self.note is not None else "both edited, the edits overlap"
        return f"{text} ({self.note})" if self.note is not None else text


def _name_lines(ranges: Sequence[LineRange]) -> str:
    """Return ranges as `lines 40-52, 60`: those of the target."""
    shown = [_name_range(each.target) for each in ranges[:_MAX_NAMED_RANGES]]
    more = f" and {len(ranges) - _MAX_NAMED_RANGES} more ranges" if len(ranges) > _MAX_NAMED_RANGES else ""
    single = len(ranges) == 1 and "-" not in shown[0]
    return f"{'line' if single else 'lines'} {', '.join(shown)}{more}"


def _name_range(lines: tuple[int, int]) -> str:
    first, last = lines
    return str(max(first, 1)) if last <= first else f"{first}-{last}"


class _Lines(NamedTuple):
    """Changed lines before and after an edit: the numbers of the first one and of the one after the last."""

    start: int
    end: int
    new_start: int
    new_end: int


class _Change(NamedTuple):
    """A message that changed a file, and its edit if one is recorded."""

    head: MessageHeader
    agent: str
    edit: FileEdit | None


def compare_files(
    objects: Objects, divergence: Divergence, keys: Iterable[str], directory: str | None
) -> tuple[FileComparison, ...]:
    """Compare the files among some keys; sorted by path. `directory` is that of the conversation, if it is known."""
    wanted = [key for key in keys if group_of(key) == FILES]
    if not wanted:
        return ()
    sides = [_list_changes(objects, side, wanted, directory) for side in (divergence.target, divergence.source)]
    found = (_compare(key, sides[0].get(key, []), sides[1].get(key, [])) for key in wanted)
    return tuple(sorted(found, key=lambda each: each.path))


def patch_of(path: str, edit: FileEdit | None) -> str:
    """Return an edit as a patch; empty if its lines are not recorded."""
    if edit is None or not (edit.hunks or edit.replacements):
        return ""
    lines = [f"--- {path}", f"+++ {path}"]
    for hunk in edit.hunks:
        lines += [f"@@ -{hunk.old_start},{hunk.old_lines} +{hunk.new_start},{hunk.new_lines} @@", *hunk.lines]
    for each in () if edit.hunks else edit.replacements:
        lines += [
            "@@",
            *(f"-{line}" for line in each.old.splitlines()),
            *(f"+{line}" for line in each.new.splitlines()),
        ]
    return "\n".join([*lines, ""])


def _list_changes(objects: Objects, side: Side, keys: Sequence[str], directory: str | None) -> dict[str, list[_Change]]:
    """Return the changes of a side to files, oldest first, by key."""
    paths = {path: key for key in keys[:MAX_FILES] for path in side.changes.get(key, {})}
    found: dict[str, list[_Change]] = {}
    for commit, changed in _walk_changing(objects, side.commits, paths):
        head = header_of(commit)
        message = read_body(objects, commit)
        caller = find_call_message(objects, head) if head.author_kind == _TOOL else head
        edits = [(f"{FILES}/{file_leaf(each.path, directory)}", each) for each in _walk_edits(objects, head, message)]
        for key in dict.fromkeys(paths[path] for path in changed):
            own: list[FileEdit | None] = [edit for path, edit in edits if path == f"{key}="]
            agent = head.author if caller is None else caller.author
            found.setdefault(key, []).extend(_Change(head, agent, edit) for edit in own or [None])
    return found


def _walk_changing(
    objects: Objects, commits: Iterable[Commit], paths: Collection[str]
) -> Iterator[tuple[Commit, list[str]]]:
    """Yield the commits, oldest first, that changed the claims on some paths, with these paths.

    A merge commit counts only for paths that differ from all its parents.
    """
    trees: dict[Oid, Oid | None] = {}

    def files_at(oid: Oid) -> Oid | None:
        if oid not in trees:
            trees[oid] = find_subtree(objects, state_of(objects, oid), FILES)
        return trees[oid]

    def claim_at(tree: Oid | None, path: str) -> Oid | None:
        return find_file(objects, tree, path.removeprefix(f"{FILES}/"))

    for commit in commits if paths else ():
        after, before = files_at(commit.oid), [files_at(parent) for parent in commit.parents]
        if is_root(commit) or after in before:
            continue
        changed = [path for path in paths if claim_at(after, path) not in {claim_at(tree, path) for tree in before}]
        if changed:
            yield commit, changed


def _walk_edits(objects: Objects, head: MessageHeader, message: Message) -> Iterator[FileEdit]:
    """Yield the edits that a message records: those of the calls that it has the results of, and patches of files."""
    for number, part in enumerate(message.parts):
        fields: Mapping[str, Any] = part.fields
        if part.type == "tool_result" and not is_failed(part):
            call = find_call(objects, head, message, number)
            yield from () if call is None else edits_of_result(call.part, part)
        elif part.type == "file_ref" and isinstance(path := fields.get("path"), str):
            patch = fields.get("patch")
            yield FileEdit(path, str(fields.get("op")), hunks=parse_unified(patch) if isinstance(patch, str) else ())


def _compare(key: str, target: Sequence[_Change], source: Sequence[_Change]) -> FileComparison:
    outcome, ranges, shown = _outcome([each.edit for each in target], [each.edit for each in source])
    sides = _side(target, shown[0]), _side(source, shown[1])
    gone = next((name for name, side in zip(("target", "source"), sides, strict=True) if side.deleted), None)
    note = None
    if gone is not None:
        outcome, ranges, note = "overlap", (), f"the {gone} deleted it"
    path = decoded_key(key).partition("/")[2]
    return FileComparison(
        key=key, path=path, outcome=outcome, target=sides[0], source=sides[1], ranges=ranges, note=note
    )


def _side(changes: Sequence[_Change], shown: FileEdit | None) -> FileSide:
    last = changes[-1].edit if changes else None
    deleted = last is not None and last.op == "delete"
    is_known = deleted or (last is not None and bool(last.hunks or last.replacements))
    return FileSide(
        agents=tuple(dict.fromkeys(each.agent for each in changes)),
        messages=tuple(dict.fromkeys(each.head.id for each in changes)),
        unknown=None if is_known else "edit not recorded",
        deleted=deleted,
        edit=shown or last,
    )


def _outcome(
    target: Sequence[FileEdit | None], source: Sequence[FileEdit | None]
) -> tuple[Outcome, tuple[LineRange, ...], tuple[FileEdit | None, FileEdit | None]]:
    """Return whether the edits of both sides overlap, in which lines if they are recorded, and two edits that do.

    Line numbers are those of the merge base only in the first edit of a side: two sides with one edit each. Other edits
    overlap if a text that one replaced contains such a text of the other side; they do not if they share no line.
    """
    ours, theirs = ([edit for edit in side if edit and (edit.hunks or edit.replacements)] for side in (target, source))
    if not (ours and theirs) or (len(ours), len(theirs)) != (len(target), len(source)):
        return "unknown", (), (None, None)
    if len(ours) == len(theirs) == 1 and ours[0].hunks and theirs[0].hunks:
        lines = list(_changed_lines(ours[0])), list(_changed_lines(theirs[0]))
        ranges = tuple(islice(_overlapping(*lines), MAX_RANGES))
        return ("overlap" if ranges else "compatible"), ranges, (None, None)
    pieces = [[(edit, lines) for edit in side for lines in _old_texts(edit)] for side in (ours, theirs)]
    if max(map(len, pieces)) > _MAX_PIECES or not all(lines for side in pieces for _, lines in side):
        return "unknown", (), (None, None)  # of an insertion only the lines around it tell the place
    for (edit, one), (other_edit, other) in product(*pieces):
        if _contains(one, other) or _contains(other, one):
            return "overlap", (), (edit, other_edit)
    seen = [{line.strip() for _, lines in side for line in lines} - {""} for side in pieces]
    return ("unknown" if seen[0] & seen[1] else "compatible"), (), (None, None)


def _old_texts(edit: FileEdit) -> list[list[str]]:
    """Return the lines that each piece of an edit replaced."""
    if edit.hunks:
        return [[line[1:] for line in hunk.lines if line[:1] == "-"] for hunk in edit.hunks]
    return [each.old.splitlines() for each in edit.replacements]


def _contains(lines: Sequence[str], part: Sequence[str]) -> bool:
    return any(list(lines[at : at + len(part)]) == list(part) for at in range(len(lines) - len(part) + 1))


def _changed_lines(edit: FileEdit) -> Iterator[_Lines]:
    """Yield the lines that an edit with line numbers changed, without the lines around them."""
    for hunk in edit.hunks:
        old = hunk.old_start if hunk.old_lines else hunk.old_start + 1
        new = hunk.new_start if hunk.new_lines else hunk.new_start + 1
        start, new_start = old, new
        for mark in [line[:1] for line in hunk.lines if line[:1] != "\\"] + [" "]:
            if mark not in {"-", "+"}:
                if (start, new_start) != (old, new):
                    yield _Lines(start, old, new_start, new)
                old, new = old + 1, new + 1
                start, new_start = old, new
            elif mark == "-":
                old += 1
            else:
                new += 1


def _overlapping(target: Iterable[_Lines], source: Iterable[_Lines]) -> Iterator[LineRange]:
    """Yield the places where changes of both sides overlap or touch each other, as git merges them."""
    for one, other in product(target, source):
        if one.start <= other.end and other.start <= one.end:
            base = min(one.start, other.start), max(one.end, other.end) - 1
            yield LineRange(base, (one.new_start, one.new_end - 1), (other.new_start, other.new_end - 1))
