"""Attributes of the GenAI conventions: messages with their parts, models with their providers, tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from scopes.exporters.json_export import json_text
from scopes.history.activity import Tokens, tokens_of
from scopes.model.message import Message, Part, payload_key
from scopes.model.tools import tool_name

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
