"""The inboxes of registered agents: which messages were sent to each, in the order of sending, until it takes them.

They are in the tree of the registry, so that a message, its delivery and an acknowledgement are one operation each:

    inbox/<number>/<sequence>.json    a message for an agent
    sequence                          the sequence number of the next one in the store
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from shlex import quote
from time import monotonic, sleep
from typing import cast

from scopes.agents.agent import Agent
from scopes.agents.delivery_record import find_under_way
from scopes.agents.received import InboxEntry, PackedEntries, ReceivedMessage, ReceivedMessages, find_ended
from scopes.agents.registry import Registry, store_registry
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.ids import (
    BranchName,
    MessageId,
    Oid,
    OperationId,
    is_name,
    is_oid,
    parse_agent_name,
    parse_conversation_id,
)
from scopes.model import canonical_json
from scopes.model.canonical_json import without_none
from scopes.result import Column, Note, Result, plural, spread
from scopes.store.objects import (
    TREE,
    BlobChange,
    TreeEntry,
    find_blob,
    find_entry,
    parse_tree,
    read_blob,
    read_commit,
    read_data,
)
from scopes.store.refs import AGENTS
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_POLL_SECONDS = 0.2
_DIRECTORY, _SEQUENCE = "inbox", "sequence"
_NAME_LENGTH = len(f"{1:012d}.json")
_NUMBER = re.compile(r"[0-9]{1,100}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbox(Result):
    """The messages that an agent was given and has not acknowledged, in the order of sending.

    What asks for something that has ended is left out unless all was wanted; `ended` is how many these are.

    `waiting` is how many more were sent while it was away. `operation` is set if these messages were acknowledged.
    """

    rows_in = "messages"
    columns = (
        Column("id", "Message", "id"),
        Column("conversation"),
        Column("branch", form="branch"),
        Column("from"),
        Column("sent", form="time"),
        Column("words", "Text", "prose"),
        Column("ended", on="pipe", option="ended"),
        Column("ended", form="prose", on="terminal"),
    )
    empty = "no unread messages"

    agent: Agent = field(metadata=spread(agent="name", number="number"))
    messages: Sequence[ReceivedMessage]
    waiting: int = 0
    ended: int = 0
    operation: OperationId | None = None

    @property
    def next_step(self) -> str:
        """How to take the messages out of the inbox."""
        if not self.messages or self.operation is not None:
            return ""
        options = "--ack" if all(each.ended is None for each in self.messages) else "--all --ack"
        return f"take them out of the inbox: scopes inbox {quote(self.agent.name)} {options}"


def read_inbox(repository: Repository, name: str, *, acknowledge: bool = False, everything: bool = False) -> Inbox:
    """Return the unread messages of an agent; with `acknowledge` they are taken out of its inbox (S4-33).

    Of several processes that acknowledge at once, each message is given to one. The message for which the program of
    the agent is running now stays in the inbox; a note says so. What asks for something that has ended is left out,
    and taken out with the rest; `everything` returns it too.

    Raises:
        NotFound, Ambiguous: there is no such agent, or several.
    """
    if not acknowledge:
        registry = Registry(repository)
        return _note_ended(_inbox(registry, registry.find(name), everything=everything))
    with exclusive_write(repository):
        registry = Registry(repository)
        unread = _inbox(registry, registry.find(name, whole=True), everything=everything)
        under_way = find_under_way(repository, unread.agent)
        found = _without(unread, under_way)
        if not found.messages:
            return _note_ended(found)
        read = (entry for entry in walk_entries(registry, found.agent.number) if not entry.queued)
        taken: dict[str, BlobChange] = {
            _path(found.agent.number, entry): None for entry in read if entry.sequence != under_way
        }
        summary = f"acknowledge {len(taken)} {plural(len(taken), 'message')} for {found.agent.name}"
        return _note_ended(replace(found, operation=store_registry(registry, taken, summary)))


def acknowledge_entries(repository: Repository, name: str, sequences: Container[int]) -> Inbox:
    """Take the unread messages with these sequence numbers out of the inbox of an agent, and return them.

    What another process has taken meanwhile is not among them, nor what the program of the agent is running for.

    Raises:
        NotFound, Ambiguous: there is no such agent, or several.
    """
    with exclusive_write(repository):
        registry = Registry(repository)
        unread = _inbox(registry, registry.find(name, whole=True), everything=True)
        found = _without(unread, find_under_way(repository, unread.agent))
        wanted = _received(found).select(lambda entry: entry.sequence in sequences)
        if not wanted:
            return replace(found, messages=wanted)
        taken: dict[str, BlobChange] = {_path(found.agent.number, entry): None for entry in wanted.entries}
        summary = f"acknowledge {len(taken)} {plural(len(taken), 'message')} for {found.agent.name}"
        return replace(found, messages=wanted, operation=store_registry(registry, taken, summary))


def watch_inbox(
    repository: Repository, name: str, *, acknowledge: bool = False, idle_seconds: float | None = None
) -> Iterator[Inbox]:
    """Yield the unread messages of an agent, then each message as it arrives, until `idle_seconds` pass without one.

    With `acknowledge` every message that is taken out of the inbox is yielded, also one that was there before. Without
    it a message is yielded once, and again only if it was taken out and came back.

    Raises:
        NotFound, Ambiguous: there is no such agent, or several.
    """
    name = str(Registry(repository).find(name, whole=acknowledge).number)
    shown: frozenset[tuple[int, MessageId]] = frozenset()
    looked = object()
    deadline = monotonic() + (idle_seconds or 0)
    while True:
        value: object = repository.find_ref(AGENTS)
        if value != looked:
            looked = value
            found = read_inbox(repository, name)
            received = _received(found)
            new = received.select(partial(_is_new, shown))
            if new and acknowledge:
                found = read_inbox(repository, name, acknowledge=True)
                if len(found.messages) < len(new):
                    looked = object()  # one is being delivered: if that fails, no ref moves
                new = _received(found)
            else:
                found = replace(found, notes=() if shown else found.notes)  # not again for each message
                shown = frozenset(map(_key, received.entries))
            if new:
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


def is_unread(registry: Registry, agent: Agent, entry: InboxEntry) -> bool:
    """Return True if an entry is in the inbox of an agent, and does not wait."""
    commit = None if registry.commit is None else read_commit(registry.repository, registry.commit)
    path = _path(agent.number, entry)
    data = None if commit is None else find_blob(registry.repository, commit.tree, path)
    with suppress(Corrupt, Invalid):
        found = None if data is None else decode_entry(data, path.rpartition("/")[2])
        return found is not None and found.message == entry.message and not found.queued
    return False


def walk_entries(registry: Registry, number: int) -> Iterator[InboxEntry]:
    """Yield the entries for the agent of a number, in the order of sending; damaged ones are left out."""
    return (entry for _, entry in _walk_files(registry, number) if entry is not None)


def _walk_files(registry: Registry, number: int) -> Iterator[tuple[str, InboxEntry | None]]:
    """Yield the files of an inbox in the order of sending, each with its entry; None if it is damaged."""
    for file in _walk_in_order(_list_files(registry, number)):
        entry = None
        with suppress(Corrupt, NotFound, Invalid):
            entry = None if file.is_tree else decode_entry(read_blob(registry.repository, file.oid), file.name)
        yield file.name, entry


def _walk_in_order(files: Iterable[TreeEntry]) -> Iterator[TreeEntry]:
    """Yield files by number: they are stored so, except that longer names come among the others."""
    other: list[TreeEntry] = []
    for file in files:
        if len(file.name) == _NAME_LENGTH:
            yield file
        else:
            other.append(file)
    yield from sorted(other, key=lambda each: (len(each.name), each.name))


def _list_files(registry: Registry, number: int) -> Iterator[TreeEntry]:
    repository = registry.repository
    if registry.commit is None:
        return iter(())
    directory = find_entry(repository, read_commit(repository, registry.commit).tree, f"{_DIRECTORY}/{number:06d}")
    found = directory is not None and directory.is_tree
    return iter(
        parse_tree(read_data(repository, directory.oid, TREE)).values() if directory is not None and found else ()
    )


def deliver(registry: Registry, agent: Agent) -> Mapping[str, BlobChange]:
    """Return the changes that deliver to an agent what was sent while it was away (S4-33)."""
    waiting = (entry for entry in walk_entries(registry, agent.number) if entry.queued)
    return {_path(agent.number, entry): _encode(replace(entry, queued=False)) for entry in waiting}


def add_entries(registry: Registry, agents: Mapping[int, bool], entry: InboxEntry) -> dict[str, BlobChange]:
    """Return the changes that put a message into inboxes, given agents by number and whether it waits there."""
    sequence = _next_sequence(registry, agents)
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


def _inbox(registry: Registry, agent: Agent, *, everything: bool) -> Inbox:
    damaged: list[str] = []
    queued: list[int] = []
    delivered = PackedEntries(_walk_delivered(registry, agent, damaged, queued))
    ended, waiting = find_ended(registry.repository, delivered), len(queued)
    notes = _note_damaged(agent, damaged)
    if waiting:
        hint = f"to get what waits: scopes agents register {quote(agent.name)} --available"
        notes = (Note(f"{agent.name} is away: {waiting} {plural(waiting, 'message')} waiting", hint), *notes)
    shown = delivered if everything or not ended else (each for each in delivered if each.sequence not in ended)
    messages = ReceivedMessages(registry.repository, shown, ended)
    return Inbox(agent=agent, messages=messages, waiting=waiting, ended=len(ended), notes=notes)


def _walk_delivered(registry: Registry, agent: Agent, damaged: list[str], queued: list[int]) -> Iterator[InboxEntry]:
    """Yield the entries that were delivered; add the others to the lists."""
    for name, entry in _walk_files(registry, agent.number):
        if entry is None:
            damaged.append(name)
        elif entry.queued:
            queued.append(entry.sequence)
        else:
            yield entry


def _note_ended(inbox: Inbox) -> Inbox:
    """Add a note about what was left out because it has ended."""
    hidden = inbox.ended - _received(inbox).count_ended()
    if not hidden:
        return inbox
    what = f"{hidden} {plural(hidden, 'message')} about what has ended"
    note = Note(f"{what} not listed", f"take all of it out: scopes inbox {quote(inbox.agent.name)} --ack")
    if inbox.operation is not None:
        note = Note(f"{what} taken out too", "to put all of them back: scopes undo")
    return replace(inbox, notes=(*inbox.notes, note))


def _note_damaged(agent: Agent, names: Sequence[str]) -> tuple[Note, ...]:
    if not names:
        return ()
    hint = f"see: git show {AGENTS}:{_DIRECTORY}/{agent.number:06d}"
    return (Note(f"damaged files of the inbox of {agent.name} were left out: {', '.join(names[:3])}", hint),)


def _received(inbox: Inbox) -> ReceivedMessages:
    """Return the messages of an inbox that was read here."""
    return cast("ReceivedMessages", inbox.messages)


def _is_new(shown: Container[tuple[int, MessageId]], entry: InboxEntry) -> bool:
    return _key(entry) not in shown


def _key(entry: InboxEntry) -> tuple[int, MessageId]:
    return entry.sequence, entry.message


def _without(inbox: Inbox, sequence: int | None) -> Inbox:
    """Leave out the message for which the program of the agent is running, and note that."""
    received = _received(inbox)
    kept = received.select(lambda entry: entry.sequence != sequence)
    if len(kept) == len(received):
        return inbox
    note = Note(f"1 message stays in the inbox: the program of {inbox.agent.name} is running for it")
    return replace(inbox, messages=kept, notes=(*inbox.notes, note))


def _next_sequence(registry: Registry, receivers: Iterable[int]) -> int:
    """Return the next number, above those of all files in the inboxes of the receivers, whatever the counter says."""
    repository = registry.repository
    tree = None if registry.commit is None else read_commit(repository, registry.commit).tree
    text = b"" if tree is None else (find_blob(repository, tree, _SEQUENCE) or b"").strip()
    following = int(text) if _NUMBER.fullmatch(text.decode("ascii", "replace")) else 1
    names = (file.name.removesuffix(".json") for number in receivers for file in _list_files(registry, number))
    used = (int(name) for name in names if _NUMBER.fullmatch(name))
    return max(following, max(used, default=0) + 1)


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
        **without_none(uuid=entry.uuid),
    }
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "backslashreplace")


def decode_entry(data: bytes, name: str) -> InboxEntry:
    """Decode an entry; what is not a name or id, or cannot be printed, may come from another person's store.

    Raises:
        Corrupt, Invalid: it is damaged.
    """
    match canonical_json.load(data):
        case {
            "sequence": int(sequence),
            "message": str(message),
            "oid": str(oid),
            "conversation": str(conversation),
            "branch": str(branch),
            "from": str(sender),
            "sent": str(sent),
            **rest,
        } if (
            sequence > 0
            and name == f"{sequence:012d}.json"
            and is_oid(oid)
            and is_name(branch)
            and _are_plain(message, sent)
        ):
            return InboxEntry(
                sequence=sequence,
                message=MessageId(message),
                oid=Oid(oid),
                conversation=parse_conversation_id(conversation),
                branch=BranchName(branch),
                sender=parse_agent_name(sender),
                sent=sent,
                queued=rest.get("queued") is True,
                uuid=_text_or_none(rest.get("uuid")),
            )
    raise Corrupt("an entry of an inbox is damaged", hint="see: scopes verify")


def _are_plain(*texts: str) -> bool:
    return all(text and text.isprintable() for text in texts)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and _are_plain(value) else None
