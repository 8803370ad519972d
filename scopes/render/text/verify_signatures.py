"""Render `verify --signatures`, and the signature of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.operation import BAD, GOOD, REVOKED_KEY
from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from scopes.conversation.verify import SignatureCheck, SignedCommit
    from scopes.model.operation import Signature
    from scopes.render.color import Style

_COLUMNS = (
    Column("OID", "id"),
    Column("State"),
    Column("Signer"),
    Column("Key"),
    Column("Subject", flexible=True),
    Column("Author"),
    Column("Message", "id"),
)
_UNSIGNED = "not signed"
_STYLES: dict[str, Style] = {GOOD: "good", BAD: "bad", REVOKED_KEY: "bad"}


@render_text.register
def render_signature_check(result: SignatureCheck, view: View) -> None:
    """Write every signature and a verdict; in a pipe only the signatures, one row each."""
    rows = [
        (r.oid, state_span(r.state), r.signer or "", r.key or "", r.subject, r.author, r.message or "")
        for r in result.signatures
    ]
    unsigned = result.unsigned if result.required else ()
    if not view.terminal:
        view.rows(
            _COLUMNS,
            [*rows, *((r.oid, state_span(_UNSIGNED), "", "", r.subject, r.author, r.message or "") for r in unsigned)],
        )
        return
    for row in result.signatures:
        by = f"{row.author}: " if row.author else ""
        view.line(Span((row.message or row.oid)[:8], "id"), " ", *signature_spans(row), "  ", by, row.subject)
    for each in unsigned:
        name = Span((each.message or each.oid)[:8], "id")
        view.line(name, " ", state_span(_UNSIGNED), f"  {each.what} of {each.author}, {each.time}: {each.subject}")
    good = sum(row.state == GOOD for row in result.signatures)
    total = f"{counted(len(result.signatures), 'signature')} in {counted(result.commits, 'commit')} of {result.path}"
    if result.required and result.unsigned:
        view.sentence(Span(f"{counted(len(result.unsigned), 'signature')} missing: ", "bad"), "they are required")
    if not result.all_good:
        verdict = Span(f"{good} good: ", "bad")
    elif result.exit_code:
        verdict = Span("those that are there are good: ", "warn")
    else:
        verdict = Span("all good: ", "good")
    view.sentence(verdict if result.signatures else Span("none: "), total)


def state_span(state: str) -> Span:
    """Return the state of a signature in its color."""
    return Span(state, _STYLES.get(state, "warn"))


def signature_mark(signature: Signature) -> Span:
    """Return a signature as a mark in one line with other things: its state and its signer."""
    by = f" by {signature.signer}" if signature.signer else ""
    return Span(f"[{signature.state}{by}]", _STYLES.get(signature.state, "warn"))


def signature_spans(signature: Signature | SignedCommit) -> tuple[str | Span, ...]:
    """Return a signature as a phrase: its state, its signer and its key."""
    by = f" by {signature.signer}" if signature.signer else ""
    key = f" ({signature.key})" if signature.key else ""
    return state_span(signature.state), f"{by}{key}"
