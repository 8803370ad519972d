"""Show the tokens that providers reported for the exported answers: a bar for each day, and a row for each model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from scopes.exporters.html.template import EMPTY, Html, Template, join
from scopes.history.usage import Tokens, tokens_of
from scopes.model.message import COPIED, Message

_UNKNOWN: Final = "unknown model"
_OTHERS: Final = 5  # the color of all models after the first ones
_MOST_BARS: Final = 62  # more days are shown as months
_HEIGHT, _TOP = 90, 16  # pixels of the bars, and of the line above them
_DAY, _MONTH = 10, 7  # characters of a time
_GAP: Final = 0.25  # of the width of a bar
_UNITS: Final = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


@dataclass(slots=True)
class UsageCounter:
    """Adds up the tokens of messages by day and model."""

    by_model: dict[str, Tokens] = field(default_factory=dict)
    by_day: dict[str, dict[str, int]] = field(default_factory=dict)

    def add(self, message: Message) -> None:
        """Count a message; what was copied from another session is counted there."""
        tokens = tokens_of(message)
        if tokens is None or message.extra.get("precision") == COPIED:
            return
        model = message.model or _UNKNOWN
        self.by_model[model] = tokens.plus(self.by_model.get(model, Tokens()))
        if message.time is not None:
            day = self.by_day.setdefault(message.time[:_DAY], {})
            day[model] = day.get(model, 0) + _new_tokens(tokens)


def show_usage(template: Template, counter: UsageCounter) -> Html:
    """Return the panel with the tokens; empty if there are none."""
    models = sorted(counter.by_model, key=lambda model: (-_new_tokens(counter.by_model[model]), model))
    if not models:
        return EMPTY
    colors = {model: min(number, _OTHERS) for number, model in enumerate(models)}
    rows = [_row(template, model, counter.by_model[model], colors[model]) for model in models]
    total = sum(map(_new_tokens, counter.by_model.values()))
    return template.fill("usage", total=_short(total), chart=_chart(template, counter.by_day, colors), rows=join(rows))


def _row(template: Template, model: str, tokens: Tokens, color: int) -> Html:
    written = _sum(tokens.input_uncached, tokens.cache_write)
    return template.fill(
        "usage_row", color=str(color), model=model, answers=f"{tokens.answers:,}", input=_short(written),
        cached=_short(tokens.cache_read), output=_short(tokens.output),
    )  # fmt: skip


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
    base = _TOP + _HEIGHT
    return template.fill(
        "chart", height=str(base + 18), base=str(base), text=str(base + 14), bars=join(bars),
        first=names[0], last=names[-1], most=f"{_short(most)} a day at most"
        if len(names[0]) == _DAY else f"{_short(most)} a month at most",
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


def _new_tokens(tokens: Tokens) -> int:
    """Return the tokens that were not read from a cache."""
    return _sum(tokens.input_uncached, tokens.cache_write, tokens.output) or 0


def _sum(*counts: int | None) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _short(count: int | None) -> str:
    """Return a count as people read it: `1.2M`; a dash if it is not known."""
    if count is None:
        return "\N{EN DASH}"
    for size, unit in _UNITS:
        if count >= size:
            return f"{count / size:.1f}{unit}" if count < 100 * size else f"{count // size:,}{unit}"
    return str(count)
