"""Formats shared by the views: ids, times as people read them, authors, signatures, fields, hints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import in_seconds, local_minute, now_nanoseconds, parse_time
from scopes.model.operation import BAD, GOOD, REVOKED_KEY
from scopes.render.view import Span, View
from scopes.result import confidence, counted
from scopes.sanitize import clean_line, mark_cut

if TYPE_CHECKING:
    from scopes.history.messages import MessageHeader
    from scopes.history.sessions import Ending
    from scopes.ids import BranchName, MessageId, OperationId
    from scopes.model.message import Message
    from scopes.model.operation import Signature
    from scopes.render.view import Style

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_SECOND = 1_000_000_000
_HOUR, _DAY = 3_600, 86_400


def ago(time: str, now_nanoseconds: int) -> str:
    """Return `2m ago`, `14:05`, `yesterday 14:05`, `17 Jun` or `17 Jun 2025`, and `in 5m` for the next hour.

    Text that is not an RFC 3339 time is returned unchanged, by the other functions too.
    """
    moment = parse_time(time)
    if moment is None:
        return clean_line(time)
    seconds, now = moment // _SECOND, now_nanoseconds // _SECOND
    distance = abs(now - seconds)
    if distance < 60:
        return "just now"
    if distance < _HOUR:
        return f"{distance // 60}m ago" if seconds < now else f"in {distance // 60}m"
    day, _, minute = local_minute(seconds).partition(" ")
    if day == local_minute(now)[:10]:
        return minute
    return f"yesterday {minute}" if day == local_minute(now - _DAY)[:10] else day_of(time, now_nanoseconds)


def day_of(time: str, now_nanoseconds: int) -> str:
    """Return `28 Nov`, or `28 Nov 2025` if that is not this year."""
    moment = parse_time(time)
    if moment is None:
        return clean_line(time)
    return short_day(local_minute(moment // _SECOND)[:10], now_nanoseconds)


def short_day(day: str, now_nanoseconds: int) -> str:
    """Return `2025-11-28`, a day in the zone of this machine, as `28 Nov` or `28 Nov 2025`."""
    year, month, number = day.split("-")
    short = f"{int(number)} {_MONTHS[int(month) - 1]}"
    return short if year == local_minute(now_nanoseconds // _SECOND)[:4] else f"{short} {year}"


def minute_of(time: str) -> str:
    """Return `14:05`."""
    moment = parse_time(time)
    return clean_line(time) if moment is None else local_minute(moment // _SECOND)[11:]


def day_and_minute(time: str, now_nanoseconds: int) -> str:
    """Return `28 Nov 14:05`, with the year if it is not this one."""
    known = parse_time(time) is not None
    return f"{day_of(time, now_nanoseconds)} {minute_of(time)}" if known else clean_line(time)


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


def write_hint(view: View, text: str) -> None:
    """Write a next step, broken at blanks but not inside a command, unless hints are disabled."""
    if view.hints:
        view.sentence(Span(text, "dim"))


_STYLES: dict[str, Style] = {GOOD: "good", BAD: "bad", REVOKED_KEY: "bad"}


def state_span(state: str) -> Span:
    """Return the state of a signature in its color."""
    return Span(state, _STYLES.get(state, "warn"))


def signature_mark(signature: Signature) -> Span:
    """Return a signature as a mark in one line with other things: its state and its signer."""
    by = f" by {signature.signer}" if signature.signer else ""
    return Span(f"[{signature.state}{by}]", _STYLES.get(signature.state, "warn"))


def signature_spans(signature: Signature) -> tuple[str | Span, ...]:
    """Return a signature as a phrase: its state, its signer and its key."""
    by = f" by {signature.signer}" if signature.signer else ""
    key = f" ({signature.key})" if signature.key else ""
    return state_span(signature.state), f"{by}{key}"


def format_tokens(tokens: int, method: str) -> str:
    """Return a number of tokens: `1,234`, or `~1,234` for an estimate."""
    return f"{tokens:,}" if method == "exact" else f"~{tokens:,}"
