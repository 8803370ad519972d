"""Find the message with the tool calls that a message of results answers, and the files that these calls touched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import NO_TEXT, MessageHeader, header_of, read_body, subject_of
from scopes.ids import MessageId, Oid
from scopes.model.file_edits import touches_of_call
from scopes.model.message import Message, Part
from scopes.model.tombstone import PURGED
from scopes.model.tool_calls import summarize_calls
from scopes.store.objects import one_line
from scopes.store.repository import Objects, read_commit

TOOL_RESULTS = "tool-results"
BETWEEN_CALL_AND_RESULT = frozenset({TOOL_RESULTS, "system", "meta", "notice", "error"})  # kinds of message
MAX_RESULTS = 64
_TOOL = "tool"  # kind of author


class ToolResultTracker:
    """Finds the results of tool calls in a walk from children to parents, in which results come before their calls."""

    def __init__(self) -> None:
        self._results_after: dict[Oid, tuple[Oid, ...]] = {}

    def visit(self, head: MessageHeader) -> tuple[Oid, ...]:
        """Visit the next message; return the messages with the results of its calls, nearest first, at most 64."""
        results = self._results_after.pop(head.oid, ())
        if head.kind not in BETWEEN_CALL_AND_RESULT:
            return results
        pending = (head.oid, *results) if head.kind == TOOL_RESULTS else results
        for parent in head.parents[:1]:
            self._results_after[parent] = (*pending, *self._results_after.get(parent, ()))[:MAX_RESULTS]
        return ()


def find_call_message(objects: Objects, results: MessageHeader) -> MessageHeader | None:
    """Return the next ancestor that is neither by a tool nor a notice between a call and its results."""
    above = results
    for _ in range(MAX_RESULTS):
        if not above.parents:
            return None
        above = header_of(read_commit(objects, above.parents[0]))
        if above.kind not in BETWEEN_CALL_AND_RESULT and above.author_kind != _TOOL:
            return above
    return None


class FoundCall(NamedTuple):
    """A tool call, and where it is: the message, and the number of the part in it.

    has_purged_result: a result with its id, between the call and the one that it was looked up for, was purged
    """

    message: MessageId
    number: int
    part: Part
    has_purged_result: bool = False


def find_call(objects: Objects, head: MessageHeader, message: Message, number: int) -> FoundCall | None:
    """Return the tool call that a part of a message is the result of: the nearest one above it with its id.

    It is looked for in the parts before it and in the next 64 messages above. None if none of them has it.
    """
    wanted = message.parts[number].fields.get("call_id")
    parts: Sequence[Part] = message.parts[:number]
    above = head
    has_purged_result = False
    for _ in range(MAX_RESULTS):
        for place in range(len(parts) - 1, -1, -1):
            part = parts[place]
            if part.type == "tool_call" and part.fields.get("call_id") == wanted:
                return FoundCall(above.id, place, part, has_purged_result)
            if part.type == "tool_result" and part.fields.get("call_id") == wanted:
                has_purged_result = has_purged_result or part.fields.get(PURGED) is True
        if not above.parents:
            return None
        above = header_of(read_commit(objects, above.parents[0]))
        parts = ()
        with suppress(Corrupt, NotFound):  # a commit of another program
            parts = read_body(objects, above).parts
    return None


def with_summary(objects: Objects, head: MessageHeader) -> MessageHeader:
    """Return the header of a message with a subject that says what a message without text does.

    That is its document, its first tool call (`→ Bash make test · 1 more`), or the first call that its results answer.
    """
    if head.subject != NO_TEXT:
        return head
    message = read_body(objects, head)
    subject = subject_of(head, message)
    if subject == NO_TEXT:
        subject = summarize_calls(message) or _summarize_answered(objects, head, message) or NO_TEXT
    return head._replace(subject=one_line(subject))


def _summarize_answered(objects: Objects, head: MessageHeader, message: Message) -> str:
    """Return the summary of the calls that the results of a message answer; empty if there are none."""
    answered = results_by_id(message.parts)
    call = find_call_message(objects, head) if answered else None
    if call is None:
        return ""
    calls = read_body(objects, call)
    parts = tuple(part for call_id, part in calls_by_id(calls.parts).items() if call_id in answered)
    summary = summarize_calls(replace(calls, parts=parts))
    return f"result of {summary}" if summary else ""


def calls_by_id(parts: Iterable[Part]) -> dict[str, Part]:
    """Return the tool calls among parts, by their ids; those without an id are left out."""
    return _by_id(parts, "tool_call")


def results_by_id(parts: Iterable[Part]) -> dict[str, Part]:
    """Return the tool results among parts, by the ids of their calls; those without one are left out."""
    return _by_id(parts, "tool_result")


def _by_id(parts: Iterable[Part], kind: str) -> dict[str, Part]:
    found = ((part.fields.get("call_id"), part) for part in parts if part.type == kind)
    return {call_id: part for call_id, part in found if isinstance(call_id, str)}


def with_touched_files(objects: Objects, tip: Oid, message: Message) -> Message:
    """Return a message of tool results with the files that the successful calls touched, as importers set them (S1-2).

    The calls are in the message itself, or in one of the last messages of the history of `tip`. A message that names
    files is returned unchanged.
    """
    successful = {call_id: part for call_id, part in results_by_id(message.parts).items() if not is_failed(part)}
    if message.files or not successful:
        return message
    calls = calls_by_id(message.parts)
    above = read_commit(objects, tip)
    for _ in range(MAX_RESULTS):
        if successful.keys() <= calls.keys() or not above.parents:
            break
        with suppress(Corrupt, NotFound):  # a commit of another program
            calls = {**calls_by_id(read_body(objects, above).parts), **calls}
        above = read_commit(objects, above.parents[0])
    touches = [
        touch
        for call_id, result in successful.items()
        if call_id in calls
        for touch in touches_of_call(calls[call_id], result)
    ]
    return replace(message, files=tuple(dict.fromkeys(touches)))


def is_failed(result: Part) -> bool:
    """Return True if a tool result is an error, or has an exit code other than 0."""
    return result.fields.get("is_error") is True or result.fields.get("exit_code") not in (None, 0)
