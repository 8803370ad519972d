"""Format a tool call as one line: its name, its most informative argument and its outcome."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scopes.model.agent_tools import PATCH_MARKS, STEP_LISTS, STEP_TEXTS
from scopes.render.text.phrases import counted
from scopes.render.text.tool_outcome import call_failed, outcome_spans
from scopes.render.view import Span
from scopes.render.wrap import truncate_text
from scopes.sanitize import clean_line

if TYPE_CHECKING:
    from scopes.model.message import Part

_ARGUMENTS = (
    "command", "cmd", "file_path", "filePath", "notebook_path", "pattern", "query", "url", "path", "skill",
    "subject", "title", "plan", "description", "chars", "message", "prompt", "question", "name", "server",
)  # fmt: skip
_PATHS = frozenset({"file_path", "filePath", "notebook_path", "path"})
_WITHIN = frozenset({"pattern", "query"})  # arguments that are searched for in a path
_MAX_CHARACTERS = 1000
_MIN_WIDTH = 12  # cells of an argument that are worth showing

Line = tuple[Span, ...]


def call_line(part: Part, results: Iterable[Part] = (), room: int | None = None) -> Line:
    """Return a tool call as one line of at most `room` cells: name, main argument, outcome."""
    name = Span(_text(part.fields.get("name")) or "unknown tool", "key")
    ended = outcome_spans(part.fields.get("call_id"), results)
    text, is_path = main_argument(part)
    argument = clean_line(text)[:_MAX_CHARACTERS]
    if room is not None and argument:
        used = sum(len(clean_line(span.text)) for span in ended) + len(clean_line(name.text)) + 3
        argument = truncate_text(argument, max(room - used, _MIN_WIDTH), tail=is_path)
    return Span("→ "), name, *((Span(f" {argument}"),) if argument else ()), *ended


def calls_line(calls: Sequence[Part], results: tuple[Part, ...], room: int | None) -> Line:
    """Return the first call of a message, and the number of further and failed calls."""
    more = len(calls) - 1
    failed = sum(call_failed(call.fields.get("call_id"), results) for call in calls[1:])
    rest = (Span(f" · {more} more", "dim"),) if more else ()
    if failed:
        rest = (*rest, Span(f", {failed} failed", "bad"))
    used = sum(len(span.text) for span in rest)
    return *call_line(calls[0], results, None if room is None else room - used), *rest


def main_argument(part: Part) -> tuple[str, bool]:
    """Return the most informative argument of a call, and whether it is a path (truncated at its start)."""
    value = part.fields.get("input")
    if not isinstance(value, Mapping):
        return _first_line(_patched_files(_text(value if value is not None else part.fields.get("input_text")))), False
    for name in STEP_LISTS:
        if isinstance(value.get(name), list):
            return _todo_progress(value[name]), False
    for name in _ARGUMENTS:
        if value.get(name):
            text = _first_line(_argument_text(value[name]))
            within = value.get("path") if name in _WITHIN else value.get("subagent_type")
            if name == "description" and isinstance(within, str):
                return f"{within}: {text}", False
            return (f"{text} in {within}" if name in _WITHIN and within else text), name in _PATHS
    arguments = {name: _first_line(_argument_text(given)) for name, given in value.items()}
    return ", ".join(f"{name}: {text}" for name, text in arguments.items() if text), False


def _todo_progress(steps: list[Any]) -> str:
    """Return the progress of a to-do list: `2 of 5 steps done, now: ...`."""
    known = [step for step in steps if isinstance(step, Mapping)]
    done = sum(step.get("status") == "completed" for step in known)
    now = next((step for step in known if step.get("status") == "in_progress"), {})
    progress = f"{done} of {counted(len(steps), 'step')} done"
    current = _text(next(filter(None, map(now.get, STEP_TEXTS)), None))
    return f"{progress}, now: {_first_line(current)}" if current else progress


def _patched_files(text: str) -> str:
    """Return the files that a patch touches; other text is returned unchanged."""
    if not text.startswith("*** Begin Patch"):
        return text
    lines = text.splitlines()
    return ", ".join(
        word + line[len(mark) :] for line in lines for mark, word in PATCH_MARKS.items() if line.startswith(mark)
    )


def _argument_text(value: Any) -> str:
    """Return a command given as a list joined by blanks, without a wrapping shell."""
    if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
        return value[2] if len(value) == 3 and value[1] in {"-c", "-lc"} else " ".join(value)
    return _text(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _first_line(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    return f"{first} …" if rest else first
