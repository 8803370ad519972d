"""Find sessions that begin with the messages of another one and name no parent: copies, continued differently.

Equal content alone is no proof: two sessions that begin with the same prompt often get the same short first answer. So
a session joins another one only if they share an agent's answer after at least one other message, and one of these is
equal too: an id that the model's API gave (of the answer or of a tool call), the exact time of the answer, or a text of
the agent that is too long to be written twice.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from zlib import crc32

from scopes.errors import CannotImport
from scopes.history.sources import SEGMENTS, SOURCES
from scopes.ids import MessageId, Oid
from scopes.importers.beginning import Beginning, can_join, read_beginning
from scopes.importers.formats.base import Format, Source, name_source
from scopes.importers.formats.events import Session
from scopes.importers.identity import source_key_of
from scopes.importers.stale_copy import StoredCopy
from scopes.importers.targets import ImportTargets
from scopes.importers.work_queue import QueuedSource, sort_key, sort_parents_first
from scopes.importers.workers import count_workers, map_in_workers
from scopes.store.objects import Objects, read_blob, read_commit, walk_blobs
from scopes.store.repository import Repository

_MAX_PAGES = 2  # of the segments of a stored source, in which its first answers are
_MESSAGE = re.compile(rb'"message":"([a-z2-7]{26})"')


def find_joins(
    repository: Repository,
    objects: Objects,
    targets: ImportTargets,
    queue: Sequence[QueuedSource],
    *,
    join: bool,
) -> list[QueuedSource]:
    """Return the queue with the session that each one joins, sorted so that this one comes first.

    A session joins the one that shares most of its first answers, and of several the first in import order. Those that
    were imported before stay where they are; without `join`, new ones join none.
    """
    keys = [source_key_of(queued.session) for queued in queue]
    joined = {key: stored.record.joined for key in keys if (stored := targets.stored(key)) is not None}
    unknown = {key: queued for key, queued in zip(keys, queue, strict=True) if not targets.was_imported(key)}
    new = {key: queued for key, queued in unknown.items() if join and can_join(queued.session)}
    beginnings = {key: queued.beginning for key, queued in new.items() if queued.beginning is not None}
    unread = {key: queued for key, queued in new.items() if queued.beginning is None}
    beginnings |= zip(unread, _read_beginnings(repository, list(unread.values())), strict=True)
    wanted = {answer for key in new for answer in beginnings[key].answers}
    owners: dict[bytes, QueuedSource] = {}
    for queued, beginning in _walk_stored(repository, objects, targets, wanted):
        _add_owner(owners, queued, beginning)
    for key, queued in new.items():
        beginning = beginnings[key]
        owner = next((owners[proof] for proof in reversed(beginning.proofs) if proof in owners), None)
        joined[key] = None if owner is None else source_key_of(owner.session)
        _add_owner(owners, queued, beginning)
    result = [replace(queued, joined=joined.get(key), beginning=None) for key, queued in zip(keys, queue, strict=True)]
    return sort_parents_first(result) if any(joined.values()) else result


def _read_beginnings(repository: Repository, queue: Sequence[QueuedSource]) -> list[Beginning]:
    """Return the first answers of sources; worker processes read those of many."""
    workers = count_workers(repository)
    return map_in_workers(lambda queued: _read_beginning(queued.format, queued.source), queue, workers)


def _read_beginning(chosen: Format, source: Source) -> Beginning:
    """Return the first answers of a source; none if it cannot be read, which the import reports."""
    with suppress(OSError, CannotImport), name_source(source):
        return read_beginning(chosen.walk_events(source))
    return Beginning()


def _add_owner(owners: dict[bytes, QueuedSource], queued: QueuedSource, beginning: Beginning) -> None:
    """Record the first session, in import order, that has each of the proofs."""
    for proof in beginning.proofs:
        known = owners.get(proof)
        if known is None or sort_key(queued) < sort_key(known):
            owners[proof] = queued


def _walk_stored(
    repository: Repository,
    objects: Objects,
    targets: ImportTargets,
    wanted: set[MessageId],
) -> Iterator[tuple[QueuedSource, Beginning]]:
    """Yield the stored sources that have one of the messages, if their conversation exists."""
    for ref, oid in _find_sources_with(repository, objects, targets.index_directory, wanted):
        if wanted.isdisjoint(_first_message_ids(objects, oid)):
            continue
        stored = targets.stored(ref[len(SOURCES) :])
        chosen = None if stored is None else targets.formats.get(stored.record.format)
        if stored is None or chosen is None or not targets.has_conversation(stored.record.root):
            continue
        source = StoredCopy(stored.record.file_name, stored.record.size, objects, stored.commit)
        with suppress(OSError, CannotImport), name_source(source):
            session = next(iter(chosen.walk_events(source)), None)
            if isinstance(session, Session) and stored.record.part is None and can_join(session):
                yield QueuedSource(source, chosen, session), read_beginning(chosen.walk_events(source))


def _find_sources_with(
    repository: Repository, objects: Objects, index_directory: str | None, wanted: set[MessageId]
) -> Iterator[tuple[str, Oid]]:
    """Yield the refs and records of the stored sources that may have one of the messages near their beginning."""
    numbers = set(map(_hash, wanted))
    for (ref, oid), hashes in _hash_sources(repository, objects, index_directory).items() if wanted else ():
        if not numbers.isdisjoint(array("I", hashes)):
            yield ref, oid


def _hash_sources(
    repository: Repository, objects: Objects, index_directory: str | None
) -> dict[tuple[str, Oid], bytes]:
    """Return the hashes of the first messages of each stored source, by its ref and record."""
    return _hash_records(repository, objects, index_directory, _list_records(repository))


def _list_records(repository: Repository) -> dict[str, Oid]:
    return {ref: Oid(oid) for ref, oid in repository.list_refs(SOURCES).items()}


def _hash_records(
    repository: Repository, objects: Objects, index_directory: str | None, sources: Mapping[str, Oid]
) -> dict[tuple[str, Oid], bytes]:
    from scopes.index.caches import find_or_compute

    hashes: dict[Oid, bytes] = find_or_compute(
        index_directory, repository.path, "source", sources.values(), lambda oid: _hash_first_messages(objects, oid)
    )
    return {(ref, oid): hashes[oid] for ref, oid in sources.items()}


def _hash_first_messages(objects: Objects, commit: Oid) -> bytes:
    return array("I", sorted(map(_hash, _first_message_ids(objects, commit)))).tobytes()


def _hash(message: MessageId) -> int:
    return crc32(message.encode("ascii"))


def _first_message_ids(objects: Objects, commit: Oid) -> set[MessageId]:
    """Return the ids of the first messages of a stored source, without parsing its segments."""
    tree = read_commit(objects, commit).tree
    pages = sorted(entry for entry in walk_blobs(objects, tree) if entry[0].startswith(SEGMENTS))
    found: set[MessageId] = set()
    for _, oid in pages[:_MAX_PAGES]:
        found |= {MessageId(name.decode("ascii")) for name in _MESSAGE.findall(read_blob(objects, oid))}
    return found
