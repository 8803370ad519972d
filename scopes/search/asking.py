"""Asking the index for what a plan describes, in order, and sifting that by what no index can tell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from scopes.ids import ConversationId
from scopes.index.index import Index
from scopes.search.compile import IN_CONVERSATION, Plan
from scopes.search.finding import Reader
from scopes.search.regex import Find, TooSlow
from scopes.search.snippet import Mark

_RANKED = """
    SELECT message.number, message.id, bm25(full_text, 4.0, 1.0, 1.0, 1.0) AS score
    FROM full_text JOIN message ON message.number = full_text.rowid WHERE full_text MATCH ? AND """
_MATCHING = """
    SELECT message.number, message.id, NULL AS score
    FROM full_text JOIN message ON message.number = full_text.rowid WHERE full_text MATCH ? AND """
_LISTED = "SELECT message.number, message.id, NULL AS score FROM message WHERE "
_BEST = " ORDER BY score, message.time DESC, message.id LIMIT ?"
_NEWEST = " ORDER BY message.time DESC, message.id LIMIT ?"
_COUNT_RANKED = """
    SELECT count(*) FROM full_text JOIN message ON message.number = full_text.rowid WHERE full_text MATCH ? AND """
_COUNT_MATCHES = "SELECT count(*) FROM full_text WHERE full_text MATCH ?"
_COUNT_LISTED = "SELECT count(*) FROM message WHERE "
_COUNT_BRANCHES = "SELECT count(*) FROM branch WHERE conversation = ?"
_MANY = 10_000  # messages: to rank fewer takes no time


class Row(NamedTuple):
    """A message of the index; the better it fits, the lower its score, which is None where nothing ranks."""

    number: int
    id: str
    score: float | None


class Sieve:
    """Passes on the rows whose messages fit every pattern.

    `finished` tells whether all rows were looked at, `stopped_at` names the message that a pattern took too long on.
    """

    def __init__(self, finds: Sequence[Find], reader: Reader) -> None:
        self.finished = False
        self.stopped_at: str | None = None
        self._finds = finds
        self._reader = reader

    def sift(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Yield the rows that fit, in their order."""
        for row in rows:
            texts = self._reader.texts(row.number) if self._finds else ()
            try:
                fits = all(any(find(text) is not None for text in texts) for find in self._finds)
            except TooSlow:
                self.stopped_at = row.id
                return
            if fits:
                yield row
        self.finished = True


def walk_rows(index: Index, plan: Plan, limit: int, *, newest_first: bool) -> Iterator[Row]:
    """Yield what fits the plan, but for its patterns; what was said weighs four times as much as thoughts and tools."""
    if plan.match is None:
        start, order = _LISTED, _NEWEST
    else:
        start, order = (_MATCHING, _NEWEST) if newest_first else (_RANKED, _BEST)
    most = -1 if plan.patterns else limit
    rows = index.walk(
        start + plan.condition + order, (*_matched(plan), *plan.parameters, most), (int, str, float | None)
    )
    return (Row(*row) for row in rows)


def count_rows(index: Index, plan: Plan) -> int:
    """Count what fits the plan, but for its patterns."""
    if plan.match is None:
        statement = _COUNT_LISTED + plan.condition
    else:
        statement = _COUNT_MATCHES if plan.condition == "TRUE" else _COUNT_RANKED + plan.condition
    return int(index.rows(statement, (*_matched(plan), *plan.parameters))[0][0])


def can_rank(index: Index, plan: Plan, fitting: int) -> bool:
    """Tell whether BM25 tells messages apart: a word that most of them say weighs nothing by it, and takes the longest.

    Where one word of several is enough, those that few say may still be among them.
    """
    return plan.alternatives or fitting <= _MANY or 2 * fitting <= index.standing.messages


def count_conversation(index: Index, conversation: ConversationId) -> tuple[int, int]:
    """Count the branches and the messages of a conversation."""
    branches = index.rows(_COUNT_BRANCHES, (conversation,))[0][0]
    return int(branches), int(index.rows(_COUNT_LISTED + IN_CONVERSATION, (conversation,))[0][0])


def mark_first(find: Find) -> Mark:
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
