"""`usage`: what model answers cost, tokens and money, by day, week, month, model, agent, project or conversation.

A transcript may be stored more than once: a fork has the answers of its parent, a copy by `redact` those of the
original, and a session that was read again has messages with other ids. `Answer.key` is the same for all of them, and
an answer counts for the first conversation that has it, in the order of their names. What the answers of a conversation
are is kept in the index, and read again when a ref of the conversation has moved.
"""

from __future__ import annotations

import contextlib
import hashlib
import marshal
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from scopes.clock import local_day, parse_date, parse_time
from scopes.conversation.show import ConversationRefs, group_by_conversation
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.activity import count_of, tokens_of
from scopes.history.handles import resolve_scope
from scopes.history.messages import MessageHeader, header_of, is_root, read_body_bytes, read_root_of
from scopes.history.metadata import read_metadata
from scopes.hosts.agents import AGENTS, find_agent_named
from scopes.ids import ConversationId, Oid
from scopes.index.sqlite_files import ROW_ERRORS, Layout, change_rows, open_rows
from scopes.model.message import COPIED, Message, decode
from scopes.result import Note, Result, counted, few
from scopes.store import refs
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Objects
from scopes.store.projects import Project, find_project_names
from scopes.store.repository import Repository
from scopes.usage.prices import FAST, INCOMPLETE, SIZES, UNITS, Amounts, PriceTable, format_money, shorten

By: TypeAlias = Literal["day", "week", "month", "model", "agent", "project", "conversation"]
PERIODS: Final = ("day", "week", "month")
QUARTER_SECONDS: Final = 900  # every time zone begins its days at a quarter of an hour
_SECOND: Final = 1_000_000_000
_USAGE: Final = b'"usage"'
_COPIED: Final = b'"%s"' % COPIED.encode()
_PROVIDED: Final = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")  # of Anthropic
_OTHER_COUNTS: Final = ("input_uncached", "cache_read", "cache_write", "cache_write_1h", "output", "reasoning")
_MARSHAL_VERSION: Final = 2  # every Python reads it, and its bytes depend on the values alone
_BUSY_SECONDS: Final = 0.25
LAYOUT: Final = Layout(
    "usage.sqlite",
    version=6,  # changed with `Used` too
    tables="CREATE TABLE usage (conversation TEXT PRIMARY KEY, state TEXT NOT NULL, used BLOB NOT NULL) STRICT",
)


class Group(NamedTuple):
    """What answers are grouped by.

    quarter: the number of the quarter of an hour since 1970; None if no time is known
    agent: the program; sub-agents, which have names of their own, count for it
    size: the largest of SIZES that the tokens of input exceed, or INCOMPLETE
    """

    quarter: int | None
    model: str | None
    agent: str
    size: int


class Answer(NamedTuple):
    """One answer of a model. key: the same for every copy; message: the same for every copy in one conversation."""

    key: int
    message: int
    group: Group
    amounts: Amounts


class Used(NamedTuple):
    """What the answers of one conversation have used, each once.

    directory: where it began; None if unknown
    unmeasured: answers that do not count, because no tokens are recorded with them
    groups: of each group the answers, as their keys followed by their amounts; there may be very many
    """

    directory: str | None
    unmeasured: int
    groups: Sequence[tuple[Group, Sequence[tuple[int, ...]]]]


class Cell(NamedTuple):
    """What one conversation has used in one group."""

    conversation: ConversationId
    directory: str | None
    group: Group
    amounts: Amounts


