"""Show what model answers have used: a table with bars, and rows in a pipe."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Final

from scopes.clock import now_nanoseconds
from scopes.render.phrases import short_day
from scopes.render.view import Cell, Column, Span, View
from scopes.result import counted
from scopes.usage.prices import format_money, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scopes.usage.usage import Usage, UsageRow

_BAR_WIDTH: Final = 70  # cells of a terminal from which there are bars
_BAR: Final = 12  # cells of the longest bar
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"
_MILLION: Final = 1_000_000
_PERIODS: Final = frozenset({"day", "week", "month"})
_WEEKDAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_NAMES: Final = ("model", "agent", "project", "conversation")
_COUNTS: Final = ("answers", "input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")


def render_usage(result: Usage, view: View) -> None:
    """Write a table, the newest period first; in a pipe one row each, with whole numbers and exact money."""
    if not view.terminal:
        view.rows(_piped_columns(result), map(_piped_row, result.rows))
        return
    if not result.rows:
        view.line(Span("no model answers with recorded tokens", "dim"))
        return
    periods = not _PERIODS.isdisjoint(result.by)
    measure = _measure(result)
    highest, total = max(map(measure, result.rows)), measure(result.total)
    found = sorted(result.rows, key=lambda row: row.period or "", reverse=True) if periods else result.rows
    rows: list[Sequence[Cell]] = []
    for row in found:
        share = f"{measure(row) * 100 // total}%" if total and not periods else ""
        bar = _draw_bar(measure(row), highest) if view.width >= _BAR_WIDTH and periods else share
        rows.append((*_keys(result, row), *_numbers(result, row), bar))
    if len(rows) > 1:
        unit = "row" if len(result.by) > 1 else result.by[0]
        rows.append((Span(counted(len(rows), unit), "key"), *([""] * (len(result.by) - 1)),
                     *_numbers(result, result.total), ""))  # fmt: skip
    numbers = (Column(name, align="right") for name in ("cost", "answers", "input", "cached", "output"))
    names = (Column("", "id" if word == "conversation" else "", flexible=word not in _PERIODS) for word in result.by)
    view.rows((*names, *numbers, Column("", "good" if periods else "dim")), rows)
    if result.total.unpriced:
        view.sentence(Span(f"? {counted(result.total.unpriced, 'answer')} by models without a price", "warn"))
    if view.options.details:
        prices = result.prices
        source = f" ({prices.path or prices.source})" if prices.path or prices.source else ""
        view.sentence(Span(f"prices{f' of {prices.date}' if prices.date else ''}{source}", "dim"))


def _measure(result: Usage) -> Callable[[UsageRow], int]:
    """Return what bars show: the cost, or the tokens if no price is known."""
    return (lambda row: row.tokens) if result.total.cost_micros is None else (lambda row: row.cost_micros or 0)


def _keys(result: Usage, row: UsageRow) -> list[str]:
    names = {**row._asdict(), **dict.fromkeys(_PERIODS, row.period)}
    return [_day(names["day"]) if word == "day" else names.get(word) or "unknown" for word in result.by]


def _day(day: str | None) -> str:
    """Return `Sat 28 Nov`, or with the year `Wed 31 Dec 2025` if that is not this year."""
    if day is None:
        return "unknown"
    return f"{_WEEKDAYS[date.fromisoformat(day).weekday()]} {short_day(day, now_nanoseconds())}"


def _numbers(result: Usage, row: UsageRow) -> list[Cell]:
    """Return cost, answers, and the tokens of the input, from a cache and of the output."""
    money = format_money(row.cost_micros, result.prices.currency)
    blank = "  " if result.total.unpriced else ""  # below the mark of a sum that is not known wholly
    cost: Cell = money if row.cost_micros is None else (money, Span(" ?", "warn") if row.unpriced else blank)
    tokens = (row.tokens - row.output - row.cache_read, row.cache_read, row.output)
    return [cost, f"{row.answers:,}", *map(shorten, tokens)]


def _draw_bar(value: int, highest: int) -> str:
    """Return a bar in eighths of a cell; not empty unless the value is 0."""
    if not highest or not value:
        return ""
    eighths = max(value * _BAR * 8 // highest, 1)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _piped_columns(result: Usage) -> list[Column]:
    """Return the columns of a pipe; those for which the rows are not are for templates only."""
    names = {"period": {*result.by} & _PERIODS, **{name: {name} & {*result.by} for name in _NAMES}}
    groups = [Column(name.capitalize(), hidden=not is_shown) for name, is_shown in names.items()]
    return [*groups, *(Column(name.capitalize()) for name in (*_COUNTS, "cost", "unpriced"))]


def _piped_row(row: UsageRow) -> list[str]:
    money = "" if row.cost_micros is None else f"{row.cost_micros // _MILLION}.{row.cost_micros % _MILLION:06d}"
    names = [row.period, *(getattr(row, name) for name in _NAMES)]
    return [*(name or "" for name in names), *(str(getattr(row, name)) for name in _COUNTS), money, str(row.unpriced)]
