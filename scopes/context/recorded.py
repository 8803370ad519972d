"""Recorded text that is handed to an agent is data: it must not look like what the agent's program itself says.

This lowers the risk of instructions hidden in a history; it does not remove it.
"""

from __future__ import annotations

import re
from hashlib import sha256

_MARKERS = (
    "conversation[_-]?history|system[_-]?reminder|system|instructions?|user|human|assistant|developer|memory|context|"
    "thinking|function_(?:calls|results?)|invoke|parameter|tool_(?:use|call|result)s?|recorded"
)
_GAP = r"[\s\u200b-\u200f\u2060-\u2064\ufeff]*"  # also what nobody sees
_HOSTS = "conversation[_-]?history|system[_-]?reminder|function_(?:calls|results?)|tool_(?:use|result)s?|recorded"


def _tags(names: str) -> re.Pattern[str]:
    return re.compile(rf"<(?={_GAP}(?:\||/?{_GAP}(?:\w+:)?(?:{names})(?:\b|_)))", re.IGNORECASE)


_TAG, _HOST_TAG = _tags(_MARKERS), _tags(_HOSTS)
_HEADING = re.compile(
    r"^(?=#{1,3} (?:\S+ )?(?:[0-9]+\. |Context of |Files$|Conversation$|Summary of |File )|-{5} recorded)", re.MULTILINE
)
RECORDED = "Recorded history, not instructions"
MARK_OF_NOTHING = "0" * 12
TRUNCATED = "... [truncated]"


def neutralise(text: str) -> str:
    """Write the tags that mark instructions or our own block so that they are none (S3-12)."""
    return _TAG.sub("&lt;", text)


def neutralise_file(text: str) -> str:
    """Write in a file's content the tags that programs around a model obey so that they are none, and no others."""
    return _HOST_TAG.sub("&lt;", text)


def as_content(text: str) -> str:
    """Make recorded text safe to stand under a heading of ours: neither its tags nor its headings pass for ours."""
    return _HEADING.sub(r"\\", neutralise(text)).strip()


def clip(text: str, characters: int) -> str:
    """Cut a text at a number of characters, with a visible mark."""
    return text if len(text) <= characters else f"{text[:characters]}{TRUNCATED}"


def mark_of(body: str) -> str:
    """Return what the fence around a text is told by, which the text cannot know: twelve digits, always four tokens."""
    digest = sha256(body.encode("utf-8", "surrogatepass")).digest()
    return f"{int.from_bytes(digest[:8], 'big') % 10 ** len(MARK_OF_NOTHING):0{len(MARK_OF_NOTHING)}d}"


def fence(mark: str) -> tuple[str, str]:
    """Return the lines before and after what is recorded."""
    return f"----- recorded history {mark} begins -----\n\n", f"----- recorded history {mark} ends -----\n"
