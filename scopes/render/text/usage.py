"""Render what model answers have used: a calendar, a table with bars, and the line of a status bar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted
from scopes.render.text.usage_calendar import write_calendar
from scopes.render.view import Cell, Column, Span, View
from scopes.usage.readable import format_money, shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scopes.usage.usage import Usage, UsageRow

_WIDE: Final = 120  # cells from which all kinds of tokens have room
_BARS: Final = {False: 12, True: 32}  # cells of the longest bar, if the table is wide
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"
_MILLION: Final = 1_000_000
_PERIODS: Final = frozenset({"day", "week", "month"})
_NAMES: Final = ("model", "agent", "project", "conversation")
_COUNTS: Final = ("answers", "input", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")


class _Kind(NamedTuple):
    """A column of numbers."""

    name: str
    read: Callable[[UsageRow], int]


_NARROW_KINDS: Final = (
    _Kind("Answers", lambda row: row.answers),
    _Kind("Input", lambda row: row.tokens - row.output),
    _Kind("Output", lambda row: row.output),
)
_WIDE_KINDS: Final = (
    _Kind("Answers", lambda row: row.answers),
    _Kind("Input", lambda row: row.input),
    _Kind("Cache read", lambda row: row.cache_read),
    _Kind("Cache write", lambda row: row.cache_write),
    _Kind("Output", lambda row: row.output),
    _Kind("Reasoning", lambda row: row.reasoning),
)


@render_text.register
def render_usage(result: Usage, view: View) -> None:
    """Write a calendar and a table; in a pipe one row each, with whole numbers and exact money."""
    if not view.terminal:
        view.rows(_piped_columns(result), map(_piped_row, result.rows))
        return
    if not result.rows:
        view.line(Span("no model answers with recorded tokens", "dim"))
        return
    if result.by == ("day",):
        write_calendar(result.days, view)
    wide = view.width >= _WIDE
    kinds = _WIDE_KINDS if wide else _NARROW_KINDS
    columns = (
        *(Column(word.capitalize(), "id" if word == "conversation" else "", flexible=True) for word in result.by),
        *(Column(kind.name, align="right") for kind in kinds),
        Column("Cost", align="right"),
        Column("", "good"),
    )
    highest = max(map(_measure(result), result.rows))
    rows: list[Sequence[Cell]] = []
    for row in result.rows:
        bar = _draw_bar(_measure(result)(row), highest, _BARS[wide])
        rows.append((*_keys(result, row), *_numbers(kinds, row), _money(result, row), bar))
    if len(rows) > 1:
        total = result.total
        keys: list[Cell] = [Span("all", "key"), *([""] * (len(result.by) - 1))]
        rows.append((*keys, *_numbers(kinds, total), _money(result, total), ""))
    view.rows(columns, rows, title="Usage")
    _write_prices(result, view)


def _write_prices(result: Usage, view: View) -> None:
    prices = result.prices
    of = f" of {prices.date}" if prices.date else ""
    source = f" ({prices.path or prices.source})" if prices.path or prices.source else ""
    view.sentence(Span(f"prices{of}{source}", "dim"))
    if result.total.unpriced:
        view.sentence(Span(f"+ {counted(result.total.unpriced, 'answer')} by models without a price", "warn"))


def _measure(result: Usage) -> Callable[[UsageRow], int]:
    """Return what bars show: the cost, or the tokens if no price is known."""
    return (lambda row: row.tokens) if result.total.cost_micros is None else (lambda row: row.cost_micros or 0)


def _keys(result: Usage, row: UsageRow) -> list[str]:
    names = {**row._asdict(), **dict.fromkeys(_PERIODS, row.period)}
    return [names.get(word) or "unknown" for word in result.by]


def _numbers(kinds: Sequence[_Kind], row: UsageRow) -> list[str]:
    return [f"{row.answers:,}" if kind.name == "Answers" else shorten(kind.read(row)) for kind in kinds]


def _money(result: Usage, row: UsageRow) -> Cell:
    text = format_money(row.cost_micros, result.prices.currency)
    return (text, Span("+", "warn")) if row.unpriced and row.cost_micros is not None else text


def _draw_bar(value: int, highest: int, cells: int) -> str:
    """Return a bar in eighths of a cell; not empty unless the value is 0."""
    if not highest or not value:
        return ""
    eighths = max(value * cells * 8 // highest, 1)
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
