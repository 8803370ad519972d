"""Wrap or truncate text to a number of terminal cells; wide characters count as two.

rich knows the width of each character. It is imported for the first text beyond ASCII only.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from scopes.render.view import Span, clean_spans

Spans: TypeAlias = tuple[Span, ...]
_EXTENDING = r"[\u0300-\u036f\u20d0-\u20f0\ufe0e\ufe0f\U0001f3fb-\U0001f3ff]"
_FLAG = r"[\U0001f1e6-\U0001f1ff]"
_CLUSTER = re.compile(rf"{_FLAG}{{2}}|(?:.{_EXTENDING}*\u200d)*.{_EXTENDING}*", re.DOTALL)
_JOINED = re.compile(r"[\u200d\U0001f1e6-\U0001f1ff\U0001f3fb-\U0001f3ff]")
_WORD = re.compile(r" *[^ ]+| +$")
# a command that a line tells people to run, with the mark that ends it
_COMMAND = re.compile(
    r"""(?:^|(?<=[:,;·] )|(?<= or )|(?<=\()) *(?:scopes [a-z-]|pip install )"""
    r"""(?:'[^']*'|"[^"]*"|(?! [(·]|[,;](?: |$)|\)).)*[,;)]?"""
)


def count_cells(text: str) -> int:
    """Return the number of terminal cells that a text takes."""
    from rich.cells import cell_len

    return len(text) if _is_narrow(text) else int(cell_len(text))


def count_span_cells(spans: Spans) -> int:
    """Return the number of terminal cells that spans take together."""
    return sum(count_cells(span.text) for span in spans)


def wrap_line(line: str, width: int) -> Iterator[str]:
    """Yield the rows of a line, broken before words that do not fit and inside words longer than a row.

    Inside a long path it is broken after a slash.
    """
    if count_cells(line) <= width:
        yield line
        return
    row, used = "", 0
    for word in _WORD.findall(line):
        size = count_cells(word)
        if row and used + size > width:
            yield row
            row = word.lstrip(" ")
            used = count_cells(row)
        else:
            row, used = row + word, used + size
        if used > width:
            *whole, row = _chop(row, width)
            yield from whole
            used = count_cells(row)
    if row:
        yield row


def wrap_sentence(line: str, width: int) -> Iterator[str]:
    """Yield the rows of a line as `wrap_line` does, but with each command whole in a row, even if that is too long."""
    if count_cells(line) <= width:
        yield line
        return
    row, at = "", 0
    for match in _COMMAND.finditer(line):
        before = row + line[at : match.start()] if row or not at else line[at : match.start()].lstrip(" ")
        *rows, row = wrap_line(before, width)
        yield from rows
        command = match[0]
        if row and count_cells(row) + count_cells(command) > width:
            yield row.rstrip(" ")
            row, command = "", command.lstrip(" ")
        row += command
        if count_cells(row) > width:
            yield row
            row = ""
        at = match.end()
    rest = row + line[at:] if row else line[at:].lstrip(" ")
    if rest:
        yield from wrap_line(rest, width)


def wrap_spans(spans: Spans, width: int, *, commands: bool = False) -> Iterator[Spans]:
    """Yield the rows of a line of spans, broken as by `wrap_line`, with `commands` as by `wrap_sentence`."""
    if count_span_cells(spans) <= width:
        yield spans
        return
    text = "".join(span.text for span in spans)
    at = 0
    for row in (wrap_sentence if commands else wrap_line)(text, width):
        at = text.index(row, at)
        yield _slice(spans, at, at + len(row))
        at += len(row)


def _slice(spans: Spans, begin: int, end: int) -> Spans:
    """Return the characters of spans from `begin` to `end`."""
    pieces: list[Span] = []
    at = 0
    for span in spans:
        piece = span.text[max(begin - at, 0) : max(end - at, 0)]
        if piece:
            pieces.append(Span(piece, span.style))
        at += len(span.text)
    return tuple(pieces)


def _chop(word: str, width: int) -> list[str]:
    """Cut a word that is longer than a row into rows, of a path after a slash if there is one in the row."""
    rows: list[str] = []
    from rich.cells import chop_cells

    chop = chop_cells
    length = 4 * width  # of the beginning that is cut at once: to cut all of it for each row takes quadratic time
    while True:
        first, *more = chop(word[:length], width)
        while not more and length < len(word):
            length *= 2
            first, *more = chop(word[:length], width)
        if not more:
            return [*rows, first]
        slash = first.rfind("/") + 1 if "://" not in word else 0
        end = slash if slash > len(first) - len(first.lstrip(" ")) + 1 else len(first)
        rows.append(word[:end])
        word = word[end:]


def truncate_line(line: tuple[str | Span, ...], width: int) -> Spans:
    """Return a line cut to a number of cells, with an ellipsis at its end if it was cut."""
    return truncate_spans(clean_spans(line), width)


def truncate_spans(spans: Spans, width: int) -> Spans:
    """Shorten spans to a number of cells and end them in an ellipsis; wide characters are not split."""
    if count_span_cells(spans) <= width:
        return spans
    kept: list[Span] = []
    left = width - 1
    for span in spans:
        size = count_cells(span.text)
        if size > left:
            kept.append(Span(_cut(span.text, left) + "…", span.style))
            break
        kept.append(span)
        left -= size
    return tuple(kept)


def truncate_path(spans: Spans, width: int) -> Spans:
    """Shorten a path to a number of cells: whole directories are cut at its start, `…/tests/test_login.py`."""
    if count_span_cells(spans) <= width or not spans:
        return spans
    kept = truncate_text("".join(span.text for span in spans), width, tail=True)
    directory = kept.find("/", 0, -1)
    return (Span(f"…{kept[directory:]}" if directory > 0 else kept, spans[0].style),)


def truncate_text(text: str, width: int, *, tail: bool = False) -> str:
    """Return text cut to a number of cells, with an ellipsis; with `tail` its end is kept, as for paths."""
    if count_cells(text) <= width:
        return text
    if not tail:
        return _cut(text, max(width - 1, 0)).rstrip() + "…"
    if _JOINED.search(text) is not None:
        return f"…{_cut_clusters(reversed(_split_clusters(text)), width - 1, tail=True)}"
    kept = text[-width:]
    while count_cells(kept) >= width:
        kept = kept[1:]
    return f"…{kept}"


def _is_narrow(text: str) -> bool:
    return text.isascii() and text.isprintable()


def _cut(text: str, width: int) -> str:
    """Return the beginning of a text that is longer than `width` cells; a blank replaces half a wide character."""
    if _is_narrow(text):
        return text[: max(width, 0)]
    if _JOINED.search(text) is not None:
        kept = _cut_clusters(_split_clusters(text), width)
        return kept + " " * (width - count_cells(kept))
    from rich.cells import set_cell_size

    return str(set_cell_size(text, width))


def _cut_clusters(clusters: Iterable[str], width: int, *, tail: bool = False) -> str:
    """Join as many clusters as fit into `width` cells; with `tail` they come last first."""
    kept, used = "", 0
    for cluster in clusters:
        used += count_cells(cluster)
        if used > width:
            break
        kept = cluster + kept if tail else kept + cluster
    return kept


def _split_clusters(text: str) -> list[str]:
    """Split a text into what a terminal shows as one sign: a flag, an emoji with its tone, emoji that are joined."""
    return _CLUSTER.findall(text)
