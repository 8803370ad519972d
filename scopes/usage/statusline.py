"""`usage --statusline`: what was used today and lately, in one line; from the index alone if no ref has changed."""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from scopes.clock import local_day
from scopes.conversation.list import BRIEF, refs_digest
from scopes.result import Result
from scopes.store.refs import read_ref_files
from scopes.usage.amounts import QUARTER_SECONDS, Amounts, Group
from scopes.usage.cache import read_total, write_total
from scopes.usage.prices import UNITS, PriceTable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from scopes.store.repository import Repository

_DAY_SECONDS: Final = 86_400
_DAYS: Final = {"today": 1, "week": 7, "month": 30}
_SECOND: Final = 1_000_000_000
_MARSHAL_VERSION: Final = 2
Sums: TypeAlias = Sequence[tuple[Group, Amounts]]


class Spent(NamedTuple):
    """What was used in some days; the cost in millionths of the currency, None if no price is known."""

    answers: int
    tokens: int
    cost_micros: int | None
    unpriced: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageStatus(Result):
    """What was used today, and in the last 7 and 30 days with today; `model` is that of the newest answer."""

    currency: str
    today: Spent
    week: Spent
    month: Spent
    model: str | None = None


def usage_status(
    store: str,
    directory: str,
    open_store: Callable[[], Repository | None],
    prices: PriceTable,
    now_nanoseconds: int,
    *,
    utc: bool = False,
) -> UsageStatus:
    """Return what was used lately.

    store: its path; directory: that of its index; open_store: opens it, None if there is none
    """
    now = now_nanoseconds // _SECOND
    days = {name: {local_day(now - _DAY_SECONDS * n, utc=utc) for n in range(count)} for name, count in _DAYS.items()}
    spent = dict.fromkeys(_DAYS, Spent(0, 0, None, 0))
    newest: tuple[int, str] | None = None
    first = now // QUARTER_SECONDS - (_DAYS["month"] + 1) * _DAY_SECONDS // QUARTER_SECONDS
    for group, amounts in _read_sums(store, directory, open_store):
        if group.quarter is None:
            continue
        if group.model is not None:
            newest = max(newest or (group.quarter, group.model), (group.quarter, group.model))
        if group.quarter < first:
            continue
        day = local_day(group.quarter * QUARTER_SECONDS, utc=utc)
        price = None if group.model is None else prices.find(group.model, day, group.size)
        cost = None if price is None else price.cost(amounts)
        for name in _DAYS:
            if day in days[name]:
                spent[name] = _add(spent[name], amounts, cost)
    return UsageStatus(
        currency=prices.currency,
        today=_rounded(spent["today"]),
        week=_rounded(spent["week"]),
        month=_rounded(spent["month"]),
        model=None if newest is None else newest[1],
    )


def _add(before: Spent, amounts: Amounts, cost: int | None) -> Spent:
    return Spent(
        before.answers + amounts.answers,
        before.tokens + amounts.tokens,
        before.cost_micros if cost is None else (before.cost_micros or 0) + cost,
        before.unpriced + (amounts.answers if cost is None else 0),
    )


def _rounded(each: Spent) -> Spent:
    return each if each.cost_micros is None else each._replace(cost_micros=(each.cost_micros + UNITS // 2) // UNITS)


def _read_sums(store: str, directory: str, open_store: Callable[[], Repository | None]) -> Sums:
    """Return what was used by group, all conversations together."""
    state = _digest(store)
    if state is not None:
        kept = read_total(directory, store, state)
        if kept is not None:
            rows = marshal.loads(kept)  # noqa: S302 - the file is ours, and its checksum is right
            end = len(Group._fields)
            return [(Group._make(row[:end]), Amounts._make(row[end:])) for row in rows]
    repository = open_store()
    if repository is None:
        return []
    from scopes.usage.read_usage import read_usage

    tally, damaged = read_usage(repository)
    sums = _merge((cell.group, cell.amounts) for cell in tally.cells)
    if state is not None and not damaged and state == _digest(store):
        write_total(directory, store, state, marshal.dumps([(*g, *a) for g, a in sums], _MARSHAL_VERSION))
    return sums


def _merge(cells: Iterable[tuple[Group, Amounts]]) -> Sums:
    """Add up cells of the same quarter, model and size; agents are not told apart."""
    sums: dict[Group, list[int]] = {}
    for group, amounts in cells:
        key = group._replace(agent="")
        found = sums.setdefault(key, [0] * len(amounts))
        for position, count in enumerate(amounts):
            found[position] += count
    return [(group, Amounts._make(counts)) for group, counts in sums.items()]


def _digest(store: str) -> str | None:
    """Return a digest of the refs; None if they cannot be read without opening the store, or an operation is pending.

    As in a list from the index, the store has to be the user's own.
    """
    with suppress(OSError):
        if os.stat(store).st_uid == os.geteuid():
            return refs_digest(read_ref_files(store, BRIEF), store, BRIEF)
    return None
