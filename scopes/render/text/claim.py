"""Claims in words: the subject that one is about, and what is said of it, as one line."""

from __future__ import annotations

import json
from typing import Any

from scopes.conversation.merging.subjects import shown_key

_DIGEST = len("sha256:") + 12


def about(key: str, agent: str | None) -> str:
    """Say what a claim is about: `decisions/auth`, with the agent where several may say something."""
    return shown_key(key) + (f" ({agent})" if agent is not None else "")


def in_words(value: Any) -> str:
    """Say a value: a text as it is, what became of a file in words, anything else as JSON."""
    match value:
        case str():
            return value
        case {"both": list(several)}:
            return ", and ".join(map(in_words, several))
        case {"operation": str(operation), "content": str(digest)}:
            return f"{operation} ({digest[:_DIGEST]})"
        case {"operation": str(operation), "derived": str()} | {"operation": str(operation), "unknown": str()}:
            return f"{operation} (content unknown)"
        case {"operation": str(operation), **rest} if not rest:
            return operation
    return json.dumps(value, ensure_ascii=False)
