"""`usage`: tokens and cost by day, week, month, model, agent, project or conversation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from scopes.clock import local_day
from scopes.errors import Corrupt, Invalid
from scopes.history.handles import resolve_scope
from scopes.ids import ConversationId
from scopes.result import Note, Result, few
from scopes.store.projects import Project, find_project_names
from scopes.store.repository import Repository
from scopes.usage.amounts import QUARTER_SECONDS, Amounts, plus
from scopes.usage.prices import UNITS, PriceTable
from scopes.usage.read_usage import read_usage
from scopes.usage.tally import Cell, Tally

By: TypeAlias = Literal["day", "week", "month", "model", "agent", "project", "conversation"]
PERIODS: Final = ("day", "week", "month")
_SECOND: Final = 1_000_000_000
_NO_FILTERS: Final[Mapping[str, Any]] = {"since": None, "until": None, "projects": (), "model": None, "agent": None}


class UsageRequest(NamedTuple):
    """What to add up.

    by: what the rows are for; several give a row for each combination
    since, until: nanoseconds since 1970; whole quarters of an hour are counted
    conversations: only these; None for all
    projects: only conversations that began in one of them, if there are any
    model, agent: only answers by a model or agent whose name has this in it
    utc: days begin at midnight UTC, and not in the time zone of this machine
    """

    by: tuple[By, ...] = ("day",)
    since: int | None = None
    until: int | None = None
    conversations: tuple[str, ...] | None = None
    projects: tuple[Project, ...] = ()
    model: str | None = None
    agent: str | None = None
    utc: bool = False


class UsageRow(NamedTuple):
    """Sums of one group. What the rows are not for is None, and so is a time, model or project that is not known.

    period: a day (`2026-11-26`), the Monday of a week, or a month (`2026-11`)
    input: tokens neither read from a cache nor written to it; cache_write_1h is part of cache_write, and reasoning of
        output
    cost_micros: in millionths of the currency, of those answers whose price is known; None if that is none of them
    unpriced: the number of answers whose price is not known
    """

    period: str | None
    model: str | None
    agent: str | None
    project: str | None
    conversation: ConversationId | None
    answers: int
    input: int
    cache_read: int
    cache_write: int
    cache_write_1h: int
    output: int
    reasoning: int
    cost_micros: int | None
    unpriced: int

    @property
    def tokens(self) -> int:
        """All tokens, of input and output."""
        return self.input + self.cache_read + self.cache_write + self.output


class PriceSource(NamedTuple):
    """Where the prices are from. path: the user's file; None for the table that comes with scopes."""

    currency: str
    date: str
    source: str
    path: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(Result):
    """What model answers have used, each answer once. Periods are in order of time, other rows by cost and tokens.

    total: the sum of all rows
    days: the sum of each day, whatever the rows are for
    conversations: how many of them have used anything
    damaged: conversations that could not be read
    """

    by: tuple[By, ...]
    rows: tuple[UsageRow, ...]
    total: UsageRow
    days: tuple[UsageRow, ...]
    prices: PriceSource
    conversations: int
    damaged: tuple[ConversationId, ...] = ()

    @property
    def exit_code(self) -> int:
        """The exit code of damage if a conversation could not be read, otherwise 0."""
        return Corrupt.exit_code if self.damaged else 0


def usage(
    repository: Repository,
    request: UsageRequest,
    prices: PriceTable,
    *,
    on_progress: Callable[[int], None] = lambda _count: None,
) -> Usage:
    """Add up what model answers have used.

    An answer that several conversations have counts for the first of them, in the order of their names.

    Raises:
        NotFound, Ambiguous: a conversation cannot be resolved.
        Invalid: the request names something twice.
    """
    request = request._replace(by=check_by(request.by))
    chosen = request.conversations
    wanted = None if chosen is None else [resolve_scope(repository, name).conversation for name in chosen]
    tally, damaged = read_usage(repository, wanted, on_progress=on_progress)
    return usage_of_tally(tally, request, prices, damaged)


