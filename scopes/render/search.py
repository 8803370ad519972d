"""Show what a search found: by conversation on a terminal, with the words found in bold; in a pipe a row for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import now_nanoseconds
from scopes.history.messages import display_time, shown_author
from scopes.model.tools import FILE_TOOLS, is_shell
from scopes.render.calls import summarize_message, summary_text
from scopes.render.phrases import UNKNOWN_TIME, day_and_minute, identifier, subject
from scopes.render.view import Cell, Column, Parts, Span, View
from scopes.result import counted
from scopes.sanitize import clean_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scopes.search.run import Neighbor, Search, SearchCoverage, SearchHit
    from scopes.search.text import Piece

_INDENT = 10  # of a snippet, below the time
_MAX_ROWS = 3
_OFFSET = "Offset"  # position of a row relative to the hit, which has 0


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
        view.cut(Span(title.conversation, "id"), "  ", Span("title  ", "dim"), title.title)
    if result.coverage.titles and result.hits:
        view.line()
    conversations = dict.fromkeys(hit.conversation for hit in result.hits)
    for conversation in conversations:
        for number, hit in enumerate(hit for hit in result.hits if hit.conversation == conversation):
            _write_hit(hit, view, is_first=not number)
    if result.hits:
        view.line()
    _write_coverage(result.coverage, view, len(conversations))


def render_search_hit(result: SearchHit, view: View) -> None:
    """Write one hit with the messages around it."""
    if view.terminal:
        _write_hit(result, view, is_first=True)
    else:
        view.rows(_columns(around=False), [_row(result)])


def render_search_coverage(result: SearchCoverage, view: View) -> None:
    """Write how many hits were found and how much was searched."""
    _write_coverage(result, view, None)


def _write_hit(hit: SearchHit, view: View, *, is_first: bool) -> None:
    """Write one hit; the first of a conversation names it."""
    _write_neighbors(hit.before, view, first=-len(hit.before))
    branch = () if hit.branch == "main" else (Span(f"  {hit.branch}", "branch"),)
    place: Parts = (Span(f"{hit.conversation:<{_INDENT - 2}}", "id"), "  ") if is_first else (" " * _INDENT,)
    when = Span(day_and_minute(display_time(hit.head) or UNKNOWN_TIME, now_nanoseconds()), "time")
    title = (Span(f"  {hit.heading.text}", "dim"),) if hit.heading is not None and is_first else ()
    state = (Span(f"  {_state(hit)}", "warn"),) if _state(hit) else ()
    view.pair((*place, when, "  ", *_describe(hit), *state, *branch, *title), (identifier(view, hit.head.id),), at=8)
    view.hanging(*_spans(hit.snippet), start=(" " * _INDENT,), most=_MAX_ROWS)
    _write_neighbors(hit.after, view, first=1)


def _describe(hit: SearchHit) -> Parts:
    """Return who wrote the message, and what of it was found: `❯ ann`, `claude`, `claude → bash`, `← bash`."""
    head = hit.head
    tool = _verb_of(hit.tools[0]) if len(hit.tools) == 1 else "a call"
    if hit.part == "tool_result" or head.author_kind == "tool":
        return (Span(f"← {tool}", "dim"),)
    if head.author_kind == "human":
        return (Span(f"❯ {head.author}", "human"),)
    called = (Span(f" → {tool}", "dim"),) if hit.part == "tool_input" else ()
    kind = (Span(f" {head.kind}", "dim"),) if head.kind not in {"answer", "plain"} and not called else ()
    return Span(shown_author(head), "agent"), *kind, *called


def _verb_of(tool: str) -> str:
    """Return what a tool does; the index has its name in lower case."""
    verbs = {name.lower(): verb for name, verb in FILE_TOOLS.items()}
    return verbs.get(tool) or ("bash" if is_shell(tool) else tool)


def _write_coverage(result: SearchCoverage, view: View, conversations: int | None) -> None:
    """Write how many hits were found and how much was searched."""
    view.line(Span(_coverage_text(result, conversations), "dim"))
    if result.searched.damaged or result.searched.unreadable:
        view.sentence(Span(_unreadable_text(result), "warn"))


def _write_gaps(result: SearchCoverage, view: View) -> None:
    """Write as notes what the rows do not show: further hits, no hits, or unreadable messages."""
    if result.hits != result.shown or not result.shown:
        view.aside(_coverage_text(result))
    if result.searched.damaged or result.searched.unreadable:
        view.aside(_unreadable_text(result))


def _coverage_text(result: SearchCoverage, conversations: int | None = None) -> str:
    """Return `2 in 2 conversations · searched 412 messages of 9 conversations`, or how many of all hits are shown."""
    of, where = result.searched, result.conversation
    found = f"{result.shown:,} found"
    if result.hits != result.shown:
        total = f"more than {result.shown:,}" if result.hits is None else f"{result.hits:,}"
        found = f"{result.shown:,} of {total}: -n"
    elif conversations:
        found = f"{result.shown:,} in {where or counted(conversations, 'conversation')}"
    return (
        f"{found} · searched {counted(of.messages, 'message')} of {where or counted(of.conversations, 'conversation')}"
    )


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
    return tuple(Span(clean_line(_collapse_blanks(piece.text)), "heading" if piece.found else "") for piece in pieces)


def _collapse_blanks(text: str) -> str:
    """Collapse runs of blanks to one; one blank at either end is kept."""
    collapsed = " ".join(text.split())
    return f"{' ' * text[:1].isspace()}{collapsed}{' ' * text[-1:].isspace()}" if collapsed else " " * bool(text)


def _write_neighbors(neighbors: tuple[Neighbor, ...], view: View, *, first: int) -> None:
    """Write messages around a hit, each with its offset from the hit as in a pipe."""
    for offset, (head, message) in enumerate(neighbors, start=first):
        summary = (Span(subject(head)),) if message is None else summarize_message(head, message)
        line = (Span(f"{offset:+d}  {shown_author(head)}: ", "dim"), *(Span(span.text, "dim") for span in summary))
        view.pair(line, (identifier(view, head.id),), at=8, indent=_INDENT)
