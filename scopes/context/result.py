"""The result of `context`: the text that fits, and what became of every turn, message and file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from scopes.context.decision_lines import ContextDecision
from scopes.context.project_files import SkippedFile
from scopes.ids import ConversationId
from scopes.result import Result


class ContextLane(NamedTuple):
    """A merged branch that a turn is from, and its marks: the texts before its first and after its last turn.

    `number` is another one for each merge. The marks are empty if the context has no room for them.
    """

    number: int
    branch: str
    begin: str = ""
    end: str = ""


class ContextMessage(NamedTuple):
    """A turn that is part of a context; `relevance` is None if there is no task.

    `lanes` are the merged branches that it is from, the outermost first; empty if it is from the main line.
    """

    id: str
    oid: str
    conversation: str
    number: int
    role: str
    author: str
    time: str | None
    text: str
    tokens: int
    truncated: bool
    relevance: float | None
    lanes: tuple[ContextLane, ...] = ()

    @property
    def lane(self) -> str | None:
        """The name of the innermost merged branch."""
        return self.lanes[-1].branch if self.lanes else None


class ContextFile(NamedTuple):
    """A file that is part of a context; `turn` is the number of the last turn that touched it."""

    path: str
    tokens: int
    turn: int


class Explained(NamedTuple):
    """Why a turn, message or file was kept or dropped; `tokens` is None if they were not counted.

    `subject` is the beginning of the message's first line; None for a file. Merge notices of scopes have one row, whose
    `name` lists their numbers. `lane` is as in ContextMessage.
    """

    what: str
    name: str
    score: float | None
    tokens: int | None
    kept: bool
    reason: str
    subject: str | None = None
    lane: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context(Result):
    """A context of at most `max_tokens`; `formatted_history` is its whole text, messages are oldest first.

    left_out: how many messages are not in it, by reason. `mark` is the mark of its fence, and None
    if the text is empty. `explained` is filled on request.
    decisions: those in effect at the revision, newest first; `decisions_text` is the section with those that were kept.
    """

    context_id: str
    conversation: ConversationId
    max_tokens: int
    tokens_used: int
    method: str
    formatted_history: str
    mark: str | None
    messages: tuple[ContextMessage, ...]
    files_text: str
    files_embedded: tuple[ContextFile, ...]
    files_skipped: tuple[SkippedFile, ...]
    summary: str | None
    metadata: Mapping[str, object]
    filtered_count: int
    average_relevance: float | None
    conversations_included: int
    conversations_excluded: int
    turns_included: int
    turns_excluded: int
    left_out: Mapping[str, int]
    warnings: tuple[str, ...]
    explained: tuple[Explained, ...] = field(default=())
    decisions: tuple[ContextDecision, ...] = ()
    decisions_text: str = ""

    @property
    def utilisation(self) -> float:
        """Return the used part of the budget, from 0 to 1."""
        return self.tokens_used / self.max_tokens if self.max_tokens else 0.0


class UnfencedContext(NamedTuple):
    """A context without a mark, as it is cached: a mark that was seen in one prompt is in no other.

    `context` has no `formatted_history` yet: that is `header` and, inside the fence, `body`.
    """

    context: Context
    header: str
    body: str
