"""The Agent Trajectory Interchange Format (ATIF) of Harbor: one object with the `steps` of a run.

Producers deviate from the specification: what can be read is read. A step of the agent holds its answer and the results
of the calls; both are in one message.

The specification numbers steps and gives them no other id. A producer may add a `message_id`, as our own export does in
`extra`: that is the best id of the message. What a message is in the store follows from its content and its place, as
in every format, so a repeated import and one of a longer file find the same messages with and without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.base import Format, Source
from scopes.importers.formats.documents import ObjectList, Shape, read_in_order, walk_sessions
from scopes.importers.formats.events import Event, RunEnd, Session
from scopes.importers.formats.fields import (
    call_id_of,
    count_field,
    list_field,
    number_field,
    object_field,
    read_arguments,
    short_word,
    text_field,
    time_field,
)
from scopes.importers.formats.records import Record, digest_of_values
from scopes.importers.formats.run_builder import (
    ANSWER,
    HUMAN,
    INJECTED,
    META,
    PROMPT,
    RESULTS,
    TOOL,
    OpenMessage,
    RunBuilder,
)
from scopes.model.message import Author, Part

NAME = "atif"
_SOURCES = frozenset({"user", "agent", "system"})
_RESULT_OF = re.compile(r"Tool result for (\S{1,200})")  # how one producer names the call of a result


class Atif(Format):
    """ATIF 1.0 to 1.7, and files that are nearly so."""

    name = NAME
    file_suffixes = (".json",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return b'"steps"' in head and _SHAPE.recognizes(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session, its drafts and an Ending."""
        yield from walk_sessions(source, _SHAPE, NAME, lambda found: read_in_order(found, _Reader(found)))


def _is_known(found: ObjectList) -> bool:
    version = text_field(found.members, "schema_version")
    if version is not None and version.startswith("ATIF-v") and found.found:
        return True
    return any("step_id" in value and text_field(value, "source") in _SOURCES for value in found.values())


_SHAPE = Shape(("steps",), _is_known)


class _Reader:
    """Turns the steps of one trajectory into events."""

    def __init__(self, found: ObjectList) -> None:
        self._metrics = object_field(found.members, "final_metrics")
        agent = object_field(found.members, "agent")
        name = text_field(found.members, "session_id") or text_field(found.members, "trajectory_id")
        self._author = Author(text_field(agent, "name") or NAME, "agent")
        self._builder = RunBuilder(is_stream=False)
        self._builder.model = text_field(agent, "model_name") or text_field(agent, "model")
        version = text_field(agent, "version")
        self.session = Session(
            format=NAME,
            native_id=name or digest_of_values(value for value in list(found.values())[:2]),
            created=next(filter(None, map(time_field, found.values())), None),
            details={} if version is None else {"version": version},
        )

    def read(self, record: Record) -> Iterator[Event]:
        """Read the next step; yield the events that are complete."""
        value = record.value if isinstance(record.value, dict) else {}
        source = text_field(value, "source")
        if record.problem is not None or source not in _SOURCES:
            self._builder.reject(record, f"a step of the source {short_word(value, 'source')}")
        elif source == "agent":
            self._read_answer(record, value)
        elif source == "user":
            is_copied = value.get("is_copied_context") is True
            author, kind = (INJECTED, META) if is_copied else (HUMAN, PROMPT)
            self._begin(record, value, author, kind, list(_read_content(value.get("message"))))
        else:
            self._read_system(record, value)
        yield from self._builder.take_ready()

    def finish(self) -> Iterator[Event]:
        """Yield the last message and the Ending."""
        cost = number_field(self._metrics, "total_cost_usd")
        yield from self._builder.finish(run_end=None if cost is None else RunEnd("success", cost_usd=cost))

    def _begin(
        self, record: Record, value: Mapping[str, Any], author: Author, kind: str, parts: list[Part]
    ) -> OpenMessage:
        found = self._builder.begin(record, author, kind, parts, time=time_field(value))
        name = value.get("step_id")
        own = text_field(value, "message_id") or text_field(object_field(value, "extra"), "message_id")
        found.add_ids(own, str(name) if type(name) is int else text_field(value, "step_id"))
        return found

    def _read_answer(self, record: Record, value: Mapping[str, Any]) -> None:
        parts: list[Part] = []
        reasoning = text_field(value, "reasoning_content")
        if reasoning is not None:
            parts.append(Part("reasoning", {"text": reasoning}))
        parts += _read_content(value.get("message"))
        parts += map(_read_call, list_field(value, "tool_calls"))
        parts += _read_results(value.get("observation"))
        found = self._begin(record, value, self._author, ANSWER, parts)
        found.model = text_field(value, "model_name") or self._builder.model
        if value.get("is_copied_context") is not True:
            found.usage = _read_usage(object_field(value, "metrics"))

    def _read_system(self, record: Record, value: Mapping[str, Any]) -> None:
        """Read a step of the system: results if it has an observation, else text that the model was given."""
        parts = list(_read_results(value.get("observation")))
        message = value.get("message")
        if not parts:
            self._begin(record, value, INJECTED, "system", list(_read_content(message)))
            return
        named = _RESULT_OF.fullmatch(message) if isinstance(message, str) else None
        if named is None and message:
            parts = [*_read_content(message), *parts]
        elif named is not None and len(parts) == 1:
            parts = [Part("tool_result", {"call_id": named[1], **parts[0].fields})]
        if self._builder.continues(RESULTS) is None:
            self._begin(record, value, TOOL, RESULTS, parts)
        else:
            self._builder.add(record, parts)


