"""The inboxes of registered agents: which messages were sent to each, in the order of sending, until it takes them.

They are in the tree of the registry, so that a message, its delivery and an acknowledgement are one operation each:

    inbox/<number>/<sequence>.json    a message for an agent
    sequence                          the sequence number of the next one in the store
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from shlex import quote
from time import monotonic, sleep

from scopes.agents.agent import Agent
from scopes.agents.registry import Registry, store_registry
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import read_message
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid, OperationId, is_oid
from scopes.loading import load
from scopes.model import encoding
from scopes.model.message import Message
from scopes.result import Note, Result, plural
from scopes.store.objects import TreeEntry
from scopes.store.refs import AGENTS, meta_ref
from scopes.store.repository import Repository, read_commit, read_tree
from scopes.store.transactions import exclusive_write
from scopes.store.trees import BlobChange, find_blob, find_entry, read_blob

_POLL_SECONDS = 0.2
_DIRECTORY, _SEQUENCE = "inbox", "sequence"


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxEntry:
    """A message for an agent. `queued`: it was sent while the agent was away, and waits until it is available."""

    sequence: int
    message: MessageId
    oid: Oid
    conversation: ConversationId
    branch: BranchName
    sender: AgentName
    sent: str
    queued: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage:
    """An entry of an inbox with its message; None if the store no longer has that."""

    entry: InboxEntry
    message: Message | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox(Result):
    """The messages that an agent was given and has not acknowledged, in the order of sending.

    An escalation is left out once its conflict has ended.

    `waiting` is how many more were sent while it was away. `operation` is set if these messages were acknowledged.
    """

    agent: Agent
    messages: tuple[ReceivedMessage, ...]
    waiting: int = 0
    operation: OperationId | None = None


def read_inbox(repository: Repository, name: str, *, acknowledge: bool = False) -> Inbox:
    """Return the unread messages of an agent; with `acknowledge` they are taken out of its inbox (S4-33).

    Of several processes that acknowledge at once, each message is given to one.

    Raises:
        NotFound, Ambiguous: there is no such agent, or several.
    """
    if not acknowledge:
        registry = Registry(repository)
        return _inbox(registry, registry.find(name))
    with exclusive_write(repository):
        registry = Registry(repository)
        found = _inbox(registry, registry.find(name))
        if not found.messages:
            return found
        count = len(found.messages)
        read = (entry for entry in walk_entries(registry, found.agent.number) if not entry.queued)
        taken: dict[str, BlobChange] = {_path(found.agent.number, entry): None for entry in read}
        summary = f"acknowledge {count} {plural(count, 'message')} for {found.agent.name}"
        return replace(found, operation=store_registry(registry, taken, summary))


def watch_inbox(
    repository: Repository, name: str, *, acknowledge: bool = False, idle_seconds: float | None = None
) -> Iterator[Inbox]:
    """Yield the unread messages of an agent, then each message as it arrives, until `idle_seconds` pass without one.

    Raises:
        NotFound, Ambiguous: there is no such agent, or several.
    """
    seen, looked = 0, object()
    deadline = monotonic() + (idle_seconds or 0)
    while True:
        value: object = repository.find_ref(AGENTS)
        if value != looked:
            looked = value
            found = read_inbox(repository, name)
            new = tuple(each for each in found.messages if each.entry.sequence > seen)
            if new and acknowledge:
                found = read_inbox(repository, name, acknowledge=True)
                new = tuple(each for each in found.messages if each.entry.sequence > seen)
            if new:
                seen = max(each.entry.sequence for each in new)
                yield replace(found, messages=new)
                deadline = monotonic() + (idle_seconds or 0)
        if idle_seconds is not None and monotonic() >= deadline:
            return
        sleep(_POLL_SECONDS)


def acknowledge_message(repository: Repository, agent: Agent, message: MessageId) -> OperationId | None:
    """Take one message out of the inbox of an agent; None if somebody else has taken it."""
    with exclusive_write(repository):
        registry = Registry(repository)
        taken: dict[str, BlobChange] = remove_message(registry, agent, message)
        summary = f"acknowledge {message[:8]} for {agent.name}"
        return store_registry(registry, taken, summary) if taken else None


def walk_entries(registry: Registry, number: int) -> Iterator[InboxEntry]:
    """Yield the entries for the agent of a number, in the order of sending; damaged ones are left out."""
    for name, entry in sorted(_files(registry, number).items()):
        with suppress(Corrupt, NotFound):
            yield decode_entry(read_blob(registry.repository, entry.oid), name)


def _files(registry: Registry, number: int) -> Mapping[str, TreeEntry]:
    """Return the files of the inbox of an agent by name."""
    repository = registry.repository
    if registry.commit is None:
        return {}
    directory = find_entry(repository, read_commit(repository, registry.commit).tree, f"{_DIRECTORY}/{number:06d}")
    return {} if directory is None or not directory.is_tree else read_tree(repository, directory.oid)


def deliver(registry: Registry, agent: Agent) -> Mapping[str, BlobChange]:
    """Return the changes that deliver to an agent what was sent while it was away (S4-33)."""
    waiting = (entry for entry in walk_entries(registry, agent.number) if entry.queued)
    return {_path(agent.number, entry): _encode(replace(entry, queued=False)) for entry in waiting}


def add_entries(registry: Registry, agents: Mapping[int, bool], entry: InboxEntry) -> dict[str, BlobChange]:
    """Return the changes that put a message into inboxes, given agents by number and whether it waits there."""
    sequence = _next_sequence(registry)
    changes: dict[str, BlobChange] = {_SEQUENCE: b"%d\n" % (sequence + 1)}
    for number, queued in agents.items():
        numbered = replace(entry, sequence=sequence, queued=queued)
        changes[_path(number, numbered)] = _encode(numbered)
    return changes


def remove_entries(registry: Registry, agent: Agent) -> dict[str, BlobChange]:
    """Return the changes that empty the inbox of an agent."""
    return {_path(agent.number, entry): None for entry in walk_entries(registry, agent.number)}


def remove_message(registry: Registry, agent: Agent, message: MessageId) -> dict[str, BlobChange]:
    """Return the changes that take one message out of the inbox of an agent."""
    return {_path(agent.number, each): None for each in walk_entries(registry, agent.number) if each.message == message}


def _inbox(registry: Registry, agent: Agent) -> Inbox:
    entries = list(walk_entries(registry, agent.number))
    delivered = [entry for entry in entries if not entry.queued]
    messages = (ReceivedMessage(entry=entry, message=_read(registry.repository, entry)) for entry in delivered)
    escalations = _Escalations(registry.repository)
    received = tuple(each for each in messages if not escalations.has_ended(each))
    waiting = len(entries) - len(delivered)
    notes: tuple[Note, ...] = ()
    if waiting:
        hint = f"to get what waits: scopes agents available {quote(agent.name)}"
        notes = (Note(f"{agent.name} is away: {waiting} {plural(waiting, 'message')} waiting", hint),)
    damaged = len(_files(registry, agent.number)) - len(entries)
    if damaged > 0:
        text = f"{damaged} {'entry' if damaged == 1 else 'entries'} of the inbox cannot be read"
        notes = (*notes, Note(text, "see: scopes verify"))
    return Inbox(agent=agent, messages=received, waiting=waiting, notes=notes)


class _Escalations:
    """Tells which escalations are about conflicts that have ended; the conflicts of a conversation are read once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._open: dict[ConversationId, frozenset[str] | None] = {}

    def has_ended(self, received: ReceivedMessage) -> bool:
        """Return True for an escalation whose conflict was resolved or aborted; False if that cannot be told."""
        conflict = None if received.message is None else received.message.extra.get("conflict")
        match conflict:
            case {"id": str(identity), "status": "escalated"}:
                known = self._list_open(received.entry.conversation)
                return known is not None and identity not in known
        return False

    def _list_open(self, conversation: ConversationId) -> frozenset[str] | None:
        if conversation not in self._open:
            self._open[conversation] = None
            if self._repository.find_ref(meta_ref(conversation)) is None:
                return None  # it was deleted or renamed
            with suppress(NotFound, Corrupt):
                rows = load("scopes.merge.conflict_list:walk_conflicts")(self._repository, conversation)
                self._open[conversation] = frozenset(
                    row.conflict.id for row in rows if row.conflict.status not in {"resolved", "aborted"}
                )
        return self._open[conversation]


