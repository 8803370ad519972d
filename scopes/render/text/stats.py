"""Statistics for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scopes.conversation.stats import Stats
from scopes.render.text.dispatch import render_text
from scopes.render.text.wording import counted, say_field
from scopes.render.view import Column, Span, View

_PIPED = (Column("Name"), Column("Value"))
_DURATIONS = (("d", 86_400), ("h", 3_600), ("m", 60))


@render_text.register(Stats)
def stats(result: Stats, view: View) -> None:
    """Say the counts; in a pipe a row each."""
    if not view.terminal:
        view.rows(_PIPED, _rows(result))
        return
    say_field(view, "Conversation", Span(result.conversation, "id"))
    say_field(view, "Messages", f"{result.messages:,} on {counted(result.branches, 'branch')}")
    say_field(view, "Text", counted(result.characters, "character"))
    if result.first is not None and result.last is not None:
        say_field(view, "Time", Span(f"{result.first} to {result.last}", "time"), _lasting(result.duration_seconds))
    say_field(view, "Files", f"{result.files:,}")
    say_field(view, "Tool calls", f"{result.tool_calls:,}")
    for name, counts in _tallies(result):
        if counts:
            view.line(Span(f"{name.capitalize()}:", "key"))
            view.body(", ".join(f"{who} {number:,}" for who, number in counts.items()), indent=4)


def _rows(result: Stats) -> Iterator[tuple[str, str]]:
    names = ("branches", "messages", "characters", "files", "tool_calls", "first", "last", "duration_seconds")
    yield "conversation", result.conversation
    for name in names:
        value = getattr(result, name)
        if value is not None:
            yield name, str(value)
    for name, counts in _tallies(result):
        for who, number in counts.items():
            yield f"{name}.{who}", str(number)


def _tallies(result: Stats) -> tuple[tuple[str, Mapping[str, int]], ...]:
    return (("authors", result.authors), ("kinds", result.kinds), ("models", result.models), ("tools", result.tools))


def _lasting(seconds: int | None) -> str:
    """Say a span of time in its largest unit."""
    if not seconds:
        return ""
    unit, length = next(((unit, length) for unit, length in _DURATIONS if seconds >= length), ("s", 1))
    return f" ({round(seconds / length, 1):g}{unit})"
