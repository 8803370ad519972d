"""Hide secrets in reports: those that gates find, in any form, and short passwords."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.loading import deferred
from scopes.secret_patterns import redact

if TYPE_CHECKING:
    from scopes.secret_scan.clearance import without_store
else:
    without_store = deferred("scopes.secret_scan.clearance:without_store")


def hide_secrets(text: str) -> str:
    """Return a text with secrets and short passwords replaced, for a report."""
    return without_store().clear_text(redact(text), "a report")


def without_secrets(text: str) -> str:
    """Return a text, such as a directory, with the secrets replaced that gates find, for errors and notes."""
    return without_store().clear_text(text, "a text")
