"""The order of conversations by their last message, which names such as `@` and `resume` go by.

Each tip has to be read for it. Of a store with many, the times are kept in the index, by the commits of the tips.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from scopes.history.recorded_times import OWN_ADDRESS, RecordedTimes
from scopes.ids import ConversationId, Oid
from scopes.store import refs
from scopes.store.repository import Repository, read_commit

_MANY: Final = 200  # tips; fewer are read sooner than the index is opened
_OWN: Final = b"!"  # the last byte of a time: the commit is one of scopes, which may have been written later


def list_latest(repository: Repository, among: Container[ConversationId] | None = None) -> list[ConversationId]:
    """Return conversations by the time at which their last message was written, newest first; by default all."""
    tips: list[tuple[ConversationId, Oid]] = []
    for ref, oid in repository.list_refs(refs.HEADS).items():
        pair = refs.split_branch_ref(ref)
        if pair is not None and (among is None or pair[0] in among):
            tips.append((pair[0], Oid(oid)))
    known = _read_times(repository, tips) if among is None and len(tips) >= _MANY else {}
    recorded = RecordedTimes(repository)
    times: dict[ConversationId, int] = {}
    for conversation, tip in tips:
        data = known.get(tip) or _time_of(repository, tip)
        stored = int(data.removesuffix(_OWN))
        written = recorded.find(tip, stored) if data.endswith(_OWN) else None
        times[conversation] = max(times.get(conversation, 0), stored, written or 0)
    return sorted(times, key=lambda conversation: (times[conversation], conversation), reverse=True)


def _read_times(repository: Repository, tips: list[tuple[ConversationId, Oid]]) -> Mapping[Oid, bytes]:
    """Return the times of tips from the index; those that it does not have are read and added to it."""
    from scopes.index.session_cache import find_or_compute

    return find_or_compute(
        repository.index_directory, repository.path, "tip", [tip for _, tip in tips],
        lambda tip: _time_of(repository, tip),
    )  # fmt: skip


def _time_of(repository: Repository, tip: Oid) -> bytes:
    """Return the time in a commit, in seconds since 1970, and whether it is one of scopes."""
    commit = read_commit(repository, tip)
    return b"%d%b" % (commit.time, _OWN if commit.author.email == OWN_ADDRESS else b"")
