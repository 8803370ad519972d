"""The bodies of a log: which are read, and those that are read once although a walk needs them twice.

That of the last message of a turn is read for the word that says how the turn ended.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from scopes.history.endings import Ending, ending_of, is_unanswered, may_have_ending
from scopes.history.messages import NO_TEXT, MessageHeader, read_body, read_body_bytes, read_message
from scopes.ids import Oid
from scopes.model.message import Message, Part
from scopes.store.repository import Repository

_KEPT = 32  # messages


class BodyReader:
    """Reads messages and keeps the last ones: tool results, which a walk meets before their call, are read once."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._kept: dict[Oid, Message] = {}

    def __call__(self, head: MessageHeader) -> Message:
        """Return the message of a header."""
        return self._kept.get(head.oid) or self._keep(head.oid, read_body(self._repository, head))

    def read_at(self, oid: Oid) -> Message:
        """Return the message of a commit."""
        return self._kept.get(oid) or self._keep(oid, read_message(self._repository, oid))

    def read_bytes(self, head: MessageHeader) -> bytes:
        """Return the message of a header as it is stored."""
        return read_body_bytes(self._repository, head)

    def _keep(self, oid: Oid, message: Message) -> Message:
        if len(self._kept) == _KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[oid] = message
        return message


class Body(NamedTuple):
    """What is read of a message: itself, if it is to be read, the results of its calls, and how its turn ended."""

    message: Message | None = None
    results: tuple[Part, ...] = ()
    ending: Ending | None = None


class Bodies:
    """Reads the bodies of a log: all, or only those of messages whose commit has no subject text."""

    def __init__(self, read: BodyReader, *, read_all: bool, results: bool) -> None:
        self._read = read
        self._read_all = read_all
        self._results = results

    def read(self, head: MessageHeader, answered_by: Iterable[Oid], next_prompts: Sequence[Oid] | None) -> Body:
        """Return the body of a header, with the results of its tool calls if requested.

        next_prompts: the prompts that follow the last message of a turn; None for another message.
        """
        is_read = self._read_all or head.subject == NO_TEXT
        if not is_read and next_prompts is None:
            return Body()
        if not is_read and not may_have_ending(head.kind, self._read.read_bytes(head)):
            return Body()
        message = self._read(head)
        ending = ending_of(message)
        if next_prompts is not None and is_unanswered(message, map(self._read.read_at, next_prompts)):
            ending = "unanswered"
        if not is_read:
            return Body(ending=ending)
        if not self._results or all(part.type != "tool_call" for part in message.parts):
            return Body(message, (), ending)
        answers = (message, *map(self._read.read_at, answered_by))
        results = tuple(part for answer in answers for part in answer.parts if part.type == "tool_result")
        return Body(message, results, ending)
