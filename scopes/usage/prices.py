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
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scopes.errors import Inaccessible, Invalid
from scopes.regular_file import MAX_CONFIG_BYTES, read_regular
from scopes.usage.amounts import INCOMPLETE, SIZES, Amounts

if TYPE_CHECKING:
    from scopes.store.config import Config

SETTING: Final = "scopes.prices"
SHIPPED: Final = str(Path(__file__).with_name("prices.json"))
UNITS: Final = 1_000_000  # of a price: tokens; of an amount of money: the currency
_FORM: Final = "see the form of the file: scopes help usage --all"
_KINDS: Final = ("input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")
_INSTEAD: Final = {
    "cache_read": "input", "cache_write": "input", "cache_write_1h": "cache_write", "reasoning": "output",
}  # fmt: skip
_DATE: Final = re.compile(r"[-@]20\d{2}-?\d{2}-?\d{2}$")
_DAY: Final = re.compile(r"20\d{2}-\d{2}-\d{2}")
_MAX_PRICE: Final = 10**12


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
    """One entry for one name. start: first day on which it is in effect; empty for ever."""

    start: str
    price: Price
    above: tuple[tuple[int, Price], ...]

    def price_of(self, size: int) -> Price:
        """Return the price for answers of a size."""
        return next((price for limit, price in reversed(self.above) if size >= limit), self.price)


class PriceTable:
    """A table of prices; `path` is the user's file, None for the shipped one."""

    def __init__(self, path: str | None, document: Mapping[str, Any], entries: Mapping[str, list[_Entry]]) -> None:
        self.path = path
        self.currency = _text(document, "currency", "USD")
        self.date = _text(document, "date", "")
        self.source = _text(document, "source", "")
        self._entries = entries
        self._found: dict[tuple[str, str], _Entry | None] = {}

    def find(self, model: str, day: str, size: int) -> Price | None:
        """Return the price of a model on a day (`2026-11-26`), for answers of a size; None if it is not known."""
        if size == INCOMPLETE:
            return None
        key = (model, day)
        if key not in self._found:
            named = next(filter(None, map(self._find_entries, _spellings(model))), [])
            self._found[key] = next((entry for entry in reversed(named) if entry.start <= day), None)
        entry = self._found[key]
        return None if entry is None else entry.price_of(size)

    def _find_entries(self, name: str) -> list[_Entry]:
        if name in self._entries:
            return self._entries[name]
        return next((self._entries[f"{start}*"] for start in self._beginnings if name.startswith(start)), [])

    @cached_property
    def _beginnings(self) -> list[str]:
        return sorted((name[:-1] for name in self._entries if name.endswith("*")), key=len, reverse=True)


def configured_prices(config: Config) -> PriceTable:
    """Read the table of prices that the configuration names, or the one that comes with scopes.

    Raises as `read_prices` does.
    """
    path = config.find(SETTING)
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
    _check_header(path, own)
    extends = own.get("extends") is True
    entries = _read_entries(SHIPPED, shipped) if extends else {}
    if extends:
        _check_currency(path, own, shipped)
        own = {**{name: shipped[name] for name in ("currency", "date", "source")}, **own}
    return PriceTable(path, own, {**entries, **_read_entries(path, own)})


def _read(path: str) -> dict[str, Any]:
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
    return document


def _check_header(path: str, document: Mapping[str, Any]) -> None:
    """Check what a file says of its prices.

    Raises:
        Invalid: something of it is not a text, or the date is no day.
    """
    for name in ("currency", "date", "source"):
        if not isinstance(document.get(name, ""), str):
            raise Invalid(f"the prices in {path}: {name!r} is not a text", hint=_FORM)
    day = document.get("date", "")
    try:
        is_day = not day or date.fromisoformat(day).isoformat() == day
    except ValueError:
        is_day = False
    if not is_day:
        raise Invalid(f"the prices in {path}: 'date' is not a day such as 2026-01-31: {day!a}", hint=_FORM)


def _check_currency(path: str, own: Mapping[str, Any], shipped: Mapping[str, Any]) -> None:
    """Check that two tables can be one: nothing here knows an exchange rate.

    Raises:
        Invalid: their currencies differ.
    """
    theirs, ours = own.get("currency", shipped["currency"]), shipped["currency"]
    if theirs != ours:
        raise Invalid(
            f"the prices in {path} are in {theirs!a}, and those that it extends are in {ours}",
            hint=f"write them in {ours}, or leave 'extends' out: then models that are not in the file have no cost",
        )


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
    start = row.get("from", "")
    if start and not (isinstance(start, str) and _DAY.fullmatch(start)):
        raise ValueError(f"'from' is not a day such as 2026-01-31: {start!a}")
    above = row.get("above", {})
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


def _spellings(model: str) -> list[str]:
    """Return the names under which a model may have an entry, the most exact one first."""
    name = model.lower().strip()
    short = name.rpartition("/")[2]
    names = [name, short, _DATE.sub("", short)]
    return list(dict.fromkeys([*names, short.partition(":")[0]]))


def _text(document: Mapping[str, Any], name: str, default: str) -> str:
    value = document.get(name, default)
    return value if isinstance(value, str) else default
