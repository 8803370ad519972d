"""Write and read the record of a source: its exact bytes, and what each of them became.

A record is a tree that depends on the source's bytes alone: `chunks/` cut at record ends, `segments/` in pages, and
`source.json`. When a source grows, all but the last chunk and page are shared with its previous record.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from scopes import fast_json
from scopes.errors import CannotImport, Corrupt
from scopes.history.sources import (
    CHUNKS,
    DESCRIPTION_FILE,
    HANDOVER_FIELD,
    PURGED_FIELD,
    SEGMENTS,
    SourceRecord,
    walk_chunks,
)
from scopes.ids import MessageId, Oid
from scopes.importers.formats.base import Source
from scopes.importers.formats.events import ByteRange
from scopes.importers.identity import CONTENT_VERSION
from scopes.importers.purged_texts import Span, blank_records
from scopes.model import canonical_json
from scopes.store.objects import (
    BLOB,
    COMMIT,
    BlobChange,
    Identity,
    Objects,
    format_commit,
    read_blob,
    read_commit,
    update_tree,
    walk_blobs,
)

if TYPE_CHECKING:
    from hashlib import _Hash as HASH

CHUNK_BYTES = 1 << 20
PAGE_SEGMENTS = 1000
_PLAIN_NAMES = re.compile(r"[0-9A-Za-z_-]*")  # JSON writes them as they are


class Segment(NamedTuple):
    """A byte range of a source and what it became: a message, a state record, or unparsed bytes with the reason."""

    span: ByteRange
    message: MessageId | None = None
    state: str | None = None
    unparsed: str | None = None
    native_ids: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Return `message`, `state` or `unparsed`."""
        return "message" if self.message else "state" if self.state is not None else "unparsed"


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """The stored record of a source, and its commit."""

    commit: Oid
    record: SourceRecord


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


def write_source_record(
    objects: Objects,
    previous: Oid | None,
    record: SourceRecord,
    stream: BinaryIO,
    segments: list[Segment],
    *,
    time: int,
    blank: Sequence[Span] = (),
) -> Oid:
    """Write a source's bytes and segments; return the new commit of its record, which depends on its bytes alone.

    blank: what was purged, and is overwritten

    Raises:
        CannotImport: the file has changed since its digest was computed.
    """
    files: dict[str, BlobChange] = {}
    digest = sha256()
    ends = [segment.span.offset + segment.span.length for segment in segments]
    chunks = _digesting(_cut_chunks(stream, record.size, ends), digest)
    if blank:
        chunks = blank_records(chunks, blank)
    for number, chunk in enumerate(chunks):
        files[f"{CHUNKS}{number:06d}"] = objects.write(BLOB, chunk)
    if digest.hexdigest() != record.digest:
        raise changed_meanwhile(record.path)
    for number in range(0, len(segments), PAGE_SEGMENTS):
        page = b"".join(_write_segment(segment) for segment in segments[number : number + PAGE_SEGMENTS])
        files[f"{SEGMENTS}{number // PAGE_SEGMENTS:06d}.jsonl"] = page
    files[DESCRIPTION_FILE] = canonical_json.dump(_description(record))
    data = format_commit(
        tree=update_tree(objects, None, files),
        parents=() if previous is None else (previous,),
        author=Identity("scopes", "scopes@systems.scopes"),
        time=time,
        subject=f"{record.format} {record.native_id}: {record.size} bytes",
    )
    return objects.write(COMMIT, data)


def _digesting(chunks: Iterable[bytes], digest: HASH) -> Iterator[bytes]:
    """Yield chunks, and add each to a digest."""
    for chunk in chunks:
        digest.update(chunk)
        yield chunk


def walk_segments(objects: Objects, commit: Oid) -> Iterator[Segment]:
    """Yield the segments of a stored source in byte order."""
    for path, oid in walk_blobs(objects, read_commit(objects, commit).tree):
        if path.startswith(SEGMENTS):
            for line in read_blob(objects, oid).splitlines():
                yield _read_segment(line)


def digest_of(source: Source, size: int) -> str:
    """Return the SHA-256 of the first `size` bytes of a source."""
    return digests_of(source, size, size)[0]


