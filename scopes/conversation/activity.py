"""How long agents worked: the time from each message to the answer or tool result that stands on it.

The time before somebody's prompt is a pause, however short, and what agents do side by side counts once.
"""

from __future__ import annotations

from scopes.conversation.heads import MessageHead
from scopes.ids import Oid
from scopes.model.message import Message

_AT_WORK = frozenset({"agent", "tool"})
_UNTOLD = frozenset({"restamped", "none"})


class Activity:
    """The stretches of one conversation in which somebody was at work, in whole seconds."""

    def __init__(self) -> None:
        self._times: dict[Oid, int] = {}
        self._stretches: list[tuple[int, int]] = []

    def add(self, head: MessageHead, message: Message) -> None:
        """Add a message; those that it stands on came before it."""
        if message.time is None or message.extra.get("precision") in _UNTOLD:
            return
        self._times[head.oid] = head.time
        before = self._times.get(head.parents[0]) if head.parents else None
        if before is not None and before <= head.time and head.author_kind in _AT_WORK:
            self._stretches.append((before, head.time))

    def seconds(self) -> int | None:
        """Add the stretches up, overlaps once; None where no message tells."""
        if not self._stretches:
            return None
        total, reached = 0, min(self._stretches)[0]
        for start, end in sorted(self._stretches):
            total += max(0, end - max(start, reached))
            reached = max(reached, end)
        return total
