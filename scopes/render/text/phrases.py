"""Formats shared by all text renderers: ids, times, authors, counts, fields, hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import in_seconds, now_nanoseconds
from scopes.render.relative_time import ago, day_and_minute
from scopes.render.view import Span, View
from scopes.result import confidence, counted
from scopes.sanitize import mark_cut

if TYPE_CHECKING:
    from scopes.history.messages import MessageHeader
    from scopes.history.sessions import Ending
    from scopes.ids import BranchName, MessageId, OperationId
    from scopes.model.message import Message

SHORT_ID_LENGTH = 8
WIDE = 100  # columns of a terminal that has room for more than the essentials
UNKNOWN_TIME = "-"
UNDO_HINT = "undo with: scopes undo"


def identifier(view: View, full: str) -> Span:
    """Return the id of a message, commit or operation, abbreviated on a terminal."""
    return Span(full[:SHORT_ID_LENGTH] if view.terminal else full, "id")


def short_time(view: View, time: str | None) -> Span:
    """Return a time: relative to now on a terminal, elsewhere in whole seconds; a dash if it is unknown."""
    if time is None:
        return Span(UNKNOWN_TIME, "time")
    return Span(ago(time, now_nanoseconds()) if view.terminal else in_seconds(time), "time")


def full_time(view: View, time: str | None) -> Span:
    """Return a time, on a terminal as people read it: `28 Nov 14:05 (2m ago)`; a dash if it is unknown."""
    if time is None or not view.terminal:
        return Span(UNKNOWN_TIME if time is None else in_seconds(time), "time")
    exact, relative = day_and_minute(time, now_nanoseconds()), ago(time, now_nanoseconds())
    return Span(f"{exact} ({relative})" if relative.endswith("m ago") else exact, "time")


def author(name: str, kind: str) -> Span:
    """Return the name of an author in the style of its kind; `SYSTEM` for the system."""
    return Span("SYSTEM" if kind == "system" else name, "human" if kind == "human" else "agent")


def subject(head: MessageHeader) -> str:
    """Return the subject of a message, with an ellipsis if the commit cut it at 72 characters."""
    return mark_cut(head.shown_subject)


def sub_agent_label(agent: str | None, spawner: str | None) -> Span:
    """Return `sub-agent explorer of k3x9abcd`, without the parts that are unknown."""
    parts = ("⮡ sub-agent", agent, f"of {spawner[:SHORT_ID_LENGTH]}" if spawner else None)
    return Span(" ".join(filter(None, parts)), "branch")


def stale_mark(newer: int | None) -> tuple[Span, ...]:
    """Return a mark for a stale summary, one that newer messages follow (S4-47)."""
    return (Span(f" · stale: {counted(newer, 'newer message')}", "warn"),) if newer else ()


def confidence_mark(message: Message | None) -> tuple[Span, ...]:
    """Return the confidence of a typed message (S4-25); empty if it states none."""
    payload = None if message is None else message.payload
    value = None if payload is None else payload.get("confidence")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ()
    return (Span(f", confidence {confidence(value)}"),)


def change_mark(*, retracted: bool, amended: bool) -> tuple[Span, ...]:
    """Return a mark for a message that a later one retracted or amended."""
    return (Span(f" · {'retracted' if retracted else 'amended'}", "warn"),) if retracted or amended else ()


def ending_mark(head: MessageHeader, ending: Ending | None) -> tuple[Span, ...]:
    """Return a mark for a turn without a whole answer (S3-24); a message that is about an interrupt has its kind."""
    return () if ending is None or head.kind == "interrupt" else (Span(f" · {ending}", "warn"),)


def format_duration(seconds: float) -> str:
    """Return a duration as `0.4 s`, `12 s`, `2m 5s` or `1h 3m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    return f"{whole // 60}m {whole % 60}s" if whole < 3600 else f"{whole // 3600}h {whole % 3600 // 60}m"


def write_field(view: View, name: str, *value: str | Span) -> None:
    """Write `Name: value`."""
    view.sentence(Span(f"{name}:", "key"), " ", *value)


def write_outcome(
    view: View,
    name: str | Span,
    *sentence: str | Span,
    operation: OperationId | None = None,
    appended: bool = False,
) -> None:
    """Write what a command changed and how to undo it; in a pipe only the name of the created or changed object.

    An operation and an append can be undone.
    """
    if not view.terminal:
        view.line(name)
        return
    view.sentence(*sentence)
    if operation is not None or appended:
        write_hint(view, UNDO_HINT)


def begins_at(view: View, start: MessageId | None, parent: BranchName) -> tuple[str | Span, ...]:
    """Return where a new branch begins: `from main`, or `at message k3x9abcd of main`."""
    branch = Span(parent, "branch")
    return ("from ", branch) if start is None else ("at message ", identifier(view, start), " of ", branch)


def write_preview(view: View, name: str | Span, *sentence: str | Span) -> None:
    """Write what a dry run found; in a pipe only the name of the object, and the sentence as a note."""
    write_outcome(view, name, *sentence)
    if not view.terminal:
        view.aside("".join(part if isinstance(part, str) else part.text for part in sentence))


def write_hint(view: View, text: str) -> None:
    """Write a next step, broken at blanks but not inside a command, unless hints are disabled."""
    if view.hints:
        view.sentence(Span(text, "dim"))
