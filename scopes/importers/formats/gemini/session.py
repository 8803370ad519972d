"""Read a session of the Gemini CLI: messages that are written again when their tools are done.

A record with `$set` may replace all messages, one with `$rewindTo` drops the last ones. Messages that are dropped stay
on a line of their own. All messages are in memory until the end of the file. `document` reads the older files, which
are one object with the same messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from scopes.importers.formats.events import (
    EDITION,
    FILE,
    ByteRange,
    Draft,
    Ending,
    Event,
    Session,
    SessionRecord,
    Unparsed,
)
from scopes.importers.formats.fields import object_field, text_field, time_field
from scopes.importers.formats.gemini.parts import read_call, read_parts, read_response, read_usage
from scopes.importers.formats.gemini.project_root import find_parent_session, find_project_root
from scopes.importers.formats.gemini.stream import NAME
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.run_builder import ANSWER, ERROR, HUMAN, INJECTED, META, PROMPT, RESULTS, TOOL
from scopes.importers.formats.unknown_parts import report_unknown_parts
from scopes.model.message import Author, FileTouch, Part
from scopes.model.tools import touches_of_call

SUB_AGENT: Final = "subagent"
AGENT_FIELD: Final = "agentId"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_TYPES = frozenset({"user", "gemini", "info", "warning", "error"})
_CONTEXT = "<session_context>"
_WORKSPACE = re.compile(r"\*\*Workspace Directories:\*\*\n\s*- (/[^\n]+)")
_COUNTS = ("input", "cached", "output", "thoughts")


@dataclass(slots=True)
class _Message:
    """A message as it was written last, with the bytes of all its records, and the message before it."""

    value: dict[str, Any]
    parent: str | None
    spans: list[ByteRange] = field(default_factory=list)

    @property
    def key(self) -> str:
        return str(self.spans[0].offset)


class SessionReader:
    """Collects the records of a session, and yields its events at the end."""

    def __init__(self, head: list[dict[str, Any]], path: str, edition: int = 1) -> None:
        header = next(filter(is_header, head))
        contexts = [_text_of(message) for value in head for message in _messages_of(value)]
        workspace = next((found for text in contexts if (found := _WORKSPACE.search(text))), None)
        listed = next(filter(None, map(_directory_of, [header, *head])), None)
        self._cwd = listed if workspace is None else workspace[1]
        self._title = text_field(header, "summary")
        self._messages: dict[str, _Message] = {}  # by id, in the order of their first records
        self._line: dict[str, None] = {}  # ids of the messages that were not dropped, in order
        self._others: list[Event] = []
        started = text_field(header, "startTime")
        parent = find_parent_session(path) if header.get("kind") == SUB_AGENT else None
        self.session = Session(
            format=NAME,
            native_id=text_field(header, "sessionId") or "",
            created=started,
            cwd=self._cwd,
            base=parent,
            spawned_by=None if parent is None else {"session": parent},
            local_directory=find_project_root(path) if self._cwd is None else None,
            details={FILE: started, EDITION: edition} if started is not None else {},
        )

    def read(self, record: Record) -> None:
        """Read the next record."""
        value = record.value if isinstance(record.value, dict) else {}
        if "$set" in value:
            self._replace(record, object_field(value, "$set"))
        elif isinstance(value.get("$rewindTo"), str):
            self._rewind(value["$rewindTo"])
            self._add_state(record, "$rewindTo")
        elif is_header(value):
            self._add_state(record, "header")
        elif is_message(value):
            self._add(value, record.span)
        else:
            self._others.append(Unparsed(spans=(record.span,), reason=record.problem or "a record of unknown type"))

    def finish(self) -> Iterator[Event]:
        """Yield the events of the session."""
        yield from self._others
        drafts = list(self._walk_drafts())
        for draft in drafts:
            yield from report_unknown_parts(draft)
        continued = {draft.parent for draft in drafts}
        leaves = [draft.key for draft in drafts if draft.key not in continued]
        last = self._messages[next(reversed(self._line))].key if self._line else None
        answers = [draft.key for draft in drafts[-2:] if draft.kind == ANSWER]
        yield Ending(
            active=last if last in leaves else next(reversed(leaves), None),
            title=self._title,
            dropped=frozenset(message.key for name, message in self._messages.items() if name not in self._line),
            open=next(iter([*answers, *(draft.key for draft in drafts[-1:])]), None),
        )

    def _add(self, value: dict[str, Any], span: ByteRange) -> None:
        name = value["id"]
        known = self._messages.get(name)
        if known is None:
            known = self._messages[name] = _Message(value, next(reversed(self._line), None))
        known.value = value
        known.spans.append(span)
        self._line.setdefault(name)

    def _replace(self, record: Record, fields: Mapping[str, Any]) -> None:
        """Read a record that replaces fields of the session; new messages in it share its bytes."""
        self._title = text_field(fields, "summary") or self._title
        if not isinstance(fields.get("messages"), list):
            self._add_state(record, "$set")
            return
        messages = [each for each in fields["messages"] if isinstance(each, dict) and is_message(each)]
        names = {each["id"] for each in messages}
        self._line = {name: None for name in self._line if name in names}
        new = list({each["id"]: each for each in messages if each["id"] not in self._messages}.values())
        for name in (each["id"] for each in messages if each["id"] in self._messages):
            self._line.setdefault(name)
        if not new:
            self._add_state(record, "$set/messages")
        offset, end = record.span.offset, record.span.offset + record.span.length
        for number, value in enumerate(new):
            length = end - offset if number == len(new) - 1 else 1
            self._add(value, ByteRange(offset, length))
            offset += length

    def _rewind(self, name: str) -> None:
        names = list(self._line)
        self._line = dict.fromkeys(names[: names.index(name)] if name in self._line else [])

    def _add_state(self, record: Record, key: str) -> None:
        self._others.append(SessionRecord(key=key, spans=(record.span,), value=record.value))

    def _walk_drafts(self) -> Iterator[Draft]:
        """Yield the messages; the results of calls are in the record after them, or else in the answer itself."""
        answered = {str(each.get("id")) for message in self._messages.values() for each in _responses_of(message.value)}
        calls: dict[str, tuple[str, Part, Mapping[str, Any]]] = {}
        for message in self._messages.values():
            value, responses = message.value, _responses_of(message.value)
            if value["type"] == "gemini":
                listed = _calls_of(value)
                for call in listed:
                    calls[str(call.get("id"))] = (message.key, read_call(call), call)
                late = [
                    (_result_of(call), calls[str(call.get("id"))][1])
                    for call in listed
                    if str(call.get("id")) not in answered and call.get("result")
                ]
                parts = [*_answer_parts(value), *(part for part, _ in late)]
                yield self._draft(message, _AGENT, ANSWER, parts, **_work_of(late))
            elif responses:
                yield self._results(message, responses, calls)
            elif value["type"] == "user":
                injected = _text_of(value).startswith(_CONTEXT)
                author = INJECTED if injected else HUMAN
                parts = list(read_parts(value.get("content")))
                yield self._draft(message, author, META if injected else PROMPT, parts)
            else:
                kind = ERROR if value["type"] == "error" else "notice"
                yield self._draft(message, _HARNESS, kind, list(read_parts(value.get("content"))))

    def _results(
        self,
        message: _Message,
        responses: list[dict[str, Any]],
        calls: Mapping[str, tuple[str, Part, Mapping[str, Any]]],
    ) -> Draft:
        parts: list[Part] = []
        answered: list[tuple[Part, Part]] = []
        reply_to: str | None = None
        for response in responses:
            key, call, record = calls.get(str(response.get("id")), (None, None, {}))
            part = _with_agent(read_response(response, text_field(record, "status")), record)
            parts.append(part)
            if call is not None:
                answered.append((part, call))
                reply_to = reply_to or key
        return self._draft(message, TOOL, RESULTS, parts, reply_to=reply_to, **_work_of(answered))

    def _draft(self, message: _Message, author: Author, kind: str, parts: list[Part], **fields: Any) -> Draft:
        value, time = message.value, time_field(message.value)
        parent = None if message.parent is None else self._messages[message.parent].key
        if fields.get("reply_to") == parent:
            fields.pop("reply_to", None)
        return Draft(
            key=message.key,
            parent=parent,
            author=author,
            kind=kind,
            parts=tuple(parts),
            spans=tuple(message.spans),
            native_ids=(value["id"],),
            time=time,
            precision="none" if time is None else "exact",
            model=text_field(value, "model"),
            usage=read_usage(object_field(value, "tokens"), _COUNTS) if kind == ANSWER else None,
            status="error" if kind == ERROR else None,
            cwd=self._cwd,
            **fields,
        )


def is_header(value: Mapping[str, Any]) -> bool:
    """Return True if a record is the first one of a session file."""
    return text_field(value, "sessionId") is not None and "projectHash" in value and "type" not in value


def is_message(value: Mapping[str, Any]) -> bool:
    """Return True if a record is a message."""
    return text_field(value, "type") in _TYPES and text_field(value, "id") is not None and "content" in value


def _messages_of(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    messages = object_field(value, "$set").get("messages")
    listed = messages if isinstance(messages, list) else [value]
    return [each for each in listed if isinstance(each, dict) and is_message(each)]


def _text_of(value: Mapping[str, Any]) -> str:
    return "\n".join(part.text for part in read_parts(value.get("content")) if part.type == "text").lstrip()


def _responses_of(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the function responses of a user record that has nothing else."""
    content = value.get("content")
    blocks = content if isinstance(content, list) and value.get("type") == "user" else []
    found = [each.get("functionResponse") if isinstance(each, dict) else None for each in blocks]
    responses = [each for each in found if isinstance(each, dict)]
    return responses if len(responses) == len(blocks) else []


