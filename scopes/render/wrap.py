"""Wrap or truncate text to a number of terminal cells; wide characters count as two."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len, chop_cells, set_cell_size

from scopes.render.box import truncate_spans
from scopes.render.view import Span, clean_spans

_WORD = re.compile(r" *[^ ]+| +$")


def wrap_line(line: str, width: int) -> Iterator[str]:
    """Yield the rows of a line, broken before words that do not fit and inside words longer than a row."""
    if cell_len(line) <= width:
        yield line
        return
    row, used = "", 0
    for word in _WORD.findall(line):
        size = cell_len(word)
        if row and used + size > width:
            yield row
            row = word.lstrip(" ")
            used = cell_len(row)
        else:
            row, used = row + word, used + size
        if used > width:
            *whole, row = chop_cells(row, width)
            yield from whole
            used = cell_len(row)
    if row:
        yield row


def truncate_line(line: tuple[str | Span, ...], width: int) -> tuple[Span, ...]:
    """Return a line cut to a number of cells, with an ellipsis at its end if it was cut."""
    spans = clean_spans(line)
    return spans if sum(cell_len(span.text) for span in spans) <= width else truncate_spans(spans, width)


def truncate_text(text: str, width: int, *, tail: bool = False) -> str:
    """Return text cut to a number of cells, with an ellipsis; with `tail` its end is kept, as for paths."""
    if cell_len(text) <= width:
        return text
    if not tail:
        return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"
    kept = text[-width:]
    while cell_len(kept) >= width:
        kept = kept[1:]
    return f"…{kept}"
