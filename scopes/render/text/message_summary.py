"""Summarize a message in one line: its text, or else its tool calls, results or reasoning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.history.messages import subject_of
from scopes.history.sessions import is_spawned, spawner_of
from scopes.render.text.part import format_reasoning, part_line
from scopes.render.text.phrases import sub_agent_label, subject
from scopes.render.text.tool import calls_line
from scopes.render.text.tool_outcome import failure_spans, format_extent, result_line
from scopes.render.view import Span
from scopes.render.wrap import truncate_text
from scopes.sanitize import clean_line

if TYPE_CHECKING:
    from scopes.history.messages import MessageHeader
    from scopes.model.message import Message, Part
    from scopes.render.color import Style

_MARKS: dict[str, tuple[str, Style]] = {
    "compaction": ("━━ compaction ━━ ", "active"),
    "interrupt": ("■ interrupted ", "warn"),
    "error": ("▲ error ", "bad"),
}
_MIN_WIDTH = 20
_MAX_CHARACTERS = 1000  # characters of text used for one line


def summarize_message(
    head: MessageHeader, message: Message | None, results: tuple[Part, ...], room: int | None
) -> tuple[Span, ...]:
    """Return a message as one line of about `room` cells; compactions, interrupts and errors are marked."""
    text, style = _MARKS.get(head.kind, ("", ""))
    mark = (Span(text, style),) if text else ()
    if message is None:
        return *mark, Span(subject(head))
    text_line = " ".join((head.title or message.text[:_MAX_CHARACTERS]).split())
    if is_folded(message) and (text_line or not message.parts or message.parts[0].type == "text"):
        much = format_extent(message.text)
        rest: tuple[Span, ...] = (Span(f" · {much}", "dim"),) if much else ()
        return *mark, Span(_truncated(text_line or subject(head), room, (*mark, *rest)), "dim"), *rest
    if text_line:
        rest = _called_tools(message, results)
        return *mark, Span(_truncated(text_line, room, (*mark, *rest))), *rest
    return *mark, *_summarize_without_text(head, message, results, room)


def is_folded(message: Message) -> bool:
    """Return True if a message was injected by the agent's program."""
    return message.author.kind == "injected" or message.kind == "compaction"


def spawn_mark(message: Message | None) -> tuple[Span, ...]:
    """Return a mark for the first message of a sub-agent, with the message that spawned it."""
    return () if message is None or not is_spawned(message) else (sub_agent_label(None, spawner_of(message)),)


def _truncated(text: str, room: int | None, others: tuple[Span, ...]) -> str:
    """Truncate a text to the room that the other spans leave."""
    if room is None:
        return text
    used = sum(len(span.text) for span in others)
    return truncate_text(clean_line(text), max(room - used, _MIN_WIDTH))


def _called_tools(message: Message, results: tuple[Part, ...]) -> tuple[Span, ...]:
    """Return the tools that a message with text also called, and how many of the calls failed or were refused."""
    names = [
        clean_line(str(part.fields.get("name") or "unknown tool")) for part in message.parts if part.type == "tool_call"
    ]
    counts = {name: names.count(name) for name in names}
    called = ", ".join(name if count == 1 else f"{count} {name}" for name, count in counts.items())
    call_ids = (part.fields.get("call_id") for part in message.parts if part.type == "tool_call")
    return (Span(f" → {called}", "dim"), *failure_spans(call_ids, results)) if called else ()


def _summarize_without_text(
    head: MessageHeader, message: Message, results: tuple[Part, ...], room: int | None
) -> tuple[Span, ...]:
    """Return the tool calls, results, reasoning or other parts of a message without text."""
    calls = [part for part in message.parts if part.type == "tool_call"]
    answers = [part for part in message.parts if part.type == "tool_result"]
    if calls:
        return calls_line(calls, results, room)
    if answers:
        more = f" · {len(answers) - 1} more" if len(answers) > 1 else ""
        rest = (Span(more, "dim"),) if more else ()
        return *result_line(answers[0], None if room is None else room - len(more)), *rest
    other = next((part for part in message.parts if part.type not in {"text", "reasoning"}), None)
    thinking = next((part.text for part in message.parts if part.type == "reasoning" and part.text.strip()), "")
    if thinking:
        return (Span(format_reasoning(thinking), "dim"),)
    if message.payload:
        return (Span(subject_of(head, message)),)
    return (Span(subject(head)),) if other is None else part_line(other)
