"""Long lines of a text broken into rows that fit a terminal, so that an indented text stays indented."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rich.cells import cell_len, chop_cells

_WORD = re.compile(r" *[^ ]+| +$")


def wrap_line(line: str, width: int) -> Iterator[str]:
    """Break a line before words that do not fit, and inside words that are longer than a row."""
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