def usage_of_tally(
    tally: Tally, request: UsageRequest, prices: PriceTable, damaged: Sequence[ConversationId] = ()
) -> Usage:
    """Add up cells that were read."""
    cells = _select(tally.cells, request)
    is_named = "project" in request.by or (request.projects and not cells)
    directories = {cell.directory for cell in cells or tally.cells if cell.directory} if is_named else set()
    grouping = _Grouping(prices, find_project_names(directories), utc=request.utc)
    rows = grouping.add_up(cells, request.by)
    total = grouping.add_up(cells, ())
    return Usage(
        by=request.by,
        rows=rows,
        total=total[0] if total else _EMPTY,
        days=rows if request.by == ("day",) else grouping.add_up(cells, ("day",)),
        prices=PriceSource(prices.currency, prices.date, prices.source, prices.path),
        conversations=len({cell.conversation for cell in cells}),
        damaged=tuple(damaged),
        notes=(*_notes(tally, request, damaged), *_none_found_notes(tally.cells, request, grouping)),
    )


def check_by(by: Sequence[str]) -> tuple[By, ...]:
    """Return what rows are for.

    Raises:
        Invalid: a word is unknown or occurs twice, or there are two periods.
    """
    known = get_args(By)
    for word in by:
        if word not in known:
            raise Invalid(f"{word!a} is not a valid value of --by", hint=f"use some of {', '.join(known)}")
    if len(set(by)) != len(by) or len({*by} & {*PERIODS}) > 1:
        raise Invalid("--by names a period or a word twice", hint="for example: --by day,model")
    return tuple(word for word in known if word in by)


_EMPTY: Final = UsageRow(None, None, None, None, None, 0, 0, 0, 0, 0, 0, 0, None, 0)


class _Sum:
    """Sums of one row; the cost in the unit of `Price.cost`, so that it is rounded once."""

    __slots__ = ("amounts", "cost", "unpriced")

    def __init__(self) -> None:
        self.amounts = Amounts()
        self.cost: int | None = None
        self.unpriced = 0


class _Grouping:
    """Makes rows of cells; days and prices that were looked up are kept."""

    def __init__(self, prices: PriceTable, names: Mapping[str, str], *, utc: bool) -> None:
        self._prices = prices
        self._names = names
        self._utc = utc
        self._days: dict[int, str] = {}

    def add_up(self, cells: Sequence[Cell], by: tuple[By, ...]) -> tuple[UsageRow, ...]:
        sums: dict[tuple[str | None, ...], _Sum] = {}
        for cell in cells:
            key = tuple([self._value(cell, word) for word in by])
            found = sums.get(key)
            if found is None:
                found = sums[key] = _Sum()
            found.amounts = plus(found.amounts, cell.amounts)
            cost = self._cost(cell)
            if cost is None:
                found.unpriced += cell.amounts.answers
            else:
                found.cost = (found.cost or 0) + cost
        rows = [_make_row(by, key, each) for key, each in sums.items()]
        has_period = bool({*by} & {*PERIODS})
        rows.sort(key=lambda row: (-(row.cost_micros or 0), -row.tokens, *_names_of(row)))
        if has_period:
            rows.sort(key=lambda row: row.period or "")
        return tuple(rows)

    def _value(self, cell: Cell, word: By) -> str | None:
        if word in PERIODS:
            return self._period(cell.group.quarter, word)
        if word == "project":
            return None if cell.directory is None else self.project(cell.directory)
        if word == "conversation":
            return cell.conversation
        return cell.group.model if word == "model" else cell.group.agent

    def project(self, directory: str) -> str:
        """Return the name of the project of a directory; the directory if it has none."""
        return self._names.get(directory, directory)

    def _period(self, quarter: int | None, word: str) -> str | None:
        if quarter is None:
            return None
        day = self.day(quarter)
        return day if word == "day" else day[: len("2026-11")] if word == "month" else monday_of(day)

    def day(self, quarter: int) -> str:
        """Return the day of a quarter of an hour."""
        day = self._days.get(quarter)
        if day is None:
            day = self._days[quarter] = local_day(quarter * QUARTER_SECONDS, utc=self._utc)
        return day

    def _cost(self, cell: Cell) -> int | None:
        model, quarter = cell.group.model, cell.group.quarter
        if model is None:
            return None
        price = self._prices.find(model, "" if quarter is None else self.day(quarter), cell.group.size)
        return None if price is None else price.cost(cell.amounts)


