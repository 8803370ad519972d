"""Remove the bytes of purged messages from stored transcripts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable, Iterator

from scopes.errors import Corrupt
from scopes.history.sources import CHUNKS, DESCRIPTION_FILE, PURGED_FIELD, SEGMENTS, Purged
from scopes.ids import Oid
from scopes.importers.purged_texts import Quotes, RecordSpan, Span, blank_records, list_purged_spans
from scopes.model import canonical_json
from scopes.store.objects import (
    TREE,
    BlobChange,
    Objects,
    find_blob,
    find_in_tree,
    read_blob,
    read_data,
    update_tree,
    walk_blobs,
)


def is_gone(objects: Objects, tree: Oid, roots: Collection[Oid]) -> bool:
    """Return True for a source that was imported into a purged conversation, alone or among others."""
    if find_in_tree(read_data(objects, tree, TREE), DESCRIPTION_FILE) is None:
        return False
    return any(root in roots for root in _walk_roots(find_blob(objects, tree, DESCRIPTION_FILE) or b"null"))


def _walk_roots(data: bytes) -> Iterator[str]:
    match canonical_json.load(data):
        case {"root": str(root), **rest}:
            yield root
            sessions = rest.get("sessions")
            for session in sessions if isinstance(sessions, list) else ():
                match session:
                    case [_, str(other)]:
                        yield other


def purge_source(
    objects: Objects,
    tree: Oid,
    purged: Purged,
    quotes: Quotes,
    *,
    gone: Container[str],
    own_roots: Collection[Oid],
    substitute: Callable[[bytes], bytes],
    read_message: Callable[[str], Iterable[bytes]],
    note_others: Callable[[int], None],
) -> Oid:
    """Return the tree of a stored source without the records of purged messages, and with the new ids of commits.

    gone: the messages that are purged now; `quotes` has their texts, and others were purged before
    own_roots: the roots of conversations with such a message: an agent writes it into other transcripts of them, too
    note_others: called with the number of removed records that are not messages
    """
    chunks = [(path, oid) for path, oid in walk_blobs(objects, tree) if path.startswith(CHUNKS)]

    def read() -> Iterator[bytes]:
        return (read_blob(objects, oid) for _, oid in chunks)

    records = list(walk_records(objects, tree))
    data = find_blob(objects, tree, DESCRIPTION_FILE) or b"null"
    has_one = any(each.message is not None and each.message in gone for each in records)
    sought = quotes if has_one or any(root in own_roots for root in _walk_roots(data)) else Quotes()
    spans = list_purged_spans(records, purged, sought, read, read_message)
    changes: dict[str, BlobChange] = {}
    if spans:
        own = {each.span for each in records if each.message is not None}
        note_others(sum(span not in own for span in spans))
        changes = {path: data for (path, _), data in zip(chunks, blank_records(read(), spans), strict=True)}
    description = canonical_json.load(substitute(data))
    if isinstance(description, dict) and spans:
        description[PURGED_FIELD] = True
    changes[DESCRIPTION_FILE] = canonical_json.dump(description)
    return update_tree(objects, tree, changes)


def walk_records(objects: Objects, tree: Oid) -> Iterator[RecordSpan]:
    """Yield the byte range of each record of a stored source, with its message."""
    for path, oid in walk_blobs(objects, tree):
        for line in read_blob(objects, oid).splitlines() if path.startswith(SEGMENTS) else ():
            try:
                document = canonical_json.load(line)
            except Corrupt:
                continue
            match document:
                case {"offset": int(offset), "length": int(length), **rest}:
                    message = rest.get("message")
                    yield RecordSpan(Span(offset, length), message if isinstance(message, str) else None)
