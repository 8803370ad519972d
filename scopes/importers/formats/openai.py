"""The OpenAI chat completions format: message lists, which other tools write too.

A conversation is an array of messages, or an object with such an array under `messages` or `traj`. A file has one
conversation, a sequence of them (JSON lines), or an array of them. Each message follows the previous one. Lists of
other programs look alike, so only what the API itself knows is taken: a list with the roles, contents and calls of
others, such as those of Cline, Roo Code and Amp, is not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import islice
from typing import Any

from scopes.importers.formats.base import Format, Source
from scopes.importers.formats.documents import ObjectList, Shape, read_in_order, walk_sessions
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import (
    call_id_of,
    list_field,
    read_arguments,
    read_file,
    short_word,
    text_field,
    time_field,
)
from scopes.importers.formats.records import Record
from scopes.importers.formats.run_builder import ANSWER, HUMAN, INJECTED, PROMPT, RESULTS, TOOL, RunBuilder
from scopes.model.message import Author, Part

NAME = "openai-messages"
_KINDS = {
    "system": ("system", INJECTED),
    "developer": ("system", INJECTED),
    "user": (PROMPT, HUMAN),
    "assistant": (ANSWER, Author(NAME, "agent")),
    "tool": (RESULTS, TOOL),
    "function": (RESULTS, TOOL),
}
_ID_NAMES = ("id", "conversation_id", "session_id", "thread_id")
_UNIQUE_LENGTH = 16  # a shorter id is rarely unique across files
_MAX_MEMBER = 4096  # characters of a member of the object around a list that is kept
_TIMES = ("timestamp", "created_at")
_FOREIGN_FIELDS = frozenset({"ts", "modelInfo", "messageId"})  # of messages of Cline and Roo Code; the last of Amp
_JUDGED = 20  # messages at the beginning of a list that show whose it is
_FOREIGN_TEXT = "<environment_details>"  # begins a text of Cline and Roo Code in a prompt
_FOREIGN_BLOCKS = frozenset({"tool_use", "tool_result", "thinking"})  # of the Anthropic API, which these programs write
_REASONING = ("reasoning_content", "reasoning")


class OpenAIMessages(Format):
    """Message lists of the OpenAI chat completions API."""

    name = NAME
    file_suffixes = (".json", ".jsonl")

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return _WITH_MESSAGES.recognizes(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session, its drafts and an Ending for every conversation."""
        yield from walk_sessions(source, _SHAPE, NAME, lambda found: read_in_order(found, _Reader(found)))


def _is_known(found: ObjectList) -> bool:
    """Return True for a whole list without elements, or one with a role and nothing that another program writes."""
    if not found.elements:
        return found.found and found.complete
    has_role = any(isinstance(value.get("role"), str) for value in found.values())
    return has_role and not any(map(_is_foreign, islice(found.values(), _JUDGED)))


def _is_foreign(value: Mapping[str, Any]) -> bool:
    if not _FOREIGN_FIELDS.isdisjoint(value):
        return True
    blocks = [block for block in list_field(value, "content") if isinstance(block, dict)]
    return any(
        text_field(block, "type") in _FOREIGN_BLOCKS or str(block.get("text")).startswith(_FOREIGN_TEXT)
        for block in blocks
    )


_SHAPE = Shape(("messages", "traj"), _is_known, bare=True)
_WITH_MESSAGES = _SHAPE._replace(is_known=lambda found: bool(found.elements) and _is_known(found))


