"""Parse the message list of one conversation with the position of each message, up to the first error."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scopes.importers.formats.json_stream import find_value_end, skip_blanks
from scopes.importers.formats.lossless_json import decode, decode_first, describe_error

MAX_MEMBER = 4096  # characters of a member kept in addition to the list
LIST_NAMES = frozenset({"messages", "traj"})


@dataclass(frozen=True, slots=True)
class Element:
    """An element of the list and its position; if it has a `problem`, it has no value."""

    start: int
    end: int
    value: Any = None
    problem: str | None = None


@dataclass(slots=True)
class MessageList:
    """A conversation: its messages, and short members of the object around them.

    named: the list is a member of an object
    found: there is a list
    complete: it was read to its end
    """

    named: bool = False
    elements: list[Element] = field(default_factory=list)
    members: dict[str, Any] = field(default_factory=dict)
    found: bool = False
    complete: bool = False


def read_message_list(text: str, start: int = 0) -> MessageList | None:
    """Parse the conversation that begins at `start`; None if there is none.

    A conversation is an empty array, an array with at least one role, or an object with such an array. A truncated or
    damaged one is parsed up to the error.
    """
    result = MessageList(named=text.startswith("{", start))
    try:
        if result.named:
            _read_object(text, start + 1, result)
        elif text.startswith("[", start):
            _read_array(text, start + 1, result)
        result.complete = result.found
    except (ValueError, RecursionError, IndexError):
        pass
    return result if result.found and _has_messages(result) else None


def _has_messages(messages: MessageList) -> bool:
    if not messages.elements:
        return messages.complete
    values = (element.value for element in messages.elements)
    return any(isinstance(value, dict) and isinstance(value.get("role"), str) for value in values)


def _read_object(text: str, position: int, result: MessageList) -> None:
    position = skip_blanks(text, position)
    while text[position] != "}":
        key, position = decode_first(text, position)
        position = skip_blanks(text, position)
        if not isinstance(key, str) or text[position] != ":":
            raise ValueError(position)
        position = skip_blanks(text, position + 1)
        if key in LIST_NAMES and text[position] == "[" and not result.found:
            position = _read_array(text, position + 1, result)
        else:
            end = find_value_end(text, position)
            if text[position] not in "[{" and end - position < MAX_MEMBER:
                result.members[key] = decode(text[position:end])
            position = end
        position = skip_comma(text, position, "}")


def _read_array(text: str, position: int, result: MessageList) -> int:
    """Parse the messages; return where their array ends."""
    result.found = True
    position = skip_blanks(text, position)
    while text[position] != "]":
        element = read_element(text, position)
        result.elements.append(element)
        position = skip_comma(text, element.end, "]")
    return position + 1


def read_element(text: str, start: int) -> Element:
    """Parse one element; an element that is well-formed but cannot be decoded gets a problem."""
    try:
        value, end = decode_first(text, start)
    except (ValueError, RecursionError) as error:
        return Element(start, find_value_end(text, start), None, describe_error(error))
    if not text.isascii() and _has_foreign_bytes(text[start:end]):
        return Element(start, end, None, "not valid UTF-8")
    return Element(start, end, value)


def _has_foreign_bytes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False


def skip_comma(text: str, position: int, closing: str) -> int:
    """Return where the next element begins, or the closing bracket.

    Raises:
        ValueError: something else is there.
    """
    position = skip_blanks(text, position)
    if text[position] == ",":
        return skip_blanks(text, position + 1)
    if text[position] != closing:
        raise ValueError(position)
    return position
