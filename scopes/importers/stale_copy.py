"""Use the stored bytes of a source when the file is only an older copy of them.

A source only grows. A file that is shorter than the stored source, and equal to its beginning, was copied earlier or
truncated. Importing it as it is would move the branches back.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import BinaryIO

from scopes.errors import CannotImport
from scopes.history.sources import walk_chunks
from scopes.ids import Oid
from scopes.importers.archive import digest_of
from scopes.importers.formats.base import Source, read_session
from scopes.importers.targets import StoredRecord
from scopes.importers.work_queue import QueuedSource
from scopes.store.objects import Objects


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


def _digest_of_prefix(objects: Objects, commit: Oid, size: int) -> str:
    digest = sha256()
    for chunk in walk_chunks(objects, commit):
        digest.update(chunk[:size])
        size -= min(size, len(chunk))
        if not size:
            break
    return digest.hexdigest()
