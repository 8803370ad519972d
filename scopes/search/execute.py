"""SQL statements of a search: rows that match a plan, ranked or newest first, and counts."""

from __future__ import annotations

from collections.abc import Iterator

from scopes.ids import ConversationId
from scopes.index.index import Index
from scopes.search.compile import IN_CONVERSATION, Plan
from scopes.search.post_filter import Row

_BM25 = "bm25(full_text, 4.0, 1.0, 1.0, 1.0)"  # message text weighs four times as much as reasoning and tools
_SELECT = "SELECT message.number, message.id, {} AS score{} "
_FROM_FULL_TEXT = "FROM full_text JOIN message ON message.number = full_text.rowid WHERE full_text MATCH ? AND "
_FROM_MESSAGE = "FROM message WHERE "
_BEST_FIRST = " ORDER BY score, message.time DESC, message.id LIMIT ?"
_NEWEST_FIRST = " ORDER BY message.time DESC, message.id LIMIT ?"
_COUNT = "SELECT count(*) "
_COUNT_MATCHES = "SELECT count(*) FROM full_text WHERE full_text MATCH ?"
_COUNT_BRANCHES = "SELECT count(*) FROM branch WHERE conversation = ?"
_ALWAYS_RANKED = 10_000  # messages: ranking fewer takes no noticeable time


def walk_rows(index: Index, plan: Plan, limit: int, *, newest_first: bool) -> Iterator[Row]:
    """Yield the rows that match a plan, before its predicates; `limit` applies only if there are no predicates."""
    ranked = plan.match is not None and not newest_first
    select = _SELECT.format(_BM25 if ranked else "NULL", "".join(f", ({test})" for test in plan.tests))
    source = _FROM_MESSAGE if plan.match is None else _FROM_FULL_TEXT
    rows = index.walk(
        select + source + plan.condition + (_BEST_FIRST if ranked else _NEWEST_FIRST),
        (*plan.test_parameters, *_match_parameters(plan), *plan.parameters, -1 if plan.predicates else limit),
        (int, str, float | None),
    )
    return (Row(row[0], row[1], row[2], row[3:]) for row in rows)


def count_rows(index: Index, plan: Plan) -> int:
    """Count the rows that match a plan, before its predicates."""
    if plan.match is None:
        statement = _COUNT + _FROM_MESSAGE + plan.condition
    else:
        statement = _COUNT_MATCHES if plan.condition == "TRUE" else _COUNT + _FROM_FULL_TEXT + plan.condition
    return int(index.rows(statement, (*_match_parameters(plan), *plan.parameters))[0][0])


def can_rank(index: Index, plan: Plan, matching: int) -> bool:
    """Return True if BM25 is worth computing: a word in most messages scores about zero and takes the longest.

    With alternatives (OR), one of the words may still be rare. `matching` is the number of rows that match.
    """
    return plan.alternatives or matching <= _ALWAYS_RANKED or 2 * matching <= index.standing.messages


def count_conversation(index: Index, conversation: ConversationId) -> tuple[int, int]:
    """Return the number of branches and of messages of a conversation."""
    branches = index.rows(_COUNT_BRANCHES, (conversation,))[0][0]
    return int(branches), int(index.rows(_COUNT + _FROM_MESSAGE + IN_CONVERSATION, (conversation,))[0][0])


def _match_parameters(plan: Plan) -> tuple[str, ...]:
    return () if plan.match is None else (plan.match,)
