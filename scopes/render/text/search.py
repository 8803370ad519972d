"""Render search results: place, author, time, and a snippet with the match highlighted."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from scopes.history.messages import display_time, shown_author
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import (
    UNKNOWN_TIME,
    author,
    counted,
    identifier,
    short_time,
    subject,
    summarize,
    summary_text,
)
from scopes.render.view import Cell, Column, Span, View, clean_spans
from scopes.render.wrap import count_span_cells, truncate_line, wrap_spans
from scopes.sanitize import clean_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scopes.search.run import Neighbor, Search, SearchCoverage, SearchHit
    from scopes.search.text import Piece

_INDENT = 4
_MAX_ROWS = 3
_MIN_WIDTH = 20
_INDEX = {
    "fresh": "",
    "updated": "updated",
    "built": "built",
    "rebuilt": "rebuilt",
    "in-memory": "in memory",
}
_OFFSET = "Offset"  # position of a row relative to the hit, which has 0


@render_text.register
def render_search(result: Search, view: View) -> None:
    """Write the hits and, on a terminal, how much was searched."""
    if result.counted is not None:
        view.line(str(result.counted))
        return
    if not view.terminal:
        rows = (row for hit in result.hits for row in _piped_rows(hit))
        view.rows(_columns(around=view.options.around), rows)
        for title in result.coverage.titles:
            view.aside(f"title: {title.conversation}: {clean_line(title.title)}")
        _write_gaps(result.coverage, view)
        return
    for title in result.coverage.titles:
        view.line(
            *truncate_line((Span(title.conversation, "branch"), Span(" · title  ", "dim"), title.title), view.width)
        )
    if result.coverage.titles:
        view.line()
    for hit in result.hits:
        render_search_hit(hit, view)
    render_search_coverage(result.coverage, view)


@render_text.register
def render_search_hit(result: SearchHit, view: View) -> None:
    """Write one hit with the messages around it."""
    if not view.terminal:
        view.rows(_columns(around=False), [_row(result)])
        return
    head = result.head
    where = Span(f"{result.conversation}/{result.branch}", "branch")
    when = short_time(view, display_time(head))
    _write_neighbors(result.before, view, first=-len(result.before))
    state = (" · ", Span(_state(result), "warn")) if _state(result) else ()
    line = (where, " ", identifier(view, head.id), " ", *_describe(result), " · ", when, *state)
    room = view.width - count_span_cells(clean_spans(line))
    score = _score_spans(result, room)
    view.line(*line, *score, *_title_spans(result, room - count_span_cells(score)))
    for row in _rows(result.snippet, max(view.width - _INDENT, _MIN_WIDTH)):
        view.line(*row, indent=_INDENT)
    _write_neighbors(result.after, view, first=1)
    view.line()


@render_text.register
def render_search_coverage(result: SearchCoverage, view: View) -> None:
    """Write how many hits were found and how much was searched."""
    view.body(_coverage_text(result), style="dim")
    if result.searched.damaged or result.searched.unreadable:
        view.body(_unreadable_text(result), style="warn")


def _describe(hit: SearchHit) -> tuple[Span, ...]:
    """Return who wrote the message, and what of it was found; each fact once: `claude · answer`, `result of Bash`.

    Of a message that a tool wrote, its tool is shown in place of author, kind and part.
    """
    head = hit.head
    tool = _tool_name(hit.tools[0]) if len(hit.tools) == 1 else "a tool"
    if head.author_kind == "tool" and head.author == "tool":
        return (Span(f"result of {tool}", "agent"),)
    parts = {"text": head.kind, "tool_input": f"call of {tool}", "tool_result": f"result of {tool}"}
    return author(head.author, head.author_kind), Span(f" · {parts.get(hit.part, hit.part)}", "dim")


def _tool_name(name: str) -> str:
    """Return the name of a tool as agents write it; the index has it in lower case."""
    return name.capitalize() if name.isalpha() else name


def _score_spans(hit: SearchHit, room: int) -> tuple[Span, ...]:
    """Return the score of a hit; nothing without one, or if it leaves no room for the title."""
    score = () if hit.score is None else (Span(f" · score {hit.score:.2f}", "dim"),)
    return score if room - count_span_cells(score) >= (0 if hit.heading is None else _MIN_WIDTH) else ()


def _title_spans(hit: SearchHit, room: int) -> tuple[Span, ...]:
    """Return what the conversation is called, cut to the room on the line; nothing if that is small."""
    if hit.heading is None or room < _MIN_WIDTH:
        return ()
    return truncate_line((Span(f" · {hit.heading.text}", "dim"),), room)


def _write_gaps(result: SearchCoverage, view: View) -> None:
    """Write as notes what the rows do not show: further hits, no hits, or unreadable messages."""
    if result.hits != result.shown or not result.shown:
        view.aside(_coverage_text(result))
    if result.searched.damaged or result.searched.unreadable:
        view.aside(_unreadable_text(result))


def _coverage_text(result: SearchCoverage) -> str:
    found = f"{result.hits:,} found" if result.hits is not None else f"at least {result.shown} found"
    more = f", {result.shown:,} shown" if result.hits != result.shown else ""
    of = result.searched
    conversations = result.conversation or counted(of.conversations, "conversation")
    searched = f"searched {counted(of.messages, 'message')} on {counted(of.branches, 'branch')} of {conversations}"
    read = f", {counted(of.read, 'commit')} read" if of.read else ""
    index = f"; index {_INDEX.get(of.state, of.state)}{read}" if of.state != "fresh" else ""
    return f"{found}{more}; {searched}{index}."


def _unreadable_text(result: SearchCoverage) -> str:
    of = result.searched
    damaged = f"{counted(of.damaged, 'conversation')} and {counted(of.unreadable, 'message')}"
    return f"{damaged} cannot be read and were left out."


def _columns(*, around: bool) -> tuple[Column, ...]:
    names = ("Conversation", "Branch", "ID", "Time", "Author", "Kind", "Snippet")
    hidden = ("OID", "Part", "Score", "State", "Title")
    return (
        Column(_OFFSET, hidden=not around),
        *map(Column, names),
        *(Column(name, hidden=True) for name in hidden),
    )


def _piped_rows(hit: SearchHit) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of a hit and its neighbors, in order."""
    for offset, neighbor in enumerate(hit.before, start=-len(hit.before)):
        yield _neighbor_row(hit, neighbor, offset)
    yield _row(hit)
    for offset, neighbor in enumerate(hit.after, start=1):
        yield _neighbor_row(hit, neighbor, offset)


