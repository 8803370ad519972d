"""Tell the files of a session apart, for agents that begin another file of it and may delete the first one.

The first file that was imported is the main one. Another file that differs is a part of the session with a branch of
its own, also if it is the only one that is left: a file that is gone does not take its messages along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from scopes.history.sources import SOURCES, find_source_record, source_key, with_last_path
from scopes.ids import Oid
from scopes.importers.formats.base import read_session
from scopes.importers.formats.events import FILE, Session
from scopes.importers.stale_copy import StoredCopy
from scopes.importers.work_queue import QueuedSource, as_other_file, edition_of, name_of_file
from scopes.store.objects import Objects
from scopes.store.repository import Repository


def name_session_files(repository: Repository, objects: Objects, queue: Sequence[QueuedSource]) -> list[QueuedSource]:
    """Return the queue with the file of each session that was the main one at its last import as the main one again."""
    return [_name(repository, objects, queued) for queued in queue]


def _name(repository: Repository, objects: Objects, queued: QueuedSource) -> QueuedSource:
    session = queued.session
    file = session.details.get(FILE)
    other = None if file is None else name_of_file(file)
    if file is None or session.sub_file not in {None, other}:
        return queued
    main = _find_main_file(repository, objects, queued)
    if main is None or FILE not in main.details:
        return queued
    is_main = main.details[FILE] == file and edition_of(main) <= edition_of(session)
    if is_main == (session.sub_file is None):
        return queued
    details = {name: value for name, value in session.details.items() if name != "line"}
    named = replace(session, sub_file=None, details=details) if is_main else as_other_file(session)
    return replace(queued, session=named)


def _find_main_file(repository: Repository, objects: Objects, queued: QueuedSource) -> Session | None:
    """Return the session as the stored main file begins it; None if there is none, or it is this one."""
    key = source_key(queued.session.format, queued.session.native_id, None)
    record, commit = find_source_record(repository, key), repository.find_ref(SOURCES + key)
    if record is None or commit is None or record.purged:
        return None
    if queued.session.sub_file is None and with_last_path(repository, record).path == queued.source.path:
        return None
    stored = StoredCopy(queued.source.path, record.size, objects, Oid(commit))
    return read_session(queued.format, stored)
