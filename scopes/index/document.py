"""What the index keeps of a message. What a message's commit and body mean is known above; it comes in as this."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from scopes.ids import MessageId
from scopes.store.objects import Commit


class IndexDocument(NamedTuple):
    """One message; `texts` are in the order of `schema.COLUMNS`, `time` in seconds since 1970, None if unknown."""

    id: MessageId
    author: str
    author_kind: str
    kind: str
    model: str | None
    time: int | None
    tools: tuple[str, ...]
    files: tuple[str, ...]
    texts: tuple[str, str, str, str]


Describe: TypeAlias = Callable[[Commit], IndexDocument | None]
"""Reads what a commit holds, None where that is no message; raises NotFound or Corrupt."""