def _read_content(content: object) -> Iterator[Part]:
    """Convert a message: a text, or since 1.6 a list of texts and images."""
    for block in content if isinstance(content, list) else [content] if content is not None else []:
        match block:
            case str(text) | {"type": "text", "text": str(text)}:
                if text:
                    yield Part("text", {"text": text})
            case {"type": "image", "source": {"path": str(path), "media_type": str(media)}}:
                yield Part("image", {"media_type": media, "path": path})
            case _:
                yield Part("raw", {"json": block})


def _read_call(call: object) -> Part:
    fields = call if isinstance(call, dict) else {}
    name = text_field(fields, "function_name") or text_field(fields, "name")
    if name is None:
        return Part("raw", {"json": call})
    known = call_id_of(fields, "tool_call_id") or call_id_of(fields, "id")
    return Part("tool_call", {**known, "name": name, **read_arguments(fields.get("arguments"))})


def _read_results(observation: object) -> Iterator[Part]:
    """Convert an observation: its results, or the one result that some producers write in their place."""
    if not isinstance(observation, dict):
        return
    results = observation.get("results")
    listed = results if isinstance(results, list) else [observation] if "content" in observation else []
    for result in listed:
        if not isinstance(result, dict):
            yield Part("raw", {"json": result})
            continue
        fields: dict[str, Any] = {**call_id_of(result, "source_call_id"), "output": result.get("content")}
        details = object_field(result, "result")
        if isinstance(details.get("success"), bool):
            fields["is_error"] = not details["success"]
        extra = object_field(result, "extra")  # where `export --format atif` writes what has no field
        fields |= {"is_error": True} if extra.get("is_error") is True else {}
        fields |= {"exit_code": extra["exit_code"]} if type(extra.get("exit_code")) is int else {}
        agents = result.get("subagent_trajectory_ref")
        if agents is not None:
            fields |= {"structured": {"subagent_trajectory_ref": agents}}
        yield Part("tool_result", fields)


def _read_usage(metrics: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the token counts of a step; `prompt_tokens` includes the cached ones. Ids and logprobs, lists, go."""
    names = ("prompt_tokens", "cached_tokens", "completion_tokens")
    given, cached, output = (count_field(metrics, name) or 0 for name in names)
    if not (given or output):
        return None
    counts = {"input_uncached": max(0, given - cached), "cache_read": cached, "output": output}
    short = {name: value for name, value in metrics.items() if not isinstance(value, list)}
    return {**counts, "raw": short}
