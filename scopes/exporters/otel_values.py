"""Attributes of the GenAI conventions: messages with their parts, models with their providers, tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from scopes.exporters.json_export import json_text
from scopes.history.usage import tokens_of
from scopes.model.message import Message, Part, payload_key
from scopes.model.tool_calls import tool_name

if TYPE_CHECKING:
    from scopes.exporters.otel_spans import Span

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


def usage_of(span: Span, message: Message) -> None:
    """Set the model, the provider, the reason of the end, and the tokens of an answer; input includes cached tokens."""
    model = message.model
    span.set("gen_ai.provider.name", _provider(model))
    if model is not None:
        span.name = f"chat {model}"
        span.set("gen_ai.request.model", model)
        span.set("gen_ai.response.model", model)
    if message.stop_reason is not None:
        span.set("gen_ai.response.finish_reasons", [_finish_reason(message)])
    tokens = tokens_of(message)
    if tokens is not None:
        span.set("gen_ai.usage.input_tokens", tokens.input)
        span.set("gen_ai.usage.output_tokens", tokens.output)
        span.set("gen_ai.usage.cache_read.input_tokens", tokens.cache_read)
        span.set("gen_ai.usage.cache_creation.input_tokens", tokens.cache_write)
        span.set("gen_ai.usage.reasoning.output_tokens", tokens.reasoning)


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
