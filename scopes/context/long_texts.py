"""Cut the long texts of a message before they are searched and escaped, of which a block shows only the beginning.

Without this, the time that a session waits for its history would grow with the length of what is not in it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from scopes.secret_scan.clearance import Gate
from scopes.secrets.gates import redacting
from scopes.store.repository import Repository

MAX_READ_CHARACTERS: Final = 1 << 16  # many times what is shown: a secret in it may be replaced by a few characters


@contextmanager
def reading_beginnings(repository: Repository, gate: Gate) -> Iterator[None]:
    """Shorten every message that is read from the store meanwhile, before it is redacted."""
    with redacting(repository, gate):
        clear = repository.caller.clear_message or bytes
        with repository.as_caller(clear_message=lambda data: clear(shorten(data))):
            yield


def shorten(data: bytes) -> bytes:
    """Return the JSON line of a message with the long texts of its parts cut; a shorter line as it is.

    White space at the beginning of a text does not count: it is not shown.
    """
    if len(data) <= MAX_READ_CHARACTERS:
        return data
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return data  # the reader of the message says what is wrong
    if not isinstance(document, dict) or "parts" not in document:
        return data
    document["parts"] = _cut(document["parts"])
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace")


def _cut(value: Any) -> Any:
    if isinstance(value, str):
        if len(value) <= MAX_READ_CHARACTERS:
            return value
        return value[: MAX_READ_CHARACTERS + len(value) - len(value.lstrip())]
    if isinstance(value, dict):
        return {name: _cut(each) for name, each in value.items()}
    return [_cut(each) for each in value] if isinstance(value, list) else value
