"""What leaves as a context or as a block of history passes a gate here.

With `redact` the messages were redacted when they were read, so that the budget is counted for what is sent. Here
everything that is sent is looked at once more: titles, names, subjects, summaries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from scopes.context.result import Context, ContextMessage
from scopes.ids import ConversationId
from scopes.result import Note
from scopes.secret_scan.clearance import Gate, count_placeholders
from scopes.secrets.gates import redacted_notes


def clear_context(result: Context, gate: Gate) -> Context:
    """Return a context as it may leave.

    Raises:
        SecretsFound: it has possible secrets, and they are refused.
    """
    if gate.mode == "allow":
        return result
    if gate.mode == "refuse":
        texts = [(message.id, message.text) for message in result.messages]
        refuse_secrets(texts, "\n".join(filter(None, _walk_texts(result))), "the context", gate)

    def clear(text: str) -> str:
        return gate.clear_text(text, "the context")

    def clear_subject(text: str | None) -> str | None:
        return None if text is None else gate.clear_name(text, "the context")

    result = replace(
        result, explained=tuple(each._replace(subject=clear_subject(each.subject)) for each in result.explained)
    )
    if gate.mode == "refuse":
        return result
    result = replace(
        result,
        conversation=ConversationId(clear(result.conversation)),
        messages=tuple(_clear_message(message, clear) for message in result.messages),
        metadata=gate.clear_document(result.metadata, "the context"),
        explained=tuple(
            each._replace(name=clear(each.name), lane=None if each.lane is None else clear(each.lane))
            for each in result.explained
        ),
        formatted_history=clear(result.formatted_history),
        files_text=clear(result.files_text),
        files_embedded=tuple(each._replace(path=clear(each.path)) for each in result.files_embedded),
        files_skipped=tuple(each._replace(path=clear(each.path)) for each in result.files_skipped),
        warnings=tuple(map(clear, result.warnings)),
        summary=None if result.summary is None else clear(result.summary),
        decisions_text=clear(result.decisions_text),
        decisions=tuple(
            each._replace(topic=clear(each.topic), decision=clear(each.decision)) for each in result.decisions
        ),
    )
    return replace(result, notes=(*result.notes, *notes_of(result.formatted_history)))


def _clear_message(message: ContextMessage, clear: Callable[[str], str]) -> ContextMessage:
    lanes = (
        lane._replace(branch=clear(lane.branch), begin=clear(lane.begin), end=clear(lane.end)) for lane in message.lanes
    )
    return message._replace(text=clear(message.text), author=clear(message.author), lanes=tuple(lanes))


def refuse_secrets(messages: Iterable[tuple[str, str]], text: str, what: str, gate: Gate) -> None:
    """Look at messages, given with their ids, and at a whole text.

    Raises:
        SecretsFound: there are possible secrets; the error names the messages.
    """
    for message, part in messages:
        gate.inspect_text(part, f"message {message[:8]}")
    gate.refuse_leaks()
    gate.inspect_text(text, what)
    gate.refuse_leaks()


def notes_of(text: str) -> tuple[Note, ...]:
    """Return the note about the placeholders in a text."""
    return redacted_notes(count_placeholders(text))


def _walk_texts(result: Context) -> Iterable[str | None]:
    yield from (result.formatted_history, result.files_text, result.summary, result.decisions_text)
    yield from (text for each in result.explained for text in (each.name, each.subject, each.lane))
    yield from (each.path for each in result.files_embedded)
    yield from (each.path for each in result.files_skipped)
    yield from result.warnings
    yield from (message.author for message in result.messages)
    yield from (lane.branch for message in result.messages for lane in message.lanes)
    yield from (text for text in result.metadata.values() if isinstance(text, str))
    yield from (text for each in result.decisions for text in (each.topic, each.decision))
