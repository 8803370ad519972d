"""The signature of a message as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.operation import BAD, GOOD, REVOKED_KEY
from scopes.render.view import Span

if TYPE_CHECKING:
    from scopes.model.operation import Signature
    from scopes.render.color import Style

_STYLES: dict[str, Style] = {GOOD: "good", BAD: "bad", REVOKED_KEY: "bad"}


def state_span(state: str) -> Span:
    """Return the state of a signature in its color."""
    return Span(state, _STYLES.get(state, "warn"))


def signature_mark(signature: Signature) -> Span:
    """Return a signature as a mark in one line with other things: its state and its signer."""
    by = f" by {signature.signer}" if signature.signer else ""
    return Span(f"[{signature.state}{by}]", _STYLES.get(signature.state, "warn"))


def signature_spans(signature: Signature) -> tuple[str | Span, ...]:
    """Return a signature as a phrase: its state, its signer and its key."""
    by = f" by {signature.signer}" if signature.signer else ""
    key = f" ({signature.key})" if signature.key else ""
    return state_span(signature.state), f"{by}{key}"
