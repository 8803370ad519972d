"""The Agent Trajectory Interchange Format (ATIF) of Harbor: one object with the `steps` of a run.

Producers deviate from the specification, so a trajectory is checked softly: what can be read is read, and a note says
what is not as specified. A step of the agent holds its answer and the results of the calls; both are in one message.

The specification numbers steps and gives them no other id. A producer may add a `message_id`, as our own export does in
`extra`: that is the best id of the message. What a message is in the store follows from its content and its place, as
in every format, so a repeated import and one of a longer file find the same messages with and without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from scopes.importers.formats.atif.deviations import list_deviations
from scopes.importers.formats.base import Source
from scopes.importers.formats.events import Ending, Event, RunEnd, Session
from scopes.importers.formats.fields import number_field, object_field, text_field, time_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.lossless_json import lossless_field
from scopes.importers.formats.object_lists import (
    ObjectList,
    Shape,
    digest_of_values,
    read_in_order,
    short_word,
    walk_sessions,
)
from scopes.importers.formats.openai.parts import read_arguments
from scopes.importers.formats.run_builder import ANSWER, HUMAN, INJECTED, META, PROMPT, RESULTS, TOOL, RunBuilder
from scopes.model.message import Author, Part

NAME = "atif"
_SOURCES = frozenset({"user", "agent", "system"})
_RESULT_OF = re.compile(r"Tool result for (\S{1,200})")  # how one producer names the call of a result


class Atif:
    """ATIF 1.0 to 1.7, and files that are nearly so."""

    name = NAME
    file_suffixes = (".json",)
    standard_folders = None
    sub_agent_fields: tuple[str, ...] = ()

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


_SHAPE = Shape("steps", _is_known)


class _Reader:
    """Turns the steps of one trajectory into events."""

    def __init__(self, found: ObjectList) -> None:
        self._found = found
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
        """Yield the last message, and the Ending with a note about what is not as specified."""
        metrics = object_field(self._found.members, "final_metrics")
        cost = number_field(metrics, "total_cost_usd")
        deviations = list_deviations(self._found)
        notes = (f"not as ATIF is specified: {'; '.join(deviations)}",) if deviations else ()
        end = None if cost is None else RunEnd("success", cost_usd=cost)
        for event in self._builder.finish(run_end=end):
            yield replace(event, notes=notes) if isinstance(event, Ending) else event

    def _begin(self, record: Record, value: Mapping[str, Any], author: Author, kind: str, parts: list[Part]) -> None:
        found = self._builder.begin(record, author, kind, parts, time=time_field(value))
        name = value.get("step_id")
        own = text_field(value, "message_id") or text_field(object_field(value, "extra"), "message_id")
        found.add_ids(own, str(name) if type(name) is int else text_field(value, "step_id"))

    def _read_answer(self, record: Record, value: Mapping[str, Any]) -> None:
        parts: list[Part] = []
        reasoning = text_field(value, "reasoning_content")
        if reasoning is not None:
            parts.append(Part("reasoning", {"text": reasoning}))
        parts += _read_content(value.get("message"))
        calls = value.get("tool_calls")
        parts += map(_read_call, calls if isinstance(calls, list) else [])
        parts += _read_results(value.get("observation"))
        self._begin(record, value, self._author, ANSWER, parts)
        found = self._builder.open
        if found is not None:
            found.model = text_field(value, "model_name") or self._builder.model
            found.usage = None if value.get("is_copied_context") is True else _read_usage(value.get("metrics"))

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
                yield Part("raw", lossless_field("json", block))


def _read_call(call: object) -> Part:
    if not isinstance(call, dict):
        return Part("raw", lossless_field("json", call))
    name = text_field(call, "function_name") or text_field(call, "name")
    call_id = text_field(call, "tool_call_id") or text_field(call, "id")
    if name is None:
        return Part("raw", lossless_field("json", call))
    known = {} if call_id is None else {"call_id": call_id}
    return Part("tool_call", {**known, "name": name, **read_arguments(call.get("arguments"))})


def _read_results(observation: object) -> Iterator[Part]:
    """Convert an observation: its results, or the one result that some producers write in their place."""
    if not isinstance(observation, dict):
        return
    results = observation.get("results")
    listed = results if isinstance(results, list) else [observation] if "content" in observation else []
    for result in listed:
        if not isinstance(result, dict):
            yield Part("raw", lossless_field("json", result))
            continue
        call_id = text_field(result, "source_call_id")
        fields: dict[str, Any] = {} if call_id is None else {"call_id": call_id}
        fields |= lossless_field("output", result.get("content"))
        details = object_field(result, "result")
        if isinstance(details.get("success"), bool):
            fields["is_error"] = not details["success"]
        extra = object_field(result, "extra")  # where `export --format atif` writes what has no field
        fields |= {"is_error": True} if extra.get("is_error") is True else {}
        fields |= {"exit_code": extra["exit_code"]} if type(extra.get("exit_code")) is int else {}
        agents = result.get("subagent_trajectory_ref")
        if agents is not None:
            fields |= lossless_field("structured", {"subagent_trajectory_ref": agents})
        yield Part("tool_result", fields)


def _read_usage(metrics: object) -> dict[str, Any] | None:
    """Return the token counts of a step; `prompt_tokens` includes the cached ones."""
    if not isinstance(metrics, dict):
        return None
    names = ("prompt_tokens", "cached_tokens", "completion_tokens")
    found = (metrics.get(name) for name in names)
    given, cached, output = (count if type(count) is int and count >= 0 else 0 for count in found)
    if not (given or output):
        return None
    counts = {"input_uncached": max(0, given - cached), "cache_read": cached, "output": output}
    short = {
        name: value for name, value in metrics.items() if not isinstance(value, list)
    }  # ids and logprobs are lists
    return {**counts, **lossless_field("raw", short)}
