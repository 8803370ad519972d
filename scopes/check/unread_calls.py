"""Find tool calls in records of a transcript that no message has, and records that contradict earlier ones.

A format drops a record whose id was read before, and keeps a record of a type that it does not know as a state. Agents
repeat records, and write what their sub-agents do into records about their progress, so that both are usual. A call in
such a record is judged like any other, unless a message has the same call.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

from scopes.ids import MessageId
from scopes.importers.archive import Segment
from scopes.importers.formats.claude_parts import is_result, read_results
from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.records import walk_records, walk_stream
from scopes.lazy_patterns import compile_lazily
from scopes.model.message import Part

_REPEATED = "repeated/"  # how the states of records begin that a format dropped, because their id was read before
# What a record has that holds a call or a result, or begins a session; an escaped letter may be part of it.
_MARKS = re.compile(rb'ool|unction|_call|\\u00|"parentUuid":\s?null')
_CALLS = frozenset({
    "customtoolcall", "functioncall", "localshellcall", "mcptoolcall", "mcptooluse", "servertooluse", "toolcall",
    "tooluse",
})  # fmt: skip
_CALL_FIELDS = frozenset({"action", "function", "functionCall", "name", "tool", "tool_name"})  # each call has one
_NOT_LETTERS = compile_lazily(r"[^a-z]")
_NESTED = frozenset({  # fields that hold what a tool was given or returned, or what was read before
    "args", "arguments", "functionResponse", "input", "output", "parameters", "rawOutput", "replacement_history",
    "result", "structured", "toolCallResult", "toolUseResult", "tool_use_result",
})  # fmt: skip

_SESSION_IDS = ("sessionId", "session_id", "sessionID", "thread_id")
_BEGINNINGS = ("{}", "null", '""')  # inputs of a call that a stream prints before its input is complete


class FoundPart(NamedTuple):
    """A call, or the result of one, in a record of a source.

    message: the message that the record belongs to, or the one before it
    is_message: False if the record became no message
    """

    part: Part
    message: MessageId | None
    is_message: bool
    sub_agent: bool


class SourceRecords(NamedTuple):
    """The calls and results in the records of a source, in order; a text for each record that contradicts others."""

    parts: tuple[FoundPart, ...]
    damage: tuple[str, ...]


def read_source_records(
    source: BinaryIO,
    size: int,
    segments: Sequence[Segment],
    name: str,
    *,
    is_linked: bool,
    others: frozenset[str] = frozenset(),
) -> SourceRecords:
    """Read the calls in the records of a source, and what is wrong; `segments` are in the order of its bytes.

    `is_linked` is True for a session file whose records name their session and the record before them: one without the
    latter begins another session, as after `cat A B`. The calls of the sessions `others` are those of other runs.
    """
    offsets = [segment.span.offset for segment in segments]
    before: list[MessageId | None] = []
    for segment in segments:
        before.append(segment.message or (before[-1] if before else None))
    has_repeated = any((segment.state or "").startswith(_REPEATED) for segment in segments)
    parts: list[FoundPart] = []
    damage: list[str] = []
    sessions: set[str] = set()
    contents: dict[tuple[str, str], str] = {}
    current: str | None = None  # the session that the records belong to, as far as they name one
    for line, offset, value in _walk_values(source, size, None if has_repeated or others else _MARKS):
        current = next((each for key in _SESSION_IDS if (each := text_field(value, key)) is not None), current)
        number = max(bisect_right(offsets, offset) - 1, 0)
        segment = segments[number]
        read = () if current in others else _read_parts(value)
        parts += [FoundPart(part, before[number], segment.message is not None, is_sub) for part, is_sub in read]
        session = text_field(value, "sessionId") if is_linked else None
        if session is not None:
            if sessions and session not in sessions and "message" in value and value.get("parentUuid", "") is None:
                damage.append(f"another session begins in line {line} of {name}: check its file by itself")
            sessions.add(session)
        identity = _identity_of(value) if has_repeated else None
        if identity is not None and contents.setdefault(identity, content := _content_of(value)) != content:
            damage.append(f"line {line} of {name} has the id of an earlier record, but another content")
    return SourceRecords(tuple(parts), tuple(damage))


def find_unread(sources: Iterable[SourceRecords], messages: Mapping[MessageId, Sequence[Part]]) -> list[FoundPart]:
    """Return the calls, with their results, that records of the sources have and the messages of a run do not have.

    A record of a message that is not in the run, as one of another branch, is left out.
    """
    calls = [part for parts in messages.values() for part in parts if part.type == "tool_call"]
    known = {_key_of(part) for part in calls}
    known |= {(call_id, empty) for call_id, _ in known if call_id for empty in _BEGINNINGS}
    found = [each for source in sources for each in source.parts]
    known |= {_key_of(each.part) for each in found if each.is_message and each.message not in messages}
    unread: list[FoundPart] = []
    ids: set[object] = set()
    for each in found:
        if each.message is not None and each.message not in messages:
            continue
        call_id = each.part.call_id
        if each.part.type == "tool_call" and _key_of(each.part) not in known:
            known.add(_key_of(each.part))
            ids.add(call_id)
            unread.append(each)
        elif each.part.type == "tool_result" and not each.is_message and call_id in ids:
            unread.append(each)
    return unread


def find_reused_ids(parts: Iterable[Part], unread: Iterable[FoundPart]) -> set[str | None]:
    """Return the ids that calls of messages and calls of no message have: a call and its result cannot be paired."""
    ids = {part.call_id for part in parts if part.type == "tool_call"}
    calls = (each.part for each in unread if each.part.type == "tool_call")
    return {call.call_id for call in calls} & (ids - {None})


def find_orphans(parts: Iterable[Part]) -> list[Part]:
    """Return the results whose call is missing; those before the first call do not count: some files begin there."""
    listed = list(parts)
    first = next((number for number, part in enumerate(listed) if part.type == "tool_call"), len(listed))
    ids = {part.call_id for part in listed if part.type == "tool_call"}
    results = (part for part in listed[first:] if part.type == "tool_result")
    return [part for part in results if part.call_id not in ids]


def _walk_values(
    source: BinaryIO, size: int, marks: re.Pattern[bytes] | None
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """Yield the line, the offset and the value of each object that has one of the marks; all of them without marks.

    Lines are read one by one if the first one is a document; else, documents span lines.
    """
    offset = 0
    for number, line in enumerate(iter(source.readline, b""), 1):
        if marks is None or number == 1 or marks.search(line):
            records = list(walk_records(BytesIO(line), len(line)))
            if number == 1 and any(record.problem is not None for record in records):
                break
            for record in records:
                if isinstance(record.value, dict):
                    yield number, offset + record.span.offset, record.value
        offset += len(line)
    else:
        return
    source.seek(0)
    for record in walk_stream(source, size):
        if record.value is not None:
            yield record.line, record.span.offset, record.value


def _read_parts(value: object, *, sub_agent: bool = False) -> Iterator[tuple[Part, bool]]:
    """Yield the calls and the results in a record, with True for those of a sub-agent, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from _read_parts(each, sub_agent=sub_agent)
    if not isinstance(value, dict):
        return
    sub_agent = sub_agent or value.get("type") == "progress" or value.get("isSidechain") is True
    call = None if _CALL_FIELDS.isdisjoint(value) else _read_call(value)
    if call is not None:
        yield call, sub_agent
        return
    content = value.get("content")
    if isinstance(content, list) and any(map(is_result, content)):
        yield from ((part, sub_agent) for part in read_results(content, None, {}).parts)
    for name, each in value.items():
        if name not in _NESTED and isinstance(each, (dict, list)) and value.get("type") != "tool_result":
            yield from _read_parts(each, sub_agent=sub_agent)


