"""`search`: messages of the whole store or of one conversation, over every branch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scopes.conversation.heads import MessageHead
from scopes.conversation.lookup import conversation_ids, find_conversation
from scopes.conversation.metadata import read_metadata
from scopes.errors import Corrupt, Invalid
from scopes.ids import BranchName, ConversationId, Oid
from scopes.index.index import Index, IndexDamaged, State, open_index
from scopes.result import Result, Stream
from scopes.search.compile import IN_CONVERSATION, Plan, compile_query
from scopes.search.describe import describe_from
from scopes.search.finding import Found, Reader
from scopes.search.parse import parse
from scopes.search.query import wanted_words
from scopes.search.snippet import Piece, pattern_of
from scopes.store.repository import Repository

_RANKED = """
    SELECT message.number, message.id, bm25(full_text, 4.0, 1.0, 1.0, 1.0) AS score
    FROM full_text JOIN message ON message.number = full_text.rowid WHERE full_text MATCH ? AND """
_LISTED = "SELECT message.number, message.id, NULL AS score FROM message WHERE "
_COUNT_RANKED = """
    SELECT count(*) FROM full_text JOIN message ON message.number = full_text.rowid WHERE full_text MATCH ? AND """
_COUNT_MATCHES = "SELECT count(*) FROM full_text WHERE full_text MATCH ?"
_COUNT_LISTED = "SELECT count(*) FROM message WHERE "
_COUNT_BRANCHES = "SELECT count(*) FROM branch WHERE conversation = ?"
_BEST = " ORDER BY score, message.time DESC, message.id LIMIT ?"
_NEWEST = " ORDER BY message.time DESC, message.id LIMIT ?"


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit(Result):
    """A message that was found: `conversation/branch` is one place of it, `also` are other conversations with it.

    `part` names the part that the snippet is from; `before` and `after` are the messages around it, in their order.
    """

    conversation: ConversationId
    branch: BranchName
    head: MessageHead
    part: str
    snippet: tuple[Piece, ...]
    also: tuple[ConversationId, ...] = ()
    score: float | None = None
    before: tuple[MessageHead, ...] = ()
    after: tuple[MessageHead, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCoverage(Result):
    """What an answer covers; `hits` is how many there are, shown or not, None where not all were looked for.

    `damaged` conversations and `unreadable` messages could not be read; `read` commits were new to the index.
    """

    query: str
    shown: int
    hits: int | None
    conversation: ConversationId | None
    conversations: int
    branches: int
    messages: int
    index: State
    read: int
    damaged: int
    unreadable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Stream):
    """What was found, and last the coverage."""

    hits: tuple[SearchHit, ...]
    coverage: SearchCoverage

    @property
    def exit_code(self) -> int:
        """As grep: 1 where nothing was found."""
        return 0 if self.hits else 1


def search(
    repository: Repository,
    query: str,
    *,
    index_directory: str,
    conversation: str | None = None,
    limit: int = 20,
    newest_first: bool = False,
    context: int = 0,
) -> Search:
    """Find messages; the best first, or the newest first where asked or where the query has no words to rank by.

    Raises:
        Invalid, NotFound, Ambiguous: the query or the conversation cannot be understood.
    """
    if limit < 0 or context < 0:
        raise Invalid("a number of messages cannot be negative", hint="for example: -n 20 --context 2")
    chosen = None if conversation is None else find_conversation(repository, conversation)
    parsed = parse(query)
    plan = compile_query(query, parsed, chosen, lambda tag: _tagged(repository, tag))
    pattern = pattern_of(wanted_words(parsed))

    def answer(index: Index) -> Search:
        total = _count(index, plan)
        rows = _find(index, plan, limit, newest_first=newest_first)
        reader = Reader(repository, index, chosen, context)
        hits = tuple(_hit(reader.read(number, name, pattern), score) for number, name, score in rows)
        return _result(query, index, chosen, hits, total)

    return _with_index(repository, index_directory, answer)


def _with_index(repository: Repository, directory: str, answer: Callable[[Index], Search]) -> Search:
    """Ask the index, and where what it says cannot be, a new one."""
    for distrust in (False, True):
        try:
            with open_index(directory, repository, describe_from(repository), distrust=distrust) as index:
                return answer(index)
        except IndexDamaged as error:
            damage = error
    raise Corrupt(f"the search index is damaged again: {damage}", hint="see: scopes verify")


def _find(index: Index, plan: Plan, limit: int, *, newest_first: bool) -> list[tuple[int, str, float | None]]:
    """Ask for the hits; what was said weighs four times as much as thoughts and tools."""
    start, order = (_LISTED, _NEWEST) if plan.match is None else (_RANKED, _NEWEST if newest_first else _BEST)
    rows = index.rows(start + plan.condition + order, (*_matched(plan), *plan.parameters, limit))
    return [(number, name, score) for number, name, score in rows]


def _count(index: Index, plan: Plan) -> int:
    if plan.match is None:
        statement = _COUNT_LISTED + plan.condition
    else:
        statement = _COUNT_MATCHES if plan.condition == "TRUE" else _COUNT_RANKED + plan.condition
    return int(index.rows(statement, (*_matched(plan), *plan.parameters))[0][0])


def _matched(plan: Plan) -> tuple[str, ...]:
    return () if plan.match is None else (plan.match,)


def _hit(found: Found, score: float | None) -> SearchHit:
    return SearchHit(
        conversation=found.conversation,
        branch=found.branch,
        head=found.head,
        part=found.part,
        snippet=found.snippet,
        also=found.also,
        score=None if score is None else round(-score, 4),
        before=found.before,
        after=found.after,
    )


def _result(
    query: str, index: Index, chosen: ConversationId | None, hits: Sequence[SearchHit], total: int | None
) -> Search:
    standing = index.standing
    conversations, branches, messages = standing.conversations, standing.branches, standing.messages
    if chosen is not None:
        conversations, branches = 1, int(index.rows(_COUNT_BRANCHES, (chosen,))[0][0])
        messages = int(index.rows(_COUNT_LISTED + IN_CONVERSATION, (chosen,))[0][0])
    coverage = SearchCoverage(
        query=query,
        shown=len(hits),
        hits=total,
        conversation=chosen,
        conversations=conversations,
        branches=branches,
        messages=messages,
        index=standing.state,
        read=standing.read,
        damaged=standing.damaged,
        unreadable=standing.unreadable,
    )
    found = tuple(hits)
    return Search(items=(*found, coverage), hits=found, coverage=coverage, notes=index.notes)


def _tagged(repository: Repository, tag: str) -> Iterable[Oid]:
    """Yield the commits that a tag names, in every conversation that has it."""
    for conversation in conversation_ids(repository):
        oid = read_metadata(repository, conversation).tags.get(tag)
        if oid is not None:
            yield oid
