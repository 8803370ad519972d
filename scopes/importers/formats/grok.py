"""The Grok format: `chat_history.jsonl` of a session, which has what the model sees. It has no times and no tokens."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Format, Source, StandardFolders, find_below
from scopes.importers.formats.events import Event, Session
from scopes.importers.formats.fields import (
    call_id_of,
    list_field,
    object_field,
    read_arguments,
    read_file,
    short_word,
    text_field,
)
from scopes.importers.formats.records import Record, digest_of_record, first_records
from scopes.importers.formats.run_builder import (
    ANSWER,
    HUMAN,
    INJECTED,
    PROMPT,
    OpenMessage,
    RunBuilder,
    read_beginning,
    walk_session,
)
from scopes.model.message import Author, Part

NAME = "grok"
_AGENT = Author(NAME, "agent")
_FILE = re.compile(r"(?:.*[/\\])?([0-9a-fA-F]{8}-[0-9a-fA-F-]{20,40})[/\\]chat_history\.jsonl", re.DOTALL)
_WORKSPACE = re.compile(r"^Workspace Path: (\S[^\n]{0,4000})$", re.MULTILINE)
_MARKS = frozenset({"synthetic_reason", "prompt_index"})


def _find_session(top: str, session: str) -> str | None:
    """Return the file of a session in the folder of any project; None if there is none."""
    return find_below(top, session, lambda name: name == "chat_history.jsonl")


class Grok(Format):
    """Grok CLI (Grok Build)."""

    name = NAME
    file_suffixes = (".jsonl",)
    standard_folders = StandardFolders(AGENTS[NAME], ("sessions",), _find_session)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        marks = (b'"synthetic_reason"', b'"prompt_index"', b'"model_id"', b'"tool_type"')
        return any(mark in head for mark in marks) and any(map(_is_record, first_records(head)))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        yield from walk_session(source, _Reader(source.path, first_records(read_beginning(source))))


class _Reader:
    """Turns records into events; reasoning and calls of the server belong to the answer behind them."""

    def __init__(self, path: str, head: list[dict[str, Any]]) -> None:
        self._builder = RunBuilder(is_stream=False)
        self._builder.cwd = _find_workspace(head)
        file = _FILE.fullmatch(path)
        self.session = Session(
            format=NAME,
            native_id=file[1] if file is not None else digest_of_record(_beginning(head)),
            cwd=self._builder.cwd,
        )
        self._readers: dict[str, Callable[[Record, dict[str, Any]], None]] = {
            "system": self._read_system,
            "user": self._read_prompt,
            "reasoning": self._read_reasoning,
            "assistant": self._read_answer,
            "tool_result": self._read_result,
            "backend_tool_call": self._read_server_call,
        }

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next record; yield the events that are complete."""
        value = record.value or {}
        kind = text_field(value, "type")
        if kind in self._readers:
            self._readers[kind](record, value)
        else:
            self._builder.reject(
                record, None if kind is None else f"a record of the unknown type {short_word(value, 'type')}"
            )
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish()

    def _read_system(self, record: Record, value: dict[str, Any]) -> None:
        self._builder.begin(record, INJECTED, "system", _read_content(value.get("content")))

    def _read_prompt(self, record: Record, value: dict[str, Any]) -> None:
        injected = text_field(value, "synthetic_reason") is not None
        found = self._builder.begin(
            record, INJECTED if injected else HUMAN, PROMPT, list(_read_content(value.get("content")))
        )
        stopped = text_field(value, "prior_turn_interrupt")
        if stopped is not None:
            found.extra["prior_turn_interrupt"] = stopped

    def _read_reasoning(self, record: Record, value: dict[str, Any]) -> None:
        texts = [text_field(each, "text") for each in list_field(value, "summary") if isinstance(each, dict)]
        opaque = text_field(value, "encrypted_content")
        fields = {"text": "\n\n".join(filter(None, texts)), **({} if opaque is None else {"opaque": opaque})}
        self._add_to_answer(record, [Part("reasoning", fields)]).add_ids(text_field(value, "id"))

    def _read_server_call(self, record: Record, value: dict[str, Any]) -> None:
        """Add a call that the server made itself; its result is not in the file."""
        kind = object_field(value, "kind")
        name = text_field(kind, "tool_type")
        if name is None:
            self._add_to_answer(record, [Part("raw", {"json": value})])
            return
        fields = {**call_id_of(kind, "id"), "name": name, "input": kind.get("action")}
        self._add_to_answer(record, [Part("tool_call", fields)])

    def _read_answer(self, record: Record, value: dict[str, Any]) -> None:
        parts = [part for part in _read_content(value.get("content")) if part.type != "text" or part.text]
        parts += map(_read_call, list_field(value, "tool_calls"))
        found = self._add_to_answer(record, parts)
        found.answer = "whole"
        found.model = text_field(value, "model_id")

    def _add_to_answer(self, record: Record, parts: list[Part]) -> OpenMessage:
        """Add parts to the open answer, unless that is whole."""
        found = self._builder.continues(ANSWER)
        if found is None:
            return self._builder.begin(record, _AGENT, ANSWER, parts)
        self._builder.add(record, parts)
        return found

    def _read_result(self, record: Record, value: dict[str, Any]) -> None:
        part = Part("tool_result", {**call_id_of(value, "tool_call_id"), "output": value.get("content")})
        self._builder.add_result(record, [part])


def _is_record(value: Mapping[str, Any]) -> bool:
    match value.get("type"):
        case "user":
            return isinstance(value.get("content"), list) and not value.keys().isdisjoint(_MARKS)
        case "assistant":
            return text_field(value, "model_id") is not None and isinstance(value.get("content"), str)
        case "backend_tool_call":
            return text_field(object_field(value, "kind"), "tool_type") is not None
    return False


def _find_workspace(head: list[dict[str, Any]]) -> str | None:
    """Return the directory of the session, which Grok tells the model in front of the first prompt."""
    for value in head:
        if text_field(value, "synthetic_reason") is not None:
            for part in _read_content(value.get("content")):
                if (found := _WORKSPACE.search(part.text)) is not None:
                    return found[1]
    return None


def _beginning(head: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records up to the first prompt that was typed: those before it are equal in many sessions."""
    typed = [value.get("type") == "user" and "synthetic_reason" not in value for value in head]
    return head[: typed.index(True) + 1] if True in typed else head[:1]


def _read_call(call: Any) -> Part:
    match call:
        case {"name": str(name)}:
            return Part("tool_call", {**call_id_of(call, "id"), "name": name, **read_arguments(call.get("arguments"))})
    return Part("raw", {"json": call})


def _read_content(content: object) -> Iterator[Part]:
    blocks: list[Any] = content if isinstance(content, list) else [content] if content is not None else []
    for block in blocks:
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                yield Part("text", {"text": text})
            case {"type": "image", "url": str(url)}:
                yield read_file("image", url)
            case _:
                yield Part("raw", {"json": block})
