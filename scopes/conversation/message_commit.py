"""Writing a message as a commit on top of another: its blob, the state that it claims, its header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scopes.clock import seconds_of
from scopes.conversation.heads import (
    ID_TRAILER,
    KIND_TRAILER,
    MESSAGE_FILE,
    NO_TEXT,
    ROOT_KIND,
    STATE_DIRECTORY,
    TO_TRAILER,
    identity_of,
)
from scopes.ids import Oid
from scopes.model.claims import claims_of, participant_claim
from scopes.model.codec import encode
from scopes.model.conversation import Root, encode_root
from scopes.model.message import Message
from scopes.store.objects import BLOB, COMMIT, EMPTY_TREE, TREE, Entry, format_commit, format_tree
from scopes.store.repository import Objects, read_commit, read_tree
from scopes.store.trees import Change, find_blob, update_tree

ROOT_SUBJECT = "Conversation begins"


def write_root_commit(objects: Objects, root: Root, participants: Mapping[str, str]) -> Oid:
    """Write the commit that begins a conversation; `participants` maps names to author kinds."""
    blob = objects.write(BLOB, encode_root(root))
    entries = [Entry(MESSAGE_FILE, blob, is_tree=False)]
    if participants:
        claims: dict[str, Change] = dict(participant_claim(name, kind) for name, kind in participants.items())
        entries.append(Entry(STATE_DIRECTORY, update_tree(objects, None, claims), is_tree=True))
    data = format_commit(
        tree=objects.write(TREE, format_tree(entries)),
        parents=(),
        author=identity_of("scopes", "system"),
        time=seconds_of(root.created),
        subject=ROOT_SUBJECT,
        trailers=[(KIND_TRAILER, ROOT_KIND)],
    )
    return objects.write(COMMIT, data)


def write_message_blob(objects: Objects, message: Message) -> Oid:
    """Write a message's line; it is the same wherever the message comes to stand.

    Raises:
        Invalid: the message is too large or too deep.
    """
    return objects.write(BLOB, encode(message))


def write_message_commit(objects: Objects, parent: Oid, message: Message, blob: Oid, base: str | None = None) -> Oid:
    """Write the commit of a message on top of `parent`, carrying its state forward; `base` is the first cwd."""
    below = read_commit(objects, parent)
    state = _next_state(objects, read_tree(objects, below.tree).get(STATE_DIRECTORY), message, base)
    time = below.time if message.time is None else seconds_of(message.time)
    return write_commit_over(objects, (parent,), message, blob, state, time=time)


def write_commit_over(
    objects: Objects, parents: Sequence[Oid], message: Message, blob: Oid, state: Oid | None, *, time: int
) -> Oid:
    """Write the commit of a message over any parents, with the state that it is to have; `time` in seconds."""
    entries = [Entry(MESSAGE_FILE, blob, is_tree=False)]
    if state is not None and state != EMPTY_TREE:
        entries.append(Entry(STATE_DIRECTORY, state, is_tree=True))
    trailers = [(ID_TRAILER, message.id), (KIND_TRAILER, message.kind)]
    if message.to:
        trailers.append((TO_TRAILER, ", ".join(message.to)))
    data = format_commit(
        tree=objects.write(TREE, format_tree(entries)),
        parents=parents,
        author=identity_of(message.author.name, message.author.kind),
        time=time,
        subject=message.text.strip() or NO_TEXT,
        trailers=trailers,
    )
    return objects.write(COMMIT, data)


def _next_state(objects: Objects, state: Entry | None, message: Message, base: str | None) -> Oid | None:
    """Apply the message's claims; nothing is written where the state holds them all already."""

    def previous(path: str) -> bytes | None:
        return None if state is None else find_blob(objects, state.oid, path)

    claims: dict[str, Change] = {p: c for p, c in claims_of(message, previous, base) if previous(p) != c}
    if claims:
        return update_tree(objects, None if state is None else state.oid, claims)
    return None if state is None else state.oid
