"""What a message's commit alone tells: enough for lists and logs, without opening a single body."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from scopes.clock import known_seconds
from scopes.ids import AgentName, MessageId, Oid, slug
from scopes.model.codec import decode
from scopes.model.message import Message
from scopes.store.graph import walk_newest_first, walk_oldest_first
from scopes.store.objects import Commit, Identity
from scopes.store.repository import Objects, read_tip
from scopes.store.trees import find_blob

MESSAGE_FILE = "message.json"
STATE_DIRECTORY = "state"
ID_TRAILER = "Scopes-Message"
KIND_TRAILER = "Scopes-Kind"
TO_TRAILER = "Scopes-To"
ROOT_KIND = "root"
NO_TEXT = "(no text)"  # the subject of a message that has none
_DOMAIN = "s.scopes"


class MessageHead(NamedTuple):
    """A message as its commit shows it; `time` is in whole seconds since 1970, `subject` the first line's start.

    A named tuple is made in a third of a dataclass's time, and a log makes one for every message.
    """

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
    trailers = commit.trailers
    to = trailers.get(TO_TRAILER)
    return MessageHead(
        message_id_of(commit),
        commit.oid,
        commit.parents,
        AgentName(commit.author.name),
        _author_kind(commit.author.email),
        trailers.get(KIND_TRAILER, "unknown"),
        commit.time,
        commit.subject,
        tuple(to.split(", ")) if to else (),
    )


@lru_cache(maxsize=1000)
def _author_kind(email: str) -> str:
    domain = email.rpartition("@")[2]
    return domain.removesuffix(_DOMAIN) if domain.endswith(_DOMAIN) else "unknown"


def time_told(head: MessageHead) -> str | None:
    """Return when a message was said, or the one before it where it does not say; None where none of them does."""
    return known_seconds(head.time)


def message_id_of(commit: Commit) -> MessageId:
    """Read a message's id from its commit; a commit of somebody else's is named by its own id."""
    return MessageId(commit.trailers.get(ID_TRAILER, commit.oid))


def is_root(commit: Commit) -> bool:
    """Tell the commit that begins a conversation from its messages."""
    return commit.trailers.get(KIND_TRAILER) == ROOT_KIND


def walk_heads_newest_first(
    objects: Objects, tips: Iterable[Oid], hidden: Container[Oid] = ()
) -> Iterator[MessageHead]:
    """Walk the messages reachable from the tips, each message id once, children before parents."""
    return _each_once(walk_newest_first(objects, tips, hidden))


def walk_heads_oldest_first(
    objects: Objects, tips: Iterable[Oid], hidden: Container[Oid] = ()
) -> Iterator[MessageHead]:
    """Walk the messages reachable from the tips, each message id once at its first place, parents before children."""
    return _each_once(walk_oldest_first(objects, tips, hidden))


def _each_once(commits: Iterable[Commit]) -> Iterator[MessageHead]:
    seen: set[MessageId] = set()
    for commit in commits:
        head = head_of(commit)
        if head.id not in seen and head.kind != ROOT_KIND:
            seen.add(head.id)
            yield head


def count_messages(commits: Iterable[Commit]) -> int:
    """Count the messages among commits, each message id once."""
    return len({message_id_of(commit) for commit in commits if not is_root(commit)})


def read_message(objects: Objects, oid: Oid) -> Message:
    """Read the whole message of a commit.

    Raises:
        Corrupt, NotFound: the message is damaged or missing.
    """
    return decode(read_message_bytes(objects, oid))


def read_message_bytes(objects: Objects, oid: Oid) -> bytes:
    """Return the stored line of a message's commit."""
    return find_blob(objects, read_tip(objects, oid).tree, MESSAGE_FILE) or b""
