"""Execution of a plan: rows from the index, ranked or newest first, and the filter for what SQL cannot evaluate."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import islice
from typing import NamedTuple

from scopes.ids import ConversationId
from scopes.index.full_text import Index
from scopes.search.compile import IN_CONVERSATION, Plan
from scopes.search.predicates import Candidate, Predicate, Texts

_BM25 = "bm25(full_text, 4.0, 1.0, 1.0, 1.0)"  # message text weighs four times as much as reasoning and tools
_SELECT = "SELECT message.number, message.id, {} AS score{} "
_FROM_FULL_TEXT = "FROM full_text JOIN message ON message.number = full_text.rowid WHERE full_text MATCH ? AND "
_FROM_MESSAGE = "FROM message WHERE "
_BEST_FIRST = " ORDER BY score, message.time DESC, message.id LIMIT ?"
_NEWEST_FIRST = " ORDER BY message.time DESC, message.id LIMIT ?"
_BEST = """
    SELECT best.number, message.id, best.score FROM (
        SELECT rowid AS number, {} AS score FROM full_text WHERE full_text MATCH ? ORDER BY score LIMIT ?
    ) AS best LEFT JOIN message ON message.number = best.number ORDER BY best.score, message.time DESC, message.id"""
_MORE_BEST = 200
_NEWEST_MESSAGES = "SELECT number, id FROM message ORDER BY time DESC, id LIMIT ?"
_MATCHES = "SELECT 1 FROM full_text WHERE full_text MATCH ? AND rowid = ?"
_NEWEST_OF_EACH = 10  # messages that are tested for each row that is wanted
_MAX_TESTED = 2000
_COUNT = "SELECT count(*) "
_NEWEST = "SELECT max(message.time) "
_COUNT_MATCHES = "SELECT count(*) FROM full_text WHERE full_text MATCH ?"
_COUNT_BRANCHES = "SELECT count(*) FROM branch WHERE conversation = ?"
_PERIOD = "SELECT min(message.time), max(message.time) FROM message WHERE "
_ALWAYS_RANKED = 10_000  # messages: ranking fewer takes no noticeable time


class Row(NamedTuple):
    """Index row; a lower BM25 score is better, None if rows are not ranked. `tests` are results of `Plan.tests`."""

    number: int
    id: str
    score: float | None
    tests: tuple[bool, ...] = ()


def walk_rows(
    index: Index, plan: Plan, limit: int, *, newest_first: bool, matching: int | None = None
) -> Iterator[Row]:
    """Yield the rows that match a plan, before its predicates; `limit` applies only if there are no predicates.

    matching: the number of rows that match, if known.
    """
    ranked = plan.match is not None and not newest_first
    if limit and plan.match is not None and plan.condition == "TRUE" and not plan.predicates:
        found = _find_best(index, plan, limit) if ranked else _find_newest_rows(index, plan, limit, matching or 0)
        if found is not None:
            return iter(found)
    select = _SELECT.format(_BM25 if ranked else "NULL", "".join(f", ({test})" for test in plan.tests))
    source = _FROM_MESSAGE if plan.match is None else _FROM_FULL_TEXT
    rows = index.walk(
        select + source + plan.condition + (_BEST_FIRST if ranked else _NEWEST_FIRST),
        (*plan.test_parameters, *_match_parameters(plan), *plan.parameters, -1 if plan.predicates else limit),
        (int, str, float | None),
    )
    return (Row(row[0], row[1], row[2], row[3:]) for row in rows)


def _find_best(index: Index, plan: Plan, limit: int) -> list[Row] | None:
    """Return the best rows by their scores alone; None if more have the score of the last one than were asked for.

    To look up the time and id of every row that matches takes a quarter of the time of a search for a common word.
    """
    rows = index.rows(_BEST.format(_BM25), (plan.match, limit + _MORE_BEST), (int, str, float))
    is_tie = len(rows) == limit + _MORE_BEST and rows[limit - 1][2] == rows[-1][2]
    return None if is_tie else [Row(*row) for row in rows[:limit]]


def _find_newest_rows(index: Index, plan: Plan, limit: int, matching: int) -> list[Row] | None:
    """Return the newest rows for words that most messages contain; None if too few of the newest messages do.

    The newest messages are tested one by one: there are few, and all that match are hundreds of thousands.
    """
    if matching <= _ALWAYS_RANKED or 2 * matching <= index.status.messages:
        return None
    newest = index.rows(_NEWEST_MESSAGES, (min(_NEWEST_OF_EACH * limit, _MAX_TESTED),), (int, str))
    found = (Row(number, id_, None) for number, id_ in newest if index.rows(_MATCHES, (plan.match, number)))
    rows = list(islice(found, limit))
    return rows if len(rows) == limit else None


class PostFilter:
    """Drops rows whose messages do not satisfy every predicate; `texts` reads a message by its row number.

    Afterwards `finished` is True if all rows were tested.
    """

    def __init__(self, predicates: Sequence[Predicate], texts: Callable[[int], Texts]) -> None:
        self.finished = False
        self._predicates = predicates
        self._texts = texts

    def filter(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows that match, in order."""
        for row in rows:
            candidate = Candidate(row.tests, cache(partial(self._texts, row.number)))
            if all(predicate(candidate) for predicate in self._predicates):
                yield row
        self.finished = True


def count_rows(index: Index, plan: Plan) -> int:
    """Count the rows that match a plan, before its predicates."""
    if plan.match is None:
        statement = _COUNT + _FROM_MESSAGE + plan.condition
    else:
        statement = _COUNT_MATCHES if plan.condition == "TRUE" else _COUNT + _FROM_FULL_TEXT + plan.condition
    return int(index.rows(statement, (*_match_parameters(plan), *plan.parameters))[0][0])


def find_newest(index: Index, plan: Plan) -> int | None:
    """Return the time of the newest row that matches a plan in seconds since 1970; None if none has a time."""
    source = _FROM_MESSAGE if plan.match is None else _FROM_FULL_TEXT
    newest = index.rows(_NEWEST + source + plan.condition, (*_match_parameters(plan), *plan.parameters))[0][0]
    return None if newest is None else int(newest)


def can_rank(index: Index, plan: Plan, matching: int) -> bool:
    """Return True if BM25 is worth computing: a word in most messages scores about zero and takes the longest.

    With alternatives (OR), one of the words may still be rare. `matching` is the number of rows that match.
    """
    return plan.alternatives or matching <= _ALWAYS_RANKED or 2 * matching <= index.status.messages


def count_conversation(index: Index, conversation: ConversationId) -> tuple[int, int]:
    """Return the number of branches and of messages of a conversation."""
    branches = index.rows(_COUNT_BRANCHES, (conversation,))[0][0]
    return int(branches), int(index.rows(_COUNT + _FROM_MESSAGE + IN_CONVERSATION, (conversation,))[0][0])


def find_period(index: Index, conversation: ConversationId | None) -> tuple[int, int] | None:
    """Return the times of the first and last message in seconds since 1970; None if no message has a time."""
    condition, parameters = ("TRUE", ()) if conversation is None else (IN_CONVERSATION, (conversation,))
    first, last = index.rows(_PERIOD + condition, parameters)[0]
    return None if first is None or last is None else (int(first), int(last))


def _match_parameters(plan: Plan) -> tuple[str, ...]:
    return () if plan.match is None else (plan.match,)
