"""A context as the answer of a tool: its text and its object are within the budget, by the measure of all answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from scopes.context.context import context as build_context
from scopes.context.request import Request
from scopes.context.result import Context
from scopes.errors import BudgetExhausted
from scopes.server.mcp.answers import note_objects, text_answer
from scopes.server.mcp.budget import Document, check_budget, count_tokens, document_text, safe_value
from scopes.server.mcp.clearing import clear_text, with_count
from scopes.store.repository import Repository
from scopes.tokens.count import EstimatingTokenizer, TokenizerChoice

if TYPE_CHECKING:
    from mcp.types import CallToolResult

_TRIES = 8
_MIN_STEP = 8  # tokens


def context_answer(repository: Repository, request: Request, cache: str, where: Mapping[str, object]) -> CallToolResult:
    """Return the context of a request as an answer of at most `max_tokens`; `where` are further fields.

    If there is no room for a message otherwise, notes are left out.

    Raises:
        Invalid: the budget is too small or too large.
        BudgetExhausted: no message fits.
    """
    check_budget(request.max_tokens)
    for has_notes in (True, False):
        answered = _fit(repository, request, cache, where, has_notes=has_notes)
        if answered is not None:
            return answered
    raise BudgetExhausted(f"no message fits into {request.max_tokens:,} tokens", hint="raise max_tokens")


def build_text(repository: Repository, request: Request, cache: str) -> Context:
    """Build the context of a request, counted by the measure of all answers."""
    return build_context(repository, request, TokenizerChoice(EstimatingTokenizer(), ()), cache)


def _fit(
    repository: Repository, request: Request, cache: str, where: Mapping[str, object], *, has_notes: bool
) -> CallToolResult | None:
    """Return the answer for the largest context that is tried and fits; None if it has no message."""
    room = request.max_tokens
    for _ in range(_TRIES):
        found = build_text(repository, replace(request, max_tokens=room), cache)
        text = clear_text(found.formatted_history)
        document = _document(found, text, where, has_notes=has_notes)
        excess = max(count_tokens(text), count_tokens(document_text(document))) - request.max_tokens
        if excess <= 0:
            if found.turns_excluded and not found.turns_included:
                return None
            return text_answer(document)
        room -= max(_MIN_STEP, excess + excess // 8)
        if room <= 0:
            return None
    return None


def _document(found: Context, text: str, where: Mapping[str, object], *, has_notes: bool) -> Document:
    document: Document = {
        "kind": "context",
        **where,
        "tokens_used": count_tokens(text),
        "turns_included": found.turns_included,
        "turns_excluded": found.turns_excluded,
    }
    if has_notes and found.notes:
        document["notes"] = note_objects(found.notes)
    return with_count({**safe_value(document), "text": text})
