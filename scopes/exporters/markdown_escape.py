r"""Foreign text inside a Markdown document: it keeps its own markup and cannot end, hide or swallow what follows.

Outside of code, a `<` that could begin HTML is written as `&lt;`, and `]:` as `]\:`, so that no line becomes a link
definition, which would be invisible and hold in the whole document. A fence that is left open is closed. Where programs
read the same text in two ways, it is written so that they agree: a fence's first line without `|`, which some take for
the head of a table, and blank lines without blanks, which decide for some whether an empty list item goes on.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from scopes.exporters.markdown_blocks import CodeLineScanner

_LINE_END = re.compile(r"\r\n?|\n")
_HAZARD = re.compile(r"[<\r]|\]:|```|~~~")
_TICKS = re.compile(r"`+")
_HARMLESS = {"<": "&lt;", r"\<": "&lt;", "]:": r"]\:"}
_ADDRESSES = ("://", "www.")
_LIVE = re.compile(
    r"\\[!-/:-@\[-`{-~]"  # an escape
    r"|`+"
    r"|<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^<>\x00-\x20`]*>"  # a link that is no HTML
    r"|<(?=[A-Za-z/!?])"
    r"|\]:"
    r"|://|www\."
)
_MARKUP = re.compile(r"[\\`*_\[\]<>&#|~$]")
_SPACE = re.compile(r"[ \t]")
_BLANKS = re.compile(r"\s+")
_BEFORE_TEXT = " \t>-+*.)0123456789"
_DELIMITERS = frozenset(" \t|:->+*.)0123456789")
_ACTING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_PICTURES = 0x2400  # where the signs for the control characters begin


def show_controls(text: str) -> str:
    """Write signs for what would act on a terminal or turn the direction of writing: `␛`, `[U+202E]`."""
    return _ACTING.sub(_sign, text.replace("\r\n", "\n"))


def _sign(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"[U+{code:04X}]" if code > 0x7F else "␡" if code == 0x7F else chr(_PICTURES + code)


def escape_block(text: str) -> str:
    """Make a text safe to stand between other parts of a document, changing as little as possible."""
    if _HAZARD.search(text) is None:
        return text
    reader = CodeLineScanner()
    written: list[str] = []
    together: list[str] = []  # lines that may be one paragraph
    for line in _LINE_END.split(text):
        kind = reader.read(line)
        if reader.too_deep:
            return code_block(text)
        if kind == "text" and line.strip(" \t>"):
            together.append(line)
            continue
        written += _escaped(together)
        together = []
        if kind == "text":
            written.append(line.rstrip(" \t"))
        else:
            written.append(line.replace("|", "&#124;") if kind == "opening" else line)
    written += _escaped(together)
    if reader.closing is not None:
        written[-1:] = [*filter(None, written[-1:]), reader.closing]
    return "\n".join(written)


def escape_inline(text: str) -> str:
    """Write a text as one line without any markup: a name, a title."""
    return _MARKUP.sub(r"\\\g<0>", _one_line(text))


def escape_html(text: str) -> str:
    """Write a text as one line inside an HTML element."""
    return _one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def code_span(text: str) -> str:
    """Write a text as one line of code."""
    shown = _one_line(text)
    mark = "`" * (_longest_run(shown) + 1)
    return f"{mark} {shown} {mark}" if "`" in shown or not shown else f"{mark}{shown}{mark}"


def code_block(text: str, language: str = "") -> str:
    """Write a text as a block of code that none of its lines can end."""
    mark = "`" * max(3, _longest_run(text) + 1)
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{mark}{language}\n{text}{end}{mark}"


def _one_line(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _longest_run(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


def _escaped(lines: list[str]) -> list[str]:
    """Escape what is live in lines between two blank ones.

    Code spans keep what they hold where each line can be read by itself: none is left open at its end, and no cell of a
    table, no link definition and no address can cut one in two.
    """
    if not any("<" in line or "]:" in line for line in lines):
        return lines
    if not any(map(_may_cut_spans, lines)):
        found = [escaped for line in lines if (escaped := _escape_around_spans(line)) is not None]
        if len(found) == len(lines):
            return found
    return [_LIVE.sub(lambda found: _harmless(found[0]), line) for line in lines]


def _may_cut_spans(line: str) -> bool:
    return _DELIMITERS.issuperset(line) or ("]:" in line and line.lstrip(_BEFORE_TEXT).startswith("["))


def _escape_around_spans(line: str) -> str | None:
    """Return a line with its code spans as they are; None where what is a code span depends on who reads it."""
    ends = _ends_of_runs(line)
    written: list[str] = []
    position, address = 0, -1
    while found := _LIVE.search(line, position):
        written.append(line[position : found.start()])
        shown, position = found[0], found.end()
        if shown in _ADDRESSES:
            address = position
        elif shown[0] == "`":
            same = ends.get(len(shown), [])
            later = bisect_right(same, position)
            if later == len(same) or (address >= 0 and _SPACE.search(line, address, found.start()) is None):
                return None
            address, position = -1, same[later]
            shown = line[found.start() : position]
        written.append(_harmless(shown))
    return "".join([*written, line[position:]])


def _harmless(token: str) -> str:
    return _HARMLESS.get(token, token)


def _ends_of_runs(line: str) -> dict[int, list[int]]:
    """Return where runs of backticks end, by their length."""
    found: dict[int, list[int]] = {}
    for run in _TICKS.finditer(line):
        found.setdefault(len(run[0]), []).append(run.end())
    return found
