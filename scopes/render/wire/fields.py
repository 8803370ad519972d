"""Fields shared by several JSON objects: titles, signatures, and whether a summary is stale."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none

if TYPE_CHECKING:
    from scopes.history.handles import Heading
    from scopes.model.operation import Signature


def staleness(newer: int | None) -> dict[str, object]:
    """Return whether a summary is stale; nothing if `newer` is None, that is, for other messages (S4-47)."""
    return {} if newer is None else {"stale": newer > 0, "newer_messages": newer}


def signature_fields(signature: Signature | None) -> dict[str, object]:
    """Return `signature`, what git says about it; nothing if there is none, or nobody asked."""
    return {} if signature is None else {"signature": without_none(**signature._asdict())}


def heading_fields(heading: Heading | None) -> dict[str, object]:
    """Return what a conversation is called: `title`, and `title_source`, which is `title` or `prompt`."""
    return {} if heading is None else heading.document()