def digests_of(source: Source, size: int, prefix: int) -> tuple[str, str]:
    """Return the SHA-256 of the first `size` bytes of a source and of its first `prefix` bytes, in one read.

    Raises:
        CannotImport: the source has become shorter.
    """
    digest = sha256()
    found = []
    with source.open() as stream:
        for length in (min(prefix, size), max(0, size - prefix)):
            read = 0
            for block in _walk_blocks(stream, length):
                digest.update(block)
                read += len(block)
            if read < length:
                raise changed_meanwhile(source.path)
            found.append(digest.hexdigest())
    return found[1], found[0]


def changed_meanwhile(path: str) -> CannotImport:
    """Return the error for a source that has changed since the import began."""
    return CannotImport(f"{path} was changed while it was read", hint="import it again when no program writes to it")


def _walk_blocks(stream: BinaryIO, left: int) -> Iterator[bytes]:
    while left > 0 and (block := stream.read(min(left, CHUNK_BYTES))):
        yield block
        left -= len(block)


def _cut_chunks(stream: BinaryIO, size: int, ends: Iterable[int]) -> Iterator[bytes]:
    """Yield chunks that end at the first record end after CHUNK_BYTES; a longer source is cut at the same places."""
    start = 0
    for end in ends:
        if end - start >= CHUNK_BYTES:
            yield stream.read(end - start)
            start = end
    if start < size:
        yield stream.read(size - start)


def _description(record: SourceRecord) -> dict[str, Any]:
    known: dict[str, Any] = {"part": record.part} if record.part is not None else {}
    if record.base is not None:
        known["base"] = record.base
    if record.joined is not None:
        known["joined"] = record.joined
    if record.purged:
        known[PURGED_FIELD] = True
    if record.handover is not None:
        known[HANDOVER_FIELD] = record.handover._asdict()
    if record.sessions:
        known["sessions"] = [[key, root] for key, root in record.sessions]
    return {
        "v": 1, "format": record.format, "native_id": record.native_id, "size": record.size, "sha256": record.digest,
        "parser": record.parser, "essence": CONTENT_VERSION, "root": record.root, **known,
    }  # fmt: skip


def _write_segment(segment: Segment) -> bytes:
    if segment.state is not None and segment.kind == "state" and segment.unparsed is None and not segment.native_ids:
        return b'{"length":%d,"offset":%d,"state":%s}\n' % (*segment.span[::-1], _encode_key(segment.state))
    names = "".join(segment.native_ids)
    if segment.message and segment.state is segment.unparsed is None and _PLAIN_NAMES.fullmatch(names):
        native = '"native":["{}"],'.format('","'.join(segment.native_ids)) if segment.native_ids else ""
        span = segment.span
        return f'{{"length":{span.length},"message":"{segment.message}",{native}"offset":{span.offset}}}\n'.encode()
    outcome = {"message": segment.message, "state": segment.state, "unparsed": segment.unparsed}
    document: dict[str, Any] = {key: value for key, value in outcome.items() if value is not None}
    document |= {"offset": segment.span.offset, "length": segment.span.length}
    if segment.native_ids:
        document["native"] = list(segment.native_ids)
    return canonical_json.dump(document)


@lru_cache(maxsize=256)
def _encode_key(text: str) -> bytes:
    """Encode the key of a state record; a source has few of them."""
    return canonical_json.dump(text).rstrip(b"\n")


def _read_segment(line: bytes) -> Segment:
    match _decode(line):
        case {"offset": int(offset), "length": int(length), **rest}:
            message, native = rest.get("message"), rest.get("native")
            return Segment(
                ByteRange(offset, length),
                MessageId(message) if isinstance(message, str) else None,
                _text(rest.get("state")),
                _text(rest.get("unparsed")),
                tuple(str(name) for name in native) if isinstance(native, list) else (),
            )
    raise Corrupt("a segment of an imported source is damaged", hint="run: scopes verify")


def _decode(line: bytes) -> object:
    """Decode a segment, which we wrote: it has small numbers and no key twice, so that every library reads it alike."""
    if fast_json.library is not None:
        with suppress(ValueError, RecursionError):  # damaged: `canonical_json.load` tells how
            return fast_json.library.decode(line)
    return canonical_json.load(line)


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
