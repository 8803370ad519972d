"""Render a result in memory: as text for a terminal of some width or for a pipe, and as a JSON document."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass, replace
from typing import Any

from scopes.conversation.show import read_drawing, show
from scopes.render.document import result_line
from scopes.render.mermaid import as_mermaid
from scopes.render.table import render_text
from scopes.render.terminal import TerminalView
from scopes.render.view import View, ViewOptions
from scopes.result import Result
from tests.render.with_options import WithOptions, unwrap


def piped(sample: Result | WithOptions, *, nul: bool = False) -> str:
    """Return the text written to a pipe."""
    pieces: list[str] = []
    end = "\0" if nul else "\n"
    result, options = unwrap(sample)
    return _render(result, View(pieces.append, end=end, options=options), pieces)


def seen(sample: Result | WithOptions, width: int = 80, *, color: bool = False, hints: bool = True) -> str:
    """Return the text written to a terminal."""
    pieces: list[str] = []
    result, options = unwrap(sample)
    view = TerminalView(pieces.append, width=width, color=color, hints=hints, options=options)
    return _render(result, view, pieces)


def seen_lines(result: Result | WithOptions, width: int = 80, **options: bool) -> list[str]:
    """Return the lines written to a terminal."""
    return seen(result, width, **options).splitlines()


def _render(result: Result, view: View, pieces: list[str]) -> str:
    render_text(result, view)
    return "".join(pieces)


def document(sample: Result | WithOptions) -> dict[str, Any]:
    """Return the JSON object of a result."""
    return json.loads(json_text(sample))


def json_text(sample: Result | WithOptions) -> str:
    """Return the line of JSON of a result."""
    result, options = unwrap(sample)
    return result_line(result, options)


def with_texts(value: Any, change: Any) -> Any:
    """Copy a value with every text in it changed, down through dataclasses and collections; keys and options stay."""
    if isinstance(value, ViewOptions):
        return value
    if isinstance(value, str):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: with_texts(getattr(value, f.name), change) for f in fields(value)})
    if isinstance(value, dict):
        return {key: with_texts(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(with_texts(item, change) for item in value))
    if isinstance(value, tuple | list):
        return type(value)(with_texts(item, change) for item in value)
    return value


def draw_mermaid(repository, conversation, **options):
    """Return the diagram that `show --format mermaid` prints."""
    view = show(repository, conversation, **options)
    return as_mermaid(view, read_drawing(repository, view))
