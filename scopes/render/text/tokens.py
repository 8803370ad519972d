"""Render counts of tokens."""

from __future__ import annotations


def format_tokens(tokens: int, method: str) -> str:
    """Return a number of tokens: `1,234`, or `~1,234` for an estimate."""
    return f"{tokens:,}" if method == "exact" else f"~{tokens:,}"
