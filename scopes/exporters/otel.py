"""Export format `otel`: OpenTelemetry spans of the GenAI semantic conventions, as lines of OTLP JSON (file exporter).

Each turn is a trace: `invoke_agent` from the prompt to the last answer, in it `chat` for each answer and `execute_tool`
for each call. A message has one time, so a span begins at the message before it. Names are those of
opentelemetry.io/docs/specs/semconv/gen-ai, which are still in development. What a model was given as a whole is not
recorded, so only `invoke_agent` has input messages: those of its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scopes import __version__
from scopes.clock import parse_time
from scopes.exporters.current_messages import walk_with_heads
from scopes.exporters.json_export import json_text, utf8
from scopes.exporters.otel_spans import Span, span_id, trace_id
from scopes.exporters.otel_values import attribute, describe_answer, output_message, result_text, text_parts, value_text
from scopes.exporters.selection import BranchSlice, ExportSelection
from scopes.model.message import Message, Part
from scopes.model.tools import is_refused, tool_name
from scopes.store.repository import Repository

_MOST_SPANS: Final = 200  # in one line
_MOST_INPUTS: Final = 50  # messages of a turn that `invoke_agent` names
_ROLES: Final = {"human": "user", "system": "system", "injected": "system"}
_CALLERS: Final = frozenset({"human"})


def write_otel(repository: Repository, selection: ExportSelection) -> Iterator[bytes]:
    """Yield lines, each with the spans of a turn, or with some of a long one."""
    for branch_slice in selection.slices:
        writer = _Writer(selection, branch_slice)
        for head, message in walk_with_heads(repository, selection, branch_slice):
            if message.author.kind in _CALLERS:
                yield from writer.end_turn()
            writer.add(message, None if head is None else head.oid)
            if len(writer.spans) >= _MOST_SPANS:
                yield writer.take_line()
        yield from writer.end_turn()


class _Writer:
    """Makes spans of the messages of one branch; `spans` are complete and not written yet."""

    def __init__(self, selection: ExportSelection, branch_slice: BranchSlice) -> None:
        view, branch = selection.view, branch_slice.branch
        self.spans: list[Span] = []
        self._conversation = view.uuid
        self._service = view.source or "scopes"
        self._branch = branch_slice.tip if branch is None else branch.name
        self._time = parse_time(view.created_at or "") or 0
        self._agent: Span | None = None
        self._inputs: list[dict[str, Any]] = []
        self._calls: dict[str, Span] = {}

    def add(self, message: Message, commit: str | None) -> None:
        """Add a message to the turn, which it begins if there is none."""
        before, self._time = self._time, max(self._time, parse_time(message.time or "") or self._time)
        if self._agent is None:
            self._agent = self._begin_turn(message)
        if message.author.kind == "agent" or any(part.type == "tool_call" for part in message.parts):
            self._add_answer(message, commit, before)
        elif message.author.kind in _ROLES and len(self._inputs) < _MOST_INPUTS and text_parts(message):
            self._inputs.append({"role": _ROLES[message.author.kind], "parts": text_parts(message)})
        for number, part in enumerate(message.parts):
            if part.type == "tool_result":
                self._end_call(message, part, number)

    def end_turn(self) -> Iterator[bytes]:
        """Yield the line with the last spans of a turn; calls without a result end where they began."""
        if self._agent is not None:
            self.spans += self._calls.values()
            self._calls = {}
            self._agent.end = self._time
            self._agent.set("gen_ai.input.messages", json_text(self._inputs) if self._inputs else None)
            self.spans.append(self._agent)
            self._agent, self._inputs = None, []
        if self.spans:
            yield self.take_line()

    def take_line(self) -> bytes:
        """Return the complete spans as one line of OTLP JSON."""
        scope = {"scope": {"name": "scopes", "version": __version__}, "spans": [each.document() for each in self.spans]}
        resource = {"attributes": [attribute("service.name", self._service)]}
        self.spans = []
        return utf8(json_text({"resourceSpans": [{"resource": resource, "scopeSpans": [scope]}]}) + "\n")

    def _begin_turn(self, first: Message) -> Span:
        span = Span(
            trace=trace_id(self._conversation, self._branch, first.id),
            id=span_id(first.id, "invoke_agent"),
            start=self._time,
        )
        self._describe(span, "invoke_agent", first)
        return span

    def _describe(self, span: Span, operation: str, message: Message) -> None:
        span.name = operation
        span.set("gen_ai.operation.name", operation)
        span.set("gen_ai.conversation.id", self._conversation)
        span.set("scopes.message.id", message.id)
        span.set("scopes.branch", self._branch)

    def _add_answer(self, message: Message, commit: str | None, before: int) -> None:
        agent = self._agent
        if agent is None:
            return
        span = Span(
            trace=agent.trace,
            id=span_id(message.id, "chat"),
            parent=agent.id,
            start=before,
            end=self._time,
            kind="client",
        )
        self._describe(span, "chat", message)
        span.set("scopes.commit.id", commit)
        span.name = "chat" if message.model is None else f"chat {message.model}"
        for name, value in describe_answer(message).items():
            span.set(name, value)
        span.set("gen_ai.output.messages", json_text([output_message(message)]))
        self.spans.append(span)
        if message.author.kind == "agent":
            agent.name = f"invoke_agent {message.author.name}"
            for each in (span, agent):
                each.set("gen_ai.agent.name", message.author.name)
                each.set("gen_ai.provider.name", span.get("gen_ai.provider.name"))
            if message.text:
                agent.set("gen_ai.output.messages", json_text([output_message(message, texts_only=True)]))
        for number, part in enumerate(message.parts):
            if part.type == "tool_call":
                self._begin_call(message, part, number)

    def _begin_call(self, message: Message, part: Part, number: int) -> None:
        agent, call_id = self._agent, part.fields.get("call_id")
        if agent is None:
            return
        span = Span(
            trace=agent.trace, id=span_id(message.id, f"call {number}"), parent=span_id(message.id, "chat"),
            start=self._time, end=self._time,
        )  # fmt: skip
        self._describe(span, "execute_tool", message)
        span.name = f"execute_tool {tool_name(part)}"
        span.set("gen_ai.tool.name", tool_name(part))
        span.set("gen_ai.tool.type", "function")
        span.set("gen_ai.tool.call.arguments", value_text(part.fields.get("input", part.fields.get("input_text"))))
        if isinstance(call_id, str) and call_id not in self._calls:
            span.set("gen_ai.tool.call.id", call_id)
            self._calls[call_id] = span
        else:
            self.spans.append(span)

    def _end_call(self, message: Message, part: Part, number: int) -> None:
        call_id, agent = part.fields.get("call_id"), self._agent
        span = self._calls.pop(call_id, None) if isinstance(call_id, str) else None
        if span is None and agent is not None:
            span = Span(
                trace=agent.trace, id=span_id(message.id, f"result {number}"), parent=agent.id, start=self._time
            )
            self._describe(span, "execute_tool", message)
            span.set("gen_ai.tool.call.id", call_id if isinstance(call_id, str) else None)
        if span is not None:
            span.end = self._time
            span.set("gen_ai.tool.call.result", result_text(part))
            span.fail(_failure(part))
            self.spans.append(span)


def _failure(part: Part) -> str | None:
    """Return how a call failed; None if it did not."""
    if is_refused(part):
        return "refused"
    code = part.fields.get("exit_code")
    if part.fields.get("is_error") is True or code not in (None, 0):
        return "error" if code in (None, 0) else f"exit code {code}"
    return None
