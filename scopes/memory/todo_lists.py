"""The plans that agents keep with a tool of theirs: a list of steps, written anew at every change.

It is told by its shape, not by the tool's name: a list under `todos` or `plan`, whose items have a text and a status.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from scopes.model.message import Message

_LISTS = ("todos", "plan")
_TEXTS = ("content", "step", "title")
_DONE = frozenset({"completed", "done", "cancelled"})


def find_plan(message: Message) -> dict[str, bool] | None:
    """Return the steps of the last plan in a message, each with whether it is done; None where it has no plan."""
    found = None
    for part in message.parts:
        if part.type == "tool_call":
            steps = dict(_walk_steps(part.fields.get("input")))
            found = steps or found
    return found


def _walk_steps(given: object) -> Iterator[tuple[str, bool]]:
    if isinstance(given, str) and any(f'"{name}"' in given for name in _LISTS):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return
    if not isinstance(given, Mapping):
        return
    listed = next((given[name] for name in _LISTS if isinstance(given.get(name), list | tuple)), ())
    for step in listed:
        if isinstance(step, Mapping) and isinstance(step.get("status"), str):
            text = next((step[name] for name in _TEXTS if isinstance(step.get(name), str)), "")
            if text.strip():
                yield " ".join(text.split()), step["status"].lower() in _DONE
