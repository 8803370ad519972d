"""Setting text for a terminal: paragraphs that wrap, lines that stay as they are, two columns."""

from __future__ import annotations

import textwrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LABEL_COLUMNS = 26
VERBATIM_MARK = "\b"


def blocks(text: str) -> Iterator[tuple[bool, list[str]]]:
    """Yield the paragraphs of a help text, each with whether its lines must stay as they are.

    Indented lines stay, and so does a paragraph whose first line is a backspace character (typer's and click's mark).
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
    """Wrap the paragraphs of a text, an empty line between them."""
    lines: list[str] = []
    for verbatim, rows in blocks(text):
        if lines and not (verbatim and lines[-1].endswith(":")):
            lines.append("")
        lines += (
            rows if verbatim else textwrap.wrap(" ".join(rows), width, break_long_words=False, break_on_hyphens=False)
        )
    return [line.rstrip() for line in lines]


def columns(rows: Iterable[tuple[str, str]], width: int) -> list[str]:
    """Set labels and their explanations in two columns, a long label on a line of its own."""
    lines: list[str] = []
    for label, text in rows:
        wrapped = textwrap.wrap(text, max(20, width - LABEL_COLUMNS), break_long_words=False) or [""]
        if len(label) + 4 > LABEL_COLUMNS:
            lines.append(f"  {label}")
        else:
            lines.append(f"  {label}".ljust(LABEL_COLUMNS) + wrapped.pop(0))
        lines += [" " * LABEL_COLUMNS + line for line in wrapped]
    return [line.rstrip() for line in lines]
