"""Helpers: build messages with parts and arbitrary histories, and export them."""

from __future__ import annotations

import json

from scopes.exporters.export import export
from scopes.history.messages import ID_TRAILER, KIND_TRAILER, identity_of, write_message_blob, write_message_commit
from scopes.history.transaction import RefTransaction
from scopes.model.message import Author, Message, Part
from scopes.store.objects import COMMIT, format_commit, read_commit
from scopes.store.transactions import exclusive_write

TIME = "2026-03-01T10:00:00Z"


def exported(repository, where="conv-001", format_name="json", **options):
    """Return an export as text."""
    return b"".join(export(repository, where, format_name=format_name, **options).pieces).decode()


def document(repository, where="conv-001", **options):
    """Return a JSON export as a value."""
    return json.loads(exported(repository, where, **options))


def message(identity, text="", *parts, author="bot", kind="agent", **fields):
    """Return a message whose id is `identity`, padded to the length of an id."""
    content = (Part("text", {"text": text}),) if text else ()
    return Message(
        id=identity.ljust(26, "a"), author=Author(author, kind), parts=(*content, *parts), time=TIME, **fields
    )  # fmt: skip


def call(identity, name="Bash", **fields):
    """Return a tool call part."""
    return Part("tool_call", {"call_id": identity, "name": name, **fields})


def result(identity, **fields):
    """Return a tool result part."""
    return Part("tool_result", {"call_id": identity, **fields})


def put(repository, branch, parent, *messages, conversation="conv-001"):
    """Write messages on top of a commit, point a branch at the last one, and return the tip."""
    tip = parent
    for each in messages:
        tip = write_message_commit(repository, tip, each, write_message_blob(repository, each))
    point(repository, branch, tip, conversation=conversation)
    return tip


def point(repository, branch, tip, *, conversation="conv-001"):
    """Point a branch at a commit."""
    ref = f"refs/heads/{conversation}/{branch}"
    with exclusive_write(repository):
        tx = RefTransaction(repository)
        tx.move_ref(ref, repository.find_ref(ref), tip)
        tx.commit("test", "put")


def join(repository, first, second, content):
    """Write a message with two parents, as a merge does."""
    below = read_commit(
        repository, write_message_commit(repository, first, content, write_message_blob(repository, content))
    )
    data = format_commit(
        tree=below.tree, parents=(first, second), author=identity_of("carol", "human"), time=below.time,
        subject="merge", trailers=[(ID_TRAILER, content.id), (KIND_TRAILER, "merge")],
    )  # fmt: skip
    return repository.write(COMMIT, data)
