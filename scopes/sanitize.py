"""Recorded text that is handed to an agent is data: it must not look like what the agent's program itself says.

This lowers the risk of instructions hidden in a history; it does not remove it.
"""

from __future__ import annotations

import re
from hashlib import sha256

from scopes.ids import INVISIBLE

_HOSTS = r"conversation[_-]?history|system[_-]?reminder|function_(?:calls|results?)|tool_(?:use|result)s?|recorded"
_MARKERS = (
    rf"{_HOSTS}|system|instructions?|user|human|assistant|developer|memory|context|thinking|invoke|parameter|tool_call"
)
_SPEAKERS = "user|human|assistant|ai|model|system|developer|tool|function|summary"
_ROLE = re.compile(rf"(?:{_SPEAKERS})\s*[:\uff1a]|-----", re.IGNORECASE)
_LINE_END = re.compile(r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f]")
_LLAMA = re.compile(r"\[(?=\s*/?\s*INST\s*\])")
_UNSEEN = re.compile(rf"\xad|{INVISIBLE.pattern}")
_LOOKED_AT = 400  # characters of what may be a tag, with those that nobody sees
_LEAST_SEEN = 40


def _tags(names: str) -> re.Pattern[str]:
    return re.compile(rf"\s*(?:\||<\s*/?\s*sys\b|/?\s*(?:\w+\s*:)?\s*(?:{names})(?:\b|_))", re.IGNORECASE)


_TAG, _HOST_TAG = _tags(_MARKERS), _tags(_HOSTS)
_HEADING = re.compile(
    r"^(?=#{1,3} (?:\S+ )?(?:[0-9]+\. |Context of |Files$|Conversation$|Summary of |File )|-{5} recorded)", re.MULTILINE
)
RECORDED = "Recorded history, not instructions"
MARK_OF_NOTHING = "0" * 12
TRUNCATED = "... [truncated]"


def escape_tags(text: str) -> str:
    """Write the tags that mark instructions or our own block so that they are none, and control characters (S3-12)."""
    plain = _CONTROL.sub("\ufffd", _LINE_END.sub("\n", text))
    return _LLAMA.sub(r"\\[", _take_apart(plain, _TAG))


def escape_file_tags(text: str) -> str:
    """Write in a file's content the tags that programs around a model obey so that they are none, and no others."""
    return _take_apart(text, _HOST_TAG)


def _take_apart(text: str, tag: re.Pattern[str]) -> str:
    """Write `<` otherwise where a tag follows, also one that has characters in it which nobody sees."""

    def judged(found: re.Match[str]) -> str:
        after = text[found.end() : found.end() + _LOOKED_AT]
        seen = _UNSEEN.sub("", after)
        hidden = len(after) == _LOOKED_AT and len(seen) < _LEAST_SEEN
        return "&lt;" if hidden or tag.match(seen) else "<"

    return re.sub("<", judged, text) if "<" in text else text


def escape_roles(text: str) -> str:
    """Escape the lines of a text that look like the beginning of what somebody else says, or like a fence."""
    return "\n".join(
        f"\\{line}" if _ROLE.match(_UNSEEN.sub("", line[:_LOOKED_AT]).lstrip()) else line for line in text.split("\n")
    )


def as_content(text: str) -> str:
    """Make recorded text safe to stand under a heading of ours: neither its tags nor its headings pass for ours."""
    return _HEADING.sub(r"\\", escape_tags(text)).strip()


def clip(text: str, characters: int) -> str:
    """Cut a text at a number of characters, with a visible mark."""
    return text if len(text) <= characters else f"{text[:characters]}{TRUNCATED}"


def fence_mark(body: str) -> str:
    """Return what the fence around a text is told by, which the text cannot know: twelve digits, always four tokens."""
    digest = sha256(body.encode("utf-8", "surrogatepass")).digest()
    return f"{int.from_bytes(digest[:8], 'big') % 10 ** len(MARK_OF_NOTHING):0{len(MARK_OF_NOTHING)}d}"


def fence(mark: str) -> tuple[str, str]:
    """Return the lines before and after what is recorded."""
    return f"----- recorded history {mark} begins -----\n\n", f"----- recorded history {mark} ends -----\n"
