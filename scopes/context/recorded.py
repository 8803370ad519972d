"""Recorded text that is handed to an agent is data: it must not look like what the agent's program itself says.

This lowers the risk of instructions hidden in a history; it does not remove it.
"""

from __future__ import annotations

import re

_MARKERS = (
    "conversation[_-]?history|system[_-]?reminder|system|instructions?|user|human|assistant|developer|memory|context|"
    "thinking|function_(?:calls|results?)|invoke|parameter|tool_(?:use|call|result)s?|recorded"
)
_GAP = r"[\s\u200b-\u200f\u2060-\u2064\ufeff]*"  # also what nobody sees
_TAG = re.compile(rf"<(?={_GAP}(?:\||/?{_GAP}(?:\w+:)?(?:{_MARKERS})(?:\b|_)))", re.IGNORECASE)
_HEADING = re.compile(
    r"^(?=#{1,3} (?:\S+ )?(?:[0-9]+\. |Context of |Files$|Conversation$|Summary of |File ))", re.MULTILINE
)
TRUNCATED = "... [truncated]"


def neutralise(text: str) -> str:
    """Write the tags that mark instructions or our own block so that they are none (S3-12)."""
    return _TAG.sub("&lt;", text)


def as_content(text: str) -> str:
    """Make recorded text safe to stand under a heading of ours: neither its tags nor its headings pass for ours."""
    return _HEADING.sub(r"\\", neutralise(text)).strip()


def clip(text: str, characters: int) -> str:
    """Cut a text at a number of characters, with a visible mark."""
    return text if len(text) <= characters else f"{text[:characters]}{TRUNCATED}"
