"""Read the stored bytes of a source: all of a store again, or those of which a file is only an older copy.

A source only grows. A file that is shorter than the stored source, and equal to its beginning, was copied earlier or
truncated. Importing it as it is would move the branches back.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import BinaryIO

from scopes.errors import CannotImport
from scopes.history.sources import SOURCES, SourceRecord, read_source_record, walk_chunks, with_last_path
from scopes.ids import Oid
from scopes.importers.archive import digest_of
from scopes.importers.formats.base import Format, Source, name_source, read_session
from scopes.importers.identity import source_key_of
from scopes.importers.results import Skipped
from scopes.importers.targets import StoredRecord
from scopes.importers.work_queue import COPY, QueuedSource, sort_key, sort_parents_first
from scopes.store.objects import Objects
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class StoredCopy(Source):
    """The stored bytes of a source, read in place of a shorter file."""

    objects: Objects
    commit: Oid

    def open(self) -> BinaryIO:
        """Open the stored bytes for reading."""
        with tempfile.TemporaryFile(buffering=0) as file:
            for chunk in walk_chunks(self.objects, self.commit):
                file.write(chunk)
            file.seek(0)
            return os.fdopen(os.dup(file.fileno()), "rb")


def use_stored_source(objects: Objects, stored: StoredRecord | None, queued: QueuedSource) -> QueuedSource:
    """Return the source as it is stored, with the file as its copy, if the file is an older copy; else unchanged.

    Raises:
        CannotImport: parts of what is stored were purged, so that nobody can tell.
    """
    if stored is None or stored.record.size <= queued.source.size:
        return queued
    if stored.record.purged:  # what was stored of it can no longer be compared with the file
        raise CannotImport("it is shorter than what was imported of it before, of which messages were purged")
    if _digest_of_prefix(objects, stored.commit, queued.source.size) != digest_of(queued.source, queued.source.size):
        return queued
    source = StoredCopy(queued.source.path, stored.record.size, objects, stored.commit)
    session = read_session(queued.format, source)
    if session is not None:
        queued = replace(
            queued, session=replace(session, sub_file=queued.session.sub_file, details=queued.session.details)
        )
    return replace(queued, source=source, copies=(queued.source, *queued.copies))


def list_stored_sources(
    repository: Repository, formats: Sequence[Format], skipped: list[Skipped]
) -> list[QueuedSource]:
    """Return all stored sources in the order of an import, to be read again; those that cannot be are skipped.

    Sessions that `checkout` has written are left out: their messages are those of the conversation.
    """
    by_name = {each.name: each for each in formats}
    queue = []
    for ref, oid in sorted(repository.list_refs(SOURCES).items()):
        record = with_last_path(repository, read_source_record(repository, Oid(oid)))
        if record.handover is not None:
            continue
        queued = None if record.purged else _open_stored(repository, Oid(oid), record, by_name.get(record.format))
        if queued is None or source_key_of(queued.session) != ref.removeprefix(SOURCES):
            skipped.append(Skipped(path=record.file_name, reason="cannot be read again; its messages stay as they are"))
        else:
            queue.append(queued)
    return sort_parents_first(sorted(queue, key=sort_key))


def _open_stored(objects: Objects, commit: Oid, record: SourceRecord, chosen: Format | None) -> QueuedSource | None:
    """Return a stored source as an import would queue it; None if its format is not known or cannot read it."""
    source = StoredCopy(record.file_name, record.size, objects, commit)
    session = None
    with suppress(CannotImport), name_source(source):
        session = None if chosen is None else read_session(chosen, source)
    if session is None or chosen is None:
        return None
    is_copy = session.sub_file != record.part and not session.is_stream  # of another file of the session
    details = {"line": COPY, **session.details} if is_copy else session.details
    return QueuedSource(source, chosen, replace(session, sub_file=record.part, details=details))


def _digest_of_prefix(objects: Objects, commit: Oid, size: int) -> str:
    digest = sha256()
    for chunk in walk_chunks(objects, commit):
        digest.update(chunk[:size])
        size -= min(size, len(chunk))
        if not size:
            break
    return digest.hexdigest()
