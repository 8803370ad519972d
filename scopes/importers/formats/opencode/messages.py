"""Convert a message of OpenCode, as an export and its own records have it: an object `info` and a list `parts`."""

from __future__ import annotations

from typing import Any

from scopes.importers.formats.fields import object_field, text_field
from scopes.importers.formats.json_lines import Record
from scopes.importers.formats.opencode.parts import error_text, read_part, read_usage
from scopes.importers.formats.run_builder import (
    ANSWER,
    ERROR,
    HUMAN,
    INJECTED,
    META,
    PROMPT,
    RunBuilder,
    time_of_milliseconds,
)
from scopes.model.message import Author, Part

NAME = "opencode"
AGENT = Author(NAME, "agent")
HARNESS = Author(NAME, "system")
_COMPACTION = "compaction"


def add_message(builder: RunBuilder, record: Record, value: dict[str, Any]) -> None:
    """Begin a message, or reject the record if its role is not known."""
    info, listed = object_field(value, "info"), value.get("parts")
    blocks = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    parts = [each for part in blocks for each in read_part(part)]
    time = time_of_milliseconds(object_field(info, "time").get("created"))
    role = info.get("role")
    if role == "user":
        author, kind = _speaker_of(blocks)
        builder.begin(record, author, kind, parts, time=time).add_ids(text_field(info, "id"))
    elif role == "assistant":
        _add_answer(builder, record, info, parts, time)
    else:
        builder.reject(record, "a message without a known role")


def _speaker_of(blocks: list[dict[str, Any]]) -> tuple[Author, str]:
    """Return who wrote a user message: a person, or OpenCode, which asks for a summary or adds text of its own."""
    if any(block.get("type") == _COMPACTION for block in blocks):
        return INJECTED, META
    texts = [block for block in blocks if block.get("type") == "text"]
    return (INJECTED, META) if texts and all(block.get("synthetic") is True for block in texts) else (HUMAN, PROMPT)


def _add_answer(builder: RunBuilder, record: Record, info: dict[str, Any], parts: list[Part], time: str | None) -> None:
    failed = isinstance(info.get("error"), dict)
    if failed:
        parts.append(Part("text", {"text": error_text(info["error"])}))
    is_error = failed and len(parts) == 1
    is_summary = info.get("summary") is True and not is_error
    kind = ERROR if is_error else _COMPACTION if is_summary else ANSWER
    found = builder.begin(record, HARNESS if is_error else AGENT, kind, parts, time=time)
    found.context_root = is_summary
    found.status = "error" if failed else None
    found.add_ids(text_field(info, "id"))
    found.model = text_field(info, "modelID")
    found.stop_reason = "error" if failed else text_field(info, "finish")
    found.usage = read_usage(object_field(info, "tokens"))
    found.cwd = text_field(object_field(info, "path"), "cwd") or builder.cwd
