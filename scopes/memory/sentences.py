"""Splitting what was said into sentences: prose, lists and headings of several scripts; code is left out.

A sentence ends at a full stop that a capital, a digit or an opening bracket follows, and at the full stops of Chinese
and Japanese. A list item, a heading and a row of a table are sentences of their own. Of a link and of bold words the
words are left, and of directives to a program (`::git-commit{...}`) nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_FENCE = re.compile(r"[ \t]*(```|~~~)")
_OWN_LINE = re.compile(r"[ \t]*(?:[-*+•][ \t]+|[0-9]{1,3}[.)][ \t]+|#{1,6}[ \t]+|>|\|)")
_MARK = re.compile(r"[ \t]*(?:[-*+•][ \t]+(?:\[[ xX]\][ \t]+)?|[0-9]{1,3}[.)][ \t]+|#{1,6}[ \t]+|>[ \t]*)")
_INDENTED = re.compile(r"(?: {4}|\t)[ \t]*(?![-*+•0-9 \t])")
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{1,2000}\)")
_BOLD = re.compile(r"(?<!\*)\*\*(?=\S)([^*]{1,300})(?<=\S)\*\*(?!\*)")
_DIRECTIVE = re.compile(r"::[a-z][a-z-]*\{")
_CLOSING = "\"'\u2019\u201d\u00bb)]"
_END = re.compile(  # nothing is tried twice: a text may be a million full stops
    rf"(?<![.!?\u2026])[.!?\u2026]++[{re.escape(_CLOSING)}]*+(?= )"
    r"|[\u3002\uff01\uff1f]+[\u300d\u300f\u2019\u201d\uff09]*"
)
_LETTER_BEFORE = re.compile(r"(?:^|[^\w])\w\.$")
_SHORTENED = (
    "e.g. i.e. etc. vs. cf. approx. dr. mr. mrs. ms. prof. st. fig. eq. sec. al. resp. "
    "z.b. d.h. u.a. usw. bzw. ca. evtl. ggf. nr. vgl. inkl."
)
_ABBREVIATIONS = frozenset(_SHORTENED.split())


def walk_lines(text: str) -> Iterator[str]:
    """Yield the lines that are no code: neither fenced nor, after a blank line, indented."""
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
    """Split a text into its sentences in order, each on one line with single blanks."""
    found: list[str] = []
    paragraph: list[str] = []
    for line in (*walk_lines(text), ""):
        own = _OWN_LINE.match(line) is not None
        if own or not line.strip():
            found += _split_paragraph(" ".join(paragraph))
            paragraph = []
        if own:
            found += _split_paragraph(_MARK.sub("", line, count=1))
        else:
            paragraph.append(line)
    return found


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
    """Tell a sentence's end from an abbreviation's, an initial's or a number's full stop."""
    if words[position - 1] not in "." + _CLOSING or words[position : position + 1] != " ":
        return True
    following = words[position + 1 : position + 2]
    last = words[max(start, position - 20) : position].rpartition(" ")[2].lower()
    ordinary = last not in _ABBREVIATIONS and _LETTER_BEFORE.search(last) is None
    return ordinary and not following.islower()
