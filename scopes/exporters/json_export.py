"""Export formats `json` and `jsonl`: one document with everything that is stored, or its messages one per line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scopes.errors import Corrupt
from scopes.exporters.selection import ExportSelection
from scopes.history.messages import MessageHeader, read_message_bytes
from scopes.model import canonical_json
from scopes.model.canonical_json import without_none
from scopes.model.conversation import decode_root
from scopes.store.repository import Repository

SCHEMA_VERSION = 1
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def write_json(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Yield one JSON document: the conversation, then its messages, one per line."""
    conversation = json_text(_conversation_object(repository, selection))
    yield utf8(f'{{"scopes":{SCHEMA_VERSION},"kind":"export","conversation":{conversation},"messages":[')
    separator = "\n"
    for document in walk_documents(repository, selection):
        yield utf8(separator + json_text(document))
        separator = ",\n"
    yield b"\n]}\n"


def write_json_lines(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Yield the messages as JSON Lines, parents before their children."""
    for document in walk_documents(repository, selection):
        yield utf8(json_text(document) + "\n")


def walk_documents(repository: Repository, selection: ExportSelection) -> Iterator[dict[str, Any]]:
    """Yield the stored document of every message with `oid`, `parents` (message ids) and `parent_oids`.

    A message with several commits, as after a cherry-pick, lists the other commits under `also_at`. Parents come before
    their children.

    Raises:
        Corrupt: a stored message cannot be read.
    """
    for head in selection.heads:
        document = canonical_json.load(read_message_bytes(repository, head.oid))
        if not isinstance(document, dict):
            raise Corrupt(f"message {head.id} is damaged", hint="see: scopes verify")
        also_at = [_commit_object(selection, copy) for copy in selection.copies.get(head.id, ())]
        yield {**document, **_commit_object(selection, head), **({"also_at": also_at} if also_at else {})}


def json_text(value: object) -> str:
    """Encode a value as compact JSON on one line, without a newline; the order of keys is kept."""
    return _ENCODER.encode(value)


def utf8(text: str) -> bytes:
    r"""Encode text as UTF-8; an unpaired surrogate, which UTF-8 cannot hold, becomes `\udXXX`, a valid JSON escape."""
    return text.encode("utf-8", "backslashreplace")


def _conversation_object(repository: Repository, selection: ExportSelection) -> dict[str, object]:
    view = selection.view
    root = decode_root(read_message_bytes(repository, selection.root)) if selection.root is not None else None
    return without_none(
        id=view.id,
        uuid=view.uuid,
        title=view.title,
        created_at=view.created_at,
        source=view.source,
        native_id=root.native_id if root is not None else None,
        cwd=root.cwd if root is not None else None,
        root=selection.root,
        participants=list(view.participants),
        branches=list(_branch_objects(selection)),
    )


def _branch_objects(selection: ExportSelection) -> Iterator[dict[str, object]]:
    """Yield the exported branches; `tip` is the last exported commit, which may lie before the tip of the branch."""
    for branch_slice in selection.slices:
        branch = branch_slice.branch
        if branch is not None:
            yield without_none(
                name=branch.name,
                tip=branch_slice.tip,
                parent=branch.parent,
                fork=branch.fork,
                purpose=branch.purpose,
                agent=branch.agent,
                status=branch.status,
                created_at=branch.created_at,
            )


def _commit_object(selection: ExportSelection, head: MessageHeader) -> dict[str, Any]:
    return {"oid": head.oid, "parents": selection.parents_of(head), "parent_oids": list(head.parents)}
