"""The rows of branches, and of collaborations, that a merge ended, for the change log.

A branch is merged if its parent has all its messages, a collaboration if it has all but those that closed it. Nothing
records that: it follows from the tips before and after an operation, and a later message ends it (S4-8).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from scopes.conversation.change import Change, FieldChange, cause_of
from scopes.conversation.message_changes import Recorded
from scopes.conversation.recording_order import Position, RecordingOrder
from scopes.history.messages import header_of, message_id_of
from scopes.history.metadata import read_metadata_at
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.conversation import MERGED, BranchEntry
from scopes.model.operation import Operation, RefChange
from scopes.store import refs
from scopes.store.graph import is_ancestor
from scopes.store.repository import Repository, read_commit

_ACTIVE: Final = "active"
_COLLABORATION: Final = re.compile(r"collaborations\.[^.]+")
_STATUS: Final = re.compile(r"branches\..+\.status")


class _Pair(NamedTuple):
    """A branch and its parent, with the tips of both; and the newest message that did not close a collaboration."""

    name: BranchName
    entry: BranchEntry
    tip: Oid
    parent: Oid
    last: Oid
    collaboration: str | None  # the field of its status


class MergedBranches:
    """Finds what was merged or not any more; operations are given newest first, with the moves of branches.

    tips, entries: the branches of the conversation now
    """

    def __init__(
        self,
        repository: Repository,
        order: RecordingOrder,
        recorded: Recorded,
        tips: Mapping[BranchName, Oid],
        entries: Mapping[BranchName, BranchEntry],
    ) -> None:
        self._repository = repository
        self._order = order
        self._recorded = recorded
        self._tips = dict(tips)
        self._entries = entries
        self._ends: dict[tuple[BranchName, str], tuple[Oid, str | None]] = {}
        self.later: list[tuple[Position, Change]] = []
        """The rows of messages that were added to merged branches, with their places."""

    def walk(
        self, record: Operation, conversation: ConversationId, moves: Mapping[BranchName, RefChange]
    ) -> Iterator[FieldChange]:
        """Yield what an operation merged, or took back the merge of."""
        position, latest, entries_after = self._order.position_of_record(record), dict(self._tips), self._entries
        meta = next((each for each in record.changes if each.ref == refs.meta_ref(conversation)), None)
        if meta is not None:
            self._entries = {} if meta.old is None else read_metadata_at(self._repository, Oid(meta.old)).branches
        for name, change in moves.items():
            self._tips.pop(name, None)
            if change.old is not None:
                self._tips[name] = Oid(change.old)
        for name, entry in entries_after.items():
            parent = entry.parent
            if parent is None or not {name, parent} & moves.keys() or entry.status != _ACTIVE:
                continue
            if name not in moves and self._adds_one_message(parent, moves, self._tip_at(latest.get(name), position)):
                continue
            tips = [
                (moves[each].old, moves[each].new) if each in moves else (self._tip_at(latest.get(each), position),) * 2
                for each in (name, parent)
            ]
            before, after = (self._pair(name, entry, *pair) for pair in zip(*tips, strict=True))
            if before is not None and after is not None:
                yield from self._compare(before, after)
            if after is not None and name in latest:
                self._keep_next(after, latest[name])

    def _tip_at(self, tip: Oid | None, position: Position) -> Oid | None:
        """Return the tip of a branch when an operation ran, given a later one: without what was added since."""
        while tip is not None and (place := self._order.find_place(tip)) is not None and place[0] > position:
            tip = next(iter(read_commit(self._repository, tip).parents), None)
        return tip

    def _adds_one_message(self, name: BranchName, moves: Mapping[BranchName, RefChange], tip: Oid | None) -> bool:
        """Return True if an operation only added one message to a branch, or took it back, and that is not a tip."""
        change = moves.get(name)
        if change is None or change.old is None or change.new is None:
            return False
        old, new = Oid(change.old), Oid(change.new)
        if tip in {old, new} or not all(map(self._repository.has, (old, new))):
            return False
        parents = [read_commit(self._repository, oid).parents for oid in (old, new)]
        return parents[0] == (new,) or parents[1] == (old,)

    def _pair(self, name: BranchName, entry: BranchEntry, tip: str | None, parent: str | None) -> _Pair | None:
        if tip is None or parent is None or not all(map(self._repository.has, (Oid(tip), Oid(parent)))):
            return None
        if (name, tip) not in self._ends:
            self._ends[name, tip] = self._find_end(Oid(tip), entry.fork)
        return _Pair(name, entry, Oid(tip), Oid(parent), *self._ends[name, tip])

    def _find_end(self, tip: Oid, fork: Oid | None) -> tuple[Oid, str | None]:
        """Return the newest message of a branch that did not close a collaboration, and the field of its status."""
        oid, last, field = tip, tip, None
        while oid != fork and self._order.find_place(oid) is not None:
            commit = read_commit(self._repository, oid)
            for path, _, after, *_ in self._recorded.effects.get(message_id_of(commit), ()):
                if _COLLABORATION.fullmatch(path):
                    field = path
                    if after.get("status") == "closed" and oid == last:
                        last = commit.parents[0]
            oid = commit.parents[0]
        return last, field

    def _compare(self, before: _Pair, after: _Pair) -> Iterator[FieldChange]:
        if self._has_all(before, before.tip) != self._has_all(after, after.tip):
            status = _ACTIVE, MERGED
            yield FieldChange(
                f"branches.{after.name}.status", *(status if self._has_all(after, after.tip) else status[::-1])
            )
        if after.collaboration is not None and self._has_all(before, before.last) != self._has_all(after, after.last):
            yield _collaboration_change(after, is_merged=self._has_all(after, after.last))

    def _has_all(self, pair: _Pair, last: Oid) -> bool:
        """Return True if the parent of a branch has its messages until one of them, and it has some of its own."""
        return last != pair.entry.fork and is_ancestor(self._repository, last, pair.parent)

    def _keep_next(self, merged: _Pair, latest: Oid) -> None:
        """Keep the rows of the message that was added to a merged branch, if there is one."""
        if not self._has_all(merged, merged.last) or latest == merged.tip:
            return
        oid: Oid | None = latest
        while oid is not None and (commit := read_commit(self._repository, oid)).parents[:1] != (merged.tip,):
            oid = next(iter(commit.parents), None)
        place = None if oid is None else self._order.find_place(oid)
        if oid is None or place is None:
            return
        head = header_of(read_commit(self._repository, oid))
        found = [FieldChange(f"branches.{merged.name}.status", MERGED, _ACTIVE)]
        is_close = any(path == merged.collaboration for path, *_ in self._recorded.effects.get(head.id, ()))
        if merged.collaboration is not None and not is_close:
            found.append(_collaboration_change(merged, is_merged=False))
        cause = cause_of(head.author_kind, head.author)
        self.later += [(place[0], each.to_row(place[1], cause, head.id)) for each in found]


def _collaboration_change(pair: _Pair, *, is_merged: bool) -> FieldChange:
    states: tuple[dict[str, Any], dict[str, Any]] = {"status": "open"}, {"status": MERGED, "into": pair.entry.parent}
    return FieldChange(pair.collaboration or "", *(states if is_merged else states[::-1]))


def keep_statuses(rows: Iterable[Change]) -> Iterator[Change]:
    """Yield the rows of a change log, oldest first, so that each begins with the status that the one before left.

    What does not change the status of a branch or collaboration is left out, and what is closed is not merged.
    """
    known: dict[str, list[Any]] = {}
    for row in rows:
        path = row.field_path
        if path.startswith("branches.") and not _STATUS.fullmatch(path) and (row.before is None or row.after is None):
            known.pop(f"{path}.status", None)
        if _STATUS.fullmatch(path):
            found = _next_row(row, known.setdefault(path, [_ACTIVE]), _ACTIVE)
        elif _COLLABORATION.fullmatch(path) and row.before is not None and row.after is not None:
            found = _next_row(row, known.setdefault(path, [{"status": "open"}]), {"status": "open"})
        else:
            found = row
        if found is not None:
            yield found


def _next_row(row: Change, known: list[Any], first: Any) -> Change | None:
    """Return a row that begins with the last of the known statuses, or None; what ends again ends as it was before."""
    now, after = known[-1], row.after
    if _word(now) == "closed" and _word(row.before) != "closed":
        return None
    if _word(after) == _word(first) and _word(row.before) not in {MERGED, _word(first)} and len(known) > 1:
        after = known[-2]
        known.pop()
    elif _word(after) == _word(now):
        return None
    else:
        known.append(after)
    return replace(row, before=now, after=after)


def _word(status: Any) -> str:
    return str(status["status"]) if isinstance(status, Mapping) else str(status)
