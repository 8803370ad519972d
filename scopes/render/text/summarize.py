"""Render summaries: summarize, compact, the list of summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.history.messages import display_time
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import (
    UNDO_HINT,
    author,
    counted,
    identifier,
    short_time,
    subject,
    write_field,
    write_hint,
)
from scopes.render.text.tokens import format_tokens
from scopes.render.view import Cell, Column, Span, View

if TYPE_CHECKING:
    from scopes.memory.summaries import SummaryList, SummaryRow
    from scopes.memory.summarize import Summarized
    from scopes.memory.uncompact import Uncompacted

_COLUMNS = (
    Column("ID"),
    Column("Kind"),
    Column("Author", flexible=True),
    Column("Method"),
    Column("Messages"),
    Column("State"),
    Column("Time"),
    Column("OID", hidden=True),
)


@render_text.register
def render_summarized(result: Summarized, view: View) -> None:
    """Write the summary; in a pipe only its id if it was stored."""
    if result.id is not None and not view.terminal:
        view.line(result.id)
        return
    if view.terminal:
        what = "compacted" if result.compact else "summarized"
        done = what if result.id is not None else f"would have {what}"
        place = Span(f"{result.conversation}/{result.branch}", "branch")
        before = () if result.earlier is None else (" after the compaction ", identifier(view, result.earlier))
        name = () if result.id is None else (" in ", identifier(view, result.id))
        view.sentence(
            done, f" {counted(result.messages, 'message')} with text of ", place, *before, *name, f" ({result.method})"
        )
        tokens = [format_tokens(number, result.counted) for number in (result.summary_tokens, result.original_tokens)]
        write_field(view, "Tokens", f"{tokens[0]} of {tokens[1]} in texts, without tool calls ({result.ratio:.0%})")
    view.body(result.text, indent=4 if view.terminal else 0)
    if result.id is not None:
        write_hint(view, "undo with: scopes undo")


@render_text.register
def render_uncompacted(result: Uncompacted, view: View) -> None:
    """Write the compactions at which contexts do not start any more, and where they start now; in a pipe the ids."""
    if not view.terminal:
        for head in result.compactions:
            view.line(head.id)
        return
    start = ("the first message",) if result.remaining is None else ("compaction ", identifier(view, result.remaining))
    verb = "would start" if result.dry_run else "start"
    place = Span(f"{result.conversation}/{result.branch}", "branch")
    view.sentence("contexts of ", place, f" {verb} at ", *start, ", not at:")
    for head in result.compactions:
        line = (identifier(view, head.id), " ", short_time(view, display_time(head)), " ", subject(head))
        view.cut(*line, indent=2)
    if result.operation is not None:
        write_hint(view, UNDO_HINT)


@render_text.register
def render_summary_list(result: SummaryList, view: View) -> None:
    """Write the summaries, newest first; a summary is stale if messages were added or changed after it."""
    place = f"{result.conversation}/{result.branch}"
    if result.summaries or not view.terminal:
        view.rows(_COLUMNS, (_row(row, view) for row in result.summaries), title=f"Summaries of {place}")
    else:
        view.line(Span(place, "branch"), " has no summary.")
    if view.terminal:
        write_field(view, "Not covered yet", counted(result.uncovered, "message"))


def _row(row: SummaryRow, view: View) -> tuple[Cell, ...]:
    who = author(row.head.author, row.head.author_kind) if view.terminal else row.head.author
    why = [f"{row.newer:,} newer"] * bool(row.newer) + [f"{len(row.changed):,} changed"] * bool(row.changed)
    state = Span(f"stale: {', '.join(why)}", "warn") if row.stale else "current"
    return (
        identifier(view, row.head.id),
        row.head.kind,
        who,
        row.method,
        str(row.messages),
        state,
        short_time(view, row.time),
        row.head.oid,
    )
