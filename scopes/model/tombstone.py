"""What stands for a message that was purged, or for parts of one: a function of what was there, without its content.

Every machine that purges the same message writes the same bytes, so their histories stay equal. Id, author, time and
the links to other messages stay, so that calls still have their results and branches their fork points.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any, Final

from scopes.model.claims import content_of
from scopes.model.codec import decode, encode
from scopes.model.message import TYPED_KINDS, Message, Part, text_parts

PURGED_TEXT: Final = "[purged]"
RETRACTED_TEXT: Final = "retracted: "
"""How the notice of a retraction without a reason begins, before the first words of the message."""
PURGED: Final = "purged"
"""The field of a message, and of a part, that was purged."""
_KEPT: Final = ("precision", "context_root")  # fields of other versions and formats that say nothing of the content
_LINKS: Final = ("message", "call_id")
_DOCUMENTS: Final = TYPED_KINDS | {"summary", "compaction"}  # kinds that mean nothing without their content


def purge_message(data: bytes, parts: Collection[int] | None = None) -> bytes:
    """Return a stored message without its content, or without that of some of its parts; idempotent.

    Raises:
        Corrupt: the bytes are no message.
    """
    message = decode(data)
    return encode(_without_content(message) if parts is None else _without_parts(message, parts))


def is_purged(message: Message) -> bool:
    """Return True if the content of a message was purged as a whole."""
    return message.extra.get(PURGED) is True


def purged_parts(message: Message) -> frozenset[int] | None:
    """Return the numbers of the parts of a message that were purged; None: all of it was."""
    if is_purged(message):
        return None
    return frozenset(number for number, part in enumerate(message.parts) if part.fields.get(PURGED) is True)


def quoted_by_retraction(notice: Message) -> str | None:
    """Return the message that a notice retracts in the words of that message; None if it has others, or none of it."""
    quotes = notice.text.startswith(RETRACTED_TEXT) and notice.text != RETRACTED_TEXT + PURGED_TEXT
    return notice.retracts if quotes else None


def is_purged_copy(copy: Message, original: Message) -> bool:
    """Return True if a message is what a purge leaves of another one, of all of it or of some parts."""
    if is_purged(copy):
        return content_of(copy) == content_of(_without_content(original))
    numbers = purged_parts(copy) or frozenset()
    return bool(numbers) and content_of(copy) == content_of(_without_parts(original, numbers))


def _without_content(message: Message) -> Message:
    extra: dict[str, Any] = {name: message.extra[name] for name in _KEPT if name in message.extra}
    spawned_by = message.extra.get("spawned_by")
    if isinstance(spawned_by, dict):
        extra["spawned_by"] = {name: spawned_by[name] for name in _LINKS if name in spawned_by}
    return Message(
        id=message.id,
        author=message.author,
        parts=text_parts(PURGED_TEXT),
        kind="notice" if message.kind in _DOCUMENTS else message.kind,
        time=message.time,
        to=message.to,
        reply_to=message.reply_to,
        amends=message.amends,
        retracts=message.retracts,
        extra={**extra, PURGED: True},
    )


def _without_parts(message: Message, numbers: Collection[int]) -> Message:
    parts = [_purge_part(part) if number in numbers else part for number, part in enumerate(message.parts)]
    files = tuple(touch._replace(content_hash=None) for touch in message.files)
    return replace(message, parts=tuple(parts), files=files)


def _purge_part(part: Part) -> Part:
    """Return a part without content; a call keeps its id and name, so that its result finds it."""
    match part.type:
        case "tool_call" | "tool_result":
            kept = {name: part.fields[name] for name in ("call_id", "name", "is_error") if name in part.fields}
            content: dict[str, Any] = {"input": {}} if part.type == "tool_call" else {"output": PURGED_TEXT}
            return Part(part.type, {**kept, **content, PURGED: True})
        case "file_ref":
            kept = {name: part.fields[name] for name in ("path", "op", "from") if name in part.fields}
            return Part(part.type, {**kept, PURGED: True})
    return Part("text", {"text": PURGED_TEXT, PURGED: True})