class AnswerReader:
    """Finds the answers among the messages of one conversation.

    An answer without a time is left out if the same message is there with one: a stream that was joined with its
    session. An answer may be several messages; what the first one has not is added by the others.
    """

    def __init__(self, objects: Objects, root: Oid, program: str | None = None) -> None:
        self._objects = objects
        self._root = root
        self._programs = {root: program}
        self._answers: list[Answer] = []
        self._unmeasured = self._copied = 0

    def add(self, head: MessageHeader) -> None:
        """Add a message, parents before children: each follows the program whose session it is in."""
        before = self._programs.get(head.parents[0]) if head.parents else None
        is_program = head.author_kind == "agent" and _is_program(head.author)
        program = self._programs[head.oid] = str(head.author) if is_program else before
        if head.author_kind == "human":
            return
        data = read_body_bytes(self._objects, head)
        message = decode(data) if _USAGE in data else None
        amounts = None if message is None else _read_amounts(message)
        if message is not None and amounts is not None:
            if amounts.tokens:
                self._answers += self._read(head, message, amounts, program)
        elif head.kind == "answer" and _COPIED in data:
            self._copied += 1
        elif head.kind == "answer":
            self._unmeasured += 1

    def _read(self, head: MessageHeader, message: Message, amounts: Amounts, program: str | None) -> Iterator[Answer]:
        """Yield an answer, and what other models have used for it, such as an advisor, as no answers of their own."""
        exact = None
        if message.time is not None and message.extra.get("precision") in {"exact", None}:  # else it is that of a copy
            exact = parse_time(message.time)
        in_whole_seconds = exact is not None and exact % _SECOND == 0  # then two answers may have one time
        by_message = _hash(head.id, self._root)
        by_time = _hash(exact, (message.model, *amounts, head.id if in_whole_seconds else ""))
        tokens = tokens_of(message)
        is_complete = tokens is not None and tokens.input is not None and tokens.output is not None
        size = max(limit for limit in SIZES if limit == 0 or amounts.all_input > limit) if is_complete else INCOMPLETE
        is_imported = "precision" in message.extra
        quarter = head.time // QUARTER_SECONDS if head.time > 0 else None
        group = Group(quarter, _priced_model(message), (is_imported and program) or str(head.author), size)
        key = by_message if exact is None else by_time
        yield Answer(key, by_message, group, amounts)
        others = message.extra["usage"].get("others")
        for other in others if isinstance(others, list) else ():
            if isinstance(other, Mapping) and isinstance(model := other.get("model"), str):
                used = Amounts(0, *(count_of(other.get(name)) or 0 for name in _OTHER_COUNTS))
                own_size = max(limit for limit in SIZES if limit == 0 or used.all_input > limit)
                yield Answer(
                    _hash(key, model), _hash(by_message, model), Group(*group[:1], model, group.agent, own_size), used
                )

    def used(self, directory: str | None = None) -> Used:
        """Return what was used by all that was added."""
        timed = {each.message for each in self._answers if each.key != each.message}
        answers = {each.key: each for each in self._answers if each.key not in timed}
        groups: dict[Group, list[tuple[int, ...]]] = {}
        for each in answers.values():
            groups.setdefault(each.group, []).append((each.key, *each.amounts))
        return Used(directory, self._copied + (0 if answers else self._unmeasured), tuple(groups.items()))


@lru_cache(maxsize=1000)
def _is_program(author: str) -> bool:
    return find_agent_named(author) is not None


def _hash(*values: object) -> int:
    return int.from_bytes(hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).digest()[:8], "big")


def _priced_model(message: Message) -> str | None:
    """Return the model of an answer, marked if it answered in the faster mode of Anthropic, which costs more."""
    raw = message.extra["usage"].get("raw")
    is_fast = isinstance(raw, Mapping) and raw.get("speed") == "fast"
    return f"{message.model}{FAST}" if is_fast and message.model is not None else message.model


def _read_amounts(message: Message) -> Amounts | None:
    """Return the tokens of a message; None if there are none.

    An answer may be several messages, with its tool calls between them. Each has the tokens that those before it do
    not have, while the object of the provider (`raw`) has those of all. The first one counts as the answer.
    """
    tokens = tokens_of(message)
    if tokens is None:
        return None
    raw = message.extra["usage"].get("raw")
    provided = raw if isinstance(raw, Mapping) else {}
    creation = provided.get("cache_creation")
    for_an_hour = count_of(creation.get("ephemeral_1h_input_tokens")) if isinstance(creation, Mapping) else None
    writes, output = tokens.cache_write or 0, tokens.output or 0
    found = Amounts(
        1,
        tokens.input_uncached or 0,
        tokens.cache_read or 0,
        writes,
        min(for_an_hour or 0, writes),
        output,
        min(tokens.reasoning or 0, output),
    )
    if not found.all_input and any(count_of(provided.get(name)) for name in _PROVIDED):
        return found._replace(answers=0)
    return found if found.tokens else None


