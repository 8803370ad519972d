"""Pair tool results with their calls, so that a result stands directly below its call and not in a turn of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from scopes.context.turns import NumberedHeader, has_content
from scopes.history.messages import MessageHeader
from scopes.model.message import Message, Part


class ReadMessage(NamedTuple):
    """A message with its number in the conversation; `results` are the messages whose parts moved into it."""

    number: int
    head: MessageHeader
    message: Message
    results: tuple[NumberedHeader, ...] = ()


def pair_results(messages: Sequence[ReadMessage]) -> list[ReadMessage]:
    """Move each tool result below the last call with its id; messages are those of one conversation, oldest first.

    A message without other content is no longer in the list. Results without a call stay where they are.
    """
    calls: dict[str, tuple[int, int]] = {}
    moved: dict[tuple[int, int], list[Part]] = {}
    others: list[list[tuple[int, Part]]] = []
    hosts: dict[int, int] = {}
    for position, (_, _, message, _) in enumerate(messages):
        others.append([])
        for index, part in enumerate(message.parts):
            call_id = part.fields.get("call_id")
            call = calls.get(call_id) if isinstance(call_id, str) and part.type == "tool_result" else None
            if call is not None:
                moved.setdefault(call, []).append(part)
                hosts.setdefault(position, call[0])
                continue
            if isinstance(call_id, str) and call_id and part.type == "tool_call":
                calls[call_id] = position, index
            others[position].append((index, part))
    if not moved:
        return list(messages)
    absorbed: dict[int, list[NumberedHeader]] = {}
    paired = []
    for position, each in enumerate(messages):
        parts = tuple(p for i, part in others[position] for p in (part, *moved.get((position, i), ())))
        message = each.message if parts == each.message.parts else replace(each.message, parts=parts)
        host = hosts.get(position, position)
        if host != position and not has_content(message):
            absorbed.setdefault(host, []).append(NumberedHeader(each.number, each.head))
        else:
            paired.append((position, each._replace(message=message)))
    return [each._replace(results=tuple(absorbed.get(position, ()))) for position, each in paired]
