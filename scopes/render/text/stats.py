"""Render statistics of a conversation or of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.view import Column, Span, View
from scopes.result import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scopes.conversation.stats import Stats
    from scopes.history.activity import Tokens

_PIPED_COLUMNS = (Column("Name"), Column("Value"))
_COUNTS = ("branches", "messages", "characters", "files", "files_changed", "tool_calls")
_TIMES = ("first", "last", "duration_seconds", "active_seconds")
_KEY_WIDTH = len("Conversations: ")
_NUMBER_WIDTH = len("messages")

_DURATIONS = (("d", 86_400), ("h", 3_600), ("m", 60))
_TOKENS = {
    "Uncached": "input_uncached",
    "Cache read": "cache_read",
    "Cache write": "cache_write",
    "Output": "output",
    "Reasoning": "reasoning",
}


@render_text.register
def render_stats(result: Stats, view: View) -> None:
    """Write the counts; in a pipe one row each."""
    if not view.terminal:
        view.rows(_PIPED_COLUMNS, _rows(result))
        return
    for name, *value in _fields(result):
        view.cut(Span(f"{name}:".ljust(_KEY_WIDTH), "key"), *value)
    outcomes = {"failed": result.tool_errors, "refused": result.tool_refusals}
    for title, unit, counts, columns in (
        ("Authors", "messages", result.authors, {}),
        ("Kinds", "messages", result.kinds, {}),
        ("Models", "messages", result.models, {}),
        ("Tools", "calls", result.tools, {head: counts for head, counts in outcomes.items() if counts}),
    ):
        if counts:
            view.line()
            _write_counts(view, title, unit, counts, columns)
    if result.tokens:
        view.line()
        _write_tokens(result, view)


def _fields(result: Stats) -> Iterator[tuple[str | Span, ...]]:
    """Yield the name of each field and its value."""
    if result.branch is not None:
        yield "Branch", Span(f"{result.conversation}/{result.branch}", "id")
    elif result.conversation is not None:
        yield "Conversation", Span(result.conversation, "id")
    else:
        yield "Conversations", f"{result.conversations:,}"
    if result.heading is not None:
        yield "Title", result.heading.text
    every = "all " if result.branches > 1 else ""
    yield "Messages", f"{result.messages:,} on {every}{counted(result.branches, 'branch')}"
    yield "Text", counted(result.characters, "character")
    if result.first is not None and result.last is not None:
        yield "Time", Span(f"{result.first} to {result.last}", "time")
        if result.duration_seconds:
            work = f", {_duration(result.active_seconds)} active" if result.active_seconds else ""
            yield "Duration", f"{_duration(result.duration_seconds)}{work}"
    yield "Files", f"{result.files:,}", f", {result.files_changed:,} changed" if result.files_changed else ""
    outcomes = {"failed": sum(result.tool_errors.values()), "refused": sum(result.tool_refusals.values())}
    yield "Tool calls", f"{result.tool_calls:,}", *(f", {count:,} {word}" for word, count in outcomes.items() if count)


def _write_counts(
    view: View, title: str, unit: str, counts: Mapping[str, int], columns: Mapping[str, Mapping[str, int]]
) -> None:
    """Write a table of names and numbers, with further columns of numbers by heading."""
    heads = (Column(title, flexible=True), Column(unit, align="right"))
    others = (Column(head, "bad" if head == "failed" else "warn", align="right") for head in columns)
    numbers = columns.values()
    view.rows(
        (*heads, *others),
        (
            (name, f"{count:,}", *(f"{of[name]:,}" if of.get(name) else "" for of in numbers))
            for name, count in counts.items()
        ),
    )


def _write_tokens(result: Stats, view: View) -> None:
    """Write one row per model and, for several, their sum; columns without any value are left out."""
    rows = list(result.tokens.items())
    total = result.all_tokens
    if len(rows) > 1 and total is not None:
        rows.append(("all", total))
    names = {head: name for head, name in _TOKENS.items() if _is_known(rows, name)}
    columns = (
        Column("Model", flexible=True),
        *(Column(head, align="right") for head in names),
    )
    cells = ((model, *(_number(getattr(t, name)) for name in names.values())) for model, t in rows)
    view.rows(columns, cells, title="Tokens")


def _is_known(rows: list[tuple[str, Tokens]], name: str) -> bool:
    return any(getattr(tokens, name) is not None for _, tokens in rows)


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _rows(result: Stats) -> Iterator[tuple[str, str]]:
    if result.conversation is not None:
        yield "conversation", result.conversation
    else:
        yield "conversations", str(result.conversations)
    for name in (*_COUNTS, *_TIMES):
        value = getattr(result, name)
        if value is not None:
            yield name, str(value)
    for name, counts in (
        *_tallies(result),
        ("tool_errors", result.tool_errors),
        ("tool_refusals", result.tool_refusals),
    ):
        for who, number in counts.items():
            yield f"{name}.{who}", str(number)
    total = result.all_tokens
    if total is not None:
        yield from _token_rows("tokens", total)
    for model, tokens in result.tokens.items():
        yield from _token_rows(f"tokens.{model}", tokens)


def _token_rows(prefix: str, tokens: Tokens) -> Iterator[tuple[str, str]]:
    for name, count in tokens._asdict().items():
        if count is not None:
            yield f"{prefix}.{name}", str(count)


def _tallies(result: Stats) -> tuple[tuple[str, Mapping[str, int]], ...]:
    return (("authors", result.authors), ("kinds", result.kinds), ("models", result.models), ("tools", result.tools))


def _duration(seconds: int) -> str:
    """Return a duration in its largest unit."""
    unit, length = next(((unit, length) for unit, length in _DURATIONS if seconds >= length), ("s", 1))
    return f"{round(seconds / length, 1):g}{unit}"
