"""What a tool answers: the JSON document that `--json` prints, within a budget of tokens.

An answer never fills the window of the agent that asked. Hints are those that an agent can follow. Every answer passes
the gate of `clearing`, in `budget`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mcp.types import CallToolResult, TextContent

from scopes.model.canonical_json import without_none
from scopes.render.document import LazyList, make_document
from scopes.result import Note, Result
from scopes.server.mcp.budget import DEFAULT_TOKENS, Document, Rows, document_text, fit, shorten
from scopes.server.mcp.hints import agent_hint, agent_note, agent_text

_MIN_ROW_TOKENS = 8  # of a row that is made one by one


def answer(
    document: Mapping[str, object], *, rows: Rows | None = None, max_tokens: int = DEFAULT_TOKENS
) -> CallToolResult:
    """Return a document as the answer of a tool that reads, as text and as an object; raises as `fit`."""
    return _as_result(fit(document, rows, max_tokens))


def written_answer(
    document: Mapping[str, object], *, rows: Rows | None = None, max_tokens: int = DEFAULT_TOKENS
) -> CallToolResult:
    """Return a document as the answer of a tool that has written: it is shortened, and never refused."""
    return _as_result(shorten(document, rows, max_tokens))


def result_answer(
    result: Result,
    more: Mapping[str, object] | None = None,
    *,
    rows: str | None = None,
    max_tokens: int = DEFAULT_TOKENS,
) -> CallToolResult:
    """Return a Result and its notes as the answer of a tool that reads; `more` are further fields; raises as `fit`.

    rows: the field with a list whose last elements may be left out; `left_out` counts them then.
    """
    document = result_document(result, more)
    if rows is None:
        return answer(document, max_tokens=max_tokens)
    values, hidden = document[rows], 0
    if isinstance(values, LazyList):
        shown = values[: max(0, max_tokens) // _MIN_ROW_TOKENS]
        document[rows], hidden = shown, len(values) - len(shown)
    return answer(document, rows=Rows(name=rows, hidden=hidden), max_tokens=max_tokens)


def text_answer(document: Document) -> CallToolResult:
    """Return a document that was cleared and fits as the answer of a tool whose text is that of its field `text`."""
    return CallToolResult(content=[TextContent(type="text", text=document["text"])], structured_content=document)


def result_document(result: Result, more: Mapping[str, object] | None = None) -> Document:
    """Return a Result and its notes as JSON, with further fields."""
    document: Document = make_document(result) | dict(more or {})
    if result.notes:
        document["notes"] = note_objects(result.notes)
    return document


def note_objects(notes: Iterable[Note]) -> list[dict[str, object]]:
    """Return warnings as JSON."""
    return [
        without_none(text=agent_text(agent_note(note.text)), hint=None if note.hint is None else agent_hint(note.hint))
        for note in notes
    ]


def empty_search(query: str) -> Document:
    """Return the JSON of a search in nothing, for a store that does not exist yet."""
    counts = dict.fromkeys(("shown", "hits", "conversations", "branches", "messages"), 0)
    return {"kind": "search", "query": query, **counts, "messages_found": []}


def _as_result(document: Document) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=document_text(document))], structured_content=document)
