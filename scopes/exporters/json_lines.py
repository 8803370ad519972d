"""`jsonl`: one message a line, the same documents as in `json`; `append --jsonl` takes them back as new messages."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.exporters.extent import Extent
from scopes.exporters.json_text import json_text, utf8
from scopes.exporters.message_documents import walk_documents
from scopes.store.repository import Repository


def write_json_lines(repository: Repository, extent: Extent) -> Iterator[bytes]:
    """Write the messages, parents before their children."""
    for document in walk_documents(repository, extent):
        yield utf8(json_text(document) + "\n")
