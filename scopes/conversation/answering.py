"""Which messages hold the results of a message's tool calls, told from heads alone while a log is walked."""

from __future__ import annotations

from scopes.conversation.heads import MessageHead
from scopes.ids import Oid

_RESULTS = "tool-results"
_PASSED = frozenset({_RESULTS, "system", "meta", "notice", "error"})  # what may stand between a call and its result
_MOST = 64


class Answering:
    """Remembers the results that were passed until the message comes that asked for them: children before parents."""

    def __init__(self) -> None:
        self._after: dict[Oid, tuple[Oid, ...]] = {}

    def pass_by(self, head: MessageHead) -> tuple[Oid, ...]:
        """Return the messages whose results answer this one, the nearest first; at most 64 are remembered."""
        found = self._after.pop(head.oid, ())
        if head.kind not in _PASSED:
            return found
        carried = (head.oid, *found) if head.kind == _RESULTS else found
        for parent in head.parents[:1]:
            self._after[parent] = (*carried, *self._after.get(parent, ()))[:_MOST]
        return ()
