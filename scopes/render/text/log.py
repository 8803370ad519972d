"""Render a log, on a terminal in the style of `git log`, in a pipe as one row per message."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scopes.conversation.log import Log, LogEntry
from scopes.history.messages import NO_TEXT, display_time, shown_author
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import SHORT_ID_LENGTH, UNKNOWN_TIME, ending_mark, summary_text
from scopes.render.view import Column, Span, View
from scopes.sanitize import mark_cut

if TYPE_CHECKING:
    from collections.abc import Iterable

_PIPED_COLUMNS = (
    Column("ID"),
    Column("Time"),
    Column("Author"),
    Column("Kind"),
    Column("Subject"),
    Column("OID", hidden=True),
    Column("Author kind", hidden=True),
    Column("To", hidden=True),
    Column("Branches", hidden=True),
    Column("Lane", hidden=True),
    Column("Signature", hidden=True),
    Column("Signer", hidden=True),
)
_PIPED_ONELINE = (Column("Line"),)


@render_text.register
def render_log(result: Log, view: View) -> None:
    """Write the messages in order, with `--graph` next to the commit graph."""
    entries = (item for item in result.items if isinstance(item, LogEntry))
    options = view.options
    if options.graph:
        from scopes.render.text.log_graph import write_graph

        write_graph(entries, view, oneline=options.oneline, full=options.full)
    elif view.terminal:
        from scopes.render.text.log_entry import write_entries

        write = write_entries
        write(entries, view, oneline=options.oneline, full=options.full, oldest_first=result.oldest_first)
    elif options.oneline:
        view.rows(_PIPED_ONELINE, ((_oneline(entry),) for entry in entries))
    else:
        _write_rows(entries, view)


@render_text.register
def render_log_entry(result: LogEntry, view: View) -> None:
    """Write one message of a log."""
    if view.terminal:
        _write_entries([result], view, oneline=False)
    else:
        _write_rows([result], view)


def _write_entries(entries: Iterable[LogEntry], view: View, *, oneline: bool, full: bool = False) -> None:
    from scopes.render.text.log_entry import write_entries

    write_entries(entries, view, oneline=oneline, full=full)


def _write_rows(entries: Iterable[LogEntry], view: View) -> None:
    *others, state, signer = _PIPED_COLUMNS
    asked = (replace(column, hidden=not view.options.signatures) for column in (state, signer))
    view.rows((*others, *asked), map(_row, entries))


def _oneline(entry: LogEntry) -> str:
    """Return a message as one line, with what git thinks of its signature and whose key it is, if it was asked."""
    mark = ""
    if entry.signature is not None:
        from scopes.render.text.verify_signatures import signature_mark

        mark = f" {signature_mark(entry.signature).text}"
    return f"{entry.head.id[:SHORT_ID_LENGTH]}{mark} {_subject(entry)}"


def _subject(entry: LogEntry) -> str:
    """Return the subject of a message, or a summary of its parts if it has no text; how it ended if that is known."""
    ending = "".join(f"[{span.text.strip(' ·')}] " for span in ending_mark(entry.head, entry.ending))
    return f"{ending}{_summary(entry)}"


def _summary(entry: LogEntry) -> str:
    if entry.message is None or entry.head.subject != NO_TEXT:
        return mark_cut(entry.head.shown_subject, "" if entry.message is None else entry.message.text)
    return summary_text(entry.head, entry.message)


def _row(entry: LogEntry) -> tuple[str | Span, ...]:
    head = entry.head
    return (
        head.id,
        display_time(head) or UNKNOWN_TIME,
        shown_author(head),
        head.kind,
        _subject(entry),
        head.oid,
        head.author_kind,
        ",".join(head.to),
        ",".join(entry.branches),
        entry.lanes[-1].branch if entry.lanes else "",
        "" if entry.signature is None else entry.signature.state,
        "" if entry.signature is None else entry.signature.signer or "",
    )
