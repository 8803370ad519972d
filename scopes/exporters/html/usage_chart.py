"""Show what the exported answers have used, as `scopes usage` counts it: a bar for each day, and a row for each model.

Days are in UTC, as all times of a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from scopes.exporters.html.template import EMPTY, Html, Template, join
from scopes.history.messages import MessageHeader
from scopes.ids import ConversationId, Oid
from scopes.store.repository import Repository
from scopes.usage.prices import PriceTable, format_money, shorten
from scopes.usage.usage import AnswerReader, Tally, Usage, UsageRequest, UsageRow, usage_of_tally

_UNKNOWN: Final = "unknown model"
_OTHERS: Final = 5  # the color of all models after the first ones
_MOST_BARS: Final = 62  # more days are shown as months
_HEIGHT, _TOP = 90, 16  # pixels of the bars, and of the line above them
_DAY, _MONTH = 10, 7  # characters of a time
_GAP: Final = 0.25  # of the width of a bar


@dataclass(slots=True)
class UsageCounter:
    """Collects the answers of a conversation; what several of its messages are counts once."""

    prices: PriceTable
    _reader: AnswerReader | None = field(default=None, init=False)

    def add(self, repository: Repository, head: MessageHeader, root: Oid) -> None:
        """Add a message."""
        self._reader = self._reader or AnswerReader(repository, root)
        self._reader.add(head)

    def count(self, conversation: ConversationId) -> tuple[Usage, Usage]:
        """Return what was used by model, and by day and model."""
        tally = Tally()
        if self._reader is not None:
            tally.add(conversation, self._reader.used())
        by_model = usage_of_tally(tally, UsageRequest(by=("model",)), self.prices, utc=True)
        return by_model, usage_of_tally(tally, UsageRequest(by=("day", "model")), self.prices, utc=True)


def show_usage(template: Template, by_model: Usage, by_day: Usage) -> Html:
    """Return the panel with tokens and cost; empty if there are none."""
    if not by_model.rows:
        return EMPTY
    colors = {name_of_model(row): min(number, _OTHERS) for number, row in enumerate(by_model.rows)}
    days: dict[str, dict[str, int]] = {}
    for row in by_day.rows:
        if row.period is not None:
            days.setdefault(row.period, {})[name_of_model(row)] = _new_tokens(row)
    total, prices = by_model.total, by_model.prices
    return template.fill(
        "usage",
        total=shorten(total.tokens),
        cost=_cost(total, prices.currency),
        chart=_chart(template, days, colors),
        rows=join([_row(template, row, colors[name_of_model(row)], prices.currency) for row in by_model.rows]),
        prices=EMPTY if total.cost_micros is None else _prices(template, by_model),
    )


def name_of_model(row: UsageRow) -> str:
    """Return the model of a row."""
    return row.model or _UNKNOWN


def _row(template: Template, row: UsageRow, color: int, currency: str) -> Html:
    return template.fill(
        "usage_row", color=str(color), model=name_of_model(row), answers=f"{row.answers:,}",
        input=shorten(row.input + row.cache_write), cached=shorten(row.cache_read), output=shorten(row.output),
        cost=_cost(row, currency),
    )  # fmt: skip


def _cost(row: UsageRow, currency: str) -> str:
    """Return the cost; `?` if it is not known, and a + if it is that of some answers only."""
    more = "+" if row.unpriced and row.cost_micros is not None else ""
    return f"{format_money(row.cost_micros, currency)}{more}"


def _prices(template: Template, result: Usage) -> Html:
    """Return where the prices are from; a user's file is not named, because a page goes to others."""
    prices, missing = result.prices, result.total.unpriced
    date = f"List prices of {prices.date}" if prices.date else "List prices"
    lacking = f"; + lacks {missing:,} of {result.total.answers:,} answers, whose price is not known" if missing else ""
    return template.fill("prices", text=f"{date}{lacking}.", source=prices.source)


def _chart(template: Template, by_day: Mapping[str, Mapping[str, int]], colors: Mapping[str, int]) -> Html:
    """Return the bars; empty for a single one. A day without answers has no bar, and no room."""
    periods = _merge(by_day, _DAY)
    if len(periods) > _MOST_BARS:
        periods = _merge(by_day, _MONTH)
    most = max((sum(amounts.values()) for amounts in periods.values()), default=0)
    if most == 0 or len(periods) < 2:
        return EMPTY
    names = sorted(periods)
    slot = min(100 / len(names), 12.5)
    bars = [
        bar
        for number, name in enumerate(names)
        for bar in _stack(template, name, periods[name], colors, (number * slot, slot * (1 - _GAP), most))
    ]
    base, period = _TOP + _HEIGHT, "day" if len(names[0]) == _DAY else "month"
    return template.fill(
        "chart", height=str(base + 18), base=str(base), text=str(base + 14), bars=join(bars),
        first=names[0], last=names[-1], most=f"{shorten(most)} a {period} at most, without cached",
        about=f"Tokens from {names[0]} to {names[-1]}, without those read from a cache",
    )  # fmt: skip


def _stack(
    template: Template,
    period: str,
    amounts: Mapping[str, int],
    colors: Mapping[str, int],
    place: tuple[float, float, int],
) -> Iterable[Html]:
    """Yield the pieces of a bar, the model that used most at the bottom."""
    x, width, most = place
    y = float(_TOP + _HEIGHT)
    for model in sorted(amounts, key=lambda model: (colors[model], model)):
        height = _HEIGHT * amounts[model] / most
        y -= height
        yield template.fill(
            "bar", color=str(colors[model]), x=f"{x:.2f}", y=f"{y:.2f}", width=f"{width:.2f}", height=f"{height:.2f}",
            about=f"{period}: {model}, {amounts[model]:,} tokens",
        )  # fmt: skip


def _merge(by_day: Mapping[str, Mapping[str, int]], length: int) -> dict[str, dict[str, int]]:
    merged: dict[str, dict[str, int]] = {}
    for day, amounts in by_day.items():
        target = merged.setdefault(day[:length], {})
        for model, amount in amounts.items():
            target[model] = target.get(model, 0) + amount
    return merged


def _new_tokens(row: UsageRow) -> int:
    """Return the tokens that were not read from a cache."""
    return row.input + row.cache_write + row.output
