"""Describe a tool call by its name and its most informative argument, and tell whether it was refused."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from scopes.model.agent_tools import DENIALS, PATCH_MARKS, STEP_LISTS, STEP_TEXTS
from scopes.model.message import Message, Part
from scopes.result import plural

_ARGUMENTS = (
    "command", "cmd", "file_path", "filePath", "notebook_path", "pattern", "query", "url", "path", "skill",
    "subject", "title", "plan", "description", "chars", "message", "prompt", "question", "name", "server",
)  # fmt: skip
_PATHS = frozenset({"file_path", "filePath", "notebook_path", "path"})
_WITHIN = frozenset({"pattern", "query"})  # arguments that are searched for in a path
_DENIALS = [re.compile(pattern, re.DOTALL) for pattern in DENIALS]
_DENIAL_LENGTH = 5000  # characters at the beginning of an output


def summarize_calls(message: Message) -> str:
    """Return the first tool call of a message and the number of further ones; empty if it has none."""
    calls = [part for part in message.parts if part.type == "tool_call"]
    if not calls:
        return ""
    more = f" · {len(calls) - 1} more" if len(calls) > 1 else ""
    return " ".join(f"→ {tool_name(calls[0])} {main_argument(calls[0])[0]}".split()) + more


def tool_name(part: Part) -> str:
    """Return the name of the tool that a call names."""
    return _text(part.fields.get("name")) or "unknown tool"


def main_argument(part: Part) -> tuple[str, bool]:
    """Return the most informative argument of a call, and whether it is a path (truncated at its start)."""
    value = part.fields.get("input")
    if not isinstance(value, Mapping):
        return _first_line(_patched_files(_text(value if value is not None else part.fields.get("input_text")))), False
    for name in STEP_LISTS:
        if isinstance(value.get(name), list):
            return _todo_progress(value[name]), False
    if isinstance(value.get("questions"), list):
        return _questions(value["questions"]), False
    for name in _ARGUMENTS:
        if value.get(name):
            text = _first_line(_argument_text(value[name]))
            within = value.get("path") if name in _WITHIN else value.get("subagent_type")
            if name == "description" and isinstance(within, str):
                return f"{within}: {text}", False
            return (f"{text} in {within}" if name in _WITHIN and within else text), name in _PATHS
    arguments = {name: _first_line(_argument_text(given)) for name, given in value.items()}
    return ", ".join(f"{name}: {text}" for name, text in arguments.items() if text), False


def is_refused(result: Part) -> bool:
    """Return True if a tool result says that the user, or a rule, refused the call: the tool did not run."""
    if result.fields.get("is_error") is False or result.fields.get("exit_code") == 0:
        return False
    output = result.fields.get("output")
    blocks = output if isinstance(output, list) else [output]
    texts = [block.get("text") if isinstance(block, Mapping) else block for block in blocks[:1]]
    beginning = "".join(text[:_DENIAL_LENGTH] for text in texts if isinstance(text, str))
    return any(pattern.match(beginning) for pattern in _DENIALS)


def _todo_progress(steps: list[Any]) -> str:
    """Return the progress of a to-do list: `2 of 5 steps done, now: ...`."""
    known = [step for step in steps if isinstance(step, Mapping)]
    done = sum(step.get("status") == "completed" for step in known)
    now = next((step for step in known if step.get("status") == "in_progress"), {})
    progress = f"{done} of {len(steps):,} {plural(len(steps), 'step')} done"
    current = _text(next(filter(None, map(now.get, STEP_TEXTS)), None))
    return f"{progress}, now: {_first_line(current)}" if current else progress


def _questions(asked: list[Any]) -> str:
    """Return the first question to the user and the number of further ones."""
    texts = [_text(each.get("question")) for each in asked if isinstance(each, Mapping)]
    more = f" · {len(texts) - 1} more" if len(texts) > 1 else ""
    return f"{_first_line(texts[0])}{more}" if texts else ""


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
