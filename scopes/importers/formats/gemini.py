"""The Gemini CLI format: session files of all versions, and what `gemini -p` prints.

Messages are written again when their tools are done. A record with `$set` may replace all messages, one with
`$rewindTo` drops the last ones; messages that are dropped stay on a line of their own. All messages are in memory until
the end of the file. Before 0.40 a file was one object with the same messages, rewritten at every change.

The directory of the project is in no session file, but beside them:

    ~/.gemini/projects.json                      {"projects": {"/home/carol/shop": "shop"}}
    ~/.gemini/tmp/shop/.project_root             /home/carol/shop
    ~/.gemini/tmp/shop/chats/session-*.jsonl
    ~/.gemini/tmp/shop/chats/<session>/*.jsonl   of the sub-agents of a session

Before there were such names, the folder was named after the SHA-256 hash of the directory.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from scopes.errors import ScopesError
from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Source, StandardFolders, find_below
from scopes.importers.formats.documents import Shape, read_in_order, walk_sessions
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
from scopes.importers.formats.gemini_parts import read_call, read_parts, read_response, read_usage
from scopes.importers.formats.gemini_stream import NAME, StreamReader, is_event
from scopes.importers.formats.records import Record, decode, first_records
from scopes.importers.formats.run_builder import (
    ANSWER,
    ERROR,
    HUMAN,
    INJECTED,
    META,
    PROMPT,
    RESULTS,
    TOOL,
    read_beginning,
    report_unknown_parts,
    walk_runs,
    walk_session,
)
from scopes.model.message import Author, Part
from scopes.model.tools import touches_of_call
from scopes.regular_file import read_regular

_MARKS = (b'"projectHash"', b'"session_id"', b'"tool_id"')
_SHAPE = Shape(("messages",), lambda found: found.found and is_header(found.members))
_SUB_AGENT = "subagent"
_AGENT_FIELD = "agentId"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_TYPES = frozenset({"user", "gemini", "info", "warning", "error"})
_CONTEXT = "<session_context>"
_WORKSPACE = re.compile(r"\*\*Workspace Directories:\*\*\n\s*- (/[^\n]+)")
_CHATS = "chats"
_NO_CALL: tuple[None, Mapping[str, Any]] = (None, {})
_MAX_MARKER = 4096  # bytes, the longest path of Linux
_MAX_REGISTRY = 4 << 20


def _find_session(top: str, session: str) -> str | None:
    """Return the file of a session in the directory of any project; its name has the first digits of the id."""
    ends = (f"-{session[:8]}.jsonl", f"-{session[:8]}.json")
    return find_below(top, _CHATS, lambda name: name.startswith("session-") and name.endswith(ends))


class Gemini:
    """Gemini CLI, with sessions of one object (before 0.40) and of JSON lines."""

    name = NAME
    file_suffixes = (".jsonl", ".json")
    standard_folders = StandardFolders(AGENTS[NAME], ("tmp",), _find_session)
    sub_agent_fields: tuple[str, ...] = (_AGENT_FIELD,)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if not any(mark in head for mark in _MARKS):
            return False
        if _is_document(head):
            return True
        return any((is_header(value) and "messages" not in value) or is_event(value) for value in first_records(head))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        beginning = read_beginning(source)
        head = first_records(beginning)
        if _is_document(beginning):
            yield from walk_sessions(
                source,
                _SHAPE,
                NAME,
                lambda found: read_in_order(found, _Reader([found.members, *found.values()], source.path, edition=0)),
            )
        elif any(map(is_header, head)):
            yield from walk_session(source, _Reader(head, source.path))
        else:
            yield from walk_runs(source, StreamReader(head))


def _is_document(head: bytes) -> bool:
    return b'"projectHash"' in head and _SHAPE.recognizes(head)


def is_header(value: Mapping[str, Any]) -> bool:
    """Return True if a record is the first one of a session file."""
    return text_field(value, "sessionId") is not None and "projectHash" in value and "type" not in value


@dataclass(slots=True)
class _Message:
    """A message as it was written last, with the bytes of all its records, and the id of the message before it."""

    value: dict[str, Any]
    parent: str | None
    spans: list[ByteRange] = field(default_factory=list)

    @property
    def key(self) -> str:
        return str(self.spans[0].offset)


class _Reader:
    """Collects the records of a session, and yields its events at the end."""

    def __init__(self, head: list[dict[str, Any]], path: str, edition: int = 1) -> None:
        header = next(filter(is_header, head))
        listed = [*(text for value in head for text in map(_text_of, _messages_of(value)))]
        workspace = next((found for text in listed if (found := _WORKSPACE.search(text))), None)
        self._cwd = workspace[1] if workspace else next(filter(None, map(_directory_of, [header, *head])), None)
        self._title = text_field(header, "summary")
        self._messages: dict[str, _Message] = {}  # by id, in the order of their first records
        self._line: dict[str, None] = {}  # ids of the messages that were not dropped, in order
        self._others: list[Event] = []
        started, folder = text_field(header, "startTime"), os.path.dirname(path)
        is_below = header.get("kind") == _SUB_AGENT and os.path.basename(os.path.dirname(folder)) == _CHATS
        parent = os.path.basename(folder) if is_below else None
        self.session = Session(
            format=NAME,
            native_id=text_field(header, "sessionId") or "",
            created=started,
            cwd=self._cwd,
            base=parent,
            spawned_by=None if parent is None else {"session": parent},
            local_directory=_find_project_root(path) if self._cwd is None else None,
            details={FILE: started, EDITION: edition} if started is not None else {},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; its events come at the end."""
        value = record.value if isinstance(record.value, dict) else {}
        if "$set" in value:
            self._replace(record, object_field(value, "$set"))
        elif isinstance(value.get("$rewindTo"), str):
            name, names = value["$rewindTo"], list(self._line)
            self._line = dict.fromkeys(names[: names.index(name)] if name in self._line else [])
            self._add_state(record, "$rewindTo")
        elif is_header(value):
            self._add_state(record, "header")
        elif _is_message(value):
            self._add(value, record.span)
        else:
            self._others.append(Unparsed(spans=(record.span,), reason=record.problem or "a record of unknown type"))
        return iter(())

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
        known = self._messages.setdefault(name, _Message(value, next(reversed(self._line), None)))
        known.value = value
        known.spans.append(span)
        self._line.setdefault(name)

    def _replace(self, record: Record, fields: Mapping[str, Any]) -> None:
        """Read a record that replaces fields of the session; new messages in it share its bytes."""
        self._title = text_field(fields, "summary") or self._title
        if not isinstance(fields.get("messages"), list):
            self._add_state(record, "$set")
            return
        listed = {each["id"]: each for each in fields["messages"] if isinstance(each, dict) and _is_message(each)}
        self._line = {name: None for name in self._line if name in listed}
        self._line |= {name: None for name in listed if name in self._messages}
        new = [value for name, value in listed.items() if name not in self._messages]
        if not new:
            self._add_state(record, "$set/messages")
        offset, end = record.span.offset, record.span.offset + record.span.length
        for number, value in enumerate(new):
            length = end - offset if number == len(new) - 1 else 1
            self._add(value, ByteRange(offset, length))
            offset += length

    def _add_state(self, record: Record, key: str) -> None:
        self._others.append(SessionRecord(key=key, spans=(record.span,), value=record.value))

    def _walk_drafts(self) -> Iterator[Draft]:
        """Yield the messages; the results of calls are in the record after them, or else in the answer itself."""
        answered = {str(each.get("id")) for message in self._messages.values() for each in _responses_of(message.value)}
        calls: dict[str, tuple[str, Mapping[str, Any]]] = {}  # the message of each call so far, and the call
        for message in self._messages.values():
            value, responses = message.value, _responses_of(message.value)
            parts = list(read_parts(value.get("content")))
            if value["type"] == "gemini":
                listed = _objects(value.get("toolCalls"))
                calls |= {str(call.get("id")): (message.key, call) for call in listed}
                late = [call for call in listed if str(call.get("id")) not in answered and call.get("result")]
                results = [(_result_of(call), call) for call in late]
                yield self._draft(message, _AGENT, ANSWER, [*_answer_parts(value, parts, listed)], results=results)
            elif responses:
                found = [calls.get(str(each.get("id")), _NO_CALL) for each in responses]
                read = [
                    (_with_agent(read_response(each, text_field(call, "status")), call), call)
                    for each, (_, call) in zip(responses, found, strict=True)
                ]
                reply_to = next((key for key, _ in found if key is not None), None)
                yield self._draft(message, TOOL, RESULTS, [], results=read, reply_to=reply_to)
            elif value["type"] == "user":
                injected = _text_of(value).startswith(_CONTEXT)
                yield self._draft(message, INJECTED if injected else HUMAN, META if injected else PROMPT, parts)
            else:
                yield self._draft(message, _HARNESS, ERROR if value["type"] == "error" else "notice", parts)

    def _draft(
        self,
        message: _Message,
        author: Author,
        kind: str,
        parts: list[Part],
        *,
        results: Sequence[tuple[Part, Mapping[str, Any]]] = (),
        reply_to: str | None = None,
    ) -> Draft:
        """Return a message; `results` come after the other parts, each with its call, which is empty if unknown."""
        value, time = message.value, time_field(message.value)
        parent = None if message.parent is None else self._messages[message.parent].key
        known = [(result, read_call(call)) for result, call in results if call]
        tools = {str(call.fields["name"]) for _, call in known}
        done = [(call, result) for result, call in known if result.fields.get("is_error") is not True]
        return Draft(
            key=message.key,
            parent=parent,
            author=author,
            kind=kind,
            parts=(*parts, *(result for result, _ in results)),
            spans=tuple(message.spans),
            native_ids=(value["id"],),
            time=time,
            precision="none" if time is None else "exact",
            reply_to=None if reply_to == parent else reply_to,
            files=tuple(dict.fromkeys(touch for call, result in done for touch in touches_of_call(call, result))),
            model=text_field(value, "model"),
            usage=read_usage(object_field(value, "tokens")) if kind == ANSWER else None,
            status="error" if kind == ERROR else None,
            tool=tools.pop() if len(tools) == 1 else None,
            cwd=self._cwd,
        )


