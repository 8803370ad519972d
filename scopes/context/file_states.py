"""Reconstruct the content of files at an earlier message from recorded tool calls and results (S1-8).

A tool call that writes a file, or a result that reads all of it, contains its content; an edit changes known content.
If a hash was recorded, only content with that hash is accepted. A file whose content cannot be derived is unknown: the
file in today's working tree is never used instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import new as new_hash
from typing import Any

from scopes.context.part_text import part_text
from scopes.model.message import FileTouch, Message

_PATH_FIELDS = ("file_path", "path", "filePath", "notebook_path")
_LINE_NUMBERS = re.compile(r"^ *[0-9]+(?:→|\t)", re.MULTILINE)
_MAX_CHARACTERS = 4 << 20
_ALGORITHMS = frozenset({"sha1", "sha256", "sha512", "md5"})

_ToolInput = Mapping[str, Any]


def file_states(messages: Iterable[Message]) -> dict[str, str]:
    """Return path -> content of every file whose content after the messages is known; messages are oldest first."""
    states: dict[str, str] = {}
    inputs: dict[str, _ToolInput] = {}
    for message in messages:
        outputs = []
        for part in message.parts:
            call_id = str(part.fields.get("call_id"))
            if part.type == "tool_call" and isinstance(part.fields.get("input"), Mapping):
                inputs[call_id] = part.fields["input"]
            elif part.type == "tool_result" and part.fields.get("is_error") is not True:
                outputs.append((inputs.pop(call_id, {}), part_text(part)))
        for touch in message.files:
            _apply_touch(states, touch, [each for each in outputs if _path_in(each[0]) in (None, touch.path)])
    return states


def has_hash(data: bytes, content_hash: str | None) -> bool:
    """Return True if data has the recorded hash, `<algorithm>:<hex>`."""
    algorithm, _, digest = (content_hash or "").partition(":")
    return algorithm in _ALGORITHMS and new_hash(algorithm, data, usedforsecurity=False).hexdigest() == digest.lower()


def _apply_touch(states: dict[str, str], touch: FileTouch, outputs: list[tuple[_ToolInput, str]]) -> None:
    """Set the content of a file after it was touched, or remove it if it is no longer known."""
    before = states.get(touch.path)
    if touch.op == "rename" and touch.source is not None:
        before = states.pop(touch.source, None)
    candidates = [text for text in _candidates(before, touch, outputs) if len(text) <= _MAX_CHARACTERS]
    if touch.content_hash is not None:
        candidates = [text for text in candidates if has_hash(text.encode("utf-8", "replace"), touch.content_hash)]
    states.pop(touch.path, None)
    if candidates and touch.op != "delete":
        states[touch.path] = candidates[0]


def _candidates(before: str | None, touch: FileTouch, outputs: list[tuple[_ToolInput, str]]) -> Iterator[str]:
    """Yield possible contents of a file; if there is no hash to check them with, only certain ones."""
    checked = touch.content_hash is not None
    for tool_input, output in outputs:
        if isinstance(tool_input.get("content"), str):
            yield tool_input["content"]
        edited = None if before is None else _apply_edits(before, tool_input)
        if edited is not None:
            yield edited
        if checked:
            plain = _LINE_NUMBERS.sub("", output)
            yield from (output, plain, f"{plain}\n")
    if before is not None and (checked or touch.op not in {"edit", "create"}):
        yield before


def _apply_edits(text: str, tool_input: _ToolInput) -> str | None:
    """Apply the edits of a tool call; None if the call is not an edit, or an edit does not apply."""
    edits = tool_input.get("edits", [tool_input])
    if not isinstance(edits, list) or not edits:
        return None
    for edit in edits:
        old, new = (edit.get(name) if isinstance(edit, Mapping) else None for name in ("old_string", "new_string"))
        if not isinstance(old, str) or not isinstance(new, str) or not old:
            return None
        occurrences = text.count(old)
        if occurrences != 1 and not (occurrences and edit.get("replace_all") is True):
            return None
        text = text.replace(old, new)
    return text


def _path_in(tool_input: _ToolInput) -> str | None:
    return next((tool_input[name] for name in _PATH_FIELDS if isinstance(tool_input.get(name), str)), None)
