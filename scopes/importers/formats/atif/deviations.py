"""Say in what a trajectory differs from the ATIF specification; nothing is refused because of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.object_lists import ObjectList

_AGENT_ONLY = ("model_name", "reasoning_content", "tool_calls", "metrics")


def list_deviations(found: ObjectList) -> list[str]:
    """Return each kind of deviation once, in the order of the document."""
    steps = (each for value in found.values() for each in _of_step(value))
    return list(dict.fromkeys([*_of_document(found), *_of_numbers(found), *steps]))


def _of_document(found: ObjectList) -> Iterator[str]:
    if not str(found.members.get("schema_version")).startswith("ATIF-v"):
        yield "schema_version is not ATIF-v1"
    agent = object_field(found.members, "agent")
    if text_field(agent, "name") is None or text_field(agent, "version") is None:
        yield "the agent has no name or no version"
    if text_field(found.members, "session_id") is None and text_field(found.members, "trajectory_id") is None:
        yield "there is no session_id"


def _of_numbers(found: ObjectList) -> Iterator[str]:
    numbers = [value.get("step_id") for value in found.values()]
    if numbers != list(range(1, len(numbers) + 1)):
        yield "step_id does not count from 1"


def _of_step(value: Mapping[str, Any]) -> Iterator[str]:
    if value.get("source") != "agent" and any(value.get(name) for name in _AGENT_ONLY):
        yield "a step of another source than the agent has fields of an answer"
    calls = value.get("tool_calls")
    listed = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    if any("tool_call_id" not in call or "function_name" not in call for call in listed):
        yield "a tool call has no tool_call_id or no function_name"
    observation = value.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    if observation is not None and not isinstance(results, list):
        yield "an observation has no results"
    names = {str(call.get("tool_call_id")) for call in listed}
    listed_results = results if isinstance(results, list) else []
    known = [result.get("source_call_id") for result in listed_results if isinstance(result, dict)]
    if any(name is not None and str(name) not in names for name in known):
        yield "a result names a call that its step does not have"
