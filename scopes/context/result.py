"""What a context is when it is done: the text that fits, and what became of everything that could have been in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from scopes.context.files import SkippedFile
from scopes.ids import ConversationId
from scopes.result import Result

MODES = ("history", "relevance", "files")
LAYOUTS = ("markdown", "messages", "json")


class ContextMessage(NamedTuple):
    """A turn that is part of a context; `relevance` is known where there was a task."""

    id: str
    oid: str
    session: str
    number: int
    role: str
    author: str
    time: str | None
    text: str
    tokens: int
    truncated: bool
    relevance: float | None


class ContextFile(NamedTuple):
    """A file that is part of a context; `turn` touched it last."""

    path: str
    tokens: int
    turn: int


class Explained(NamedTuple):
    """What became of one turn or file; tokens are known where they were counted."""

    what: str
    name: str
    score: float | None
    tokens: int | None
    kept: bool
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Result):
    """A context of at most `max_tokens`; `formatted_history` is the whole of it, and messages are oldest first."""

    context_id: str
    conversation: ConversationId
    max_tokens: int
    tokens_used: int
    method: str
    formatted_history: str
    messages: tuple[ContextMessage, ...]
    files_text: str
    files_embedded: tuple[ContextFile, ...]
    files_skipped: tuple[SkippedFile, ...]
    summary: str | None
    metadata: Mapping[str, object]
    filtered_count: int
    average_relevance: float | None
    sessions_included: int
    sessions_excluded: int
    turns_included: int
    turns_excluded: int
    warnings: tuple[str, ...]
    explained: tuple[Explained, ...] = field(default=())

    @property
    def utilisation(self) -> float:
        """The part of the budget that is used, from 0 to 1."""
        return self.tokens_used / self.max_tokens if self.max_tokens else 0.0
