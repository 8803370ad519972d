"""Render messages: append, amend, retract, cat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.history.messages import display_time
from scopes.render.text.calls import format_files, write_document, write_part
from scopes.render.text.phrases import (
    begins_at,
    change_mark,
    confidence_mark,
    full_time,
    identifier,
    stale_mark,
    write_field,
    write_outcome,
)
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scopes.conversation.append import MessageAmended, MessageAppended
    from scopes.conversation.show import MessageView
    from scopes.history.messages import MessageHeader
    from scopes.model.message import Message


def render_message_appended(result: MessageAppended, view: View) -> None:
    """Write the id of the new message, and the branch that was created with it."""
    name = identifier(view, result.id)
    place = Span(f"{result.conversation}/{result.branch}", "branch")
    created: tuple[str | Span, ...] = ()
    if result.parent is not None:
        active = "; it is active now" if result.active else ""
        created = (", created ", *begins_at(view, result.start, result.parent), active)
    verb = "already recorded " if result.earlier else "recorded "
    write_outcome(view, name, verb, name, " on ", place, *created, appended=not view.options.lines)


def render_message_amended(result: MessageAmended, view: View) -> None:
    """Write the id of the new message and the one it amends or retracts."""
    name = identifier(view, result.id)
    place = Span(f"{result.conversation}/{result.branch}", "branch")
    verb = "retracted " if result.retracted else "amended "
    write_outcome(view, name, verb, identifier(view, result.target), " on ", place, " by ", name, appended=True)


def render_message_view(result: MessageView, view: View) -> None:
    """Write the metadata of a message and then its parts; with `--raw` only the stored line, byte for byte."""
    if view.options.raw:
        view.exact(result.stored.decode())
        return
    message, head = result.message, result.head
    place = result.conversation if result.branch is None else f"{result.conversation}/{result.branch}"
    write_field(view, "Message", Span(head.id, "id"))
    write_field(view, "Commit", Span(head.oid, "id"))
    write_field(view, "Place", Span(place, "branch"))
    who = Span(message.author.name, "human" if message.author.kind == "human" else "agent")
    write_field(view, "Author", who, f" ({message.author.kind})")
    write_field(view, "Time", full_time(view, _time_of(head, message)))
    write_field(
        view,
        "Kind",
        message.kind,
        *confidence_mark(message),
        *stale_mark(result.newer),
        *change_mark(retracted=result.retracted, amended=result.amended),
    )
    if view.options.signatures:
        from scopes.render.text.verify_signatures import signature_spans

        signed = ("no",) if result.signature is None else signature_spans(result.signature)
        write_field(view, "Signed", *signed)
    for name, value in _details(message):
        write_field(view, name, value)
    for part in message.parts:
        if part.type != "text":
            view.line()
            write_part(view, part)
        elif part.text:
            view.line()
            show = view.markdown if message.author.kind == "agent" else view.body
            show(part.text)
    if message.payload is not None:
        view.line()
        write_document(view, message.payload)


def _time_of(head: MessageHeader, message: Message) -> str | None:
    return message.time if message.time is not None and head.recorded is None else display_time(head)


def _details(message: Message) -> Iterator[tuple[str, str]]:
    """Yield the optional fields that are set."""
    details = {
        "To": ", ".join(message.to),
        "Reply to": message.reply_to,
        "Amends": message.amends,
        "Retracts": message.retracts,
        "Work item": message.work_item,
        "Task": message.task,
        "Activity": message.activity,
        "Tool": message.tool,
        "Model": message.model,
        "Status": message.status,
        "Stop reason": message.stop_reason,
        "Files": format_files(message.files),
    }
    for name, value in details.items():
        if value:
            yield name, value