def monday_of(day: str) -> str:
    """Return the Monday of the week of a day."""
    parsed = date.fromisoformat(day)
    return (parsed - timedelta(days=parsed.weekday())).isoformat()


def _make_row(by: tuple[By, ...], key: tuple[str | None, ...], each: _Sum) -> UsageRow:
    values = dict(zip(("period" if word in PERIODS else word for word in by), key, strict=True))
    cost = None if each.cost is None else (each.cost + UNITS // 2) // UNITS
    conversation = values.get("conversation")
    return UsageRow(
        values.get("period"),
        values.get("model"),
        values.get("agent"),
        values.get("project"),
        None if conversation is None else ConversationId(conversation),
        *each.amounts,
        cost,
        each.unpriced,
    )


def _names_of(row: UsageRow) -> tuple[str, ...]:
    return tuple(name or "" for name in row[:5])


def _select(cells: Sequence[Cell], request: UsageRequest) -> list[Cell]:
    """Return the cells that are asked for."""
    since, until = (
        None if time is None else time // _SECOND // QUARTER_SECONDS for time in (request.since, request.until)
    )
    model, agent = (None if text is None else text.lower() for text in (request.model, request.agent))
    directories = {cell.directory for cell in cells} if request.projects else set()
    chosen = {each for project in request.projects for each in project.find(directories)}
    return [
        cell
        for cell in cells
        if (since is None or (cell.group.quarter is not None and since <= cell.group.quarter))
        and (until is None or (cell.group.quarter is not None and cell.group.quarter <= until))
        and (model is None or model in (cell.group.model or "").lower())
        and (agent is None or agent in cell.group.agent.lower())
        and (not request.projects or cell.directory in chosen)
    ]


def _notes(tally: Tally, request: UsageRequest, damaged: Sequence[ConversationId]) -> tuple[Note, ...]:
    lost = f"{len(damaged)} conversation{'s' if len(damaged) > 1 else ''} could not be read"
    notes = [Note(lost, "see: scopes verify")] if damaged else []
    if tally.unmeasured and not any((request.since, request.until, request.projects, request.model, request.agent)):
        count = len(tally.unmeasured)
        text = f"of {count} conversation{'s' if count > 1 else ''} no tokens are recorded"
        notes.append(Note(f"{text}: {_answers(sum(tally.unmeasured.values()))} not counted"))
    if tally.copied:
        text = f"{_answers(sum(tally.copied.values()))} not counted: copies from sessions that are not here, which have"
        where = few("copied into", tally.copied)
        notes.append(Note(f"{text} their tokens; {where}", hint="import those sessions as well"))
    return tuple(notes)


def _none_found_notes(cells: Sequence[Cell], request: UsageRequest, grouping: _Grouping) -> tuple[Note, ...]:
    """Return a note that names the filters without which there would be answers, and what there is instead."""
    if not cells or _select(cells, request):
        return ()
    nothing = request._replace(**_NO_FILTERS)
    values = {name: getattr(request, name) for name in _NO_FILTERS}
    only = {name: nothing._replace(**{name: value}) for name, value in values.items() if value != _NO_FILTERS[name]}
    alone = [name for name, each in only.items() if not _select(cells, each)] or list(only)
    hints = []
    if "agent" in alone:
        hints.append(few("agents", (cell.group.agent for cell in cells)))
    if "model" in alone:
        hints.append(few("models", (cell.group.model for cell in cells if cell.group.model is not None)))
    if "projects" in alone:
        hints.append(few("projects", (grouping.project(cell.directory) for cell in cells if cell.directory)))
    days = sorted(grouping.day(cell.group.quarter) for cell in cells if cell.group.quarter is not None)
    if days and not {"since", "until"}.isdisjoint(alone):
        hints.append(f"answers: from {days[0]} to {days[-1]}")
    named = " ".join(f"--{name.removesuffix('s')}" for name in alone)
    return (Note(f"no answer matches {named}", "\n".join(filter(None, hints)) or None),)


def _answers(number: int) -> str:
    return f"{number:,} answer{'s are' if number > 1 else ' is'}"
