"""Hide secrets in reports: those that gates find, in any form, and short passwords."""

from __future__ import annotations

from scopes.secret_patterns import redact


def hide_secrets(text: str) -> str:
    """Return a text with secrets and short passwords replaced, for a report."""
    from scopes.secret_scan.clearance import without_store

    return without_store().clear_text(redact(text), "a report")


def without_secrets(text: str) -> str:
    """Return a text, such as a directory, with the secrets replaced that gates find, for errors and notes."""
    from scopes.secret_scan.clearance import without_store

    return without_store().clear_text(text, "a text")
