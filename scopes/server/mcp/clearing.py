"""The gate that everything passes that an agent reads: answers, resources and errors.

Possible secrets are replaced and counted: an agent could do nothing about a refusal. It is done before an answer is
fitted into its budget, so that a secret that is cut is found too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

from scopes.render.document import json_line
from scopes.secret_scan.clearance import Gate, count_placeholders, without_store
from scopes.secrets.gates import redacting
from scopes.store.repository import Repository

COUNT = "redacted"
_PLACE = "the answer"
_gate: ContextVar[Gate] = ContextVar("_gate")


@contextmanager
def answering(gate: Gate) -> Iterator[None]:
    """Let what is answered pass this gate meanwhile; without one there is no answer."""
    token = _gate.set(gate)
    try:
        yield
    finally:
        _gate.reset(token)


def clear_messages(repository: Repository) -> AbstractContextManager[None]:
    """Redact messages when they are read: what is cut out of one, as a snippet is, may have only a part of a secret."""
    return redacting(repository, _gate.get())


def clear_text(text: str) -> str:
    """Return a text as it may leave."""
    return _gate.get().clear_text(text, _PLACE)


def hidden_query(query: str) -> str:
    """Return a query as an answer repeats it: without the ids of secrets, by which a right guess would be known."""
    return without_store().clear_text(query, _PLACE)


def clear_value(value: Any) -> Any:
    """Return a JSON value whose texts and names may leave."""
    return _gate.get().clear_document(value, _PLACE)


def with_count(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with how many different secrets are replaced in it; without the field if none is."""
    others = {name: value for name, value in document.items() if name != COUNT}
    count = count_placeholders(json_line(others))
    return {**others, COUNT: count} if count else others
