"""Push refs in batches. The confirmed refs of a batch are recorded before the next one is sent.

The first batch is small, so that something is confirmed soon. A batch that was accepted as a whole is followed by one
twice as large: git reads all refs of the remote for each push, so many small batches take many times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from scopes.sync.git_transport import GitTransport, PushStatus, RefUpdate

FIRST_BATCH: Final = 400
MAX_BATCH: Final = 3200  # each ref is 260 bytes of the words of a command, which may be 2 MiB on Linux


def send(transport: GitTransport, updates: Sequence[RefUpdate]) -> Iterator[list[PushStatus]]:
    """Push updates in batches, and yield the results of each batch; raises as `GitTransport.push` does.

    One refused ref may make the remote refuse the whole batch. Then each half is pushed alone, down to that ref, whose
    refusal is final.
    """
    waiting = list(updates)
    size = FIRST_BATCH
    while waiting:
        batch, waiting = waiting[:size], waiting[size:]
        is_taken = True
        for statuses in _send_batch(transport, batch):
            yield statuses
            is_taken = is_taken and all(status.reason is None for status in statuses)
        size = min(2 * size, MAX_BATCH) if is_taken else FIRST_BATCH


def _send_batch(transport: GitTransport, batch: list[RefUpdate]) -> Iterator[list[PushStatus]]:
    """Push one batch; refs that were refused because of another ref are pushed again in halves."""
    waiting = [batch]
    while waiting:
        pushed = waiting.pop(0)
        statuses = transport.push(pushed)
        with_others = [status.update for status in statuses if status.reason is not None and status.with_others]
        if len(pushed) > 1 and with_others:
            middle = (len(with_others) + 1) // 2
            waiting = [each for each in (with_others[:middle], with_others[middle:]) if each] + waiting
            statuses = [status for status in statuses if status.reason is None or not status.with_others]
        yield statuses
