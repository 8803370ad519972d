"""The messages of an inbox: its entries in little memory, each message read from the store when it is asked for."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, overload

from scopes.errors import Corrupt, NotFound
from scopes.history.handles import read_uuid
from scopes.history.messages import read_message
from scopes.history.names import names_by_uuid
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.model.canonical_json import without_none
from scopes.model.message import Message
from scopes.store.objects import read_commit
from scopes.store.repository import Repository

_MAY_END: Final = frozenset({"proposal", "collaboration-request", "notice"})  # kinds of messages that ask for something


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxEntry:
    """A message for an agent. `queued`: it was sent while the agent was away, and waits until it is available.

    `uuid` is that of the conversation; an entry that an older version wrote has none.
    """

    sequence: int
    message: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    sender: AgentName
    sent: str
    queued: bool = False
    uuid: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage:
    """An entry of an inbox, with the present id of its conversation, and its message; None if the store has it no more.

    If the conversation was deleted and another one has its id now, the entry has the uuid in place of the id. `ended`
    says what has ended that the message asks for: `the proposal is applied`; None if nothing has.
    """

    entry: InboxEntry
    message: Message | None
    ended: str | None = None

    @property
    def words(self) -> str:
        """The text of the message; if it has none, its payload as JSON."""
        if self.message is None:
            return "(the message is no longer in the store)"
        if self.message.text.strip() or self.message.payload is None:
            return self.message.text
        return json.dumps(dict(self.message.payload), ensure_ascii=False)

    def document(self) -> dict[str, object]:
        """Return the message as a JSON object."""
        entry, message = self.entry, self.message
        known: dict[str, object] = {}
        if message is not None:
            known = without_none(
                message_kind=message.kind, text=message.text or None, data=message.payload, reply_to=message.reply_to
            )
        return {
            "id": entry.message,
            "oid": entry.oid,
            "conversation": entry.conversation,
            "branch": entry.branch,
            "from": entry.sender,
            "sent": entry.sent,
            **known,
            **without_none(ended=self.ended),
        }


class PackedEntries(Sequence[InboxEntry]):
    """Entries that were delivered, in little memory: a short text for each, and once what many have in common."""

    def __init__(self, entries: Iterable[InboxEntry]) -> None:
        shared: dict[tuple[ConversationId, BranchName, AgentName, str | None], int] = {}
        self._packed: list[bytes] = []
        for each in entries:
            number = shared.setdefault((each.conversation, each.branch, each.sender, each.uuid), len(shared))
            fields = (str(number), str(each.sequence), each.oid, each.sent, each.message)
            self._packed.append("\t".join(fields).encode("utf-8", "surrogatepass"))
        self._shared = list(shared)

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[InboxEntry]:
        return map(self._unpack, self._packed)

    @overload
    def __getitem__(self, index: int) -> InboxEntry: ...
    @overload
    def __getitem__(self, index: slice) -> list[InboxEntry]: ...
    def __getitem__(self, index: int | slice) -> InboxEntry | list[InboxEntry]:
        found = self._packed[index]
        return list(map(self._unpack, found)) if isinstance(found, list) else self._unpack(found)

    def _unpack(self, packed: bytes) -> InboxEntry:
        number, sequence, oid, sent, message = packed.decode("utf-8", "surrogatepass").split("\t", 4)
        conversation, branch, sender, uuid = self._shared[int(number)]
        return InboxEntry(
            sequence=int(sequence),
            message=MessageId(message),
            oid=Oid(oid),
            conversation=conversation,
            branch=branch,
            sender=sender,
            sent=sent,
            uuid=uuid,
        )


class ReceivedMessages(Sequence[ReceivedMessage]):
    """The messages of entries; each is read from the store whenever it is asked for, so that none stays in memory.

    `ended` says what has ended that messages ask for, by the sequence of their entries.
    """

    def __init__(self, repository: Repository, entries: Iterable[InboxEntry], ended: Mapping[int, str]) -> None:
        self.entries = entries if isinstance(entries, PackedEntries) else PackedEntries(entries)
        self._ended = ended
        self._repository = repository
        self._conversations = EntryConversations(repository)

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[ReceivedMessage]:
        return map(self._receive, self.entries)

    @overload
    def __getitem__(self, index: int) -> ReceivedMessage: ...
    @overload
    def __getitem__(self, index: slice) -> ReceivedMessages: ...
    def __getitem__(self, index: int | slice) -> ReceivedMessage | ReceivedMessages:
        if isinstance(index, slice):
            return ReceivedMessages(self._repository, self.entries[index], self._ended)
        return self._receive(self.entries[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (tuple, ReceivedMessages)) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # equal to a tuple of the same messages, which need not be hashable

    def select(self, matches: Callable[[InboxEntry], bool]) -> ReceivedMessages:
        """Return the messages of some of the entries."""
        return ReceivedMessages(self._repository, filter(matches, self.entries), self._ended)

    def count_ended(self) -> int:
        """Return how many ask for something that has ended."""
        return sum(entry.sequence in self._ended for entry in self.entries) if self._ended else 0

    def _receive(self, entry: InboxEntry) -> ReceivedMessage:
        return replace(_receive(self._repository, entry, self._conversations), ended=self._ended.get(entry.sequence))


def find_ended(repository: Repository, entries: Iterable[InboxEntry]) -> Mapping[int, str]:
    """Return what has ended that the messages of entries ask for, by sequence; only those that may ask are read."""
    conversations = EntryConversations(repository)
    subjects = None
    found: dict[int, str] = {}
    from scopes.agents.ended import EndedSubjects

    for entry in entries:
        if not _may_end(repository, entry):
            continue
        received = _receive(repository, entry, conversations)
        if received.message is not None:
            subjects = subjects or EndedSubjects(repository)
            ended = subjects.find(received.entry.conversation, entry.branch, entry.oid, received.message)
            found |= {} if ended is None else {entry.sequence: ended}
    return found


def _may_end(repository: Repository, entry: InboxEntry) -> bool:
    with suppress(NotFound, Corrupt):
        return read_commit(repository, entry.oid).kind in _MAY_END
    return False


def _receive(repository: Repository, entry: InboxEntry, conversations: EntryConversations) -> ReceivedMessage:
    message = None
    with suppress(NotFound, Corrupt):
        message = read_message(repository, entry.oid)
    where = {"conversation": entry.conversation, "oid": entry.oid, **without_none(uuid=entry.uuid)}
    return ReceivedMessage(entry=replace(entry, conversation=conversations.find_id(where)), message=message)


class EntryConversations:
    """Finds the conversations of inbox entries, which keep their uuids when they are renamed."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._by_id: dict[str, str | None] = {}

    @cached_property
    def _names(self) -> Mapping[str, ConversationId]:
        return names_by_uuid(self._repository)

    def find_uuid(self, entry: Mapping[str, Any]) -> str | None:
        """Return the uuid of the conversation of an entry; None if it has none."""
        uuid = entry.get("uuid")
        return uuid if isinstance(uuid, str) else None

    def find_id(self, entry: Mapping[str, Any]) -> ConversationId:
        """Return the present id of the conversation of an entry.

        If the conversation was deleted, it is the id from then; or the uuid if another conversation has that id now.
        """
        stored, uuid = ConversationId(str(entry.get("conversation"))), self.find_uuid(entry)
        if uuid is None or self._uuid_of_id(stored) == uuid:
            return stored
        found = self._names.get(uuid)
        if found is None:
            return stored if self._uuid_of_id(stored) is None else ConversationId(uuid)
        return found

    def _uuid_of_id(self, name: ConversationId) -> str | None:
        if name not in self._by_id:
            self._by_id[name] = None
            with suppress(NotFound, Corrupt):
                self._by_id[name] = read_uuid(self._repository, name)
        return self._by_id[name]
