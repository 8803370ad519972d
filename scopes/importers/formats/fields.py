"""Read fields of untrusted records: a field that is missing or has the wrong type counts as absent.

The second half reads what several agents write alike: token counts, and the calls and files of the OpenAI API.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from math import isfinite
from typing import Any

from scopes.clock import format_time, parse_time
from scopes.importers.formats.records import decode
from scopes.model.message import Part

_MAX_WORD = 64
_MAX_MILLISECONDS = 253_402_300_800_000  # year 10000


def text_field(value: Mapping[str, Any], name: str) -> str | None:
    """Return a field that is a non-empty string, else None."""
    text = value.get(name)
    return text if isinstance(text, str) and text else None


def object_field(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a field that is an object, else an empty one."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def list_field(value: Mapping[str, Any], name: str) -> list[Any]:
    """Return a field that is an array, else an empty one."""
    found = value.get(name)
    return found if isinstance(found, list) else []


def count_field(value: Mapping[str, Any], name: str) -> int | None:
    """Return a field that is an integer and not negative, else None."""
    found = value.get(name)
    return found if type(found) is int and found >= 0 else None


def number_field(value: Mapping[str, Any], name: str) -> float | None:
    """Return a field that is a finite number, else None."""
    found = value.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    try:
        number = float(found)
    except OverflowError:  # JSON has integers of any length
        return None
    return number if isfinite(number) else None


def time_field(value: Mapping[str, Any], name: str = "timestamp") -> str | None:
    """Return a time in RFC 3339 if it is valid, else None."""
    time = text_field(value, name)
    return time if time is not None and parse_time(time) is not None else None


def time_of_milliseconds(value: object) -> str | None:
    """Return a time given in milliseconds since 1970; None if it is none."""
    return format_time(value * 1_000_000) if type(value) is int and 0 < value < _MAX_MILLISECONDS else None


def time_of_seconds(value: float | None) -> str | None:
    """Return a time given in seconds since 1970; None if it is none."""
    if value is None or not 0 < value < _MAX_MILLISECONDS // 1000:
        return None
    return time_of_milliseconds(int(value * 1000))


def short_word(value: Mapping[str, Any], name: str) -> str:
    """Return a field for a reason or a key: its text, at most 64 characters of it, or that it is missing."""
    found = value.get(name)
    return repr(found[:_MAX_WORD]) if isinstance(found, str) else "none"


def file_content_hash(content: object, errors: str = "strict") -> str | None:
    """Return the hash of a file's content; None if it is not text that UTF-8 can encode.

    `errors` is that of `str.encode`: `surrogatepass` also hashes text with lone surrogates.
    """
    if not isinstance(content, str):
        return None
    try:
        return f"sha256:{sha256(content.encode('utf-8', errors)).hexdigest()}"
    except UnicodeEncodeError:
        return None


def read_counts(usage: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any] | None:
    """Return token counts with the source's own object; None if all are 0. `names` are ours by those of the source."""
    counts = {ours: count for theirs, ours in names.items() if (count := count_field(usage, theirs)) is not None}
    return {**counts, "raw": dict(usage)} if any(counts.values()) else None


def read_openai_usage(usage: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the token counts of the chat completions API, whose input includes cached tokens; None if all are 0."""
    given = count_field(usage, "prompt_tokens") or 0
    cached = min(given, count_field(object_field(usage, "prompt_tokens_details"), "cached_tokens") or 0)
    reasoning = count_field(object_field(usage, "completion_tokens_details"), "reasoning_tokens")
    output = count_field(usage, "completion_tokens") or 0
    if not given and not output:
        return None
    counts = {"input_uncached": given - cached, "cache_read": cached, "output": output}
    return {**counts, **({"reasoning": reasoning} if reasoning else {}), "raw": dict(usage)}


def call_id_of(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the field `call_id` of a call or a result; none if the source has no id."""
    found = text_field(value, name)
    return {} if found is None else {"call_id": found}


def read_arguments(arguments: object) -> dict[str, Any]:
    """Decode the arguments of a function, JSON in a string; text that is no JSON is kept as `input_text`."""
    if not isinstance(arguments, str):
        return {"input": arguments}
    try:
        return {"input": decode(arguments)}
    except (ValueError, RecursionError):
        return {"input_text": arguments}


def output_of(content: object) -> object:
    """Return the content of a result as text if it is a list of one text."""
    match content:
        case [{"type": "text", "text": str(text)}]:
            return text
    return content


def read_file(kind: str, url: str) -> Part:
    """Convert an image or file given by its URL, which may be a data URL."""
    head, found, data = url.partition(";base64,")
    if found and head.startswith("data:"):
        return Part(kind, {"media_type": head.removeprefix("data:"), "data": data})
    return Part(kind, {"path": url})
