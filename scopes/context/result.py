"""The result of `context`: the text that fits, and what became of every turn, message and file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from scopes.context.decision_lines import ContextDecision
from scopes.context.project_files import SkippedFile
from scopes.context.turns import USER
from scopes.fence import fenced
from scopes.ids import ConversationId
from scopes.merge.lanes import lane_changes
from scopes.model.canonical_json import without_none
from scopes.result import HIDDEN, NULL, OMIT_EMPTY, Result, named
from scopes.sanitize import RECORDED


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

    def document(self) -> dict[str, object]:
        """Return the turn as a JSON object; the key of its conversation is `session`."""
        values = self._asdict()
        del values["lanes"]
        values["session"] = values.pop("conversation")
        return without_none(**values, lane=self.lane)


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
    if the text is empty. `explained` is filled on request. Its JSON has every other key, because scripts rely on them.
    decisions: those in effect at the revision, newest first; `decisions_text` is the section with those that were kept.
    """

    context_id: str
    conversation: ConversationId = field(metadata=HIDDEN)
    max_tokens: int
    tokens_used: int
    method: str
    formatted_history: str
    mark: str | None = field(metadata=HIDDEN)
    messages: tuple[ContextMessage, ...]
    files_text: str = field(metadata=HIDDEN)
    files_embedded: tuple[ContextFile, ...]
    files_skipped: tuple[SkippedFile, ...]
    summary: str | None = field(metadata=NULL)
    metadata: Mapping[str, object]
    filtered_count: int
    average_relevance: float | None = field(metadata=NULL)
    conversations_included: int = field(metadata=named("sessions_included"))
    conversations_excluded: int = field(metadata=named("sessions_excluded"))
    turns_included: int
    turns_excluded: int
    left_out: Mapping[str, int]
    warnings: tuple[str, ...]
    explained: tuple[Explained, ...] = field(default=(), metadata=OMIT_EMPTY)
    decisions: tuple[ContextDecision, ...] = field(default=(), metadata=OMIT_EMPTY)
    decisions_text: str = field(default="", metadata=HIDDEN)

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


def chat_messages(result: Context) -> list[dict[str, str]]:
    """Return the same content as messages: a label with summary, decisions in effect and files, then the turns.

    The contents of files and tool results are not instructions: the first message says so, and turns of tools do not
    have the role of the user.
    """
    parts = (result.summary, result.decisions_text.strip(), result.files_text.strip())
    first_part = "A summary, or files as they are now"
    if result.decisions_text:
        first_part = "Decisions in effect, a summary, or files as they are now"
    follows = f"{first_part}, and what was said before." if any(parts) else "What was said before."
    label = f"{RECORDED}. {follows}" if result.formatted_history.startswith("# Context of ") else ""
    body = "".join(f"{part}\n\n" for part in parts if part)
    first = "\n\n".join(filter(None, (label, fenced("history", body, result.mark).strip() if body else "")))
    opening = [{"role": "user", "content": first}] if first else []
    return opening + [
        {"role": "user" if message.role == USER else "assistant", "content": content}
        for message, content in zip(result.messages, _walk_contents(result.messages), strict=True)
    ]


def _walk_contents(messages: Sequence[ContextMessage]) -> Iterator[str]:
    """Yield the texts of turns, with the marks of merged branches before them, and after the last one."""
    before: tuple[ContextLane, ...] = ()
    for number, message in enumerate(messages, 1):
        left, entered = lane_changes(before, message.lanes)
        marks = [*(lane.end for lane in left), *(lane.begin for lane in entered)]
        last, _ = lane_changes(message.lanes, ()) if number == len(messages) else ([], [])
        yield "".join((*marks, message.text, *(f"\n\n{lane.end.strip()}" for lane in last if lane.end)))
        before = message.lanes
