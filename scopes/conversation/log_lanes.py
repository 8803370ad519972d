"""Find the merged branches of a log that is read newest first, without delaying its first rows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from scopes.history.amendments import Amendment, find_amendments, latest
from scopes.history.messages import MessageHeader, read_body
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.model.message import Message
from scopes.store.objects import Commit
from scopes.store.repository import Repository

if TYPE_CHECKING:
    from scopes.merge.lane_marks import LaneMark, MarkedLanes

_KEPT_COMMITS = 100  # after a merge, for how its conflicts were resolved


class LaneFinder:
    """Finds the merged branches of a walk, once it has come to a merge."""

    def __init__(
        self,
        repository: Repository,
        conversation: ConversationId,
        branch: BranchName | None,
        tips: Sequence[Oid],
        *,
        digests: bool,
    ) -> None:
        self._repository = repository
        self._conversation = conversation
        self._branch = branch
        self._tips = tips
        self._digests = digests
        self._lanes: MarkedLanes | None = None
        self._amendments: Mapping[MessageId, Amendment] | None = None
        self._marks: dict[int, LaneMark] = {}

    def watch(self, commits: Iterator[Commit]) -> Iterator[Commit]:
        """Pass commits on, newest first; those from a merge on are read together, as the walk itself does."""
        newer: deque[Commit] = deque(maxlen=_KEPT_COMMITS)
        for commit in commits:
            if len(commit.parents) < 2 and len(self._tips) == 1:
                newer.append(commit)
                yield commit
                continue
            rest = [commit, *commits]
            tips = self._tips if len(self._tips) > 1 else ()
            from scopes.merge.lane_marks import MarkedLanes

            self._lanes = MarkedLanes(
                self._repository, self._conversation, [*reversed(rest), *reversed(newer)], self._branch, tips
            )
            yield from rest

    def lanes_of(self, head: MessageHeader) -> tuple[LaneMark, ...]:
        """Return the marks of the lanes that a message is in, the outermost first."""
        return () if self._lanes is None else tuple(map(self._mark, self._lanes.lanes_of(head.oid)))

    def _mark(self, number: int) -> LaneMark:
        if number not in self._marks and self._lanes is not None:
            self._marks[number] = self._lanes.mark(number, self._read if self._digests else None)
        return self._marks[number]

    def _read(self, head: MessageHeader) -> Message | None:
        """Return a message as it is now, for a digest."""
        if self._amendments is None:
            heads = () if self._lanes is None else self._lanes.heads
            self._amendments = find_amendments(self._repository, self._tips[0], heads)
        return latest(read_body(self._repository, head), self._amendments)