def _is_message(value: Mapping[str, Any]) -> bool:
    return text_field(value, "type") in _TYPES and text_field(value, "id") is not None and "content" in value


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _messages_of(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages in a record, which may be one, or replace them."""
    fields = object_field(value, "$set")
    return [*filter(_is_message, _objects(fields["messages"]) if "messages" in fields else [dict(value)])]


def _text_of(value: Mapping[str, Any]) -> str:
    return "\n".join(part.text for part in read_parts(value.get("content")) if part.type == "text").lstrip()


def _responses_of(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the function responses of a user record that has nothing else."""
    content = value.get("content")
    blocks = content if isinstance(content, list) and value.get("type") == "user" else []
    responses = _objects([each.get("functionResponse") for each in _objects(blocks)])
    return responses if len(responses) == len(blocks) else []


def _answer_parts(value: Mapping[str, Any], content: list[Part], calls: list[dict[str, Any]]) -> Iterator[Part]:
    """Yield the parts of an answer: its thoughts, its content, and its calls, which a checkpoint has in both places."""
    for thought in _objects(value.get("thoughts")):
        texts = [text_field(thought, "subject"), text_field(thought, "description")]
        yield Part("reasoning", {"text": "\n\n".join(filter(None, texts))})
    listed = [read_call(call) for call in calls]
    known = {part.fields.get("call_id") for part in listed} - {None}
    yield from (part for part in content if part.type != "tool_call" or part.fields.get("call_id") not in known)
    yield from listed


def _result_of(call: Mapping[str, Any]) -> Part:
    """Return the result of a call that no record after it has."""
    results = call.get("result")
    first = results[0] if isinstance(results, list) and results and isinstance(results[0], dict) else {}
    response = {"id": call.get("id"), "name": call.get("name"), **object_field(first, "functionResponse")}
    return _with_agent(read_response(response, text_field(call, "status")), call)


def _with_agent(result: Part, call: Mapping[str, Any]) -> Part:
    """Return a result with the id of the sub-agent that its call started, if it did."""
    agent = text_field(call, _AGENT_FIELD)
    return result if agent is None else Part(result.type, {**result.fields, "structured": {_AGENT_FIELD: agent}})


def _directory_of(value: Mapping[str, Any]) -> str | None:
    """Return the first directory of the workspace, if a record has a list of them."""
    listed = value.get("directories") or object_field(value, "$set").get("directories")
    first = listed[0] if isinstance(listed, list) and listed else None
    return first if isinstance(first, str) and first else None


def _find_project_root(path: str) -> str | None:
    """Return the directory of the project of a session file, by the files that Gemini CLI keeps beside it."""
    chats = os.path.dirname(path)
    chats = chats if os.path.basename(chats) == _CHATS else os.path.dirname(chats)
    if os.path.basename(chats) != _CHATS:
        return None
    folder = os.path.dirname(chats)
    marked = _read(os.path.join(folder, ".project_root"), _MAX_MARKER).strip()
    if os.path.isabs(marked) and "\n" not in marked:
        return marked
    top, name = os.path.split(folder)
    try:
        registry = decode(_read(os.path.join(os.path.dirname(top), "projects.json"), _MAX_REGISTRY))
    except (ValueError, RecursionError):
        return None
    listed = object_field(registry, "projects") if isinstance(registry, dict) else {}
    paths = [path for path in listed if os.path.isabs(path)]
    named = (path for path in paths if listed[path] == name)
    hashed = (path for path in paths if sha256(path.encode("utf-8", "surrogatepass")).hexdigest() == name)
    return next(named, next(hashed, None))


def _read(path: str, limit: int) -> str:
    """Return the text of a file that may be missing or damaged; then it is empty."""
    try:
        return read_regular(path, limit).decode()
    except (OSError, ScopesError, UnicodeDecodeError):
        return ""
