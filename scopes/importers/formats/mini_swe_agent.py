"""The mini-swe-agent format: `.traj.json` files, whose messages hold the answers of the API under `extra`.

A file has no session id, and it is rewritten after each step: the session is named by its messages up to the first
answer. An answer without a usable call is in the message that complains about it; it becomes a message of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import Format, Source, StandardFolders
from scopes.importers.formats.documents import ObjectList, Shape, read_in_order, split_record, walk_sessions
from scopes.importers.formats.events import Event, RunEnd, Session
from scopes.importers.formats.fields import (
    count_field,
    number_field,
    object_field,
    read_openai_usage,
    short_word,
    text_field,
    time_of_seconds,
)
from scopes.importers.formats.openai import read_answer, read_content, read_result
from scopes.importers.formats.records import Record, digest_of_values
from scopes.importers.formats.run_builder import ANSWER, HUMAN, INJECTED, META, PROMPT, RunBuilder
from scopes.model.message import Author, Part

NAME = "mini-swe-agent"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_RESULT_TEXT = "<returncode>"  # begins a result of version 1, which is a message of the user
_FINISHED = ("Submitted", "submitted")
_LIMITS = ("LimitsExceeded", "TimeExceeded")


def _find_session(_top: str, _session: str) -> str | None:
    """Return None: a run has no id, and only the last one is kept."""
    return None


class MiniSweAgent(Format):
    """mini-swe-agent 1 and 2."""

    name = NAME
    file_suffixes = (".json", ".traj")
    standard_folders = StandardFolders(AGENTS[NAME], ("last_mini_run.traj.json",), _find_session)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return b"mini" in head and _SHAPE.recognizes(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session, its drafts and an Ending."""
        yield from walk_sessions(source, _SHAPE, NAME, lambda found: read_in_order(found, _Reader(found)))


def _is_known(found: ObjectList) -> bool:
    if str(found.members.get("trajectory_format")).startswith("mini-swe-agent"):
        return True
    return {"mini_version", "exit_status"} <= object_field(found.members, "info").keys()


_SHAPE = Shape(("messages",), _is_known)


class _Reader:
    """Turns the messages of one run into events."""

    def __init__(self, found: ObjectList) -> None:
        self._found = found
        self._info = object_field(found.members, "info")
        config = object_field(self._info, "config")
        self._is_interactive = "interactive" in str(config.get("agent_type"))
        self._builder = RunBuilder(is_stream=False)
        self._builder.cwd = text_field(object_field(config, "environment"), "cwd")
        self._builder.model = text_field(object_field(config, "model"), "model_name")
        self._prompted = False
        version = text_field(self._info, "mini_version")
        self.session = Session(
            format=NAME,
            native_id=digest_of_values(_beginning(found)),
            created=next(filter(None, map(_time_of, found.values())), None),
            cwd=self._builder.cwd,
            details={} if version is None else {"version": version},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next message; yield the events that are complete."""
        value = record.value if isinstance(record.value, dict) else {}
        role = text_field(value, "role")
        if record.problem is not None or role not in {"system", "user", "assistant", "tool", "exit"}:
            self._builder.reject(record, f"a message in the role {short_word(value, 'role')}")
        elif role == "assistant":
            self._read_answer(record, value, value, object_field(value, "extra").get("response"))
        elif role == "tool":
            self._read_result(record, value)
        elif role == "user":
            self._read_user(record, value)
        else:
            author, kind = (INJECTED, "system") if role == "system" else (_HARNESS, "notice")
            self._builder.begin(record, author, kind, read_content(value.get("content")), time=_time_of(value))
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        yield from self._builder.finish(run_end=_read_end(self._info))

    def _read_user(self, record: Record, value: Mapping[str, Any]) -> None:
        content, extra = value.get("content"), object_field(value, "extra")
        complaint = text_field(extra, "interrupt_type")
        answer = _answer_of(extra)
        if answer is not None:
            before, inside = split_record(self._found, record, "extra")
            self._read_answer(record._replace(span=inside), answer, value, extra["response"])
            record = record._replace(span=before)
        if isinstance(content, str) and content.startswith(_RESULT_TEXT) and self._prompted:
            self._read_result(record, value)
            return
        is_human = complaint is None and (self._is_interactive or not self._prompted)
        author, kind = (HUMAN, PROMPT) if is_human else (INJECTED, META)
        self._prompted = True
        self._builder.begin(record, author, kind, read_content(content), time=_time_of(value))

    def _read_answer(
        self, record: Record, message: Mapping[str, Any], value: Mapping[str, Any], response: object
    ) -> None:
        response = response if isinstance(response, dict) else {}
        found = self._builder.begin(record, _AGENT, ANSWER, read_answer(message), time=_time_of(value))
        found.add_ids(text_field(response, "id"))
        found.model = text_field(response, "model") or self._builder.model
        found.usage = read_openai_usage(object_field(response, "usage"))
        choices = response.get("choices")
        if isinstance(choices, list) and choices and isinstance(choices[0], dict):
            found.stop_reason = text_field(choices[0], "finish_reason")

    def _read_result(self, record: Record, value: Mapping[str, Any]) -> None:
        part = read_result(value)
        code = object_field(value, "extra").get("returncode")
        if type(code) is int:
            part = Part(part.type, {**part.fields, "exit_code": code, "is_error": code != 0})
        self._builder.add_result(record, [part], time=_time_of(value))


def _beginning(found: ObjectList) -> Iterator[Any]:
    """Yield the messages up to the first answer."""
    for value in found.values():
        yield value
        if value.get("role") == "assistant" or _answer_of(object_field(value, "extra")) is not None:
            return


def _answer_of(extra: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the model's answer that a complaint holds; None if there is none."""
    match extra.get("response"):
        case {"choices": [{"message": dict(message)}, *_]}:
            return message
    return None


def _time_of(value: Mapping[str, Any]) -> str | None:
    extra = object_field(value, "extra")
    return time_of_seconds(number_field(extra, "timestamp") or number_field(object_field(extra, "response"), "created"))


def _read_end(info: Mapping[str, Any]) -> RunEnd | None:
    """Return how the run ended; None while it has not."""
    status = text_field(info, "exit_status")
    if status is None:
        return None
    stats = object_field(info, "model_stats")
    submitted = status in _FINISHED
    return RunEnd(
        status="success" if submitted else "limit" if status in _LIMITS else "error",
        detail="" if submitted else status,
        cost_usd=number_field(stats, "instance_cost"),
        turns=count_field(stats, "api_calls"),
    )
