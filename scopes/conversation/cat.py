"""`cat`: one message, whole."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scopes.errors import NotFound
from scopes.history.messages import MessageHead, head_of, is_root, message_id_of, read_message_bytes
from scopes.history.revparse import Revision, find_active_branch, find_conversation, resolve_revision
from scopes.history.sources import SOURCES, find_message_spans, walk_chunks
from scopes.history.staleness import SUMMARY, count_since
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.codec import decode
from scopes.model.message import Message
from scopes.result import Document, Result
from scopes.store.repository import Repository, read_commit


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageView(Result):
    """A message with where it was found; `stored` is its line exactly as it is kept.

    Of a summary, `newer` is how many messages came after it on its branch: it is stale then (S4-47).
    """

    conversation: ConversationId
    branch: BranchName | None
    head: MessageHead
    message: Message
    stored: bytes
    newer: int | None = None


def cat(repository: Repository, message: str, *, conversation: str | None = None) -> MessageView:
    """Read one message by id, by place (`conv-001/main~2`) or by tag.

    Raises:
        NotFound: there is no such message, or the place is a conversation without messages.
    """
    within = None if conversation is None else find_conversation(repository, conversation)
    place = resolve_revision(repository, message, within)
    commit = read_commit(repository, place.oid)
    if is_root(commit):
        where = f"{place.conversation}/{place.branch}" if place.branch else place.conversation
        raise NotFound(f"{where} has no message here", hint=f'add one: scopes conv append {place.conversation} "..."')
    stored = read_message_bytes(repository, place.oid)
    head, read = head_of(commit), decode(stored)
    return MessageView(
        conversation=place.conversation,
        branch=place.branch,
        head=head,
        message=read,
        stored=stored,
        newer=_count_newer(repository, place, head, read) if head.kind == SUMMARY else None,
    )


def _count_newer(repository: Repository, place: Revision, head: MessageHead, message: Message) -> int | None:
    """Count what came after a summary on the branch that it was named by, was made on, or that is active."""
    match message.extra.get("summarizes"):
        case {"branch": str(made_on)}:
            names = [made_on]
        case _:
            names = []
    named = [] if place.branch is None else [place.branch]
    return count_since(
        repository, place.conversation, head, [*named, *names, find_active_branch(repository, place.conversation)]
    )


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
    place = resolve_revision(repository, message, within)
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
