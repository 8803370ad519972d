"""Export format `otel`: OpenTelemetry spans of the GenAI semantic conventions, as lines of OTLP JSON (file exporter).

Each turn is a trace: `invoke_agent` from the prompt to the last answer, in it `chat` for each answer and `execute_tool`
for each call. A message has one time, so a span begins at the message before it. Names are those of
opentelemetry.io/docs/specs/semconv/gen-ai, which are still in development. What a model was given as a whole is not
recorded, so only `invoke_agent` has input messages: those of its turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from scopes import __version__
from scopes.clock import parse_time
from scopes.exporters.json_export import json_text, utf8
from scopes.exporters.selection import BranchSlice, ExportSelection, walk_with_heads
from scopes.history.activity import Tokens, tokens_of
from scopes.model.message import Message, Part, payload_key
from scopes.model.tools import is_refused, tool_name
from scopes.store.repository import Repository

_MOST_SPANS: Final = 200  # in one line
_MOST_INPUTS: Final = 50  # messages of a turn that `invoke_agent` names
_ROLES: Final = {"human": "user", "system": "system", "injected": "system"}
_CALLERS: Final = frozenset({"human"})
_PROVIDERS: Final = {
    "claude": "anthropic", "gpt": "openai", "o1": "openai", "o3": "openai", "o4": "openai", "codex": "openai",
    "gemini": "gcp.gemini", "grok": "x_ai", "deepseek": "deepseek", "mistral": "mistral_ai", "codestral": "mistral_ai",
    "command": "cohere",
}  # fmt: skip
_UNKNOWN: Final = "unknown"  # the provider is a required attribute
_FINISH_REASONS: Final = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_call",
    "tool_calls": "tool_call", "refusal": "content_filter",
}  # fmt: skip
_KINDS: Final = {"internal": 1, "client": 3}
_ERROR: Final = 2
_TRACE_DIGITS, _SPAN_DIGITS = 32, 16


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


@dataclass(slots=True)
class Span:
    """A span; `start` and `end` are nanoseconds since 1970."""

    trace: str
    id: str
    start: int
    end: int = 0
    parent: str | None = None
    name: str = ""
    kind: str = "internal"
    failure: str | None = None
    attributes: dict[str, Any] = field(default_factory=dict)

    def set(self, name: str, value: Any) -> None:
        """Set an attribute; None sets nothing."""
        if value is not None:
            self.attributes[name] = value

    def get(self, name: str) -> Any:
        """Return an attribute; None if there is none."""
        return self.attributes.get(name)

    def fail(self, failure: str | None) -> None:
        """Mark the span as failed, unless `failure` is None."""
        if failure is not None:
            self.failure = failure
            self.set("error.type", failure)

    def document(self) -> dict[str, Any]:
        """Return the span as OTLP JSON."""
        document: dict[str, Any] = {"traceId": self.trace, "spanId": self.id}
        if self.parent is not None:
            document["parentSpanId"] = self.parent
        document |= {
            "name": self.name,
            "kind": _KINDS[self.kind],
            "startTimeUnixNano": str(max(self.start, 0)),
            "endTimeUnixNano": str(max(self.end, self.start, 0)),
            "attributes": [attribute(name, value) for name, value in self.attributes.items()],
        }
        return document if self.failure is None else {**document, "status": {"code": _ERROR, "message": self.failure}}


def trace_id(*names: str) -> str:
    """Return the same id for the same names."""
    return _digits(names, _TRACE_DIGITS)


def span_id(*names: str) -> str:
    """Return the same id for the same names."""
    return _digits(names, _SPAN_DIGITS)


def _digits(names: tuple[str, ...], length: int) -> str:
    return sha256("\0".join(names).encode("utf-8", "surrogatepass")).hexdigest()[:length]


def attribute(name: str, value: Any) -> dict[str, Any]:
    """Return an attribute as OTLP JSON: integers are text there."""
    if isinstance(value, bool):
        held: dict[str, Any] = {"boolValue": value}
    elif isinstance(value, int):
        held = {"intValue": str(value)}
    elif isinstance(value, list):
        held = {"arrayValue": {"values": [{"stringValue": str(each)} for each in value]}}
    else:
        held = {"stringValue": str(value)}
    return {"key": name, "value": held}


def describe_answer(message: Message) -> dict[str, Any]:
    """Return the model, the provider, the reason of the end, and the tokens of an answer; input includes cached tokens.

    What is not known is None.
    """
    tokens = tokens_of(message) or Tokens()
    return {
        "gen_ai.provider.name": _provider(message.model),
        "gen_ai.request.model": message.model,
        "gen_ai.response.model": message.model,
        "gen_ai.response.finish_reasons": None if message.stop_reason is None else [_finish_reason(message)],
        "gen_ai.usage.input_tokens": tokens.input,
        "gen_ai.usage.output_tokens": tokens.output,
        "gen_ai.usage.cache_read.input_tokens": tokens.cache_read,
        "gen_ai.usage.cache_creation.input_tokens": tokens.cache_write,
        "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
    }


def _provider(model: str | None) -> str:
    name = (model or "").rpartition("/")[2].lower()
    return next((provider for start, provider in _PROVIDERS.items() if name.startswith(start)), _UNKNOWN)


def _finish_reason(message: Message) -> str:
    has_calls = any(part.type == "tool_call" for part in message.parts)
    reason = message.stop_reason
    return _FINISH_REASONS.get(reason, reason) if reason is not None else "tool_call" if has_calls else "stop"


def output_message(message: Message, *, texts_only: bool = False) -> dict[str, Any]:
    """Return an answer as the conventions have it; without a recorded reason, one that has calls ended for them."""
    parts = text_parts(message) if texts_only else list(_parts(message))
    return {"role": "assistant", "parts": parts, "finish_reason": _finish_reason(message)}


def text_parts(message: Message) -> list[dict[str, Any]]:
    """Return the texts of a message; a typed document replaces a missing text."""
    texts = [part.text for part in message.parts if part.type == "text" and part.text]
    if message.payload is not None and not texts:
        texts = [json_text({payload_key(message.kind): message.payload})]
    return [{"type": "text", "content": text} for text in texts]


def _parts(message: Message) -> Iterator[dict[str, Any]]:
    yield from (
        {"type": "reasoning", "content": part.text} for part in message.parts if part.type == "reasoning" and part.text
    )
    yield from text_parts(message)
    for part in message.parts:
        if part.type == "tool_call":
            call_id = part.fields.get("call_id")
            arguments = part.fields.get("input", part.fields.get("input_text"))
            yield {"type": "tool_call", "id": call_id, "name": tool_name(part), "arguments": arguments}


def result_text(part: Part) -> str | None:
    """Return an output as text, or as JSON if it is none."""
    return value_text(part.fields.get("output", part.fields.get("output_text")))


def value_text(value: Any) -> str | None:
    """Return a text as it is, and any other value as JSON; None for nothing."""
    return value if value is None or isinstance(value, str) else json_text(value)
