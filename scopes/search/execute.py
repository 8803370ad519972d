"""Asking the index for what a plan describes, in order, and sifting that by what no index can tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

from scopes.ids import ConversationId
from scopes.index.index import Index
from scopes.search.ast import Node, wanted_words
from scopes.search.compile import IN_CONVERSATION, Plan
from scopes.search.hits import Look
from scopes.search.post_filter import Candidate, Sift
from scopes.search.regex import Find, TooSlow
from scopes.search.snippet import Mark, mark_words

_BM25 = "bm25(full_text, 4.0, 1.0, 1.0, 1.0)"
_SELECT = "SELECT message.number, message.id, {} AS score{} "
_MATCHING = "FROM full_text JOIN message ON message.number = full_text.rowid WHERE full_text MATCH ? AND "
_LISTED = "FROM message WHERE "
_BEST = " ORDER BY score, message.time DESC, message.id LIMIT ?"
_NEWEST = " ORDER BY message.time DESC, message.id LIMIT ?"
_COUNT = "SELECT count(*) "
_COUNT_MATCHES = "SELECT count(*) FROM full_text WHERE full_text MATCH ?"
_COUNT_BRANCHES = "SELECT count(*) FROM branch WHERE conversation = ?"
_MANY = 10_000  # messages: to rank fewer takes no time


class Row(NamedTuple):
    """A message of the index; the better it fits, the lower its score, which is None where nothing ranks.

    `told` is what came of the tests of the plan.
    """

    number: int
    id: str
    score: float | None
    told: tuple[bool, ...] = ()


class Sieve:
    """Passes on the rows whose messages fit what no index can tell.

    `finished` tells whether all rows were looked at, `stopped_at` names the message that a pattern took too long on.
    """

    def __init__(self, sifts: Sequence[Sift], texts: Callable[[int], Sequence[str]]) -> None:
        self.finished = False
        self.stopped_at: str | None = None
        self._sifts = sifts
        self._texts = texts

    def sift(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows that fit, in their order."""
        for row in rows:
            candidate = Candidate(row.told, cache(partial(self._texts, row.number)))
            try:
                fits = all(sift(candidate) for sift in self._sifts)
            except TooSlow:
                self.stopped_at = row.id
                return
            if fits:
                yield row
        self.finished = True


def walk_rows(index: Index, plan: Plan, limit: int, *, newest_first: bool) -> Iterator[Row]:
    """Yield what fits the plan, but for its sifts; what was said weighs four times as much as thoughts and tools."""
    ranked = plan.match is not None and not newest_first
    select = _SELECT.format(_BM25 if ranked else "NULL", "".join(f", ({test})" for test in plan.tests))
    source = _LISTED if plan.match is None else _MATCHING
    most = -1 if plan.sifts else limit
    rows = index.walk(
        select + source + plan.condition + (_BEST if ranked else _NEWEST),
        (*plan.test_parameters, *_matched(plan), *plan.parameters, most),
        (int, str, float | None),
    )
    return (Row(row[0], row[1], row[2], row[3:]) for row in rows)


def count_rows(index: Index, plan: Plan) -> int:
    """Count what fits the plan, but for its sifts."""
    if plan.match is None:
        statement = _COUNT + _LISTED + plan.condition
    else:
        statement = _COUNT_MATCHES if plan.condition == "TRUE" else _COUNT + _MATCHING + plan.condition
    return int(index.rows(statement, (*_matched(plan), *plan.parameters))[0][0])


def can_rank(index: Index, plan: Plan, fitting: int) -> bool:
    """Tell whether BM25 tells messages apart: a word that most of them say weighs nothing by it, and takes the longest.

    Where one word of several is enough, those that few say may still be among them.
    """
    return plan.alternatives or fitting <= _MANY or 2 * fitting <= index.standing.messages


def count_conversation(index: Index, conversation: ConversationId) -> tuple[int, int]:
    """Count the branches and the messages of a conversation."""
    branches = index.rows(_COUNT_BRANCHES, (conversation,))[0][0]
    return int(branches), int(index.rows(_COUNT + _LISTED + IN_CONVERSATION, (conversation,))[0][0])


def looks_of(plan: Plan, query: Node) -> list[Look]:
    """Return what shows in a text why it was found: the patterns of a query, and then its words."""
    words = mark_words(wanted_words(query))
    looks = [Look(_mark_first(pattern.find), pattern.columns) for pattern in plan.patterns]
    return looks if words is None else [*looks, Look(words, plan.columns)]


def _mark_first(find: Find) -> Mark:
    """Return what marks the first place that a pattern fits."""

    def mark(text: str) -> Sequence[tuple[int, int]]:
        try:
            span = find(text)
        except TooSlow:
            return ()
        return () if span is None else (span,)

    return mark


def _matched(plan: Plan) -> tuple[str, ...]:
    return () if plan.match is None else (plan.match,)
