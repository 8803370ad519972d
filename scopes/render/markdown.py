"""Render Markdown for a terminal with rich. HTML, comments and link definitions are shown, not hidden.

Parsing decodes entities such as `&#x202e;`, so the text is escaped again after parsing.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from markdown_it import MarkdownIt
from rich.color import ColorSystem
from rich.console import Console
from rich.markdown import Markdown
from rich.segment import Segment

from scopes.sanitize import clean

_DEEPEST = 16  # the parser drops text at its own limit of 20
_COLUMNS_A_LEVEL = 4  # a quote or list indents by at most this much; rich drops text without any room
_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_PARSER.disable("reference")


def render_markdown(text: str, *, width: int, color: bool) -> Iterator[str]:
    """Yield the lines of rendered Markdown, with links written out and without trailing blanks."""
    tokens = _PARSER.parse(clean(text))
    if max((token.level for token in tokens), default=0) > min(_DEEPEST, width // _COLUMNS_A_LEVEL - 2):
        yield from clean(text).expandtabs(8).split("\n")
        return
    console = Console(file=io.StringIO(), width=width, force_terminal=color, legacy_windows=False, _environ={})
    document = Markdown("", code_theme="ansi_dark", hyperlinks=False)
    document.parsed = tokens
    for line in Segment.split_lines(console.render(document)):
        yield "".join(_written(segment, color=color) for segment in line).rstrip()


def _written(segment: Segment, *, color: bool) -> str:
    """Return a piece of a line with escape sequences for color only."""
    if segment.control:
        return ""
    text = clean(segment.text).expandtabs(8)
    if not color or segment.style is None:
        return text
    return segment.style.update_link(None).render(text, color_system=ColorSystem.STANDARD)
