"""Only what was searched for secrets may leave: `push` takes the type `Cleared`, and only `clear_for_push` makes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from scopes.errors import Refused
from scopes.history.messages import header_of, is_root, read_message_bytes_at
from scopes.model.manifest import encode_manifest
from scopes.secret_patterns import find_secrets
from scopes.store.repository import Objects, Repository
from scopes.store.trees import read_blob, walk_blobs
from scopes.sync.outgoing import Outgoing, walk_new

_MAKER: Final = object()


class Cleared:
    """What a push would send, after all of it was searched for secrets."""

    __slots__ = ("outgoing",)

    def __init__(self, outgoing: Outgoing, maker: object) -> None:
        if maker is not _MAKER:
            raise TypeError("only clear_for_push clears what a push sends")
        self.outgoing = outgoing


def clear_for_push(repository: Repository, objects: Objects, outgoing: Outgoing) -> Cleared:
    """Search all that a push would make reachable on the remote: messages, titles, names and other metadata.

    Raises:
        Refused: there may be a secret; the message names its place and its kind, and never what it is.
    """
    for place, text in _walk_texts(repository, objects, outgoing):
        for secret in find_secrets(text):
            problem = f"{outgoing.conversation} was not pushed: {place} may contain a secret ({secret.kind})"
            raise Refused(
                problem, hint="look at it: scopes cat MESSAGE; remove the secret, or push other conversations"
            )
    return Cleared(outgoing, _MAKER)


def _walk_texts(repository: Repository, objects: Objects, outgoing: Outgoing) -> Iterator[tuple[str, str]]:
    """Yield what would leave, each with its place; the state of a message repeats what is in messages."""
    yield "the manifest", encode_manifest(outgoing.manifest).decode("utf-8", "replace")
    for path, oid in walk_blobs(objects, outgoing.meta) if outgoing.meta is not None else ():
        yield (
            f"the metadata ({path.partition('/')[0]})",
            f"{path}\n{read_blob(objects, oid).decode('utf-8', 'replace')}",
        )
    there = {} if outgoing.previous is None else outgoing.previous.manifest.branches
    for commit in walk_new(repository, outgoing.manifest.branches, there):
        place = "its root" if is_root(commit) else f"message {header_of(commit).id}"
        yield place, read_message_bytes_at(repository, commit.tree).decode("utf-8", "replace")
        yield place, f"{commit.author.name} {commit.subject}"
