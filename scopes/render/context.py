"""Render contexts, history blocks and budgets; a context in a pipe is its text alone, for a model to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from scopes.context.result import chat_messages
from scopes.history.messages import NO_TEXT
from scopes.render.document import SCHEMA_VERSION, make_document
from scopes.render.phrases import format_tokens, write_field
from scopes.render.view import Cell, Column, Span, View
from scopes.sanitize import mark_cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scopes.context.budget import Budget
    from scopes.context.history_block import HistoryBlock
    from scopes.context.result import Context, Explained

_EXPLAINED = (
    Column("What"),
    Column("Name", flexible=True),
    Column("Score", align="right"),
    Column("Tokens", align="right"),
    Column("Kept"),
    Column("Reason", flexible=True),
    Column("Subject", flexible=True),
    Column("Lane", hidden=True),
)
# On a terminal a subject is cut before its reason, because it is the end of one column.
_EXPLAINED_MESSAGES = (
    Column("What"),
    Column("Name"),
    Column("Score", align="right"),
    Column("Tokens", align="right"),
    Column("Reason · subject", flexible=True),
)
_EXPLAINED_FILES = (
    Column("File", flexible=True, paths=True),
    Column("Tokens", align="right"),
    Column("Reason"),
)
_ROWS_ON_TERMINAL, _KEPT_ON_TERMINAL, _FILES_ON_TERMINAL = 20, 12, 10
_FILE, _TURN = "file", "turn"  # kinds of rows; a turn is a message with the results of its tool calls
_PARTS = (Column("Part"), Column("Tokens", align="right"))


def render_budget(result: Budget, view: View) -> None:
    """Write every part of the budget; the parts of the content are indented below it."""
    rows = [("window", result.window)] if not view.terminal else []
    for name, tokens in result.parts.items():
        rows.append((name, tokens))
        if name == "content":
            indent = "  " if view.terminal else "content."
            rows += [(f"{indent}{part}", count) for part, count in result.content_parts.items()]
    title = f"{result.window:,} tokens" + (f" of {result.model}" if result.model is not None else "")
    view.rows(_PARTS, [(n, f"{count:,}" if view.terminal else str(count)) for n, count in rows], title=title)


def render_context(result: Context, view: View) -> None:
    """Write the context, or with `--explain` and `--stats` what was selected and how much of the budget is used."""
    options = view.options
    if options.stats or options.explain:
        if options.stats:
            _write_stats(result, view)
        if options.explain:
            _write_explained(result, view)
    else:
        _write_exactly(view, write_context(result, options.layout))


def render_history_block(result: HistoryBlock, view: View) -> None:
    """Write the block byte for byte, and with `--preview` its size as a remark."""
    _write_exactly(view, result.text)
    if view.options.preview:
        counts = f"{result.messages} of {result.total} messages, {result.truncated} of them truncated"
        view.aside(f"{counts}: {result.tokens} tokens")


def write_context(result: Context, layout: str) -> str:
    """Return a context as `markdown`, `messages` (as chat interfaces have them) or `json`."""
    if layout == "markdown":
        return result.formatted_history
    whole = {"scopes": SCHEMA_VERSION, **make_document(result)}
    return json.dumps(chat_messages(result) if layout == "messages" else whole, ensure_ascii=False, indent=2) + "\n"


def _write_exactly(view: View, text: str) -> None:
    """Write a text, byte for byte unless on a terminal."""
    if view.terminal:
        view.body(text)
    else:
        view.exact(text)


def _write_explained(result: Context, view: View) -> None:
    """Write why each message and file was kept or dropped; on a terminal only the first of both."""
    kept = [each for each in result.explained if each.kept]
    dropped = [each for each in result.explained if not each.kept]
    if not view.terminal:
        view.rows(_EXPLAINED, [_row(result, each) for each in kept + dropped])
        return
    files = [each for each in kept + dropped if each.what == _FILE]
    kept, dropped = ([each for each in rows if each.what != _FILE] for rows in (kept, dropped))
    kept_shown = kept[: max(_KEPT_ON_TERMINAL, _ROWS_ON_TERMINAL - len(dropped))]
    dropped_shown = dropped[: _ROWS_ON_TERMINAL - len(kept_shown)]
    files_shown = files[:_FILES_ON_TERMINAL]
    for heading, columns, rows, count in (
        ("Kept", _EXPLAINED_MESSAGES, [_message_row(result, each) for each in kept_shown], len(kept)),
        ("Left out", _EXPLAINED_MESSAGES, [_message_row(result, each) for each in dropped_shown], len(dropped)),
        ("Files", _EXPLAINED_FILES, [_file_row(result, each) for each in files_shown], len(files)),
    ):
        _write_used_columns(columns, rows, _title(heading, len(rows), count), view)
    hidden = len(result.explained) - len(kept_shown) - len(dropped_shown) - len(files_shown)
    if hidden:
        view.aside(f"{hidden:,} rows are not shown: see --json, or a pipe")


def _write_used_columns(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], title: str, view: View) -> None:
    """Write a table without its empty columns; nothing if it has no rows."""
    used = [number for number in range(len(columns)) if any(row[number] for row in rows)]
    if rows:
        view.rows([columns[number] for number in used], [[row[number] for number in used] for row in rows], title=title)


def _title(heading: str, shown: int, count: int) -> str:
    return f"{heading}: {count:,}" + (f", the first {shown:,}" if shown < count else "")


def _file_row(result: Context, each: Explained) -> tuple[Cell, ...]:
    return each.name, _tokens(result, each), each.reason if each.kept else f"left out: {each.reason}"


def _message_row(result: Context, each: Explained) -> tuple[Cell, ...]:
    subject = mark_cut(each.subject or "")
    reason = each.reason if each.lane is None else f"{each.reason}, branch {each.lane}"
    why: Cell = reason if subject in {"", NO_TEXT} else (reason, Span(" · ", "dim"), subject)
    what = "message" if each.what == _TURN else each.what
    return what, each.name, _score(each), _tokens(result, each), why


def _row(result: Context, each: Explained) -> tuple[str, ...]:
    kept = "kept" if each.kept else "dropped"
    return (
        each.what,
        each.name,
        _score(each),
        _tokens(result, each),
        kept,
        each.reason,
        each.subject or "",
        each.lane or "",
    )


def _score(each: Explained) -> str:
    return "" if each.score is None else f"{each.score:.3f}"


def _tokens(result: Context, each: Explained) -> str:
    return "" if each.tokens is None else format_tokens(each.tokens, result.method)


def _write_stats(result: Context, view: View) -> None:
    tokens = format_tokens(result.tokens_used, result.method)
    rows = {
        "Context": result.context_id,
        "Tokens": f"{tokens} of {result.max_tokens:,} ({result.utilisation:.1%})",
        "Counted": result.method,
        "Messages": f"{result.turns_included:,}, {result.turns_excluded:,} left out",
        "Conversations": f"{result.conversations_included:,}, {result.conversations_excluded:,} left out",
        "Files": f"{len(result.files_embedded):,}, {len(result.files_skipped):,} left out",
        "Filtered": f"{result.filtered_count:,}",
    }
    left_out = [f"{count:,} {key.replace('_', ' ')}" for key, count in result.left_out.items() if count]
    rows["Left out"] = ", ".join(left_out) or "nothing"
    if result.average_relevance is not None:
        rows["Average relevance"] = f"{result.average_relevance:.3f}"
    for name, value in rows.items():
        write_field(view, name, value)
