"""Draw a calendar of what was used: a column for each week, a row for each day of the week, shaded by the amount."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING, Final

from scopes.render.view import Span, View

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scopes.usage.usage import UsageRow

_LABELS: Final = ("Mon", "", "Wed", "", "Fri", "", "Sun")
_LABEL_CELLS: Final = 4
_DAY_CELLS: Final = 2
_MAX_WEEKS: Final = 53
_SHADES: Final = ("·", "░", "▒", "▓", "█")
_MIN_DAYS: Final = 2
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def write_calendar(days: Sequence[UsageRow], view: View) -> None:
    """Write the weeks up to the last day, as many as fit; nothing for a single day.

    A shade is a quarter of the days that used anything, from the cheapest to the dearest; it is by tokens if no price
    is known.
    """
    by_tokens = all(row.cost_micros is None for row in days)
    used = {row.period: row.tokens if by_tokens else row.cost_micros or 0 for row in days if row.period is not None}
    if len(used) < _MIN_DAYS:
        return
    last = date.fromisoformat(max(used))
    first = date.fromisoformat(min(used))
    end = last - timedelta(days=last.weekday())
    room = (view.width - _LABEL_CELLS) // _DAY_CELLS
    weeks = min((end - first).days // 7 + 2, room, _MAX_WEEKS)
    mondays = [end - timedelta(weeks=weeks - 1 - number) for number in range(weeks)]
    view.line(Span(_month_labels(mondays), "dim"))
    shades = _Shades([amount for amount in used.values() if amount])
    for weekday, label in enumerate(_LABELS):
        cells = [_draw_day(monday + timedelta(days=weekday), last, used, shades) for monday in mondays]
        view.line(Span(label.ljust(_LABEL_CELLS), "dim"), Span("".join(cells).rstrip(), "good"))
    view.line()


class _Shades:
    """Chooses a shade by the quarter of the amounts that an amount is in."""

    def __init__(self, amounts: list[int]) -> None:
        ordered = sorted(amounts)
        self._limits = [ordered[len(ordered) * quarter // 4] for quarter in (1, 2, 3)] if ordered else []

    def choose(self, amount: int) -> str:
        return _SHADES[1 + sum(amount >= limit for limit in self._limits)] if amount else _SHADES[0]


def _draw_day(day: date, last: date, used: Mapping[str, int], shades: _Shades) -> str:
    return " " * _DAY_CELLS if day > last else shades.choose(used.get(day.isoformat(), 0)).ljust(_DAY_CELLS)


def _month_labels(mondays: Sequence[date]) -> str:
    """Return the names of months above the first week that begins in each, where there is room."""
    cells = [" "] * (len(mondays) * _DAY_CELLS + len(_MONTHS[0]))
    free = 0
    for number, monday in enumerate(mondays):
        is_first = number == 0 or mondays[number - 1].month != monday.month
        start = number * _DAY_CELLS
        if is_first and start >= free:
            name = _MONTHS[monday.month - 1]
            cells[start : start + len(name)] = name
            free = start + len(name) + 1
    return " " * _LABEL_CELLS + "".join(cells).rstrip()
