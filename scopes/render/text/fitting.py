"""A line that may be cut to fit the terminal, where the whole of it can be had elsewhere."""

from __future__ import annotations

from rich.cells import cell_len

from scopes.render.box import cut
from scopes.render.view import Span, clean_spans


def fit(line: tuple[str | Span, ...], width: int) -> tuple[Span, ...]:
    """Cut a line to a number of cells, with an ellipsis at its end."""
    spans = clean_spans(line)
    return spans if sum(cell_len(span.text) for span in spans) <= width else cut(spans, width)
