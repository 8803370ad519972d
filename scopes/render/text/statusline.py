"""Render what was used lately as the line of a status bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.usage.prices import format_money, shorten

if TYPE_CHECKING:
    from scopes.render.view import View
    from scopes.usage.usage import Spent, UsageStatus


def render_usage_status(result: UsageStatus, view: View) -> None:
    """Write one line: what was used today, in 7 and in 30 days, and the model of the newest answer."""
    spans = (("today", result.today), ("7 days", result.week), ("30 days", result.month))
    parts = [f"{name} {_describe(spent, result.currency)}" for name, spent in spans]
    view.line(" · ".join([*parts, *([result.model] if result.model else [])]))


def _describe(spent: Spent, currency: str) -> str:
    """Return money and tokens; only the tokens if no price is known."""
    tokens = f"{shorten(spent.tokens)} tokens"
    if spent.cost_micros is None:
        return tokens
    return f"{format_money(spent.cost_micros, currency)}{'+' if spent.unpriced else ''} ({tokens})"
