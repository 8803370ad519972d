"""Records of transcripts that stay and have a purged text: what an agent wrote in another session, not a copy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Container, Iterator, Sequence
from shlex import quote
from typing import Final, NamedTuple

from scopes.history.sources import (
    CHUNKS,
    RECORD,
    SOURCES,
    name_of_record,
    read_source_record,
    read_spans,
    with_last_path,
)
from scopes.ids import MessageId, Oid
from scopes.purge.rewrite_source import walk_records
from scopes.result import Note, plural
from scopes.store.objects import read_blob, read_commit, walk_blobs
from scopes.store.repository import Repository

_FEW: Final = 5
_KEY: Final = 12  # characters of a hash, enough to name a record


class KeptRecord(NamedTuple):
    """A record with a purged text: one of a message, or a record that is no message, with its purge key.

    path: of the transcript, or its id in the store if its path is not known
    """

    path: str
    message: MessageId | None
    key: str


def find_kept_records(
    repository: Repository, objects: Collection[Oid], find: Callable[[bytes], frozenset[int]], gone: Container[str]
) -> tuple[frozenset[Oid], list[KeptRecord]]:
    """Return those of some objects whose purged texts are all in records that stay, and these records.

    The transcript of a session with a purged message has no such records: what quotes the message is removed from it.

    objects: with a purged text, of any kind
    find: returns the numbers of the purged lines in some bytes
    gone: the messages that were purged now
    """
    wanted = frozenset(objects)
    explained: set[Oid] = set()
    found: list[KeptRecord] = []
    for ref, value in repository.list_refs(SOURCES).items() if wanted else ():
        tree = read_commit(repository, Oid(value)).tree
        chunks = [oid for path, oid in walk_blobs(repository, tree) if path.startswith(CHUNKS)]
        if wanted.isdisjoint(chunks):
            continue
        path = with_last_path(repository, read_source_record(repository, Oid(value))).path or ref.removeprefix(SOURCES)
        numbers: set[int] = set()
        for kept, data in _walk_kept(repository, tree, chunks, gone, path):
            if lines := find(data):
                numbers |= lines
                found.append(kept)
        explained |= {oid for oid in wanted.intersection(chunks) if find(read_blob(repository, oid)) <= numbers}
    return frozenset(explained), list(dict.fromkeys(found))


def _walk_kept(
    repository: Repository, tree: Oid, chunks: list[Oid], gone: Container[str], path: str
) -> Iterator[tuple[KeptRecord, bytes]]:
    records = [each for each in walk_records(repository, tree) if each.span.length]
    if any(each.message is not None and each.message in gone for each in records):
        return
    owners = {each.span: each.message for each in sorted(records, key=lambda each: each.message is not None)}
    spans = sorted(owners)
    pieces = read_spans((read_blob(repository, oid) for oid in chunks), [(span.offset, span.length) for span in spans])
    for span, data in zip(spans, pieces, strict=False):
        message = owners[span]
        if message is not None:
            yield KeptRecord(path, MessageId(message), ""), data
        else:
            for line in data.splitlines():
                yield KeptRecord(path, None, name_of_record(line)), line


def note_records(found: Sequence[KeptRecord]) -> Iterator[Note]:
    """Yield a note for each transcript that has such records which are no messages."""
    for path, records in itertools.groupby(found, key=lambda each: each.path):
        keys = [each.key.removeprefix(RECORD)[:_KEY] for each in records]
        few = " ".join(f"--record {quote(key)}" for key in keys[:_FEW])
        what = f"{len(keys)} {plural(len(keys), 'record')} of the stored transcript {path}"
        which = "is no message and has" if len(keys) == 1 else "are no messages and have"
        more = f", and {len(keys) - _FEW} more" if len(keys) > _FEW else ""
        it = "it" if len(keys) == 1 else "them"
        yield Note(
            f"{what} {which} the same text: {', '.join(keys[:_FEW])}{more}", f"purge {it}, too: scopes purge {few}"
        )


def walk_record_keys(repository: Repository) -> Iterator[str]:
    """Yield the purge keys of all records of stored transcripts that are no messages."""
    for value in repository.list_refs(SOURCES).values():
        tree = read_commit(repository, Oid(value)).tree
        chunks = [oid for path, oid in walk_blobs(repository, tree) if path.startswith(CHUNKS)]
        for kept, _ in _walk_kept(repository, tree, chunks, (), ""):
            if kept.message is None:
                yield kept.key
