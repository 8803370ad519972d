"""The table of prices: what a model's tokens cost, in whole millionths of a currency. A model not in it has no price.

`prices.json` is the table that comes with scopes; it names its date and its source. A user's file of the same form
replaces it, or with `"extends": true` comes before it, in its currency. Its fields:

    currency  such as "USD"            date, source  of the prices, which are shown with every cost
    models    a list of {"models": [...], "input": ..., "output": ...}, prices in millionths for a million tokens;
              also cache_read, cache_write, cache_write_1h (those kept for an hour), reasoning; "from": a date, from
              which on the entry is in effect; "above": {"200000": {...}}: prices with more tokens of input than that

Missing prices of cache_read and cache_write are that of input, cache_write_1h is cache_write, reasoning is output.
Names are compared without case; `*` at the end stands for anything, and the longest name decides. What stands before
the last slash, and a date at the end, may be left out: `openrouter/openai/gpt-5` is gpt-5, if it has no own entry.
Answers in a faster mode cost more: their model is `claude-opus-5 (fast)`, which only an entry of that name prices.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scopes.errors import Inaccessible, Invalid
from scopes.regular_file import MAX_CONFIG_BYTES, read_regular

if TYPE_CHECKING:
    from scopes.store.config import Config

SHIPPED: Final = str(Path(__file__).with_name("prices.json"))
UNITS: Final = 1_000_000  # of a price: tokens; of an amount of money: the currency
SIZES: Final = (0, 100_000, 128_000, 200_000, 272_000, 512_000)  # tokens of input above which some prices differ
INCOMPLETE: Final = -1  # the size of answers of which only input or only output is known: they have no price
FAST: Final = " (fast)"  # behind the name of a model that answered in a faster mode
_FORM: Final = "see the form of the file: scopes help usage --all"
_KINDS: Final = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")
_INSTEAD: Final = {
    "cache_read": "input", "cache_write": "input", "cache_write_1h": "cache_write", "reasoning": "output",
}  # fmt: skip
_DATE: Final = re.compile(r"[-@]20\d{2}-?\d{2}-?\d{2}$")
_MAX_PRICE: Final = 10**12
_SYMBOLS: Final = {"USD": "$", "EUR": "€", "GBP": "£"}


class Amounts(NamedTuple):
    """Counts of answers and of their tokens; a count that no answer recorded is 0.

    input: neither read from a cache nor written to one
    cache_write: all tokens written to a cache; cache_write_1h: those of them that are kept for an hour
    output: all tokens of output; reasoning: those of them that are reasoning
    """

    answers: int = 0
    input: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    output: int = 0
    reasoning: int = 0

    @property
    def all_input(self) -> int:
        """All tokens of input, cached or not."""
        return self.input + self.cache_read + self.cache_write

    @property
    def tokens(self) -> int:
        """All tokens, of input and output."""
        return self.all_input + self.output

    def plus(self, other: Amounts) -> Amounts:
        """Return the sum of two amounts."""
        return Amounts(*map(int.__add__, self, other))


class Price(NamedTuple):
    """Prices in millionths of the currency for a million tokens."""

    input: int
    cache_read: int
    cache_write: int
    cache_write_1h: int
    output: int
    reasoning: int

    def cost(self, amounts: Amounts) -> int:
        """Return the cost in billionths of a thousandth of the currency: `UNITS` of them are a millionth of it."""
        return (
            amounts.input * self.input
            + amounts.cache_read * self.cache_read
            + (amounts.cache_write - amounts.cache_write_1h) * self.cache_write
            + amounts.cache_write_1h * self.cache_write_1h
            + (amounts.output - amounts.reasoning) * self.output
            + amounts.reasoning * self.reasoning
        )


class _Entry(NamedTuple):
    """One entry for one name. start: first day on which it is in effect, empty for ever; above: by size, rising."""

    start: str
    price: Price
    above: tuple[tuple[int, Price], ...]


class PriceTable:
    """A table of prices; `path` is the user's file, None for the shipped one."""

    def __init__(self, path: str | None, document: Mapping[str, Any], entries: Mapping[str, list[_Entry]]) -> None:
        self.path = path
        self.currency = str(document.get("currency", "USD"))
        self.date = str(document.get("date", ""))
        self.source = str(document.get("source", ""))
        self._entries = entries
        self._beginnings = sorted((name[:-1] for name in entries if name.endswith("*")), key=len, reverse=True)
        self._found: dict[tuple[str, str], _Entry | None] = {}

    def find(self, model: str, day: str, size: int) -> Price | None:
        """Return the price of a model on a day (`2026-11-26`), for answers of a size; None if it is not known."""
        if size == INCOMPLETE:
            return None
        key = (model, day)
        if key not in self._found:
            name = model.lower().strip()
            short = name.rpartition("/")[2]
            spellings = (name, short, _DATE.sub("", short), short.partition(":")[0])  # the most exact one first
            named = next(filter(None, map(self._find_entries, spellings)), [])
            self._found[key] = next((entry for entry in reversed(named) if entry.start <= day), None)
        entry = self._found[key]
        if entry is None:
            return None
        return next((price for limit, price in reversed(entry.above) if size >= limit), entry.price)

    def _find_entries(self, name: str) -> list[_Entry]:
        if name in self._entries:
            return self._entries[name]
        beginnings = [] if name.endswith(FAST) else self._beginnings
        return next((self._entries[f"{start}*"] for start in beginnings if name.startswith(start)), [])