def _calls_of(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    calls = value.get("toolCalls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _answer_parts(value: Mapping[str, Any]) -> Iterator[Part]:
    thoughts = value.get("thoughts")
    for thought in thoughts if isinstance(thoughts, list) else []:
        if isinstance(thought, dict):
            texts = [text_field(thought, "subject"), text_field(thought, "description")]
            yield Part("reasoning", {"text": "\n\n".join(filter(None, texts))})
    calls = [read_call(call) for call in _calls_of(value)]
    listed = {part.fields.get("call_id") for part in calls} - {None}
    for part in read_parts(value.get("content")):
        if part.type != "tool_call" or part.fields.get("call_id") not in listed:  # a checkpoint has a call twice
            yield part
    yield from calls


def _result_of(call: Mapping[str, Any]) -> Part:
    """Return the result of a call that no record after it has."""
    results = call.get("result")
    first = results[0] if isinstance(results, list) and results and isinstance(results[0], dict) else {}
    response = {"id": call.get("id"), "name": call.get("name"), **object_field(first, "functionResponse")}
    return _with_agent(read_response(response, text_field(call, "status")), call)


def _with_agent(result: Part, call: Mapping[str, Any]) -> Part:
    """Return a result with the id of the sub-agent that its call started, if it did."""
    agent = text_field(call, AGENT_FIELD)
    return result if agent is None else Part(result.type, {**result.fields, "structured": {AGENT_FIELD: agent}})


def _work_of(results: list[tuple[Part, Part]]) -> dict[str, Any]:
    """Return the files that calls touched, and their tool if they have one, by their results and themselves."""
    tools = {str(call.fields["name"]) for _, call in results}
    done = [(call, result) for result, call in results if result.fields.get("is_error") is not True]
    files: dict[FileTouch, None] = {touch: None for call, result in done for touch in touches_of_call(call, result)}
    return {"files": tuple(files), "tool": tools.pop() if len(tools) == 1 else None}


def _directory_of(value: Mapping[str, Any]) -> str | None:
    """Return the first directory of the workspace, if a record has a list of them."""
    listed = value.get("directories") or object_field(value, "$set").get("directories")
    first = listed[0] if isinstance(listed, list) and listed else None
    return first if isinstance(first, str) and first else None
