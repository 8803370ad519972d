"""Messages as they are stored, each with its place in the history: what the JSON exports consist of."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scopes.conversation.heads import MessageHead, read_message_bytes
from scopes.errors import Corrupt
from scopes.exporters.extent import Extent
from scopes.model import canonical
from scopes.store.repository import Repository


def walk_documents(repository: Repository, extent: Extent) -> Iterator[dict[str, Any]]:
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


def _place(extent: Extent, head: MessageHead) -> dict[str, Any]:
    return {"oid": head.oid, "parents": extent.parents_of(head), "parent_oids": list(head.parents)}
