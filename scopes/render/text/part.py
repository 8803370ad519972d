"""The parts of a message that are more than its text: what was thought, called, answered, attached, decided."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scopes.model.message import FileTouch, Part
from scopes.render.view import Span, View

_INDENT = 4
_LONGEST_LINE = 1000


def part_line(part: Part) -> tuple[Span, ...]:
    """Say a part in one line."""
    fields = part.fields
    match part.type:
        case "reasoning":
            return (Span(f"thinking: {_first_line(part.text)}", "dim"),)
        case "tool_call":
            return *_heading(part), Span(f" {_first_line(_value(fields, 'input', indent=None))}", "dim")
        case "tool_result":
            return *_heading(part), Span(f" {_first_line(_value(fields, 'output', indent=None))}", "dim")
    return _heading(part)


def say_part(view: View, part: Part) -> None:
    """Say a part that is no text whole, below a line that says what it is."""
    view.line(*_heading(part))
    match part.type:
        case "reasoning":
            view.body(part.text, indent=_INDENT, style="dim")
        case "tool_call":
            view.body(_value(part.fields, "input", indent=2), indent=_INDENT)
        case "tool_result":
            view.body(_value(part.fields, "output", indent=2), indent=_INDENT)
        case "file_ref":
            view.body(_text(part.fields.get("patch")), indent=_INDENT)
        case "image" | "file":
            return
        case _:
            view.body(_json(dict(part.fields), indent=2), indent=_INDENT)


def document_lines(document: Mapping[str, Any]) -> list[tuple[Span, ...]]:
    """Say the document of a typed kind, a line a field."""
    return [(Span(f"{_words(name)}: ", "key"), Span(_first_line(_text(value)))) for name, value in document.items()]


def say_document(view: View, document: Mapping[str, Any]) -> None:
    """Say the document of a typed kind whole."""
    for name, value in document.items():
        text = _text(value, indent=2)
        if "\n" in text:
            view.line(Span(f"{_words(name)}:", "key"))
            view.body(text, indent=_INDENT)
        else:
            view.line(Span(f"{_words(name)}: ", "key"), text)


def touched(files: tuple[FileTouch, ...]) -> str:
    """Say which files were touched: `edit a.py, rename b.py from c.py`."""
    return ", ".join(f"{t.op} {t.path}" + (f" from {t.source}" if t.source is not None else "") for t in files)


def _words(name: str) -> str:
    return name.replace("_", " ")


def _heading(part: Part) -> tuple[Span, ...]:
    fields = part.fields
    match part.type:
        case "reasoning":
            return (Span("thinking:", "dim"),)
        case "tool_call":
            return Span("→ "), Span(_text(fields.get("name")) or "unknown tool", "key")
        case "tool_result":
            failed = fields.get("is_error") is True
            code = "" if fields.get("exit_code") is None else f" (exit code {_text(fields['exit_code'])})"
            return Span("← "), Span(f"{'error' if failed else 'result'}{code}:", "bad" if failed else "key")
    kind = None if part.type == "file_ref" else part.type
    known = (kind, fields.get("op"), fields.get("media_type"), fields.get("path"))
    return (Span(f"[{' '.join(_text(word) for word in known if word)}]", "dim"),)


def _value(fields: Mapping[str, Any], name: str, *, indent: int | None) -> str:
    """Return what a tool was given or gave back: its text, the text of its blocks, or JSON."""
    value = fields.get(name, fields.get(f"{name}_text"))
    if isinstance(value, list) and value and all(isinstance(b, dict) and isinstance(b.get("text"), str) for b in value):
        return "\n".join(block["text"] for block in value)
    return _text(value, indent=indent)


def _text(value: Any, *, indent: int | None = None) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else _json(value, indent=indent)


def _json(value: Any, *, indent: int | None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def _first_line(text: str) -> str:
    first, _, rest = text.strip().partition("\n")
    return f"{first[:_LONGEST_LINE]} …" if rest or len(first) > _LONGEST_LINE else first
