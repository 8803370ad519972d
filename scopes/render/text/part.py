"""Format the parts of a message that are not text: reasoning, tool calls and results, files, payload."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from scopes.model.tools import DIFFS, is_refused
from scopes.render.text.phrases import counted, format_size
from scopes.render.text.tool import call_line
from scopes.render.text.tool_outcome import result_line
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from scopes.model.message import FileTouch, Part
    from scopes.render.color import Style

if not TYPE_CHECKING:
    pass

INDENT = 4
_MAX_LINE_LENGTH = 1000
_SHORT = 60


def part_line(part: Part, results: tuple[Part, ...] = (), room: int | None = None) -> tuple[Span, ...]:
    """Return a part as one line; a tool call with its outcome if the results are given."""
    match part.type:
        case "reasoning":
            return (Span(format_reasoning(part.text), "dim"),)
        case "tool_call":
            return call_line(part, results, room)
        case "tool_result":
            return result_line(part, room)
        case "raw":
            return (Span(f"[raw, {format_size(len(_json(dict(part.fields), indent=None)))} of JSON]", "dim"),)
    return _heading(part)


def format_reasoning(text: str) -> str:
    """Return the first line of reasoning and its length; some agents do not record theirs."""
    if not text.strip():
        return "thinking: (not written down by its agent)"
    first, _, rest = text.strip().partition("\n")
    long = f", {counted(len(text), 'character')}" if rest or len(first) > _SHORT else ""
    return f"thinking{long}: {first[:_MAX_LINE_LENGTH]}{' …' if rest else ''}"


def whole_part(part: Part) -> tuple[tuple[Span, ...], Iterator[tuple[str, Style]]]:
    """Return the heading of a part and the texts below it, each with its style."""
    fields = part.fields
    match part.type:
        case "reasoning":
            return _heading(part), iter([(part.text, "dim")] if part.text else [])
        case "tool_call":
            return _heading(part), _input_texts(fields.get("input", fields.get("input_text")))
        case "tool_result":
            return _heading(part), _result_texts(fields)
        case "file_ref":
            return _heading(part), iter([(_text(fields.get("patch")), "")])
        case "image" | "file":
            return _heading(part), iter(())
    return _heading(part), iter([(_json(dict(fields), indent=2), "")])


def write_part(view: View, part: Part) -> None:
    """Write the whole content of a part below its heading."""
    heading, texts = whole_part(part)
    view.line(*heading)
    for text, style in texts:
        view.body(text, indent=INDENT, style=style)


def document_lines(document: Mapping[str, Any]) -> list[tuple[Span, ...]]:
    """Return the payload of a message, one line per field."""
    return [(Span(f"{_label(name)}: ", "key"), Span(_first_line(_text(value)))) for name, value in document.items()]


def write_document(view: View, document: Mapping[str, Any]) -> None:
    """Write the payload of a message with whole values."""
    for name, value in document.items():
        text = _text(value, indent=2)
        if "\n" in text:
            view.line(Span(f"{_label(name)}:", "key"))
            view.body(text, indent=INDENT)
        else:
            view.line(Span(f"{_label(name)}: ", "key"), text)


def format_files(files: tuple[FileTouch, ...]) -> str:
    """Return the touched files: `edit a.py, rename b.py from c.py`."""
    return ", ".join(f"{t.op} {t.path}" + (f" from {t.source}" if t.source is not None else "") for t in files)


def _input_texts(value: Any) -> Iterator[tuple[str, Style]]:
    """Yield the input of a tool call: one text per field, multi-line values indented below the name."""
    if not isinstance(value, Mapping):
        yield _text(value, indent=2), ""
        return
    for name, given in value.items():
        text = _text(given, indent=2)
        several = "\n" in text.rstrip("\n")
        yield f"{name}:\n{_indented(text)}" if several else f"{name}: {text}".rstrip(), ""


def _indented(text: str) -> str:
    return "\n".join(" " * INDENT + line if line else "" for line in text.rstrip("\n").split("\n"))


def _label(name: str) -> str:
    return name.replace("_", " ")


def _heading(part: Part) -> tuple[Span, ...]:
    fields = part.fields
    match part.type:
        case "reasoning":
            return (Span("thinking:" if part.text.strip() else format_reasoning(part.text), "dim"),)
        case "tool_call":
            return Span("→ "), Span(_text(fields.get("name")) or "unknown tool", "key")
        case "tool_result":
            is_bad = fields.get("is_error") is True
            word = "refused" if is_refused(part) else "error" if is_bad else "result"
            code = "" if fields.get("exit_code") is None else f" (exit code {_text(fields['exit_code'])})"
            return Span("← "), Span(f"{word}{code}:", "bad" if is_bad else "key")
    kind = None if part.type == "file_ref" else part.type
    known = (kind, fields.get("op"), fields.get("media_type"), fields.get("path"))
    return (Span(f"[{' '.join(_text(word) for word in known if word)}]", "dim"),)


def _result_texts(fields: Mapping[str, Any]) -> Iterator[tuple[str, Style]]:
    """Yield the output of a tool, and the changes of files that it reported as texts before and after."""
    output = _output(fields)
    structured = fields.get("structured")
    diffs = structured.get(DIFFS) if isinstance(structured, Mapping) else None
    changes = [_change(diff) for diff in diffs if isinstance(diff, Mapping)] if isinstance(diffs, list) else []
    if output or not any(changes):
        yield output, ""
    yield from ((change, "") for change in changes if change)


def _change(diff: Mapping[str, Any]) -> str:
    """Return a change of a file as a unified diff; empty if its texts are not known."""
    path, before, after = (diff.get(name) for name in ("path", "oldText", "newText"))
    if not (isinstance(path, str) and isinstance(after, str) and (before is None or isinstance(before, str))):
        return ""
    from difflib import unified_diff

    lines = unified_diff(
        (before or "").splitlines(), after.splitlines(), path if before is not None else "/dev/null", path, lineterm=""
    )
    return "\n".join(lines)


def _output(fields: Mapping[str, Any]) -> str:
    """Return the output of a tool: its text, the text of its blocks, or JSON."""
    value = fields.get("output", fields.get("output_text"))
    if isinstance(value, list) and value and all(isinstance(b, dict) and isinstance(b.get("text"), str) for b in value):
        return "\n".join(block["text"] for block in value)
    return _text(value, indent=2)


def _text(value: Any, *, indent: int | None = None) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value, indent=indent)


def _json(value: Any, *, indent: int | None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _first_line(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    return f"{first[:_MAX_LINE_LENGTH]} …" if rest or len(first) > _MAX_LINE_LENGTH else first
