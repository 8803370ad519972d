"""Read fields of untrusted records: a field that is missing or has the wrong type counts as absent."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from math import isfinite
from typing import Any

from scopes.clock import parse_time


def text_field(value: Mapping[str, Any], name: str) -> str | None:
    """Return a field that is a non-empty string, else None."""
    text = value.get(name)
    return text if isinstance(text, str) and text else None


def object_field(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return a field that is an object, else an empty one."""
    found = value.get(name)
    return found if isinstance(found, dict) else {}


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


def time_field(value: Mapping[str, Any]) -> str | None:
    """Return the record's timestamp if it is valid, else None."""
    time = text_field(value, "timestamp")
    return time if time is not None and parse_time(time) is not None else None


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
