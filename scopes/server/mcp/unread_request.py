"""Find the id and the method of a request that is too deep to be decoded, so that it can be answered with its id."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any, Final

_WORD: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_WANTED: Final = ("id", "method")


def scan_request(line: str) -> dict[str, Any] | None:
    """Return the members `id` and `method` of an object, where they are a text or a number; None for anything else."""
    if not line.lstrip().startswith("{"):
        return None
    found: dict[str, Any] = {}
    depth = 0
    name, before = "", ""  # of the member, and the word before this one, both of the object itself
    for match in _WORD.finditer(line):
        word = match[0]
        depth -= word in {"}", "]"}
        if depth == 1:
            if word == ":":
                name = _decode(before)
            elif before == ":" and name in _WANTED:
                found[name] = _decode(word)
            before = word
        depth += word in {"{", "["}
    return found


def _decode(word: str) -> Any:
    """Return the value of a word; None for a bracket, and for what is not JSON."""
    with suppress(ValueError):
        return json.loads(word)
    return None
