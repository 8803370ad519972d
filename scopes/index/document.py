"""The fields of a message that are indexed; a function from a higher package reads them from a commit."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from scopes.ids import MessageId
from scopes.store.objects import Commit


class IndexDocument(NamedTuple):
    """One message; `texts` are in the order of `schema.COLUMNS`, `time` is in seconds since 1970, None if unknown."""

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
"""Return the document of a commit, None if it is not a message; raise NotFound or Corrupt."""
