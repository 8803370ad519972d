"""A line that may be cut to fit the terminal, where the whole of it can be had elsewhere."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size

from scopes.render.box import cut
from scopes.render.view import Span, clean_spans


def fit(line: tuple[str | Span, ...], width: int) -> tuple[Span, ...]:
    """Cut a line to a number of cells, with an ellipsis at its end."""
    spans = clean_spans(line)
    return spans if sum(cell_len(span.text) for span in spans) <= width else cut(spans, width)


def shorten(text: str, width: int, *, tail: bool = False) -> str:
    """Shorten one line of text to a number of cells; with `tail` its end is kept, for paths."""
    if cell_len(text) <= width:
        return text
    if not tail:
        return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"
    kept = text[-width:]
    while cell_len(kept) >= width:
        kept = kept[1:]
    return f"…{kept}"
