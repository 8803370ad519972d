"""A message while its records are still being read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from scopes.importers.codex.calls import Call
from scopes.importers.codex.reports import Report
from scopes.importers.codex.usage import add_usage
from scopes.importers.projection import Draft, Span
from scopes.model.message import Author, FileTouch, Part

ANSWER = "answer"
RESULTS = "tool-results"
ERROR = "error"
INTERRUPT = "interrupt"
MODEL_KINDS = frozenset({ANSWER, "summary"})


@dataclass(slots=True, kw_only=True)
class Building:
    """The message that the next record may still belong to; `copied` tells that a fork took it over."""

    key: str
    parent: str | None
    author: Author
    kind: str
    copied: bool
    time: str | None = None
    parts: list[Part] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    native_ids: dict[str, None] = field(default_factory=dict)
    reply_to: str | None = None
    model: str | None = None
    usage: Mapping[str, Any] | None = None
    status: str | None = None
    cwd: str | None = None
    git_branch: str | None = None
    spawned_by: Mapping[str, str] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)
    touches: dict[int, tuple[FileTouch, ...]] = field(default_factory=dict)
    tools: set[str] = field(default_factory=set)

    @property
    def text(self) -> str:
        """All text of the message so far."""
        return "\n".join(part.text for part in self.parts if part.type == "text")

    def pay(self, usage: Mapping[str, Any], spans: list[Span]) -> None:
        """Add what an answer used, and the records that tell it."""
        self.usage = add_usage(self.usage, usage)
        self.spans += spans

    def add_result(self, fields: Mapping[str, Any], call: Call | None) -> None:
        """Add the result of a tool call: what is told of it, and the files that it touched if it went well."""
        place = len(self.parts)
        self.parts.append(Part("tool_result", fields))
        if "call_id" in fields:
            self.results[fields["call_id"]] = place
        if call is not None:
            self.tools.add(call.tool)
            self.touches[place] = () if fields.get("is_error") else call.touches
            for report in call.reports:
                self.report(report)

    def report(self, report: Report) -> None:
        """Add to a result what is told of it afterwards."""
        place = self.results[report.call_id]
        self.parts[place] = Part("tool_result", {**self.parts[place].fields, **report.fields})
        if report.touches is not None:
            self.touches[place] = report.touches
        self.spans.append(report.span)

    def draft(self) -> Draft:
        """Close the message."""
        touches = (touch for place in self.touches for touch in self.touches[place])
        precision = "none" if self.time is None else "restamped" if self.copied else "exact"
        return Draft(
            key=self.key,
            parent=self.parent,
            author=self.author,
            kind=self.kind,
            parts=tuple(self.parts),
            spans=tuple(self.spans),
            native_ids=tuple(self.native_ids),
            time=self.time,
            precision=precision,
            reply_to=self.reply_to,
            files=tuple(dict.fromkeys(touches)),
            model=self.model,
            usage=self.usage,
            status=self.status,
            tool=next(iter(self.tools)) if len(self.tools) == 1 else None,
            cwd=self.cwd,
            git_branch=self.git_branch,
            context_root=self.kind == "compaction",
            spawned_by=self.spawned_by,
            extra=self.extra,
        )