def _read_call(value: Mapping[str, Any]) -> Part | None:
    """Return the call that an object is, in the words of any agent; None if it is none."""
    kind = _NOT_LETTERS.sub("", (text_field(value, "type") or "").lower())
    function = value.get("function", value.get("functionCall"))
    if isinstance(function, dict) and isinstance(function.get("name"), str):
        return _call(function, function.get("id") or value.get("id"))
    if kind == "tool" and isinstance(value.get("state"), dict) and isinstance(value.get("tool"), str):  # OpenCode
        return _call({"name": value["tool"], **value["state"]}, value.get("callID"))
    if isinstance(value.get("name"), str) and isinstance(value.get("args"), dict):  # Gemini CLI
        return _call(value, value.get("id"))
    if kind in _CALLS and isinstance(value.get("name", value.get("tool_name")), str):
        return _call(value, value.get("call_id") or value.get("tool_id") or value.get("id"))
    if kind == "localshellcall" and isinstance(value.get("action"), dict):
        return _call({"name": "local_shell", "input": value["action"]}, value.get("call_id") or value.get("id"))
    return None


def _call(value: Mapping[str, Any], call_id: object) -> Part:
    given = next((value[name] for name in ("input", "arguments", "args", "parameters") if name in value), None)
    if isinstance(given, str):
        given = _decoded(given)
    known = {"call_id": call_id} if isinstance(call_id, str) else {}
    fields = {"input_text": given} if isinstance(given, str) else {"input": given}
    return Part("tool_call", {**known, "name": value.get("name", value.get("tool_name")), **fields})


def _key_of(part: Part) -> tuple[object, str]:
    """Return what is equal in two records of one call: its id and its input."""
    given = part.fields.get("input_text", part.fields.get("input"))
    given = _decoded(given) if isinstance(given, str) else given
    return part.call_id, json.dumps(given, sort_keys=True, default=str)


def _decoded(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, (dict, list)) else text


def _identity_of(value: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the id by which formats recognize a record that is repeated; None if it has none."""
    kind = text_field(value, "type") or ""
    name = text_field(value, "uuid") or (text_field(value, "tool_id") if kind == "tool_result" else None)
    return None if name is None else (kind if "sessionId" not in value else "", name)


def _content_of(value: Mapping[str, Any]) -> str:
    """Return what must be equal in a repeated record; a resumed session has another directory, session and version."""
    message = object_field(value, "message")
    parts = [message.get("content"), message.get("parts"), value.get("toolUseResult"), value.get("tool_use_result")]
    parts += [value.get(name) for name in ("type", "toolCallResult", "output", "status", "error", "result")]
    return json.dumps(parts, sort_keys=True, default=str)
