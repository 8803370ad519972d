"""Read the cells of llm's rows: times, JSON, token counts, attachments."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

from scopes.clock import parse_time
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.lossless_json import decode, lossless_field
from scopes.importers.formats.run_builder import time_of_milliseconds
from scopes.model.message import Author, Part

AGENT = Author("llm", "agent")
SYSTEM = Author("user", "injected")
_DIGITS = {digit: value for value, digit in enumerate("0123456789abcdefghjkmnpqrstvwxyz")}  # of a ULID
_ZONE = re.compile(r"(?:Z|[+-]\d\d:\d\d)$")
_TIME_DIGITS = 10
_ULID_DIGITS = 26


def read_time(row: Mapping[str, Any]) -> str | None:
    """Return the time of a row in RFC 3339; it is UTC, in older versions without saying so."""
    text = (text_field(row, "datetime_utc") or "").replace(" ", "T", 1)
    time = text if _ZONE.search(text) else f"{text}Z"
    return time if parse_time(time) is not None else None


def time_of_ulid(name: str) -> str | None:
    """Return the time in an id that is a ULID; None if it is another id."""
    digits = [_DIGITS.get(digit) for digit in name.lower()[:_TIME_DIGITS]]
    if len(name) != _ULID_DIGITS or None in digits:
        return None
    milliseconds = 0
    for digit in digits:
        milliseconds = milliseconds << 5 | (digit or 0)
    return time_of_milliseconds(milliseconds)


def read_json(text: object) -> Any:
    """Decode JSON in a cell; None if it is none."""
    try:
        return decode(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None


def read_usage(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the token counts of a response or a turn. Its input count includes cached tokens."""
    details = read_json(row.get("token_details"))
    details = details if isinstance(details, dict) else {}
    cached = object_field(details, "prompt_tokens_details").get("cached_tokens")
    reasoning = object_field(details, "completion_tokens_details").get("reasoning_tokens")
    found = {
        "input": row.get("input_tokens"),
        "cached": cached,
        "output": row.get("output_tokens"),
        "reasoning": reasoning,
    }
    known = {name: count for name, count in found.items() if type(count) is int and count >= 0}
    if "input" not in known and "output" not in known:
        return None
    cache_read = min(known.get("cached", 0), known.get("input", 0))
    counts = {
        "input_uncached": known.get("input", 0) - cache_read,
        "cache_read": cache_read,
        "output": known.get("output", 0),
    }
    if "reasoning" in known:
        counts["reasoning"] = known["reasoning"]
    raw = {"input_tokens": row.get("input_tokens"), "output_tokens": row.get("output_tokens")}
    return {**counts, **lossless_field("raw", {**raw, **({"token_details": details} if details else {})})}


def read_attachment(row: Mapping[str, Any]) -> Part:
    """Convert an attachment: its content, or where it is."""
    media = text_field(row, "type")
    kind = "image" if media is not None and media.startswith("image/") else "file"
    fields: dict[str, Any] = {} if media is None else {"media_type": media}
    content, place = row.get("content"), text_field(row, "path") or text_field(row, "url")
    if isinstance(content, bytes):
        return Part(kind, {**fields, "data": b64encode(content).decode("ascii")})
    return Part(kind, fields if place is None else {**fields, "path": place})


def read_call(row: Mapping[str, Any], arguments: object) -> Part:
    """Convert a tool call, with its decoded arguments."""
    call = text_field(row, "tool_call_id")
    known = {} if call is None else {"call_id": call}
    return Part("tool_call", {**known, "name": text_field(row, "name") or "tool", **lossless_field("input", arguments)})


def read_result(row: Mapping[str, Any]) -> Part:
    """Convert the result of a tool call."""
    call, exception = text_field(row, "tool_call_id"), text_field(row, "exception")
    known = {} if call is None else {"call_id": call}
    failed = {} if exception is None else {"is_error": True, "structured": {"exception": exception}}
    return Part("tool_result", {**known, **lossless_field("output", row.get("output")), **failed})