def configured_prices(config: Config) -> PriceTable:
    """Read the table of prices that the configuration names, or the one that comes with scopes.

    Raises as `read_prices` does.
    """
    path = config.find("scopes.prices")
    return read_prices(None if path is None else os.path.expanduser(path))


def read_prices(path: str | None = None) -> PriceTable:
    """Read the table of prices that comes with scopes, or the user's file.

    Raises:
        Inaccessible: the file cannot be read.
        Invalid: it is not a table of prices, or extends prices in another currency.
    """
    shipped = _read(SHIPPED)
    if path is None:
        return PriceTable(None, shipped, _read_entries(SHIPPED, shipped))
    own = _read(path)
    if own.get("extends") is not True:
        return PriceTable(path, own, _read_entries(path, own))
    theirs, ours = own.get("currency", shipped["currency"]), shipped["currency"]
    if theirs != ours:  # nothing here knows an exchange rate
        raise Invalid(
            f"the prices in {path} are in {theirs!a}, and those that it extends are in {ours}",
            hint=f"write them in {ours}, or leave 'extends' out: then models that are not in the file have no cost",
        )
    return PriceTable(path, {**shipped, **own}, {**_read_entries(SHIPPED, shipped), **_read_entries(path, own)})


def _read(path: str) -> dict[str, Any]:
    """Read a file of prices, and check what it says of them.

    Raises:
        Inaccessible, Invalid: as `read_prices`.
    """
    try:
        data = read_regular(path, MAX_CONFIG_BYTES)
    except OSError as error:
        raise Inaccessible(f"cannot read the prices in {path}: {error.strerror or error}") from error
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{path} is not a table of prices: {error}", hint=_FORM) from error
    if not isinstance(document, dict) or not isinstance(document.get("models"), list):
        raise Invalid(f"{path} is not a table of prices: it has no list 'models'", hint=_FORM)
    for name in ("currency", "date", "source"):
        if not isinstance(document.get(name, ""), str):
            raise Invalid(f"the prices in {path}: {name!r} is not a text", hint=_FORM)
    if not _is_day(document.get("date", "")):
        text = f"the prices in {path}: 'date' is not a day such as 2026-01-31: {document['date']!a}"
        raise Invalid(text, hint=_FORM)
    return document


def _is_day(value: object) -> bool:
    """Return True for a day such as 2026-01-31, and for an empty text."""
    try:
        return isinstance(value, str) and (not value or date.fromisoformat(value).isoformat() == value)
    except ValueError:
        return False


def _read_entries(path: str, document: Mapping[str, Any]) -> dict[str, list[_Entry]]:
    """Return the entries by name, of each name the oldest first.

    Raises:
        Invalid: an entry is not valid.
    """
    found: dict[str, list[_Entry]] = {}
    for number, row in enumerate(document["models"], start=1):
        try:
            names, entry = _read_entry(row)
        except ValueError as error:
            raise Invalid(f"entry {number} of the prices in {path}: {error}", hint=_FORM) from error
        for name in names:
            found.setdefault(name, []).append(entry)
    for entries in found.values():
        entries.sort(key=lambda entry: entry.start)
    return found


def _read_entry(row: object) -> tuple[list[str], _Entry]:
    """Return the names and the entry of a row.

    Raises:
        ValueError: it is not valid.
    """
    if not isinstance(row, dict) or not isinstance(row.get("models"), list) or not row["models"]:
        raise ValueError("it has no list 'models' of names")
    if not all(isinstance(name, str) and name.strip("*") for name in row["models"]):
        raise ValueError("'models' has something that is not a name")
    start, above = row.get("from", ""), row.get("above", {})
    if not _is_day(start):
        raise ValueError(f"'from' is not a day such as 2026-01-31: {start!a}")
    if not isinstance(above, dict) or not all(limit in map(str, SIZES[1:]) for limit in above):
        raise ValueError(f"'above' has a limit other than {', '.join(map(str, SIZES[1:]))}")
    if not all(isinstance(prices, dict) for prices in above.values()):
        raise ValueError("'above' has something that is not a table of prices")
    tiers = sorted((int(limit), _read_price({**row, **prices})) for limit, prices in above.items())
    return [name.lower() for name in row["models"]], _Entry(start, _read_price(row), tuple(tiers))


def _read_price(row: Mapping[str, Any]) -> Price:
    """Return the prices of a row, each that it does not have from a similar kind of token.

    Raises:
        ValueError: a price is missing or not a whole number.
    """
    found: dict[str, int] = {}
    for kind in _KINDS:
        value = row.get(kind, found.get(_INSTEAD.get(kind, "")))
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _MAX_PRICE:
            raise ValueError(f"the price {kind!r} is not a whole number of millionths for a million tokens")
        found[kind] = value
    return Price(**found)


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
    for size, unit in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size:
            tenths = number * 10 // size
            return f"{tenths // 10}.{tenths % 10}{unit}" if tenths < 100 else f"{tenths // 10}{unit}"
    return str(number)
