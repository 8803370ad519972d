"""The bodies of a log: which are read, and those that are read once although a walk needs them twice."""

from __future__ import annotations

from collections.abc import Iterable

from scopes.history.messages import NO_TEXT, MessageHeader, read_body, read_message
from scopes.ids import Oid
from scopes.model.message import Message, Part
from scopes.store.repository import Repository

_KEPT = 32  # messages


class BodyReader:
    """Reads messages and keeps the last ones: tool results, which a walk meets before their call, are read once.

    Without `keeps` nothing is kept, for a log that reads no message twice.
    """

    def __init__(self, repository: Repository, *, keeps: bool) -> None:
        self._repository = repository
        self._keeps = keeps
        self._kept: dict[Oid, Message] = {}

    def __call__(self, head: MessageHeader) -> Message:
        """Return the message of a header."""
        if not self._keeps:
            return read_body(self._repository, head)
        return self._kept.get(head.oid) or self._keep(head.oid, read_body(self._repository, head))

    def read_at(self, oid: Oid) -> Message:
        """Return the message of a commit."""
        return self._kept.get(oid) or self._keep(oid, read_message(self._repository, oid))

    def _keep(self, oid: Oid, message: Message) -> Message:
        if len(self._kept) == _KEPT:
            del self._kept[next(iter(self._kept))]
        self._kept[oid] = message
        return message


class Bodies:
    """Reads the bodies of a log: all, or only those of messages whose commit has no subject text."""

    def __init__(self, read: BodyReader, *, read_all: bool, results: bool) -> None:
        self._read = read
        self._read_all = read_all
        self._results = results

    def read(self, head: MessageHeader, answered_by: Iterable[Oid]) -> tuple[Message | None, tuple[Part, ...]]:
        """Return the message of a header, if it is to be read, and the results of its tool calls, if requested."""
        if not self._read_all and head.subject != NO_TEXT:
            return None, ()
        message = self._read(head)
        if not self._results or all(part.type != "tool_call" for part in message.parts):
            return message, ()
        answers = (message, *map(self._read.read_at, answered_by))
        return message, tuple(part for answer in answers for part in answer.parts if part.type == "tool_result")
