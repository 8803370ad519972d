"""The parts of a message in a transcript: text as it is, everything else folded, whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scopes.exporters.markdown_escape import code_span, contain, fenced, hypertext, plain
from scopes.model.message import FileTouch, Part

_LONGEST_SUMMARY = 80


def write_part(part: Part) -> str:
    """Write one part; empty where it holds nothing to read."""
    fields = part.fields
    match part.type:
        case "text":
            written = contain(part.text).strip("\n")
        case "reasoning":
            written = _folded("Reasoning", part.text, contain(part.text).strip("\n")) if part.text else ""
        case "tool_call":
            written = _fold_value(f"Tool call: {_text(fields.get('name'))}", _value(fields, "input"))
        case "tool_result":
            written = _fold_value(_outcome(fields), _value(fields, "output"))
        case "image" | "file":
            known = (part.type, fields.get("media_type"), fields.get("path"))
            written = f"*[{plain(' '.join(_text(word) for word in known if word))}]*"
        case "file_ref":
            written = _write_reference(fields)
        case _:
            written = _fold_value(part.type, dict(fields))
    return written


def write_document(kind: str, document: Mapping[str, Any]) -> str:
    """Write the document of a typed message."""
    return _folded(f"Document: {kind}", "", fenced(_text(dict(document)), "json"))


def write_files(files: tuple[FileTouch, ...]) -> str:
    """Write which files were touched."""
    touched = (
        f"{plain(t.op)} {code_span(t.path)}" + (f" from {code_span(t.source)}" if t.source is not None else "")
        for t in files
    )
    return f"Files: {', '.join(touched)}"


def _write_reference(fields: Mapping[str, Any]) -> str:
    named = write_files((FileTouch(_text(fields.get("path")), _text(fields.get("op"))),))
    patch = _text(fields.get("patch"))
    return f"{named}\n\n{_folded('Patch', '', fenced(patch, 'diff'))}" if patch else named


def _outcome(fields: Mapping[str, Any]) -> str:
    label = "Error" if fields.get("is_error") is True else "Result"
    return label if fields.get("exit_code") is None else f"{label} (exit code {_text(fields['exit_code'])})"


def _fold_value(label: str, value: Any) -> str:
    """Fold what a tool was given or gave back: text as it is, anything else as JSON."""
    if isinstance(value, list) and value and all(isinstance(b, dict) and isinstance(b.get("text"), str) for b in value):
        value = "\n".join(block["text"] for block in value)
    if value is None or isinstance(value, str):
        return _folded(label, value or "", fenced(value or ""))
    return _folded(label, json.dumps(value, ensure_ascii=False), fenced(_text(value), "json"))


def _folded(label: str, preview: str, body: str) -> str:
    first = preview.strip().partition("\n")[0]
    more = f"{first[:_LONGEST_SUMMARY]}…" if len(first) > _LONGEST_SUMMARY else first
    summary = hypertext(f"{label}: {more}" if more else label)
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def _value(fields: Mapping[str, Any], name: str) -> Any:
    return fields.get(name, fields.get(f"{name}_text"))


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)
