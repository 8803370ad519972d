"""`json`: one document, from which the whole conversation can be built again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scopes.errors import Corrupt
from scopes.exporters.json_text import json_text, utf8
from scopes.exporters.selection import Selection
from scopes.history.messages import MessageHead, read_message_bytes
from scopes.model import canonical
from scopes.model.conversation import decode_root
from scopes.store.repository import Repository

SCHEMA_VERSION = 1


def write_json(repository: Repository, extent: Selection) -> Iterator[bytes]:
    """Write the conversation, then its messages, one a line."""
    conversation = json_text(_describe(repository, extent))
    yield utf8(f'{{"scopes":{SCHEMA_VERSION},"kind":"export","conversation":{conversation},"messages":[')
    separator = "\n"
    for document in walk_documents(repository, extent):
        yield utf8(separator + json_text(document))
        separator = ",\n"
    yield b"\n]}\n"


def _describe(repository: Repository, extent: Selection) -> dict[str, object]:
    view = extent.view
    root = decode_root(read_message_bytes(repository, extent.root)) if extent.root is not None else None
    return _known(
        id=view.id,
        uuid=view.uuid,
        title=view.title,
        created_at=view.created_at,
        source=view.source,
        native_id=root.native_id if root is not None else None,
        cwd=root.cwd if root is not None else None,
        root=extent.root,
        participants=list(view.participants),
        branches=list(_branches(extent)),
    )


def _branches(extent: Selection) -> Iterator[dict[str, object]]:
    """Describe the branches as far as they were written out: a tip is where its stretch ends."""
    for stretch in extent.stretches:
        branch = stretch.branch
        if branch is not None:
            yield _known(
                name=branch.name,
                tip=stretch.tip,
                parent=branch.parent,
                fork=branch.fork,
                purpose=branch.purpose,
                agent=branch.agent,
                status=branch.status,
                created_at=branch.created_at,
            )


def _known(**fields: object) -> dict[str, object]:
    return {name: value for name, value in fields.items() if value is not None}


def write_json_lines(repository: Repository, extent: Selection) -> Iterator[bytes]:
    """Write the messages, parents before their children."""
    for document in walk_documents(repository, extent):
        yield utf8(json_text(document) + "\n")


def walk_documents(repository: Repository, extent: Selection) -> Iterator[dict[str, Any]]:
    """Yield the stored document of every message with `oid`, `parents` (message ids) and `parent_oids`.

    A message that stands at several places, as after a cherry-pick, names the further ones under `also_at`. Parents
    come before their children.

    Raises:
        Corrupt: a stored message cannot be read.
    """
    for head in extent.heads:
        document = canonical.load(read_message_bytes(repository, head.oid))
        if not isinstance(document, dict):
            raise Corrupt(f"message {head.id} is damaged", hint="see: scopes verify")
        also_at = [_place(extent, copy) for copy in extent.copies.get(head.id, ())]
        yield {**document, **_place(extent, head), **({"also_at": also_at} if also_at else {})}


def _place(extent: Selection, head: MessageHead) -> dict[str, Any]:
    return {"oid": head.oid, "parents": extent.parents_of(head), "parent_oids": list(head.parents)}