def _read(repository: Repository, entry: InboxEntry) -> Message | None:
    with suppress(NotFound, Corrupt):
        return read_message(repository, entry.oid)
    return None


def _next_sequence(registry: Registry) -> int:
    repository = registry.repository
    tree = None if registry.commit is None else read_commit(repository, registry.commit).tree
    text = b"" if tree is None else (find_blob(repository, tree, _SEQUENCE) or b"").strip()
    return int(text) if text.isdigit() and len(text) < 13 else 1


def _path(number: int, entry: InboxEntry) -> str:
    return f"{_DIRECTORY}/{number:06d}/{entry.sequence:012d}.json"


def _encode(entry: InboxEntry) -> bytes:
    document = {
        "sequence": entry.sequence,
        "message": entry.message,
        "oid": entry.oid,
        "conversation": entry.conversation,
        "branch": entry.branch,
        "from": entry.sender,
        "sent": entry.sent,
        "queued": entry.queued,
    }
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def decode_entry(data: bytes, name: str) -> InboxEntry:
    """Decode the entry of a file name.

    Raises:
        Corrupt: it has not what an entry has, or another number than its file.
    """
    match encoding.load(data):
        case {
            "sequence": int(sequence),
            "message": str(message),
            "oid": str(oid),
            "conversation": str(conversation),
            "branch": str(branch),
            "from": str(sender),
            "sent": str(sent),
            **rest,
        } if is_oid(oid) and name == f"{sequence:012d}.json":
            return InboxEntry(
                sequence=sequence,
                message=MessageId(message),
                oid=Oid(oid),
                conversation=ConversationId(conversation),
                branch=BranchName(branch),
                sender=AgentName(sender),
                sent=sent,
                queued=rest.get("queued") is True,
            )
    raise Corrupt("an entry of an inbox is damaged", hint="see: scopes verify")
