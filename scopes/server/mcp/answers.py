"""What a tool answers: the JSON document that `--json` prints, within a budget of tokens.

Rows that do not fit are left out and counted, and long texts are cut with a mark: an answer never fills the window of
the agent that asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from mcp.types import CallToolResult, TextContent

from scopes.errors import BudgetExhausted, Invalid
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.json_line import json_line
from scopes.render.lazy_list import LazyList
from scopes.result import Note, Result
from scopes.sanitize import clip, for_prompt
from scopes.tokens.estimate import EstimatingTokenizer

DEFAULT_TOKENS = 4_000
MAX_TOKENS = 100_000
_TEXT_LIMITS = (8_000, 2_000, 500, 150)  # characters of one text, tried in this order
_ENOUGH_ROWS = 3  # before texts are cut further

Document = dict[str, Any]


def answer(
    document: Mapping[str, object], *, rows: str | None = None, max_tokens: int = DEFAULT_TOKENS
) -> CallToolResult:
    """Return a document as the answer of a tool, as text and as an object.

    rows: the field with a list whose last elements may be left out; `left_out` counts them then.

    Raises:
        Invalid: the budget is too small or too large.
        BudgetExhausted: not even one row fits.
    """
    fitted = fit(document, rows, max_tokens)
    return CallToolResult(content=[TextContent(type="text", text=_text(fitted))], structured_content=fitted)


def result_answer(
    result: Result,
    more: Mapping[str, object] | None = None,
    *,
    rows: str | None = None,
    max_tokens: int = DEFAULT_TOKENS,
) -> CallToolResult:
    """Return a Result and its notes as the answer of a tool; `more` are further fields; raises as `answer`."""
    document = to_wire(result) | dict(more or {})
    document |= {name: list(value) for name, value in document.items() if isinstance(value, LazyList)}
    if result.notes:
        document["notes"] = note_objects(result.notes)
    return answer(document, rows=rows, max_tokens=max_tokens)


def note_objects(notes: Iterable[Note]) -> list[dict[str, object]]:
    """Return warnings as JSON."""
    return [without_none(text=note.text, hint=note.hint) for note in notes]


def check_budget(max_tokens: int) -> None:
    """Raise Invalid if a budget is too small for any answer, or larger than is allowed."""
    if not 100 <= max_tokens <= MAX_TOKENS:
        raise Invalid(f"max_tokens must be from 100 to {MAX_TOKENS:,}, not {max_tokens:,}", hint="for example: 4000")


def fit(document: Mapping[str, object], rows: str | None, max_tokens: int) -> Document:
    """Return the document within a budget: texts are cut, then the last rows left out; raises as `answer`."""
    check_budget(max_tokens)
    whole: Document = _safe(document)
    if _count(whole) <= max_tokens:
        return whole
    for limit in _TEXT_LIMITS:
        shorter: Document = _clip_texts(whole, limit)
        if _count(shorter) <= max_tokens:
            return shorter
        kept = 0 if rows is None else _count_fitting_rows(shorter, rows, max_tokens)
        if rows is not None and (kept >= _ENOUGH_ROWS or (kept and limit == _TEXT_LIMITS[-1])):
            return _with_rows(shorter, rows, kept)
    raise BudgetExhausted(f"the answer does not fit into {max_tokens:,} tokens", hint="raise max_tokens")


def _count_fitting_rows(document: Document, rows: str, max_tokens: int) -> int:
    """Return how many rows fit, by bisection: fewer rows never take more tokens."""
    low, high = 0, len(document[rows]) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _count(_with_rows(document, rows, middle)) <= max_tokens else (low, middle - 1)
    return low


def _with_rows(document: Document, rows: str, count: int) -> Document:
    return document | {rows: document[rows][:count], "left_out": len(document[rows]) - count}


def _clip_texts(value: Any, characters: int) -> Any:
    if isinstance(value, str):
        return clip(value, characters)
    if isinstance(value, dict):
        return {name: _clip_texts(item, characters) for name, item in value.items()}
    if isinstance(value, list):
        return [_clip_texts(item, characters) for item in value]
    return value


def _safe(value: Any) -> Any:
    """Return a JSON value whose texts are safe in a prompt: they are recorded, and anybody may have written them."""
    if isinstance(value, str):
        return for_prompt(value, strip=False)
    if isinstance(value, Mapping):
        return {str(name): _safe(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_safe(item) for item in value]
    return value


def _text(document: Mapping[str, object]) -> str:
    return json_line(document).rstrip("\n")


def _count(document: Document) -> int:
    return EstimatingTokenizer().count(_text(document))
