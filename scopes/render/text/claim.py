"""Claims in words: the subject that one is about, and what is said of it, as one line."""

from __future__ import annotations

import json
from typing import Any

from scopes.merge.conflict_keys import group_of, shown_key

_HASH_LENGTH = len("sha256:") + 8


def about(key: str, agent: str | None) -> str:
    """Say what a claim is about: `decisions/auth`, with the agent where several may say something."""
    return shown_key(key) + (f" ({agent})" if agent is not None else "")


def said(key: str, value: Any) -> str:
    """Return what a position says as text: claims about messages and files in words, other documents as JSON."""
    match group_of(key), value:
        case _, str(text):
            words = text
        case "messages", {"retracted": True}:
            words = "retracted"
        case "messages", {"amended": str(digest)}:
            words = f"amended, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation), "content": str(digest)}:
            words = f"{operation}, {digest[:_HASH_LENGTH]}"
        case "files", {"operation": str(operation)}:
            words = operation if operation == "delete" else f"{operation}, outcome unknown"
        case _, {"both": list(several)}:
            words = " | ".join(said(key, each) for each in several)
        case _:
            words = json.dumps(value, ensure_ascii=False)
    return words
