"""Read tool results: output, exit status, and the files that the tool touched."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from scopes.importers.formats.claude_code.record import call_id, is_result, read_part
from scopes.importers.formats.claude_code.tool_calls import ToolCall, ToolCalls
from scopes.importers.formats.fields import file_content_hash, object_field, text_field
from scopes.importers.formats.lossless_json import lossless_field
from scopes.model.message import FileTouch, Part

_CREATED = "File created"
_EXIT_CODE = re.compile(r"(?:Error: )?Exit code ([0-9]{1,9})\b")
_REDUNDANT_FIELDS = frozenset(
    {"stdout", "content", "prompt", "originalFile", "originalFileContents", "oldString", "newString", "edits"}
)  # the output or the call's input has the same text; the record's bytes are archived


@dataclass(slots=True)
class ParsedResults:
    """The tool results of one record; `message` is the message of the first call."""

    parts: list[Part] = field(default_factory=list)
    files: list[FileTouch] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    message: str | None = None
    status: str | None = None


def read_results(value: dict[str, Any], blocks: list[Any], calls: ToolCalls) -> ParsedResults:
    """Read a record of tool results; its `toolUseResult` belongs to the result if there is only one."""
    results = ParsedResults()
    structured = value.get("toolUseResult") if sum(map(is_result, blocks)) == 1 else None
    for block in blocks:
        if not is_result(block):
            results.parts.append(read_part(block))
            continue
        call = calls.take(block.get("tool_use_id"))
        results.parts.append(_read_result(block, structured))
        failed = block.get("is_error") is True
        results.files += _files_of_result(structured) or (
            [] if failed or call is None else _file_of_call(call, block.get("content"))
        )
        if call is not None:
            results.tools.append(call.name)
            results.message = results.message or call.message
        if failed:
            results.status = "error"
    if isinstance(structured, dict) and structured.get("interrupted") is True:
        results.status = "interrupted"
    return results


def _read_result(block: dict[str, Any], structured: object) -> Part:
    fields: dict[str, Any] = call_id(block, "tool_use_id")
    output = block.get("content")
    if "content" in block:
        fields |= lossless_field("output", output)
    if isinstance(block.get("is_error"), bool):
        fields["is_error"] = block["is_error"]
    exit_match = _EXIT_CODE.match(output) if isinstance(output, str) and block.get("is_error") is True else None
    if exit_match is not None:
        fields["exit_code"] = int(exit_match[1])
    extra = _structured_extra(structured, output)
    return Part("tool_result", fields if extra is None else {**fields, **lossless_field("structured", extra)})


def _structured_extra(result: object, output: object) -> object:
    """Return the fields of a structured result that the output does not have; None if there are none."""
    if isinstance(result, str):
        known = isinstance(output, str) and result.removeprefix("Error: ") in output
        return None if known else result
    if not isinstance(result, dict):
        return None if result == output else result
    added = {name: item for name, item in result.items() if name not in _REDUNDANT_FIELDS and item != output}
    if isinstance(added.get("file"), dict):
        added["file"] = {name: item for name, item in added["file"].items() if name not in {"content", "base64"}}
    return {name: item for name, item in added.items() if not _is_empty(item)} or None


def _is_empty(item: object) -> bool:
    return item is None or item is False or item in ("", [], {})


def _files_of_result(result: object) -> list[FileTouch]:
    """Return the file of a structured result, with a hash if the result contains the whole file."""
    if not isinstance(result, dict):
        return []
    seen = object_field(result, "file")
    if path := text_field(seen, "filePath"):
        whole = seen.get("startLine") == 1 and seen.get("numLines") == seen.get("totalLines")
        return [FileTouch(path, "read", file_content_hash(seen.get("content")) if whole else None)]
    if path := text_field(result, "notebook_path"):
        return [FileTouch(path, "edit", file_content_hash(result.get("updated_file")))]
    path = text_field(result, "filePath")
    if path is None or not result.keys() & {"structuredPatch", "originalFile", "originalFileContents"}:
        return []
    created = result.get("type") == "create" or result.get("oldString") == ""
    return [FileTouch(path, "create" if created else "edit", file_content_hash(result.get("content")))]


def _file_of_call(call: ToolCall, output: object) -> list[FileTouch]:
    """Return the file of the call, if the result names none."""
    if call.path is None or call.op is None:
        return []
    created = isinstance(output, str) and output.startswith(_CREATED)
    return [FileTouch(call.path, "create" if created else call.op, call.content_hash)]
