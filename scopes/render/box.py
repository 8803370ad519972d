"""Draw a table in a rounded box. rich.table is not used, because importing it takes longer than drawing a box."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from scopes.render.color import Style, paint
from scopes.render.view import Cell, Column, Span, clean_spans, paint_spans
from scopes.render.wrap import Spans, count_span_cells, truncate_path, truncate_spans
from scopes.sanitize import PRESENTATION

GAP = "  "
_SIDES = 4  # a border and a space on either side
_MIN_FLEXIBLE = 6  # flexible columns are shortened to this width before other columns are shortened
_WITHOUT_PRESENTATION = dict.fromkeys(map(ord, f"{PRESENTATION}\u200d"))


def draw_box(
    columns: Sequence[Column], rows: Iterable[Sequence[Cell]], *, title: str | None, width: int, color: bool
) -> Iterator[str]:
    """Yield the lines of a box as wide as its content, at most `width`; cells that are too long end in an ellipsis."""
    header = [_safe(column.name, "key") for column in columns]
    table = [header, *([_safe(cell, c.style) for cell, c in zip(row, columns, strict=True)] for row in rows)]
    available = width - _SIDES - len(GAP) * (len(columns) - 1)
    natural = [max(map(count_span_cells, cells)) for cells in zip(*table, strict=True)]
    widths = fit_widths(natural, [column.flexible for column in columns], available)
    lines = [_join(row, columns, widths) for row in table]
    above, below = (lines[0], lines[1:]) if title is None else (_safe(title, "heading"), lines)
    inner = max(map(count_span_cells, (truncate_spans(above, width - _SIDES), lines[0])))
    return _frame(above, below, inner, color=color)


def fit_widths(natural: Sequence[int], flexible: Sequence[bool], available: int) -> list[int]:
    """Shorten the widest columns until all fit: flexible ones first, none below one cell."""
    widths = [min(width, max(available, 1)) for width in natural]
    columns = range(len(widths))
    for candidates, least in (([i for i in columns if flexible[i]], _MIN_FLEXIBLE), (columns, 1)):
        while sum(widths) > available:
            widest = max(candidates, key=widths.__getitem__, default=None)
            if widest is None or widths[widest] <= least:
                break
            widths[widest] -= 1
    return widths


def _frame(above: Spans, below: Iterable[Spans], inner: int, *, color: bool) -> Iterator[str]:
    """Yield lines inside a border, with a rule between the first and the others."""

    def edge(text: str) -> str:
        return paint(text, "dim") if color else text

    def framed(line: Spans) -> str:
        shown = truncate_spans(line, inner)
        text = paint_spans(shown) if color else "".join([span.text for span in shown])
        return f"{edge('│')} {text}{' ' * (inner - count_span_cells(shown))} {edge('│')}"

    rule = "─" * (inner + 2)
    yield edge(f"╭{rule}╮")
    yield framed(above)
    yield edge(f"├{rule}┤")
    yield from map(framed, below)
    yield edge(f"╰{rule}╯")


def _join(row: Sequence[Spans], columns: Sequence[Column], widths: Sequence[int]) -> Spans:
    joined: list[Span] = []
    for cell, column, width in zip(row, columns, widths, strict=True):
        shown = truncate_path(cell, width) if column.paths else truncate_spans(cell, width)
        blank = Span(" " * (width - count_span_cells(shown)))
        joined += [blank, *shown] if column.align == "right" else [*shown, blank]
        joined.append(Span(GAP))
    return tuple(joined[:-1])


def _safe(cell: Cell, style: Style) -> Spans:
    """Make a cell safe, and drop variation selectors and joiners: terminals disagree on their effect on widths."""
    return tuple(Span(span.text.translate(_WITHOUT_PRESENTATION), span.style) for span in clean_spans(cell, style))
