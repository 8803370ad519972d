"""JSON as every export writes it: compact, in UTF-8, keys in the order they have."""

from __future__ import annotations

import json

_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"))


def json_text(value: object) -> str:
    """Write a value on one line, without a newline."""
    return _ENCODER.encode(value)


def utf8(text: str) -> bytes:
    r"""Encode a text; a half of a surrogate pair, which UTF-8 cannot hold, becomes `\udXXX`, which JSON reads back."""
    return text.encode("utf-8", "backslashreplace")
