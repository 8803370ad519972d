"""Secrets as JSON: what a scan found, the list, rules, one secret, and changes of the allow-list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scopes.secrets.allow import SecretAllowed
    from scopes.secrets.allowed import AllowedSecret
    from scopes.secrets.list import SecretExplained, SecretList, SecretRules
    from scopes.secrets.scan import SecretRow, SecretsScanned


@to_wire.register
def format_secrets_scanned(result: SecretsScanned) -> dict[str, object]:
    """Return the places, and how many of them are not allowed, which decides about the exit code."""
    return {
        "kind": "secrets-scanned",
        "conversations": result.conversations,
        "unchanged": result.unchanged,
        "messages": result.messages,
        "size_bytes": result.size_bytes,
        "not_allowed": sum(not row.allowed for row in result.secrets),
        "secrets": _places(result.secrets),
    }


@to_wire.register
def format_secret_list(result: SecretList) -> dict[str, object]:
    """Return the secrets."""
    return {"kind": "secret-list", "secrets": [without_none(**each._asdict()) for each in result.secrets]}


@to_wire.register
def format_secret_rules(result: SecretRules) -> dict[str, object]:
    """Return the rules."""
    return {"kind": "secret-rules", "rules": [without_none(**each._asdict()) for each in result.rules]}


@to_wire.register
def format_secret_explained(result: SecretExplained) -> dict[str, object]:
    """Return a secret with its rule and its places."""
    return without_none(
        kind="secret-explained",
        id=result.id,
        rule=without_none(**result.rule._asdict()),
        places=_places(result.places),
        allowed=None if result.allowed is None else _entry(result.allowed),
    )


@to_wire.register
def format_secret_allowed(result: SecretAllowed) -> dict[str, object]:
    """Return the entry of the allow-list after a change."""
    return without_none(
        kind="secret-allowed", change=result.change, secret=_entry(result.secret), operation=result.operation
    )


def _places(rows: Iterable[SecretRow]) -> list[dict[str, object]]:
    return [without_none(**row._asdict()) for row in rows]


def _entry(secret: AllowedSecret) -> dict[str, object]:
    return without_none(id=secret.id, rule=secret.rule, actor=secret.actor, time=secret.time, reason=secret.reason)
