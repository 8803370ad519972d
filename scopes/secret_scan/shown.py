"""Hide secrets in what a report shows: those that doors know, in any form, and short values that log in somewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.loading import deferred
from scopes.secret_patterns import redact

if TYPE_CHECKING:
    from scopes.secret_scan.clearance import without_store
else:
    without_store = deferred("scopes.secret_scan.clearance:without_store")


def hide_secrets(text: str) -> str:
    """Return a text as a report may show it."""
    return without_store().clear_text(redact(text), "a report")


def without_secrets(text: str) -> str:
    """Return a text as errors and notes may show it, such as a directory: without what doors replace."""
    return without_store().clear_text(text, "a text")
