"""A message while its lines are still coming."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from scopes.importers.claude_code.records import ANSWER, COMPACTION, Saying, field_of, text_of, time_of
from scopes.importers.claude_code.results import Results
from scopes.importers.claude_code.tree import Place
from scopes.importers.claude_code.usage import describe_usage
from scopes.importers.projection import Draft, Span
from scopes.model.message import FileTouch, Part

MAX_BYTES = 32 << 20  # of one message's lines; what comes behind them is a message of its own
_CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded"})


@dataclass(slots=True, kw_only=True)
class OpenMessage:
    """What the lines so far have said; `opening` holds what the first of them tells of time and place."""

    key: str
    place: Place
    parent: str | None
    saying: Saying
    opening: Mapping[str, str | None]
    session: str | None = None
    spawned_by: Mapping[str, str] | None = None
    reply_to: str | None = None
    status: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    size: int = 0
    parts: list[Part] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    files: dict[FileTouch, None] = field(default_factory=dict)
    tools: dict[str, None] = field(default_factory=dict)
    usage: dict[str, Any] = field(default_factory=dict)

    def add(self, span: Span, value: dict[str, Any], parts: Iterable[Part]) -> None:
        """Add a line; of what every line of an answer repeats the last one counts."""
        before = self.spans[-1] if self.spans else None
        if before is not None and before.offset + before.length == span.offset:
            self.spans[-1] = Span(before.offset, before.length + span.length)
        else:
            self.spans.append(span)
        self.size += span.length
        self.parts += parts
        if self.saying.kind == ANSWER:
            message = field_of(value, "message")
            self._name(text_of(message, "id"), text_of(value, "requestId"))
            self.model = text_of(message, "model") or self.model
            self.stop_reason = text_of(message, "stop_reason") or self.stop_reason
            self.usage = field_of(message, "usage") or self.usage
        self._name(text_of(value, "uuid"))

    def add_results(self, span: Span, value: dict[str, Any], results: Results) -> None:
        """Add a record of results."""
        self.add(span, value, results.parts)
        self.files |= dict.fromkeys(results.files)
        self.tools |= dict.fromkeys(results.tools)
        self.status = results.status or self.status
        if self.reply_to is None and results.answer != self.parent:
            self.reply_to = results.answer

    def interrupt(self) -> None:
        """Mark an answer that the user stopped."""
        if self.saying.kind == ANSWER:
            self.status = "interrupted"

    def draft(self, counted: dict[str, int]) -> Draft:
        """Close the message; `counted` are the tokens that earlier messages of the same answer have reported."""
        opening = self.opening
        extra = {"session_id": self.session, "missing_parent": self.place.missing}
        return Draft(
            key=self.key,
            parent=self.parent,
            author=self.saying.author,
            kind=self.saying.kind,
            parts=tuple(self.parts),
            spans=tuple(self.spans),
            native_ids=tuple(self.names),
            time=opening["time"],
            precision="none" if opening["time"] is None else "exact",
            reply_to=self.reply_to,
            files=tuple(self.files),
            model=self.model,
            usage=describe_usage(self.usage, counted) if self.usage else None,
            stop_reason=self.stop_reason,
            status="truncated" if self.stop_reason in _CUT_SHORT else self.status,
            tool=next(iter(self.tools)) if len(self.tools) == 1 else None,
            cwd=opening["cwd"],
            git_branch=opening["git_branch"],
            context_root=self.saying.kind == COMPACTION or self.place.cleared,
            spawned_by=self.spawned_by,
            side=self.place.side,
            extra={name: known for name, known in extra.items() if known is not None},
        )

    def _name(self, *names: str | None) -> None:
        self.names |= dict.fromkeys(name for name in names if name is not None)


def opening_of(value: Mapping[str, Any]) -> dict[str, str | None]:
    """Return what a message's first record tells of time and place."""
    return {"time": time_of(value), "cwd": text_of(value, "cwd"), "git_branch": text_of(value, "gitBranch")}
