"""A file that is an older copy of what the store has: the run goes on with the stored bytes, as if both had come in.

A source only ever grows. One that ends before what is stored of it, and is its beginning byte for byte, was copied
earlier or cut since; taking its end for the source's end would throw the branches back.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import BinaryIO

from scopes.history.sources import walk_chunks
from scopes.ids import Oid
from scopes.importers.archive import digest_of
from scopes.importers.formats.base import Source
from scopes.importers.formats.events import Session
from scopes.importers.identity import source_key_of
from scopes.importers.targets import ImportTargets
from scopes.importers.work_queue import QueuedSource
from scopes.store.repository import Objects


@dataclass(frozen=True, slots=True)
class StoredCopy(Source):
    """What is stored of a source, to be read in place of a shorter file."""

    objects: Objects
    commit: Oid

    def open(self) -> BinaryIO:
        """Open the stored bytes for reading from their beginning."""
        with tempfile.TemporaryFile(buffering=0) as file:
            for chunk in walk_chunks(self.objects, self.commit):
                file.write(chunk)
            file.seek(0)
            return os.fdopen(os.dup(file.fileno()), "rb")


def use_stored_source(objects: Objects, homes: ImportTargets, work: QueuedSource) -> QueuedSource:
    """Return the work as the store has it, the file being a copy then, where the file is an older copy of that."""
    stored = homes.stored(source_key_of(work.session))
    if stored is None or stored.record.size <= work.source.size:
        return work
    if _digest_of_beginning(objects, stored.commit, work.source.size) != digest_of(work.source, work.source.size):
        return work
    source = StoredCopy(work.source.path, stored.record.size, objects, stored.commit)
    first = next(iter(work.format.walk_events(source)), None)
    session = (
        replace(first, part=work.session.part, details=work.session.details)
        if isinstance(first, Session)
        else work.session
    )
    return replace(work, source=source, session=session, copies=(work.source, *work.copies))


def _digest_of_beginning(objects: Objects, commit: Oid, size: int) -> str:
    digest = sha256()
    for chunk in walk_chunks(objects, commit):
        digest.update(chunk[:size])
        size -= min(size, len(chunk))
        if not size:
            break
    return digest.hexdigest()
