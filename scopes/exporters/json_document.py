"""`json`: one document, from which the whole conversation can be built again."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.conversation.heads import read_message_bytes
from scopes.exporters.extent import Extent
from scopes.exporters.json_text import json_text, utf8
from scopes.exporters.message_documents import walk_documents
from scopes.model.conversation import decode_root
from scopes.store.repository import Repository

SCHEMA_VERSION = 1


def write_json(repository: Repository, extent: Extent) -> Iterator[bytes]:
    """Write the conversation, then its messages, one a line."""
    conversation = json_text(_describe(repository, extent))
    yield utf8(f'{{"scopes":{SCHEMA_VERSION},"kind":"export","conversation":{conversation},"messages":[')
    separator = "\n"
    for document in walk_documents(repository, extent):
        yield utf8(separator + json_text(document))
        separator = ",\n"
    yield b"\n]}\n"


def _describe(repository: Repository, extent: Extent) -> dict[str, object]:
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


def _branches(extent: Extent) -> Iterator[dict[str, object]]:
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