class _Reader:
    """Turns the messages of one list into events."""

    def __init__(self, found: ObjectList) -> None:
        members = {
            name: value
            for name, value in found.members.items()
            if not isinstance(value, dict) and len(str(value)) < _MAX_MEMBER
        }
        own = (members.get(name) for name in _ID_NAMES)
        name = next((name for name in own if isinstance(name, str) and len(name) >= _UNIQUE_LENGTH), None)
        self._builder = RunBuilder(is_stream=False)
        self._builder.model = text_field(members, "model")
        self.session = Session(
            format=NAME,
            native_id=name or sha256(found.text.encode("utf-8", "surrogateescape")).hexdigest(),
            created=_time_of(members),
            title=text_field(members, "title"),
            details=members,
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next message; yield the events that are complete."""
        value = record.value if isinstance(record.value, dict) else {}
        role = text_field(value, "role")
        if record.problem is not None or role not in _KINDS:
            self._builder.reject(
                record, f"a message in the role {short_word(value, 'role')}" if value else "not a message"
            )
        else:
            self._read_message(record, value, str(role))
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending; the list may still grow."""
        yield from self._builder.finish()

    def _read_message(self, record: Record, value: Mapping[str, Any], role: str) -> None:
        kind, author = _KINDS[role]
        name, time = text_field(value, "name"), _time_of(value)
        if kind == RESULTS:
            found = self._builder.add_result(record, [read_result(value)], time=time)
            if name is not None:
                found.tools[name] = None
        else:
            parts = read_answer(value) if kind == ANSWER else read_content(value.get("content"))
            author = author if name is None else Author(name, author.kind)
            found = self._builder.begin(record, author, kind, parts, time=time)
        found.add_ids(text_field(value, "id"))
        found.extra |= {"role": role} if role == "developer" else {}


def _time_of(value: Mapping[str, Any]) -> str | None:
    return next((time for name in _TIMES if (time := time_field(value, name)) is not None), None)


def read_answer(message: Mapping[str, Any]) -> Iterator[Part]:
    """Convert an answer of the model: reasoning, text or refusal, and tool calls."""
    reasoning = next((text for name in _REASONING if (text := text_field(message, name)) is not None), None)
    if reasoning is not None:
        yield Part("reasoning", {"text": reasoning})
    yield from read_content(message.get("content"))
    if isinstance(message.get("refusal"), str):
        yield Part("text", {"text": message["refusal"], "refusal": True})
    for call in list_field(message, "tool_calls"):
        yield _read_call(call)
    if isinstance(message.get("function_call"), dict):
        yield _read_call({"function": message["function_call"]})


def read_content(content: object) -> Iterator[Part]:
    """Convert the content of a message: a string, or a list of parts. Unknown parts are kept raw."""
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                yield Part("text", {"text": text})
            case {"type": "refusal", "refusal": str(text)}:
                yield Part("text", {"text": text, "refusal": True})
            case {"type": "image_url", "image_url": {"url": str(url)} | str(url)}:
                yield read_file("image", url)
            case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
                yield Part("file", {"media_type": f"audio/{kind}", "data": data})
            case {"type": "file", "file": {"file_data": str(url)}}:
                yield read_file("file", url)
            case _:
                yield Part("raw", {"json": block})


def read_result(message: Mapping[str, Any]) -> Part:
    """Convert a tool result; the older form has no call id."""
    return Part("tool_result", {**call_id_of(message, "tool_call_id"), "output": message.get("content")})


def _read_call(call: Any) -> Part:
    match call:
        case {"function": {"name": str(name), **arguments}} | {"custom": {"name": str(name), **arguments}}:
            return Part("tool_call", {**call_id_of(call, "id"), "name": name, **_read_input(arguments)})
    return Part("raw", {"json": call})


def _read_input(call: Mapping[Any, Any]) -> dict[str, Any]:
    """Return the input of a call, with `custom` if the text does not show which kind of call it is."""
    is_custom = "arguments" not in call
    text = call.get("input")
    if is_custom:
        found = {"input_text": text} if isinstance(text, str) else {"input": text}
    else:
        found = read_arguments(call["arguments"])
    looks_custom = not str(found.get("input_text", "{")).lstrip().startswith("{")
    return found if "input_text" not in found or looks_custom == is_custom else {**found, "custom": is_custom}
