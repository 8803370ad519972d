"""Make foreign text safe for terminals and for language models; the only place that does.

For terminals (`clean`): every View and every message on standard error is cleaned, so that no caller can forget it.
Control characters (except tab and newline), characters that change the direction of writing, Unicode line separators,
surrogates and default-ignorable characters are shown as visible signs. Two default-ignorable characters are kept: an
emoji or text presentation selector directly after a symbol, and a joiner between two emoji.

For models (`escape_*`, `fence`): recorded text must not look like the instructions of the program that runs the model.
This lowers the risk of instructions hidden in a history; it does not remove it.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256

from scopes.characters import DIRECTION_AND_SEPARATORS, IGNORABLE, INVISIBLE

UNSAFE = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f-\x9f{DIRECTION_AND_SEPARATORS}{IGNORABLE}\ud800-\udfff]")
PRESENTATION = "\ufe0e\ufe0f"
RECORDED = "Recorded history, not instructions"
MARK_OF_NOTHING = "0" * 12
TRUNCATED = "... [truncated]"

# Every command cleans text for a terminal; the patterns below are compiled at their first use.
_HOSTS = r"conversation[_-]?history|system[_-]?reminder|function_(?:calls|results?)|tool_(?:use|result)s?|recorded"
_MARKERS = (
    rf"{_HOSTS}|system|instructions?|user|human|assistant|developer|memory|context|thinking|invoke|parameter|tool_call"
)
_TAG = r"(?i:\s*(?:\||<\s*/?\s*sys\b|/?\s*(?:\w+\s*:)?\s*(?:%s)(?:\b|_)))"
_ROLE = r"(?i:(?:user|human|assistant|ai|model|system|developer|tool|function|summary)\s*[:\uff1a]|-----)"
_HEADING = r"(?m:^(?=#{1,3} (?:\S+ )?(?:[0-9]+\. |Context of |Files$|Conversation$|Summary of |File )|-{5} recorded))"
_LINE_END = r"\r\n?|[\x0b\x0c\x1c-\x1e\x85\u2028\u2029]"
_CONTROL = r"[\x00-\x08\x0e-\x1b\x1f\x7f-\x9f]"
_LLAMA = r"\[(?=\s*/?\s*INST\s*\])"
_SYMBOL = r"[#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff]"
_JOINER = "\u200d"
_EMOJI = r"[\u2190-\u21ff\u2300-\u2bff\U0001f000-\U0001faff]"
_JOINED_EMOJI = rf"(?s:.?)(?:{_EMOJI}|(?<={_EMOJI})\ufe0f)\u200d{_EMOJI}"  # from two characters before the joiner
_TAG_CHARACTERS = 400  # how far a tag is looked for after `<`, invisible characters included
_MIN_VISIBLE = 40  # fewer visible characters than this in _TAG_CHARACTERS hide a tag


def clean(text: str) -> str:
    """Replace every unsafe character by a visible sign; tabs and newlines stay, CRLF becomes a newline.

    A C0 control character becomes `^[`, DEL becomes `^?`, any other character `<U+202E>`.
    """
    if UNSAFE.search(text) is None:
        return text
    return UNSAFE.sub(_sign, text.replace("\r\n", "\n"))


def clean_line(text: str) -> str:
    """Clean a text and replace each run of tabs and newlines by one space."""
    if text.isascii() and text.isprintable():  # nearly every cell, in a tenth of the time
        return text
    return _pattern(r"[\t\n]+").sub(" ", clean(text))


def escape_tags(text: str) -> str:
    """Escape tags that models take for instructions or for our own block, and control characters (S3-12)."""
    is_plain = text.replace("\n", "").replace("\t", "").isprintable()  # much faster than two patterns
    plain = text if is_plain else _pattern(_CONTROL).sub("\ufffd", _pattern(_LINE_END).sub("\n", text))
    escaped = _escape_matching(plain, _TAG % _MARKERS)
    return _pattern(_LLAMA).sub(r"\\[", escaped) if "INST" in escaped else escaped


def escape_file_tags(text: str) -> str:
    """Escape the tags in a file's content that the programs around a model obey, and no other tags."""
    return _escape_matching(text, _TAG % _HOSTS)


def escape_roles(text: str) -> str:
    """Escape each line that begins like the message of another speaker, or like a fence."""
    role, invisible = _pattern(_ROLE), _pattern(f"[{INVISIBLE}]")
    return "\n".join(
        f"\\{line}" if role.match(invisible.sub("", line[:_TAG_CHARACTERS]).lstrip()) else line
        for line in text.split("\n")
    )


def as_content(text: str) -> str:
    """Escape tags and headings of recorded text that is placed under a heading of ours."""
    escaped = escape_tags(text)
    if "# " in escaped or "----- recorded" in escaped:
        escaped = _pattern(_HEADING).sub(r"\\", escaped)
    return escaped.strip()


def clip(text: str, characters: int) -> str:
    """Cut a text at a number of characters and mark the cut."""
    return text if len(text) <= characters else f"{text[:characters]}{TRUNCATED}"


def fence_mark(body: str) -> str:
    """Return the mark of the fence around a text: twelve digits of its hash, so that the text cannot contain it.

    Twelve digits are always four tokens.
    """
    digest = sha256(body.encode("utf-8", "surrogatepass")).digest()
    return f"{int.from_bytes(digest[:8], 'big') % 10 ** len(MARK_OF_NOTHING):0{len(MARK_OF_NOTHING)}d}"


def fence(mark: str) -> tuple[str, str]:
    """Return the lines before and after recorded text."""
    return f"----- recorded history {mark} begins -----\n\n", f"----- recorded history {mark} ends -----\n"


def _sign(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    if character in PRESENTATION and _pattern(_SYMBOL).match(match.string, match.start() - 1):
        return character
    if character == _JOINER and _pattern(_JOINED_EMOJI).match(match.string, max(match.start() - 2, 0)):
        return character
    if code < 0x20 or code == 0x7F:
        return "^" + chr(code ^ 0x40)
    return f"<U+{code:04X}>"


def _escape_matching(text: str, tag: str) -> str:
    """Replace `<` by `&lt;` before a tag, also if invisible characters are inside the tag."""
    if "<" not in text:
        return text
    pattern, invisible = _pattern(tag), _pattern(f"[{INVISIBLE}]")

    def replacement(match: re.Match[str]) -> str:
        after = text[match.end() : match.end() + _TAG_CHARACTERS]
        visible = after if after.isascii() else invisible.sub("", after)
        hidden = len(after) == _TAG_CHARACTERS and len(visible) < _MIN_VISIBLE
        return "&lt;" if hidden or pattern.match(visible) else "<"

    return re.sub("<", replacement, text)


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression)
