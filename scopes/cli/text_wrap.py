"""Wrap help texts for a terminal: paragraphs, verbatim lines and two columns."""

from __future__ import annotations

import textwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LABEL_COLUMNS = 26
VERBATIM_MARK = "\b"


def blocks(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Yield the paragraphs of a help text as (verbatim, lines); verbatim lines are not wrapped.

    Indented lines are verbatim, and so are paragraphs that start with a line of one backspace, as in typer and click.
    """
    for paragraph in text.strip("\n").split("\n\n"):
        rows = paragraph.strip("\n").split("\n")
        if rows[0] == VERBATIM_MARK:
            yield True, rows[1:]
            continue
        start = 0
        for place in range(1, len(rows) + 1):
            if place == len(rows) or rows[place].startswith(" ") != rows[start].startswith(" "):
                yield rows[start].startswith(" "), rows[start:place]
                start = place


def fill(text: str, width: int) -> list[str]:
    """Wrap the paragraphs of a text and separate them by empty lines."""
    lines: list[str] = []
    for verbatim, rows in blocks(text):
        if lines and not (verbatim and lines[-1].endswith(":")):
            lines.append("")
        lines += (
            rows if verbatim else textwrap.wrap(" ".join(rows), width, break_long_words=False, break_on_hyphens=False)
        )
    return [line.rstrip() for line in lines]


def columns(rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Format (label, text) rows in two columns; a label that is too long gets its own line."""
    lines: list[str] = []
    for label, text in rows:
        wrapped = textwrap.wrap(text, max(20, width - LABEL_COLUMNS), break_long_words=False) or [""]
        if len(label) + 4 > LABEL_COLUMNS:
            lines.append(f"  {label}")
        else:
            lines.append(f"  {label}".ljust(LABEL_COLUMNS) + wrapped.pop(0))
        lines += [" " * LABEL_COLUMNS + line for line in wrapped]
    return [line.rstrip() for line in lines]
