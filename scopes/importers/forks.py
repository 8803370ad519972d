"""Find where a session continues another one: by name, or because both begin with the same messages.

Equal content alone is no proof: two sessions that begin with the same prompt often get the same short first answer. So
a session joins another one only if they share an agent's answer after at least one other message, and one of these is
equal too: an id that the model's API gave (of the answer or of a tool call), the exact time of the answer, or a text of
the agent that is too long to be written twice.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from zlib import crc32

from scopes.errors import CannotImport
from scopes.history.messages import is_root, message_id_of, read_body
from scopes.history.sources import SEGMENTS, SOURCES
from scopes.ids import MessageId, Oid
from scopes.importers.archive import Segment, StoredCopy, walk_segments
from scopes.importers.formats.base import Format, Source, name_source
from scopes.importers.formats.events import Session
from scopes.importers.identity import (
    Beginning,
    can_join,
    parent_source_keys,
    read_beginning,
    source_key_of,
)
from scopes.importers.session_commits import OPEN, Commits, ParentSession
from scopes.importers.source_queue import QueuedSource, sort_key, sort_parents_first
from scopes.importers.targets import ImportTargets
from scopes.importers.workers import count_workers, map_in_workers
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Objects, read_blob, read_commit, walk_blobs
from scopes.store.repository import Repository


def stored_parent(objects: Objects, tips: Sequence[Oid], record: Oid | None) -> ParentSession:
    """Return a session as the store has it; its open messages are those at its tips."""
    found: Commits = {}
    for tip in tips:
        for commit in walk_newest_first(objects, [tip]):
            if is_root(commit) or OPEN not in read_body(objects, commit).extra:
                break
            found[message_id_of(commit), commit.parents[0]] = commit.oid
    return ParentSession(tips, record, open=found)


def find_start(
    objects: Objects, session: Session, root: Oid, parent: ParentSession | None
) -> tuple[MessageId | None, Oid]:
    """Return the message and commit that a session's first messages follow; (None, root) at the beginning.

    `details.end_byte_offset` is how many bytes of the parent's source the session includes. The message that ends there
    may still be open; if it changes, the session is imported anew.
    """
    end = session.details.get("end_byte_offset")
    if session.base is None or parent is None or not isinstance(end, int):
        return None, root
    last: MessageId | None = None
    for segment in _segments_of(objects, parent):
        if segment.message is not None and segment.span.offset + segment.span.length <= end:
            last = segment.message
    oid = None if last is None else _find_message(objects, parent, last)
    return (None, root) if oid is None else (last, oid)


def number_groups(
    sessions: Sequence[Session],
    roots_of: Callable[[str], Iterable[Oid]],
    joined: Mapping[str, str] = MappingProxyType({}),
) -> list[int]:
    """Give sessions that continue each other, or share a conversation, one number (union-find).

    `roots_of` returns the root commits of the conversations that a source went to at its last import. `joined` maps the
    key of a session to that of the one whose conversation it joins.
    """
    parents: dict[str, str] = {}

    def find(name: str) -> str:
        while (above := parents.setdefault(name, name)) != name:
            parents[name] = parents[above]
            name = above
        return name

    for session in sessions:
        own = source_key_of(session)
        for key in (own, *parent_source_keys(session), *filter(None, [joined.get(own)])):
            for name in (key, *roots_of(key)):
                parents[find(name)] = find(own)
    numbers: dict[str, int] = {}
    return [numbers.setdefault(find(source_key_of(session)), len(numbers)) for session in sessions]


def _segments_of(objects: Objects, parent: ParentSession) -> Iterable[Segment]:
    if parent.record is not None:
        return walk_segments(objects, parent.record)
    return () if parent.imported is None else parent.imported.segments


def _find_message(objects: Objects, parent: ParentSession, wanted: MessageId) -> Oid | None:
    if parent.imported is not None:
        imported = parent.imported
        return next((imported.oids[key] for key, identity in imported.ids.items() if identity == wanted), None)
    commits = walk_newest_first(objects, parent.tips)
    return next((commit.oid for commit in commits if message_id_of(commit) == wanted), None)


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
    beginnings = dict(zip(new, _read_beginnings(repository, list(new.values())), strict=True))
    wanted = {answer for key in new for answer in beginnings[key].answers}
    owners: dict[bytes, QueuedSource] = {}
    for queued, beginning in _walk_stored(repository, objects, targets, wanted):
        _add_owner(owners, queued, beginning)
    for key, queued in new.items():
        beginning = beginnings[key]
        owner = next((owners[proof] for proof in reversed(beginning.proofs) if proof in owners), None)
        joined[key] = None if owner is None else source_key_of(owner.session)
        _add_owner(owners, queued, beginning)
    result = [replace(queued, joined=joined.get(key)) for key, queued in zip(keys, queue, strict=True)]
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