class Tally:
    """The sums of several conversations; an answer counts for the first of them that has it."""

    def __init__(self) -> None:
        self.unmeasured: dict[ConversationId, int] = {}
        self._cells: dict[tuple[ConversationId, str | None, Group], Amounts] = {}
        self._seen: set[int] = set()

    @property
    def cells(self) -> list[Cell]:
        """What each conversation has used in each group."""
        return [Cell(*key, amounts) for key, amounts in self._cells.items()]

    def add(self, conversation: ConversationId, used: Used) -> None:
        """Add those answers of a conversation that were not counted."""
        if used.unmeasured:
            self.unmeasured[conversation] = used.unmeasured
        for group, answers in used.groups:
            new = [each for each in answers if each[0] not in self._seen]
            if new:
                keys, *counts = zip(*new, strict=True)
                self._seen.update(keys)
                self._cells[conversation, used.directory, group] = Amounts(*map(sum, counts))


def read_usage(
    repository: Repository,
    conversations: Sequence[ConversationId] | None = None,
    *,
    on_progress: Callable[[int], None] = lambda _count: None,
) -> tuple[Tally, list[ConversationId]]:
    """Return what conversations have used, all if None, and those that could not be read."""
    _, values = repository.read_refs(refs.HEADS, refs.META)
    every = {each.conversation: each for each in group_by_conversation(values)}
    directory = None if repository.is_past else repository.caller.index_directory
    kept = {} if directory is None else _read_kept(directory, repository.path)
    tally, damaged, new = Tally(), [], []
    for name in sorted(every if conversations is None else conversations, key=lambda name: (len(name), name)):
        state, data = kept.get(name, ("", b""))
        if state == every[name].state:
            tally.add(name, _unpack(data))
        else:
            try:
                used = _read_used(repository, every[name])
            except (Corrupt, NotFound):
                damaged.append(name)
            else:
                tally.add(name, used)
                new.append((name, every[name].state, marshal.dumps(_plain(used), _MARSHAL_VERSION)))
        on_progress(1)
    gone = [(name,) for name in kept if name not in every]
    if directory is not None and (new or gone):
        with contextlib.suppress(*ROW_ERRORS), change_rows(directory, LAYOUT, repository.path, _BUSY_SECONDS) as rows:
            rows.executemany("INSERT OR REPLACE INTO usage VALUES (?, ?, ?)", new)
            rows.executemany("DELETE FROM usage WHERE conversation = ?", gone)
    return tally, damaged


def _read_used(repository: Repository, of: ConversationRefs) -> Used:
    """Read the messages of a conversation.

    Raises:
        Corrupt, NotFound: it cannot be read.
    """
    commits = list(walk_oldest_first(repository, of.tips.values()))
    root = next((commit for commit in commits if is_root(commit)), None)
    stated = None if root is None else read_root_of(repository, root, root.oid)
    program = stated.format if stated is not None and stated.format in AGENTS else None
    reader = AnswerReader(repository, Oid("") if root is None else root.oid, program)
    for commit in commits:
        if not is_root(commit):
            reader.add(header_of(commit))
    return reader.used(read_metadata(repository, of.conversation).directory or (stated.cwd if stated else None))


def _read_kept(directory: str, store: str) -> dict[ConversationId, tuple[str, bytes]]:
    """Return what is kept by conversation, with the state of its refs; nothing if that cannot be read now."""
    with contextlib.suppress(*ROW_ERRORS), open_rows(directory, LAYOUT, store, _BUSY_SECONDS) as connection:
        rows = connection.execute("SELECT conversation, state, used FROM usage")
        return {ConversationId(name): (state, used) for name, state, used in rows}
    return {}


def _plain(used: Used) -> tuple[Any, ...]:
    return (used.directory, used.unmeasured, [(tuple(group), answers) for group, answers in used.groups])


def _unpack(data: bytes) -> Used:
    directory, unmeasured, groups = marshal.loads(data)  # noqa: S302 - the file is ours
    return Used(directory, unmeasured, [(Group._make(group), answers) for group, answers in groups])


