"""Split Markdown text into sentences, without code.

A sentence ends at punctuation that is followed by a space and no lower-case letter, and at Chinese and Japanese full
stops. A list item, a heading and a table row are sentences of their own. Links and bold text are reduced to their
words, directives (`::git-commit{...}`) are removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"[ \t]*(```|~~~)")
_BLOCK_LINE = re.compile(r"[ \t]*(?:[-*+•][ \t]+|[0-9]{1,3}[.)][ \t]+|#{1,6}[ \t]+|>|\|)")
_BLOCK_MARK = re.compile(r"[ \t]*(?:[-*+•][ \t]+(?:\[[ xX]\][ \t]+)?|[0-9]{1,3}[.)][ \t]+|#{1,6}[ \t]+|>[ \t]*)")
_INDENTED = re.compile(r"(?: {4}|\t)[ \t]*(?![-*+•0-9 \t])")
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{1,2000}\)")
_BOLD = re.compile(r"(?<!\*)\*\*(?=\S)([^*]{1,300})(?<=\S)\*\*(?!\*)")
_DIRECTIVE = re.compile(r"::[a-z][a-z-]*\{")
_CLOSING = "\"'\u2019\u201d\u00bb)]"
_END = re.compile(  # possessive: linear time on a million full stops
    rf"(?<![.!?\u2026])[.!?\u2026]++[{re.escape(_CLOSING)}]*+(?= )"
    r"|[\u3002\uff01\uff1f]+[\u300d\u300f\u2019\u201d\uff09]*"
)
_INITIAL = re.compile(r"(?:^|[^\w])\w\.$")
_ABBREVIATION_LIST = (
    "e.g. i.e. etc. vs. cf. approx. dr. mr. mrs. ms. prof. st. fig. eq. sec. al. resp. "
    "z.b. d.h. u.a. usw. bzw. ca. evtl. ggf. nr. vgl. inkl."
)
_ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())


def walk_lines(text: str) -> Iterator[str]:
    """Yield the lines of a text with code (fenced, or indented after a blank line) and directives as empty lines."""
    fence, after_blank = "", True
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
            yield ""
        elif not fence:
            code = after_blank and _INDENTED.match(line) is not None
            yield "" if code or _DIRECTIVE.match(line) is not None else line
            after_blank = code or not line.strip()


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, each on one line with single spaces."""
    sentences: list[str] = []
    paragraph: list[str] = []
    for line in (*walk_lines(text), ""):
        is_block = _BLOCK_LINE.match(line) is not None
        if is_block or not line.strip():
            sentences += _split_paragraph(" ".join(paragraph))
            paragraph = []
        if is_block:
            sentences += _split_paragraph(_BLOCK_MARK.sub("", line, count=1))
        else:
            paragraph.append(line)
    return sentences


def _split_paragraph(text: str) -> Iterator[str]:
    words = " ".join(_BOLD.sub(r"\1", _LINK.sub(r"\1", text)).split())
    start = 0
    for end in _END.finditer(words):
        if _is_end(words, start, end.end()):
            yield words[start : end.end()]
            start = end.end() + (words[end.end() : end.end() + 1] == " ")
    if start < len(words):
        yield words[start:]


def _is_end(words: str, start: int, position: int) -> bool:
    """Return False if a full stop belongs to an abbreviation or an initial, or a lower-case letter follows."""
    if words[position - 1] not in "." + _CLOSING or words[position : position + 1] != " ":
        return True
    following = words[position + 1 : position + 2]
    last = words[max(start, position - 20) : position].rpartition(" ")[2].lower()
    ends_word = last not in _ABBREVIATIONS and _INITIAL.search(last) is None
    return ends_word and not following.islower()
