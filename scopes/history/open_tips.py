"""Where a branch ends for others: the last messages of an imported session are held back while it may still grow."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, Final

from scopes.clock import now_nanoseconds
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import is_root, read_message_bytes_at
from scopes.history.source_paths import with_last_path
from scopes.history.sources import TRACKING, find_source_record
from scopes.ids import Oid
from scopes.model import encoding
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit

IDLE_SECONDS: Final = 3600
_OPEN: Final = "open"
_MARK: Final = b'"open":true'
_STOP_REASON: Final = "stop_reason"
_FINAL_STOP_REASONS: Final = frozenset({"end_turn", "stop", "stop_sequence"})
_NANOSECONDS: Final = 1_000_000_000


class OpenTips:
    """Decides which last messages may leave, at one time: that of its creation.

    include_open: all of them, whether their session still grows or not
    """

    def __init__(self, repository: Repository, *, include_open: bool = False) -> None:
        self._repository = repository
        self._include_open = include_open
        self._now = now_nanoseconds() // _NANOSECONDS

    def shared_tip(self, tip: Oid) -> Oid:
        """Return the newest commit at or below a tip that others may get.

        An open message may still grow until its format says that the turn has ended, or neither it nor the file of its
        session has changed for an hour.
        """
        closed = tip if self._include_open else closed_tip(self._repository, tip)
        return tip if closed == tip or self._is_finished(tip) else closed

    def _is_finished(self, tip: Oid) -> bool:
        commit = read_commit(self._repository, tip)
        if _read(read_message_bytes_at(self._repository, commit.tree)).get(_STOP_REASON) in _FINAL_STOP_REASONS:
            return True
        changed = [commit.time, *map(self._changed, self._sources.get(tip, ()))]
        return self._now - max(changed) >= IDLE_SECONDS

    @cached_property
    def _sources(self) -> dict[Oid, list[str]]:
        """The keys of the sources that the last import left at each tip."""
        found: dict[Oid, list[str]] = {}
        for ref, oid in self._repository.list_refs(TRACKING).items():
            found.setdefault(Oid(oid), []).append(ref.removeprefix(TRACKING).partition("/")[0])
        return found

    def _changed(self, key: str) -> int:
        """Return when the file of a source changed last, in seconds since 1970; 0 if it is gone or not known."""
        try:
            record = find_source_record(self._repository, key)
            path = "" if record is None else with_last_path(self._repository, record).path
            return int(os.stat(path).st_mtime) if path else 0
        except (Corrupt, NotFound, OSError, ValueError):
            return 0


def closed_tip(repository: Repository, tip: Oid) -> Oid:
    """Return the newest commit at or below a tip whose message cannot change any more."""
    commit = read_commit(repository, tip)
    while not is_root(commit) and commit.parents and is_open(repository, commit):
        commit = read_commit(repository, commit.parents[0])
    return commit.oid


def is_open(repository: Repository, commit: Commit) -> bool:
    """Return True if a message was the last one of its session when that was imported."""
    return _read(read_message_bytes_at(repository, commit.tree)).get(_OPEN) is True


def _read(data: bytes) -> dict[str, Any]:
    """Return the document of an open message; another one is empty."""
    document: Any = encoding.load(data) if _MARK in data else None
    return document if isinstance(document, dict) else {}