def _neighbor_row(hit: SearchHit, neighbor: Neighbor, offset: int) -> tuple[Cell, ...]:
    head = neighbor.head
    time = display_time(head) or UNKNOWN_TIME
    text = subject(head) if neighbor.message is None else summary_text(head, neighbor.message)
    return (
        str(offset),
        hit.conversation,
        hit.branch,
        head.id,
        time,
        shown_author(head),
        head.kind,
        text,
        head.oid,
        "",
        "",
        "",
        _title(hit),
    )


def _row(hit: SearchHit) -> tuple[Cell, ...]:
    head, state = hit.head, _state(hit)
    return (
        "0",
        hit.conversation,
        hit.branch,
        head.id,
        display_time(head) or UNKNOWN_TIME,
        shown_author(head),
        head.kind,
        (*((f"({state}) ",) if state else ()), *_spans(hit.snippet)),
        head.oid,
        hit.part,
        "" if hit.score is None else str(hit.score),
        state,
        _title(hit),
    )


def _title(hit: SearchHit) -> str:
    return "" if hit.heading is None else hit.heading.text


def _state(hit: SearchHit) -> str:
    """Return whether the message found was retracted or amended."""
    return "retracted" if hit.retracted else "amended" if hit.amended else ""


def _spans(pieces: tuple[Piece, ...]) -> tuple[Span, ...]:
    """Return a snippet as spans of one line."""
    return tuple(Span(clean_line(_collapse_blanks(piece.text)), "active" if piece.found else "") for piece in pieces)


def _collapse_blanks(text: str) -> str:
    """Collapse runs of blanks to one; one blank at either end is kept."""
    collapsed = " ".join(text.split())
    return f"{' ' * text[:1].isspace()}{collapsed}{' ' * text[-1:].isspace()}" if collapsed else " " * bool(text)


def _rows(pieces: tuple[Piece, ...], width: int) -> Iterator[tuple[Span, ...]]:
    """Wrap a snippet into rows that fit, keeping its highlights."""
    spans = _spans(pieces)
    if not "".join(span.text for span in spans).strip():
        return
    yield from islice(wrap_spans(spans, width), _MAX_ROWS)


def _write_neighbors(neighbors: tuple[Neighbor, ...], view: View, *, first: int) -> None:
    """Write messages around a hit, each with its offset from the hit as in a pipe."""
    for offset, (head, message) in enumerate(neighbors, start=first):
        start = (
            Span(f"{offset:+d}  ", "dim"),
            identifier(view, head.id),
            " ",
            author(head.author, head.author_kind),
            ": ",
        )
        summary = (Span(subject(head), "dim"),) if message is None else summarize(head, message)
        view.line(*truncate_line((*start, *summary), view.width - _INDENT), indent=_INDENT)
