"""The bytes that a message was imported from: the records of its source, as the agent's program wrote them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scopes.conversation.heads import message_id_of
from scopes.conversation.lookup import find_conversation, find_place
from scopes.conversation.source_record import SOURCES, find_message_spans, walk_chunks
from scopes.errors import NotFound
from scopes.ids import Oid
from scopes.result import Document
from scopes.store.repository import Repository, read_commit


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginalRecords(Document):
    """A message's records, each as it stands in its source, one after the other."""

    records: tuple[bytes, ...]

    @property
    def pieces(self) -> Iterable[bytes]:
        """Yield the records, each ended by a newline where its source has none there."""
        return (record if record.endswith(b"\n") else record + b"\n" for record in self.records)


def read_original(repository: Repository, message: str, *, conversation: str | None = None) -> OriginalRecords:
    """Read the records that became one message, from the first source that has it.

    Raises:
        NotFound: there is no such message, or it was not imported.
    """
    within = None if conversation is None else find_conversation(repository, conversation)
    place = find_place(repository, message, within)
    name = message_id_of(read_commit(repository, place.oid))
    for _, source in sorted(repository.list_refs(SOURCES).items()):
        spans = find_message_spans(repository, Oid(source), name)
        if spans:
            return OriginalRecords(records=tuple(_slices(walk_chunks(repository, Oid(source)), spans)))
    raise NotFound(
        f"{name} was not imported, so it has no original", hint="see how it is stored: scopes conv cat --raw"
    )


def _slices(chunks: Iterable[bytes], spans: list[tuple[int, int]]) -> Iterator[bytes]:
    """Cut ascending spans (offset, length) out of chunks, of which two are in memory at most."""
    buffer, start, rest = b"", 0, iter(chunks)
    for offset, length in spans:
        while start + len(buffer) < offset + length:
            kept = buffer[max(offset - start, 0) :]
            start += len(buffer) - len(kept)
            chunk = next(rest, None)
            if chunk is None:
                break
            buffer = kept + chunk
        yield buffer[offset - start : offset - start + length]
