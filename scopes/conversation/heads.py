"""What a message's commit alone tells: enough for lists and logs, without opening a single body."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass

from scopes.ids import AgentName, MessageId, Oid, slug
from scopes.model.codec import decode
from scopes.model.message import Message
from scopes.store.graph import walk_newest_first, walk_oldest_first
from scopes.store.objects import Commit, Identity
from scopes.store.repository import Objects, read_commit
from scopes.store.trees import find_blob

MESSAGE_FILE = "message.json"
STATE_DIRECTORY = "state"
ID_TRAILER = "Scopes-Message"
KIND_TRAILER = "Scopes-Kind"
TO_TRAILER = "Scopes-To"
ROOT_KIND = "root"
_DOMAIN = "s.scopes"


@dataclass(frozen=True, slots=True)
class MessageHead:
    """A message as its commit shows it; `time` is in whole seconds since 1970, `subject` the first line's start."""

    id: MessageId
    oid: Oid
    parents: tuple[Oid, ...]
    author: AgentName
    author_kind: str
    kind: str
    time: int
    subject: str
    to: tuple[str, ...]


def identity_of(name: str, kind: str) -> Identity:
    """Write an author the way commits do: `carol <carol@agents.scopes>`."""
    return Identity(name, f"{slug(name)}@{slug(kind)}{_DOMAIN}")


def head_of(commit: Commit) -> MessageHead:
    """Read a message's head from its commit."""
    domain = commit.author.email.rpartition("@")[2]
    to = commit.trailers.get(TO_TRAILER, "")
    return MessageHead(
        id=MessageId(commit.trailers.get(ID_TRAILER, commit.oid)),
        oid=commit.oid,
        parents=commit.parents,
        author=AgentName(commit.author.name),
        author_kind=domain.removesuffix(_DOMAIN) if domain.endswith(_DOMAIN) else "unknown",
        kind=commit.trailers.get(KIND_TRAILER, "unknown"),
        time=commit.time,
        subject=commit.subject,
        to=tuple(to.split(", ")) if to else (),
    )


def is_root(commit: Commit) -> bool:
    """Tell the commit that begins a conversation from its messages."""
    return commit.trailers.get(KIND_TRAILER) == ROOT_KIND


def walk_heads_newest_first(
    objects: Objects, tips: Iterable[Oid], hidden: Container[Oid] = ()
) -> Iterator[MessageHead]:
    """Yield the messages reachable from the tips, each message id once, children before parents."""
    seen: set[MessageId] = set()
    for commit in walk_newest_first(objects, tips, hidden):
        head = head_of(commit)
        if head.kind != ROOT_KIND and head.id not in seen:
            seen.add(head.id)
            yield head


def walk_heads_oldest_first(
    objects: Objects, tips: Iterable[Oid], hidden: Container[Oid] = ()
) -> Iterator[MessageHead]:
    """Yield the messages reachable from the tips, each message id once at its first place, parents before children."""
    seen: set[MessageId] = set()
    for commit in walk_oldest_first(objects, tips, hidden):
        head = head_of(commit)
        if head.kind != ROOT_KIND and head.id not in seen:
            seen.add(head.id)
            yield head


def read_message(objects: Objects, oid: Oid) -> Message:
    """Read the whole message of a commit.

    Raises:
        Corrupt, NotFound: the message is damaged or missing.
    """
    return decode(read_message_bytes(objects, oid))


def read_message_bytes(objects: Objects, oid: Oid) -> bytes:
    """Return the stored line of a message's commit."""
    return find_blob(objects, read_commit(objects, oid).tree, MESSAGE_FILE) or b""
