"""`search`: messages of the whole store or of one conversation, over every branch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice

from scopes.errors import BudgetExhausted, Corrupt, Invalid
from scopes.history.messages import MessageHead
from scopes.history.metadata import read_metadata
from scopes.history.revparse import conversation_ids, find_conversation
from scopes.ids import BranchName, ConversationId, Oid
from scopes.index.document import Describe, IndexDocument
from scopes.index.index import Index, IndexDamaged, State, open_index
from scopes.result import Note, Result, Stream
from scopes.search.ast import Field, Node, any_of_words
from scopes.search.compile import Plan, compile_query
from scopes.search.execute import Sieve, can_rank, count_conversation, count_rows, looks_of, walk_rows
from scopes.search.hits import Found, Neighbour, Reader
from scopes.search.index_document import describe_from
from scopes.search.parse import parse
from scopes.search.regex import LIMIT_SECONDS, advice
from scopes.search.snippet import Piece
from scopes.store.objects import Commit
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit(Result):
    """A message that was found: `conversation/branch` is one place of it, `also` are other conversations with it.

    `part` names the part that the snippet is from; `before` and `after` are the messages around it, in their order.
    On that branch its text holds no more where it was `retracted`, or `amended` by another message.
    """

    conversation: ConversationId
    branch: BranchName
    head: MessageHead
    part: str
    snippet: tuple[Piece, ...]
    also: tuple[ConversationId, ...] = ()
    score: float | None = None
    before: tuple[Neighbour, ...] = ()
    after: tuple[Neighbour, ...] = ()
    retracted: bool = False
    amended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCoverage(Result):
    """What an answer covers; `hits` is how many there are, shown or not, None where not all were looked for.

    `damaged` conversations and `unreadable` messages could not be read; `read` commits were new to the index;
    `stopped_at` is the message on which a regular expression took too long.
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
    stopped_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Stream):
    """What was found, and last the coverage; `context` is how many messages around each hit were asked for."""

    hits: tuple[SearchHit, ...]
    coverage: SearchCoverage
    context: int = 0

    @property
    def exit_code(self) -> int:
        """As grep: 1 where nothing was found; 9 where the search was stopped before its end."""
        if self.coverage.stopped_at is not None:
            return BudgetExhausted.exit_code
        return 0 if self.hits else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """What is asked for, understood and checked."""

    text: str
    query: Node
    plan: Plan
    conversation: ConversationId | None
    limit: int
    newest_first: bool
    context: int


def search(
    repository: Repository,
    query: str,
    *,
    index_directory: str,
    conversation: str | None = None,
    regex: bool = False,
    limit: int = 20,
    newest_first: bool = False,
    context: int = 0,
    any_word: bool = False,
    advance: Callable[[int], None] = lambda _count: None,
) -> Search:
    """Find messages; the best first, or the newest first where asked or where the query has no words to rank by.

    A word that more than half of very many messages say is none to rank by.

    With `regex` the whole query is one regular expression; with `any_word` a hit need not have all of the words.
    `advance` is told of each message that is read for the index.

    Raises:
        Invalid, NotFound, Ambiguous: the query or the conversation cannot be understood.
    """
    if limit < 0 or context < 0:
        raise Invalid("a number of messages cannot be negative", hint="for example: -n 20 --context 2")
    if regex and any_word:
        raise Invalid("a regular expression has no words of which one is enough", hint="leave out --any or --regex")
    chosen = None if conversation is None else find_conversation(repository, conversation)
    parsed = Field("re", query, 0) if regex and query else parse(query)
    if any_word:
        parsed = any_of_words(parsed)
    plan = compile_query(query, parsed, chosen, lambda tag: _tagged(repository, tag))
    request = _Request(
        text=query, query=parsed, plan=plan, conversation=chosen, limit=limit, newest_first=newest_first,
        context=context,
    )  # fmt: skip
    describe = _telling(describe_from(repository), advance)
    return _with_index(repository, index_directory, describe, lambda index: _answer(repository, index, request))


def _telling(describe: Describe, advance: Callable[[int], None]) -> Describe:
    def told(commit: Commit) -> IndexDocument | None:
        advance(1)
        return describe(commit)

    return told


def _with_index(
    repository: Repository, directory: str, describe: Describe, answer: Callable[[Index], Search]
) -> Search:
    """Ask the index, and where what it says cannot be, a new one."""
    for distrust in (False, True):
        try:
            with open_index(directory, repository, describe, distrust=distrust) as index:
                return answer(index)
        except IndexDamaged as error:
            damage = error
    raise Corrupt(f"the search index is damaged again: {damage}", hint="see: scopes verify")


def _answer(repository: Repository, index: Index, request: _Request) -> Search:
    reader = Reader(repository, index, request.conversation, request.context)
    sieve = Sieve(request.plan.sifts, reader.texts)
    fitting = None if request.plan.sifts else count_rows(index, request.plan)
    newest_first = request.newest_first or (fitting is not None and not can_rank(index, request.plan, fitting))
    rows = sieve.sift(walk_rows(index, request.plan, request.limit, newest_first=newest_first))
    looks = looks_of(request.plan, request.query)
    hits = tuple(_hit(reader.read(row.number, row.id, looks), row.score) for row in islice(rows, request.limit))
    total = len(hits) if request.plan.sifts and sieve.finished else fitting
    coverage = _coverage(index, request, len(hits), total, sieve.stopped_at)
    notes = index.notes if hits else (*index.notes, *_advise(repository, index, request))
    if sieve.stopped_at is not None:
        text = (
            f"the search ended at message {sieve.stopped_at}: the pattern took longer than {LIMIT_SECONDS:.0f} s there"
        )
        notes = (*notes, Note(text, ", or: ".join(filter(None, ("make it simpler", advice())))))
    return Search(items=(*hits, coverage), hits=hits, coverage=coverage, context=request.context, notes=notes)


def _advise(repository: Repository, index: Index, request: _Request) -> Iterator[Note]:
    """Say what fewer words would find, where no message has all of them."""
    query = any_of_words(request.query)
    if query is request.query or request.plan.sifts or not request.limit:
        return
    plan = compile_query(request.text, query, request.conversation, lambda tag: _tagged(repository, tag))
    found = count_rows(index, plan)
    if found:
        yield Note(f"no message has all of these words; with some of them: {found:,}", "find them with --any")


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
        retracted="retracted" in found.claim,
        amended="amended" in found.claim,
    )


def _coverage(index: Index, request: _Request, shown: int, total: int | None, stopped_at: str | None) -> SearchCoverage:
    standing = index.standing
    conversations, branches, messages = standing.conversations, standing.branches, standing.messages
    if request.conversation is not None:
        conversations, (branches, messages) = 1, count_conversation(index, request.conversation)
    return SearchCoverage(
        query=request.text,
        shown=shown,
        hits=total,
        conversation=request.conversation,
        conversations=conversations,
        branches=branches,
        messages=messages,
        index=standing.state,
        read=standing.read,
        damaged=standing.damaged,
        unreadable=standing.unreadable,
        stopped_at=stopped_at,
    )


def _tagged(repository: Repository, tag: str) -> Iterable[Oid]:
    """Yield the commits that a tag names, in every conversation that has it; `*` stands for any text."""
    pattern = tag.replace("[", "[[]")
    for conversation in conversation_ids(repository):
        for name, oid in read_metadata(repository, conversation).tags.items():
            if fnmatchcase(name, pattern):
                yield oid
