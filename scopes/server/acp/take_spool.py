"""Take into the store what proxies that were killed have left in the spool: each message exactly once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeAlias

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import read_body
from scopes.ids import Oid
from scopes.live.event_log import EventLog
from scopes.model.conversation import ACP
from scopes.server.acp.recordings import (
    CurrentBranch,
    RecordedBranch,
    SessionWriter,
    find_current,
    find_session,
    list_session_branches,
)
from scopes.server.acp.spool import SpooledMessage, abandoned_file, list_spooled
from scopes.server.acp.store_writer import write_message
from scopes.store.graph import walk_first_parents
from scopes.store.locks import StoreLock
from scopes.store.objects import read_commit
from scopes.store.repository import Repository

Ends: TypeAlias = dict[tuple[str, str], RecordedBranch]  # where sessions ended, by agent and session
_LOCK_SECONDS = 1  # an editor may wait for its first session


class Waiting(NamedTuple):
    """What waits in the spool for one store."""

    store: str
    messages: int


def waiting_messages(state_directory: str) -> list[Waiting]:
    """Count what proxies that have ended left in the spool, by store."""
    counts: dict[str, int] = {}
    for path in list_spooled(state_directory):
        with abandoned_file(path) as file:
            if file is not None:
                counts[file.store] = counts.get(file.store, 0) + len(file.messages)
    return [Waiting(*each) for each in sorted(counts.items())]


def take_spooled(
    state_directory: str, repository: Repository, log: EventLog, *, ends: Ends | None = None, is_patient: bool = False
) -> int:
    """Write the spooled messages of a store into it, and return how many were not there; those of a live proxy stay.

    What cannot be written now stays in the spool too.

    ends: gets where each session ended; what it has is where a later proxy goes on with the session
    is_patient: wait for the lock of the store as long as for any other write, not for a second

    Raises:
        Busy: another process holds the lock of the store.
        ScopesError, OSError: the store, or the spool, cannot be read or written.
    """
    store, taken = os.path.realpath(repository.path), 0
    ends = {} if ends is None else ends
    lock = repository.lock if is_patient else StoreLock(repository.path, _LOCK_SECONDS)
    for path in list_spooled(state_directory):
        with abandoned_file(path) as file:
            if file is None or file.store != store:
                continue
            with lock.exclusive():
                pass  # each write below would wait for the lock much longer
            count = sum(_take_session(repository, messages, log, ends) for messages in _by_session(file.messages))
            os.unlink(path)
            log.write("spool-taken", messages=count, damaged=file.damaged or None)
            taken += count
    return taken


def _by_session(messages: Sequence[SpooledMessage]) -> list[list[SpooledMessage]]:
    """Return the messages of each session, in the order in which the sessions began: a fork comes after its origin."""
    found: dict[tuple[str, str], list[SpooledMessage]] = {}
    for each in messages:
        found.setdefault((each.run, each.session), []).append(each)
    return list(found.values())


def _take_session(repository: Repository, messages: Sequence[SpooledMessage], log: EventLog, ends: Ends) -> int:
    """Write the messages of one session that are not in the store, in their order; return their number."""
    first = messages[0]
    written, last = _find_written(repository, first)
    missing = [each.message for each in messages if each.message.id not in written]
    own = last if last is not None else _find_own_branch(repository, first)
    recorded = own if own is not None else _find_start(repository, first, ends)
    forked = first.forked if own is None else None
    writer = SessionWriter(
        repository, first.identity, first.session, first.run, recorded, forked=forked, is_noted=own is not None
    )
    for message in missing:
        write_message(writer, message, log)
    if writer.recorded is not None:
        ends[first.identity.agent, first.session] = writer.recorded
    return len(missing)


def _find_written(repository: Repository, first: SpooledMessage) -> tuple[set[str], RecordedBranch | None]:
    """Return the ids of the messages that this run of the session has written, and the branch at the last of them."""
    ids: set[str] = set()
    last, most = None, 0
    for branch in _candidates(repository, first):
        own = list(_walk_run(repository, branch, first))
        if len(own) > most:  # a branch that begins on another one has the messages of both
            last, most = branch._replace(tip=own[0][0]), len(own)
        ids.update(message for _, message in own)
    return ids, last


def _candidates(repository: Repository, first: SpooledMessage) -> Iterator[RecordedBranch]:
    """Yield the branches of a session: the one it was on, and others, if the proxy has changed to one."""
    yield from list_session_branches(repository, first.identity.agent, first.session)
    current = _find_current(repository, first)
    if current is not None:
        yield current.recorded._replace(tip=current.tip)


def _find_current(repository: Repository, first: SpooledMessage) -> CurrentBranch | None:
    """Return where the branch is now that the session was on; None if it is gone, or there was none."""
    if first.recorded is None:
        return None
    return find_current(repository, first.identity, first.session, first.recorded, first.run)


def _walk_run(repository: Repository, branch: RecordedBranch, first: SpooledMessage) -> Iterator[tuple[Oid, str]]:
    """Yield the commits of this run on a branch and the ids of their messages, newest first."""
    stop = None if first.recorded is None else first.recorded.tip
    for commit in walk_first_parents(repository, branch.tip):
        with suppress(NotFound, Corrupt):
            body = read_body(repository, read_commit(repository, commit))
            found = body.extra.get(ACP)
            if isinstance(found, dict) and found.get("run") == first.run and found.get("session") == first.session:
                yield commit, body.id
        if commit == stop:
            return


def _find_own_branch(repository: Repository, first: SpooledMessage) -> RecordedBranch | None:
    """Return the branch that a fork has got before it had a message."""
    if first.forked is None:
        return None
    branches = list_session_branches(repository, first.identity.agent, first.session)
    return next((branch for branch in branches if branch.session == first.session), None)


def _find_start(repository: Repository, first: SpooledMessage, ends: Ends) -> RecordedBranch | None:
    """Return where the session began; None if it is a new conversation."""
    notes = first.message.extra.get(ACP)
    is_continued = isinstance(notes, dict) and notes.get("start") in {"load", "resume"}
    if first.recorded is not None and _find_current(repository, first) is not None:
        end = ends.get((first.identity.agent, first.session)) if is_continued else None
        return first.recorded if end is None else first.recorded.moved_on(repository, end)
    session = first.session if is_continued else first.forked
    return None if session is None else find_session(repository, first.identity.agent, session)
