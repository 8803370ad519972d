"""Amounts of money and counts of tokens as people read them; terminals and exported pages have the same ones."""

from __future__ import annotations

from typing import Final

_UNITS: Final = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))
_SYMBOLS: Final = {"USD": "$", "EUR": "€", "GBP": "£"}


def format_money(cost: int | None, currency: str) -> str:
    """Return an amount of millionths with two digits after the point, or as many as show that it is not 0."""
    if cost is None:
        return "?"
    symbol = _SYMBOLS.get(currency, f"{currency} ")
    cents = (cost + 5_000) // 10_000
    if cost and not cents:
        return f"<{symbol}0.01"
    return f"{symbol}{cents // 100:,}.{cents % 100:02d}"


def shorten(number: int) -> str:
    """Return a number with at most three digits before a unit: `1.2M`, `345k`, `12`."""
    for size, unit in _UNITS:
        if number >= size:
            tenths = number * 10 // size
            return f"{tenths // 10}.{tenths % 10}{unit}" if tenths < 100 else f"{tenths // 10}{unit}"
    return str(number)
