r"""Escape foreign text for a Markdown document: it keeps its markup but cannot affect the text after it.

Outside of code, a `<` that could begin HTML is written as `&lt;`, and `]:` as `]\:`, so that no line becomes a link
definition, which would be invisible and apply to the whole document. A fence that is left open is closed. Text that
Markdown implementations parse differently is normalized: the first line of a fence loses its `|`, which some take for a
table header, and blank lines lose their spaces, which for some decide whether an empty list item continues.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

_LINE_END = re.compile(r"\r\n?|\n")
_NEEDS_ESCAPING = re.compile(r"[<\r]|\]:|```|~~~")
_MAY_BE_CODE = re.compile(r"```|~~~|    |\t")
DEEPEST: Final = 16  # containers: the parser drops text at its own limit of 20
_TICKS = re.compile(r"`+")
_ESCAPES = {"<": "&lt;", r"\<": "&lt;", "]:": r"]\:"}
_URL_MARKS = ("://", "www.")
_ACTIVE = re.compile(
    r"\\[!-/:-@\[-`{-~]"  # an escape
    r"|`+"
    r"|<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20`]*>"  # an autolink, which is not HTML
    r"|<(?=[A-Za-z/!?])"
    r"|\]:"
    r"|://|www\."
)
_MARKUP = re.compile(r"[\\`*_\[\]<>&#|~$]")
_SPACE = re.compile(r"[ \t]")
_BLANKS = re.compile(r"\s+")
_BEFORE_TEXT = " \t>-+*.)0123456789"
_DELIMITERS = frozenset(" \t|:->+*.)0123456789")


def escape_block(text: str) -> str:
    """Escape a text of several lines so that it cannot affect other parts of the document; change little else."""
    if _NEEDS_ESCAPING.search(text) is None:
        return text
    lines = _LINE_END.split(text)
    code = _find_code(lines) if _MAY_BE_CODE.search(text) else _Code()
    if code is None:
        return code_block(text)
    escaped: list[str] = []
    paragraph: list[str] = []  # adjacent text lines, which may form one paragraph
    for number, line in enumerate(lines):
        if number not in code.lines and line.strip(" \t>"):
            paragraph.append(line)
            continue
        escaped += _escape_paragraph(paragraph)
        paragraph = []
        if number in code.lines:
            escaped.append(line.replace("|", "&#124;") if number in code.openings else line)
        else:
            escaped.append(line.rstrip(" \t"))
    escaped += _escape_paragraph(paragraph)
    if code.closing is not None:
        escaped[-1:] = [*filter(None, escaped[-1:]), code.closing]
    return "\n".join(escaped)


class _Code(NamedTuple):
    """The numbers of the lines of code, and of those that open a fence; the line that closes a fence left open."""

    lines: frozenset[int] = frozenset()
    openings: frozenset[int] = frozenset()
    closing: str | None = None


def _find_code(lines: Sequence[str]) -> _Code | None:
    """Return where a CommonMark parser finds the code of a text; None if blocks are nested deeper than it reads.

    An indented line that begins with a quote mark counts as text, because not every reader treats it as code.
    """
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).disable(["inline", "reference"], ignoreInvalid=True)
    tokens = parser.parse("\n".join(lines))
    if max((token.level for token in tokens), default=0) > DEEPEST:
        return None
    code: set[int] = set()
    openings: set[int] = set()
    closing = None
    for token in tokens:
        first, end = token.map or (0, 0)
        if token.type == "code_block":
            code |= {number for number in range(first, end) if not lines[number].lstrip(" \t").startswith(">")}
        elif token.type == "fence":
            code |= set(range(first, end))
            openings.add(first)
            is_open = len(token.content.removesuffix("\n").split("\n")) * bool(token.content) > end - first - 2
            before = lines[first].partition(token.markup)[0]
            closing = before + token.markup if is_open and not before.strip(" \t") and not any(lines[end:]) else None
    return _Code(frozenset(code), frozenset(openings), closing)


def escape_inline(text: str) -> str:
    """Escape a name or title: one line, all markup escaped."""
    return _MARKUP.sub(r"\\\g<0>", _one_line(text))


def escape_html(text: str) -> str:
    """Escape a text as one line inside an HTML element."""
    return _one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code_span(text: str) -> str:
    """Return a text as inline code, on one line."""
    shown = _one_line(text)
    mark = "`" * (_longest_run(shown) + 1)
    return f"{mark} {shown} {mark}" if "`" in shown or not shown else f"{mark}{shown}{mark}"


def code_block(text: str, language: str = "") -> str:
    """Return a text as a fenced code block whose fence is longer than any run of backticks in it."""
    mark = "`" * max(3, _longest_run(text) + 1)
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{mark}{language}\n{text}{end}{mark}"


def _one_line(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _longest_run(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _escape_paragraph(lines: list[str]) -> list[str]:
    """Escape active markup in adjacent lines.

    The content of code spans is kept only if each line can be parsed alone: no span continues on the next line, and no
    table cell, link definition or URL can cut a span in two.
    """
    if not any("<" in line or "]:" in line for line in lines):
        return lines
    if not any(map(_may_cut_spans, lines)):
        escaped_lines = [escaped for line in lines if (escaped := _escape_around_spans(line)) is not None]
        if len(escaped_lines) == len(lines):
            return escaped_lines
    return [_ACTIVE.sub(lambda found: _escape_token(found[0]), line) for line in lines]


def _may_cut_spans(line: str) -> bool:
    return _DELIMITERS.issuperset(line) or ("]:" in line and line.lstrip(_BEFORE_TEXT).startswith("["))


def _escape_around_spans(line: str) -> str | None:
    """Escape a line except in its code spans; return None if implementations may disagree about the spans."""
    run_ends = _run_ends_by_length(line)
    escaped: list[str] = []
    position, url = 0, -1
    while found := _ACTIVE.search(line, position):
        escaped.append(line[position : found.start()])
        token, position = found[0], found.end()
        if token in _URL_MARKS:
            url = position
        elif token[0] == "`":
            ends = run_ends.get(len(token), [])
            closing = bisect_right(ends, position)
            if closing == len(ends) or (url >= 0 and _SPACE.search(line, url, found.start()) is None):
                return None
            url, position = -1, ends[closing]
            token = line[found.start() : position]
        escaped.append(_escape_token(token))
    return "".join([*escaped, line[position:]])


def _escape_token(token: str) -> str:
    return _ESCAPES.get(token, token)


def _run_ends_by_length(line: str) -> dict[int, list[int]]:
    """Return the end positions of the runs of backticks in a line, grouped by the length of the run."""
    ends: dict[int, list[int]] = {}
    for run in _TICKS.finditer(line):
        ends.setdefault(len(run[0]), []).append(run.end())
    return ends