class UsageRequest(NamedTuple):
    """What to add up.

    by: what the rows are for; several give a row for each combination
    since, until: nanoseconds since 1970; whole quarters of an hour are counted
    conversations: only these; None for all
    projects: only conversations that began in one of them, if there are any
    model, agent: only answers by a model or agent whose name has this in it
    """

    by: tuple[By, ...] = ("day",)
    since: int | None = None
    until: int | None = None
    conversations: tuple[str, ...] | None = None
    projects: tuple[Project, ...] = ()
    model: str | None = None
    agent: str | None = None


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

    rows_in = "rows"

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

    Raises:
        NotFound, Ambiguous: a conversation cannot be resolved.
        Invalid: the request names something twice.
    """
    known = get_args(By)
    for word in request.by:
        if word not in known:
            raise Invalid(f"{word!a} is not a valid value of --by", hint=f"use some of {', '.join(known)}")
    if len(set(request.by)) != len(request.by) or len({*request.by} & {*PERIODS}) > 1:
        raise Invalid("--by names a period or a word twice", hint="for example: --by day,model")
    request = request._replace(by=tuple(word for word in known if word in request.by))
    chosen = request.conversations
    wanted = None if chosen is None else [resolve_scope(repository, name).conversation for name in chosen]
    tally, damaged = read_usage(repository, wanted, on_progress=on_progress)
    return usage_of_tally(tally, request, prices, damaged)


def usage_of_tally(
    tally: Tally,
    request: UsageRequest,
    prices: PriceTable,
    damaged: Sequence[ConversationId] = (),
    *,
    utc: bool = False,
) -> Usage:
    """Add up cells that were read; with `utc` days are those in UTC and not in the time zone of this machine."""
    every = tally.cells
    cells = _select(every, request)
    names = find_project_names({cell.directory for cell in cells}) if "project" in request.by else {}
    grouping = _Grouping(prices, names, utc=utc)
    rows = grouping.add_up(cells, request.by)
    total = grouping.add_up(cells, ())
    return Usage(
        by=request.by,
        rows=rows,
        total=total[0] if total else UsageRow(None, None, None, None, None, *Amounts(), None, 0),
        days=rows if request.by == ("day",) else grouping.add_up(cells, ("day",)),
        prices=PriceSource(prices.currency, prices.date, prices.source, prices.path),
        conversations=len({cell.conversation for cell in cells}),
        damaged=tuple(damaged),
        notes=tuple(_notes(tally, request, damaged) if cells or not every else [_note_no_match(every, request)]),
    )


class Spent(NamedTuple):
    """What was used in some days; the cost in millionths of the currency, None if no price is known."""

    answers: int
    tokens: int
    cost_micros: int | None
    unpriced: int

    def describe(self, currency: str) -> str:
        """Return money and tokens; only the tokens if no price is known."""
        tokens = f"{shorten(self.tokens)} tokens"
        if self.cost_micros is None:
            return tokens
        return f"{format_money(self.cost_micros, currency)}{'+' if self.unpriced else ''} ({tokens})"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageStatus(Result):
    """What was used today, and in the last 7 and 30 days with today; `model` is that of the newest answer."""

    currency: str
    today: Spent
    week: Spent
    month: Spent
    model: str | None = None

    @property
    def answer(self) -> str:
        """The line of a status bar: `today $6.41 (214k tokens) · 7 days ...`, and the model."""
        spans = (("today", self.today), ("7 days", self.week), ("30 days", self.month))
        parts = [f"{name} {spent.describe(self.currency)}" for name, spent in spans]
        return " · ".join([*parts, *([self.model] if self.model else [])])


def usage_status(repository: Repository | None, prices: PriceTable, now: int) -> UsageStatus:
    """Return what was used lately; `now` in nanoseconds since 1970. Nothing was without a store."""
    tally = Tally() if repository is None else read_usage(repository)[0]

    def sum_of(days: int) -> Spent:
        since = parse_date(local_day(now // _SECOND - (days - 1) * 86_400), now)
        total = usage_of_tally(tally, UsageRequest(since=since, until=now), prices).total
        return Spent(total.answers, total.tokens, total.cost_micros, total.unpriced)

    answered = [(cell.group.quarter, cell.group.model) for cell in tally.cells if cell.group.quarter is not None]
    newest = max(((quarter, model) for quarter, model in answered if model is not None), default=(0, None))
    return UsageStatus(currency=prices.currency, today=sum_of(1), week=sum_of(7), month=sum_of(30), model=newest[1])


class _Grouping:
    """Makes rows of cells; days that were looked up are kept."""

    def __init__(self, prices: PriceTable, names: Mapping[str, str], *, utc: bool) -> None:
        self._prices = prices
        self._names = names
        self._utc = utc
        self._days: dict[int | None, str] = {None: ""}

    def add_up(self, cells: Sequence[Cell], by: tuple[By, ...]) -> tuple[UsageRow, ...]:
        sums: dict[tuple[str | None, ...], tuple[Amounts, int | None, int]] = {}
        for cell in cells:
            key = tuple([self._value(cell, word) for word in by])
            amounts, cost, unpriced = sums.get(key, (Amounts(), None, 0))
            more = self._cost(cell)  # in the unit of `Price.cost`, so that a row is rounded once
            if more is None:
                unpriced += cell.amounts.answers
            else:
                cost = (cost or 0) + more
            sums[key] = amounts.plus(cell.amounts), cost, unpriced
        rows = []
        for key, (amounts, cost, unpriced) in sums.items():
            named: dict[str, str | None] = dict(
                zip(("period" if word in PERIODS else word for word in by), key, strict=True)
            )
            rounded = None if cost is None else (cost + UNITS // 2) // UNITS
            names = (named.get(name) for name in UsageRow._fields[:5])
            rows.append(UsageRow._make((*names, *amounts, rounded, unpriced)))
        rows.sort(key=lambda row: (-(row.cost_micros or 0), -row.tokens, *(name or "" for name in row[:5])))
        if not {*by}.isdisjoint(PERIODS):
            rows.sort(key=lambda row: row.period or "")
        return tuple(rows)

    def _value(self, cell: Cell, word: By) -> str | None:
        if word in PERIODS:
            day = self._day(cell.group.quarter)
            return (day if word == "day" else day[:7] if word == "month" else monday_of(day)) if day else None
        if word == "project":
            return self._names.get(cell.directory or "", cell.directory)
        if word == "conversation":
            return cell.conversation
        return cell.group.model if word == "model" else cell.group.agent

    def _day(self, quarter: int | None) -> str:
        """Return the day of a quarter of an hour; empty if that is not known."""
        day = self._days.get(quarter)
        if day is None and quarter is not None:
            day = self._days[quarter] = local_day(quarter * QUARTER_SECONDS, utc=self._utc)
        return day or ""

    def _cost(self, cell: Cell) -> int | None:
        model = cell.group.model
        price = None if model is None else self._prices.find(model, self._day(cell.group.quarter), cell.group.size)
        return None if price is None else price.cost(cell.amounts)


def monday_of(day: str) -> str:
    """Return the Monday of the week of a day."""
    parsed = date.fromisoformat(day)
    return (parsed - timedelta(days=parsed.weekday())).isoformat()


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


def _notes(tally: Tally, request: UsageRequest, damaged: Sequence[ConversationId]) -> list[Note]:
    notes = (
        [Note(f"{counted(len(damaged), 'conversation')} could not be read", "see: scopes verify")] if damaged else []
    )
    if tally.unmeasured and not any((request.since, request.until, request.projects, request.model, request.agent)):
        answers = counted(sum(tally.unmeasured.values()), "answer")
        where = counted(len(tally.unmeasured), "conversation")
        notes.append(Note(f"{answers} of {where} not counted: no tokens are recorded with them"))
    return notes


def _note_no_match(cells: Sequence[Cell], request: UsageRequest) -> Note:
    """Return a note for filters that leave nothing, with what there is instead."""
    days = sorted(local_day(cell.group.quarter * QUARTER_SECONDS) for cell in cells if cell.group.quarter is not None)
    groups = [cell.group for cell in cells]
    there_is = {
        "since": f"answers: from {days[0]} to {days[-1]}" if days else "",
        "model": few("models", (group.model for group in groups if group.model is not None)),
        "agent": few("agents", (group.agent for group in groups)),
        "projects": few("projects", find_project_names({cell.directory for cell in cells}).values()),
    }
    there_is["until"] = "" if request.since else there_is["since"]
    named = [name for name in ("since", "until", "projects", "model", "agent") if getattr(request, name)]
    options = " ".join(f"--{name.removesuffix('s')}" for name in named)
    return Note(f"no answer matches {options}", "\n".join(filter(None, map(there_is.__getitem__, named))) or None)
