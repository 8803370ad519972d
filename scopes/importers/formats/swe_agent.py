"""The SWE-agent format: `.traj` files, with the messages under `history`.

`trajectory` repeats the same turns, so it is only kept. A file has no times and no session id, and it is rewritten
after each step: the session is named by its messages up to the first answer. The token counts are those of the whole
run; its last answer gets them when the run has ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.base import Format, Source
from scopes.importers.formats.documents import ObjectList, Shape, read_in_order, walk_sessions
from scopes.importers.formats.events import Event, RunEnd, Session
from scopes.importers.formats.fields import (
    count_field,
    list_field,
    number_field,
    object_field,
    output_of,
    read_counts,
    short_word,
    text_field,
)
from scopes.importers.formats.openai import read_answer, read_content
from scopes.importers.formats.records import Record, decode_object, digest_of_values
from scopes.importers.formats.run_builder import (
    ANSWER,
    HUMAN,
    INJECTED,
    META,
    PROMPT,
    OpenMessage,
    RunBuilder,
)
from scopes.model.message import Author, Part

NAME = "swe-agent"
_AGENT = Author(NAME, "agent")
_TRAJECTORY = re.compile(
    rb'\s*\{\s*(?:"environment"\s*:\s*"[^"\\]{0,200}"\s*,\s*)?"trajectory"\s*:\s*\[\s*\{\s*"action"'
)
_SHELL = "bash"  # an action without a tool call is a command line of SWE-agent's shell
_LIMITS = ("exit_cost", "exit_context", "exit_time", "exit_total_execution_time", "exit_command_timeout")


class SweAgent(Format):
    """SWE-agent since 0.5."""

    name = NAME
    file_suffixes = (".traj", ".json")

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        if _TRAJECTORY.match(head) is not None:
            return b'"observation"' in head
        return b'"history"' in head and _SHAPE.recognizes(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session, its drafts and an Ending."""
        yield from walk_sessions(source, _SHAPE, NAME, lambda found: read_in_order(found, _Reader(found)))


def _is_known(found: ObjectList) -> bool:
    """Return True for a history with the fields of SWE-agent, or a trajectory of it without a history yet."""
    step = found.beginnings.get("trajectory")
    if isinstance(step, dict) and {"action", "observation"} <= step.keys():
        return True
    return any("role" in value and ("agent" in value or "message_type" in value) for value in found.values())


_SHAPE = Shape(("history",), _is_known)


class _Reader:
    """Turns the messages of one history into events."""

    def __init__(self, found: ObjectList) -> None:
        self._info = object_field(found.members, "info")
        config = _read_config(found.members.get("replay_config"))
        problem = object_field(config, "problem_statement")
        self._builder = RunBuilder(is_stream=False)
        self._builder.cwd = _directory_of(found.beginnings.get("trajectory"))
        self._builder.model = text_field(object_field(object_field(config, "agent"), "model"), "name")
        self._answer: OpenMessage | None = None
        self._action: str | None = None  # the call id of the last action, which its observation does not name
        self.session = Session(
            format=NAME,
            native_id=digest_of_values(_beginning(found)),
            cwd=self._builder.cwd,
            title=text_field(problem, "id"),
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next message; yield the events that are complete."""
        value = record.value if isinstance(record.value, dict) else {}
        role = text_field(value, "role")
        if record.problem is not None or role not in {"system", "user", "assistant", "tool"}:
            self._builder.reject(record, f"a message in the role {short_word(value, 'role')}")
        elif value.get("is_demo") is True:
            self._builder.begin(record, INJECTED, META, read_content(value.get("content")))
        elif role == "assistant":
            self._read_answer(record, value)
        elif role == "system":
            self._builder.begin(record, INJECTED, "system", read_content(value.get("content")))
        elif role == "tool" or self._action is not None:
            self._read_result(record, value)
        else:
            author, kind = (HUMAN, PROMPT) if self._answer is None else (INJECTED, META)
            self._builder.begin(record, author, kind, read_content(value.get("content")))
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        end = _read_end(self._info)
        if end is not None and self._answer is not None and self._answer is self._builder.open:
            self._answer.usage = end.usage
        yield from self._builder.finish(run_end=end)

    def _read_answer(self, record: Record, value: Mapping[str, Any]) -> None:
        parts = [*_read_thinking(value), *read_answer(value)]
        action = text_field(value, "action")
        self._action = None
        if action is not None and not any(part.type == "tool_call" for part in parts):
            self._action = f"action-{record.number}"
            parts.append(Part("tool_call", {"call_id": self._action, "name": _SHELL, "input": {"command": action}}))
        self._answer = self._builder.begin(record, _AGENT, ANSWER, parts)

    def _read_result(self, record: Record, value: Mapping[str, Any]) -> None:
        names = [name for name in list_field(value, "tool_call_ids") if isinstance(name, str) and name]
        name = names[0] if names else text_field(value, "tool_call_id") or self._action
        self._action = None
        fields = {} if name is None else {"call_id": name}
        part = Part("tool_result", {**fields, "output": output_of(value.get("content"))})
        self._builder.add_result(record, [part])


def _beginning(found: ObjectList) -> Iterator[Any]:
    """Yield the messages up to the first answer that is not of a demonstration."""
    for value in found.values():
        yield value
        if value.get("role") == "assistant" and value.get("is_demo") is not True:
            return


def _read_config(config: object) -> dict[str, Any]:
    """Return the configuration of the run, which newer versions write as JSON in a string."""
    return config if isinstance(config, dict) else decode_object(config) or {}


def _directory_of(step: object) -> str | None:
    """Return the working directory in the first step; older versions write its state as JSON in a string."""
    state = step.get("state") if isinstance(step, dict) else None
    return text_field(_read_config(state), "working_dir")


def _read_thinking(value: Mapping[str, Any]) -> Iterator[Part]:
    for block in list_field(value, "thinking_blocks"):
        if isinstance(block, dict) and isinstance(block.get("thinking"), str):
            yield Part("reasoning", {"text": block["thinking"]})


def _read_end(info: Mapping[str, Any]) -> RunEnd | None:
    """Return how the run ended; None while it has not."""
    status = text_field(info, "exit_status")
    if status is None:
        return None
    stats = object_field(info, "model_stats")
    submitted = status == "submitted"
    return RunEnd(
        status="success" if submitted else "limit" if any(word in status for word in _LIMITS) else "error",
        detail="" if submitted else status,
        cost_usd=number_field(stats, "instance_cost"),
        turns=count_field(stats, "api_calls"),
        usage=read_counts(stats, {"tokens_sent": "input_uncached", "tokens_received": "output"}),
    )
