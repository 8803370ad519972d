"""The turns of phrase that all text renderings share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import now_nanoseconds
from scopes.render.relative_time import ago
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from scopes.history.messages import MessageHead
    from scopes.ids import OperationId

SHORT_ID_LENGTH = 8
SUBJECT_LENGTH = 72
UNKNOWN_TIME = "-"
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def identifier(view: View, full: str) -> Span:
    """Return the id of a message, commit or operation: its start on a terminal, elsewhere all of it."""
    return Span(full[:SHORT_ID_LENGTH] if view.terminal else full, "id")


def short_time(view: View, time: str | None) -> Span:
    """Return when something was: how long ago on a terminal, elsewhere the time itself; a dash where nobody knows."""
    if time is None:
        return Span(UNKNOWN_TIME, "time")
    return Span(ago(time, now_nanoseconds()) if view.terminal else time, "time")


def full_time(view: View, time: str | None) -> Span:
    """Return the time itself and, on a terminal, how long ago that was; a dash where nobody knows."""
    if time is None:
        return Span(UNKNOWN_TIME, "time")
    relative = ago(time, now_nanoseconds()) if view.terminal else time
    return Span(time if time.startswith(relative) else f"{time} ({relative})", "time")


def author(name: str, kind: str) -> Span:
    """Return who speaks; the system has no name."""
    return Span("SYSTEM" if kind == "system" else name, "human" if kind == "human" else "agent")


def subject(head: MessageHead) -> str:
    """Return how a message begins; a commit keeps 72 characters of it."""
    return head.subject if len(head.subject) < SUBJECT_LENGTH else f"{head.subject}…"


def counted(number: int, one: str) -> str:
    """Say `1 message`, `2 messages`, `2 branches`."""
    plural = one + ("es" if one.endswith("ch") else "s")
    return f"{number:,} {one if number == 1 else plural}"


def stale_mark(newer: int | None) -> tuple[Span, ...]:
    """Say that a summary is stale, where messages came after it (S4-47)."""
    return (Span(f" · stale: {counted(newer, 'newer message')}", "warn"),) if newer else ()


def format_size(count_bytes: int) -> str:
    """Say a number of bytes: `512 B`, `1.5 MiB`."""
    amount, unit = float(count_bytes), 0
    while amount >= 1024 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{count_bytes} B"


def format_duration(seconds: float) -> str:
    """Say how long something took: `0.4 s`, `12 s`, `2m 5s`, `1h 3m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    return f"{whole // 60}m {whole % 60}s" if whole < 3600 else f"{whole // 3600}h {whole % 3600 // 60}m"


def write_field(view: View, name: str, *value: str | Span) -> None:
    """Say `Name: value`."""
    view.line(Span(f"{name}:", "key"), " ", *value)


def write_outcome(view: View, name: str | Span, *sentence: str | Span, operation: OperationId | None = None) -> None:
    """Say what a command changed and how to take it back; in a pipe only the name of what it made or changed."""
    if not view.terminal:
        view.line(name)
        return
    view.line(*sentence)
    if operation is not None:
        write_hint(view, "undo with: scopes undo")


def write_hint(view: View, text: str) -> None:
    """Say what could be done next, to people who want to hear it."""
    if view.hints:
        view.line(Span(text, "dim"))
