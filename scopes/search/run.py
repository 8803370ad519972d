"""Execution of a plan: rows from the index, ranked or newest first, and the filter for what SQL cannot evaluate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import NamedTuple, TypeAlias

from scopes.clock import format_seconds, local_day, now_nanoseconds, parse_window
from scopes.conversation.list import ListFilter, find_cached_list, list_conversations
from scopes.errors import Corrupt, Invalid, NotFound, check_not_negative
from scopes.history.handles import Heading, heading_of, may_be_title
from scopes.history.messages import (
    NO_TEXT,
    MessageHeader,
    author_kind_of,
    find_claim,
    header_of,
    read_body,
    read_stored_body,
    summarize_payload,
    walk_headers_oldest_first,
)
from scopes.history.metadata import read_metadata_at
from scopes.history.names import MAIN, resolve_conversation
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.index.full_text import COLUMNS, Describe, Index, IndexDamaged, IndexStatus, open_index
from scopes.model.canonical_json import without_none
from scopes.model.message import Message, decode
from scopes.result import Note, Result, Stream
from scopes.search.query import (
    FIELDS,
    IN_CONVERSATION,
    And,
    Field,
    Names,
    Node,
    Pattern,
    Plan,
    compile_query,
    parse,
    positive_phrases,
    unknown_fields,
    with_any_phrase,
    without,
)
from scopes.search.text import (
    Documents,
    Matcher,
    Phrase,
    Piece,
    Progress,
    SpanFinder,
    cut_snippet,
    has_phrase,
    phrase_finder,
    texts_of,
)
from scopes.store import refs
from scopes.store.objects import Commit, read_commit
from scopes.store.repository import Repository
from scopes.tokens.count import EstimatingTokenizer

_BM25 = "bm25(full_text, 4.0, 1.0, 1.0, 1.0)"  # message text weighs four times as much as reasoning and tools
_SELECT = "SELECT {} FROM message WHERE {}"
_SELECT_FOUND = (
    "SELECT {} FROM full_text JOIN message ON message.number = full_text.rowid WHERE full_text MATCH ? AND {}"
)
# The limit inside keeps the order: messages are read in it, until enough are found.
_SELECT_LATE = "SELECT {} FROM ({} LIMIT -1) AS message WHERE {} LIMIT ?"
_COUNT_MATCHES = "SELECT count(*) FROM full_text WHERE full_text MATCH ?"
_COUNT_BRANCHES = "SELECT count(*) FROM branch WHERE conversation = ?"
_MAX_COUNTED = 500  # messages of which each is read to count it


class Row(NamedTuple):
    """Index row; a lower BM25 score is better, None if rows are not ranked."""

    number: int
    id: str
    score: float | None


def walk_rows(index: Index, plan: Plan, limit: int, *, newest_first: bool) -> Iterator[Row]:
    """Yield at most `limit` rows that match a plan; all if it is negative."""
    ranked = plan.match is not None and not newest_first
    columns = "message.number, message.id" if plan.late is None else "message.*"
    select, parameters = _select(plan, f"{columns}, {_BM25 if ranked else 'NULL'} AS score")
    select += f" ORDER BY {'score, ' if ranked else ''}message.time DESC, message.id"
    if plan.late is None:
        return map(Row._make, index.walk(f"{select} LIMIT ?", (*parameters, limit)))
    select = _SELECT_LATE.format("number, id, score", select, plan.late)
    return map(Row._make, index.walk(select, (*parameters, *plan.late_parameters, limit)))


def _select(plan: Plan, columns: str) -> tuple[str, tuple[object, ...]]:
    """Return a query for the rows that match a plan without its late condition, and its parameters."""
    if plan.match is None:
        return _SELECT.format(columns, plan.condition), plan.parameters
    return _SELECT_FOUND.format(columns, plan.condition), (plan.match, *plan.parameters)


def count_rows(index: Index, plan: Plan, limit: int = -1) -> int:
    """Count the rows that match a plan; no more than `limit` if messages are read for it and it is not negative."""
    if plan.late is not None:
        select, parameters = _select(plan, "message.*")
        select, parameters = _SELECT_LATE.format("1", select, plan.late), (*parameters, *plan.late_parameters, limit)
        return len(index.rows(select, parameters))
    if plan.match is not None and plan.condition == "TRUE":
        return int(index.rows(_COUNT_MATCHES, (plan.match,))[0][0])
    return int(index.rows(*_select(plan, "count(*)"))[0][0])


_COMMITS = """
    SELECT value.text, commits.number, commits.oid FROM commits
    JOIN place ON place.entry = commits.number JOIN value ON value.number = place.conversation
    WHERE commits.message = ? ORDER BY value.text, commits.number"""
_TOOLS = """
    SELECT text FROM value WHERE field = 'tool'
    AND EXISTS (SELECT 1 FROM touched WHERE touched.value = value.number AND touched.message = ?) ORDER BY text"""
_FIRST_COMMIT = "SELECT oid FROM commits WHERE message = ? ORDER BY number LIMIT 1"
_OLDEST_FIRST = """
    SELECT place.entry, commits.oid FROM place JOIN commits ON commits.number = place.entry
    WHERE place.conversation = (SELECT number FROM value WHERE field = 'conversation' AND text = ?)
    ORDER BY place.entry"""
_REACHABLE = """
    WITH RECURSIVE reached (entry) AS (
        SELECT tip FROM branch WHERE conversation = ? AND name = ?
        UNION SELECT parent FROM edge JOIN reached ON edge.child = reached.entry
    ) SELECT entry FROM reached"""


class Neighbor(NamedTuple):
    """A message next to a hit; `message` is set if its commit has no text to show."""

    head: MessageHeader
    message: Message | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit(Result):
    """A message that matches: `conversation/branch` contains it, `also` are other conversations that do.

    `part` is the column that the snippet is from. `before` and `after` are the neighboring messages, oldest first.
    `retracted` and `amended` tell whether the branch replaces the message's text. `heading` is the title of the
    conversation, or its first prompt. `tools` are the tools that the message calls, or whose results it has.
    """

    conversation: ConversationId
    branch: BranchName
    head: MessageHeader
    part: str
    snippet: tuple[Piece, ...]
    also: tuple[ConversationId, ...] = ()
    score: float | None = None
    before: tuple[Neighbor, ...] = ()
    after: tuple[Neighbor, ...] = ()
    retracted: bool = False
    amended: bool = False
    heading: Heading | None = None
    tools: tuple[str, ...] = ()

    def document(self) -> dict[str, object]:
        """Return the hit; `message` is what its commit contains."""
        return without_none(
            conversation=self.conversation,
            branch=self.branch,
            **({} if self.heading is None else self.heading.document()),
            also=self.also or None,
            score=self.score,
            retracted=self.retracted or None,
            amended=self.amended or None,
            part=self.part,
            snippet=[without_none(text=piece.text, found=piece.found or None) for piece in self.snippet],
            message=self.head,
            before=[neighbor.head for neighbor in self.before] or None,
            after=[neighbor.head for neighbor in self.after] or None,
        )


Mark: TypeAlias = tuple[SpanFinder, tuple[str, ...]]
"""Finds what to mark in a snippet, in some columns; without any, in all."""


def marks_of(plan: Plan, query: Node) -> list[Mark]:
    """Return what to mark for a query: its regular expressions first, then its phrases."""
    phrases = phrase_finder(positive_phrases(query))
    patterns = [(_first_match(each.find), each.columns) for each in plan.patterns if not each.negated]
    return patterns if phrases is None else [*patterns, (phrases, plan.columns)]


def _first_match(find: Matcher) -> SpanFinder:
    return lambda text: [span for span in (find(text),) if span is not None]


class HitReader:
    """Reads the hits of index rows.

    `conversation` is the only one that is searched, None for all; `context` is the number of neighbors on either side.
    """

    def __init__(self, repository: Repository, index: Index, conversation: ConversationId | None, context: int) -> None:
        self._repository = repository
        self._index = index
        self._conversation = conversation
        self._context = context
        self._branches_of = cache(self._list_branches)
        self._entries = cache(self._list_entries)
        self._headers = cache(self._list_headers)
        self._heading = cache(self._read_heading)

    def read(self, row: Row, marks: Sequence[Mark]) -> SearchHit:
        """Read the message of a row; its snippet is marked by the first of the marks that finds anything.

        Raises:
            IndexDamaged, NotFound, Corrupt: the store does not agree with the index.
        """
        commits = self._index.rows(_COMMITS, (row.number,))
        commits = [commit for commit in commits if self._conversation in (None, commit[0])]
        if not commits:
            raise IndexDamaged(f"message {row.id} has no commit")
        conversation, entry, oid = commits[0]
        branch = self._branch_of(conversation, entry)
        commit = read_commit(self._repository, oid)
        head, message = header_of(commit), read_body(self._repository, commit)
        if head.id != row.id:
            raise IndexDamaged(f"{oid} is another message")
        part, snippet = _snippet(_shown_texts(message), marks)
        before, after = self._neighbors(conversation, branch, head.id)
        claim = find_claim(self._repository, self._tip(conversation, branch), head.id)
        return SearchHit(
            conversation=conversation,
            branch=branch,
            head=head,
            part=part,
            snippet=snippet,
            also=tuple(dict.fromkeys(commit[0] for commit in commits if commit[0] != conversation)),
            # A score tells which words the index has of a message.
            score=None if row.score is None or self._repository.caller.clear_message else round(-row.score, 4),
            before=before,
            after=after,
            retracted="retracted" in claim,
            amended="amended" in claim,
            heading=self._heading(conversation),
            tools=tuple(name for (name,) in self._index.rows(_TOOLS, (row.number,))),
        )

    def add_functions(self, patterns: Sequence[Pattern]) -> None:
        """Give the index the functions of a late condition; see `Plan`."""
        clear = self._repository.caller.clear_message
        data = lru_cache(maxsize=1)(self._stored_bytes)
        texts = lru_cache(maxsize=1)(lambda number: texts_of(decode(data(number))))
        self._index.add_function("matches", 2, lambda pattern, number: patterns[pattern].matches(texts(number)))
        count = EstimatingTokenizer().count
        self._index.add_function("token_count", 1, lambda number: sum(map(count, texts(number))))
        self._index.add_function("is_shown", 1, lambda number: clear is None or clear(data(number)) == data(number))

    def _stored_bytes(self, number: int) -> bytes:
        rows = self._index.rows(_FIRST_COMMIT, (number,))
        if not rows:
            raise IndexDamaged(f"message {number} has no commit")
        return read_stored_body(self._repository, header_of(read_commit(self._repository, rows[0][0])))

    def _branch_of(self, conversation: ConversationId, entry: int) -> BranchName:
        """Return a branch that reaches a commit: main if it does, otherwise the first by name."""
        branches = self._branches_of(conversation)
        for branch in branches:
            if len(branches) == 1 or entry in self._entries(conversation, branch):
                return branch
        raise IndexDamaged(f"no branch of {conversation} reaches an entry")

    def _list_branches(self, conversation: ConversationId) -> list[BranchName]:
        """Return the branches of a conversation: main first, then by name."""
        rows = self._index.rows("SELECT name FROM branch WHERE conversation = ?", (conversation,))
        return sorted((name for (name,) in rows), key=lambda name: (name != MAIN, name))

    def _list_entries(self, conversation: ConversationId, branch: BranchName) -> frozenset[int]:
        return frozenset(row[0] for row in self._index.rows(_REACHABLE, (conversation, branch)))

    def _list_headers(self, conversation: ConversationId, branch: BranchName) -> list[MessageHeader]:
        return list(walk_headers_oldest_first(self._repository, [self._tip(conversation, branch)]))

    def _neighbors(
        self, conversation: ConversationId, branch: BranchName, message: MessageId
    ) -> tuple[tuple[Neighbor, ...], tuple[Neighbor, ...]]:
        if not self._context:
            return (), ()
        heads = self._headers(conversation, branch)
        at = next((number for number, head in enumerate(heads) if head.id == message), 0)
        before, after = heads[max(0, at - self._context) : at], heads[at + 1 : at + 1 + self._context]
        return tuple(map(self._neighbor, before)), tuple(map(self._neighbor, after))

    def _neighbor(self, head: MessageHeader) -> Neighbor:
        return Neighbor(head, None if head.subject != NO_TEXT else read_body(self._repository, head))

    def _tip(self, conversation: ConversationId, branch: BranchName) -> Oid:
        tip = self._refs.get(refs.branch_ref(conversation, branch))
        if tip is None:
            raise IndexDamaged(f"there is no branch {branch}")
        return Oid(tip)

    @cached_property
    def _refs(self) -> Mapping[str, str]:
        """The branches and metadata of all conversations: one listing is quicker than thousands of look-ups."""
        return self._repository.list_refs(refs.HEADS, refs.META)

    def _read_heading(self, conversation: ConversationId) -> Heading | None:
        """Return the title of a conversation, or its first prompt; the index knows where that is."""
        found = self._refs.get(refs.meta_ref(conversation))
        title = read_metadata_at(self._repository, Oid(found)).title if found else None
        return heading_of(self._repository, title, () if title else self._beginning(conversation))

    def _beginning(self, conversation: ConversationId) -> list[Commit]:
        """Return the commits up to the first prompt of a person, newest first, on main or else the first branch.

        A prompt that was edited is only on a fork.
        """
        branches, commits = self._branches_of(conversation), []
        reachable = self._entries(conversation, branches[0]) if len(branches) > 1 else None
        for entry, oid in self._index.walk(_OLDEST_FIRST, (conversation,)):
            if reachable is None or entry in reachable:
                commit = read_commit(self._repository, oid)
                commits.append(commit)
                if author_kind_of(commit.author.email) == "human" and may_be_title(self._repository, commit):
                    break
        return commits[::-1]


def _shown_texts(message: Message) -> tuple[str, ...]:
    """Return the texts of a message; the values of a typed message without text have the names of their fields."""
    texts = texts_of(message)
    return (summarize_payload(message.payload), *texts[1:]) if message.payload and not message.text else texts


def _snippet(texts: tuple[str, ...], marks: Sequence[Mark]) -> tuple[str, tuple[Piece, ...]]:
    """Return the column and the snippet of the first match; without a match, of the first column with text."""
    for find, columns in marks:
        for column, text in zip(COLUMNS, texts, strict=True):
            spans = find(text) if column in (columns or COLUMNS) else ()
            if spans:
                return column, cut_snippet(text, spans)
    column, text = next(((c, text) for c, text in zip(COLUMNS, texts, strict=True) if text.strip()), (COLUMNS[0], ""))
    return column, cut_snippet(text, ())


class TitleHit(NamedTuple):
    """A conversation whose title matches a query."""

    conversation: ConversationId
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCoverage(Result):
    """What was searched; `hits` is the number of matches, shown or not, None if the search ended before all were found.

    `searched` counts what the index has of the conversation, or of all of them. `titles` are the conversations whose
    titles match, the most recently active first.
    """

    kind = "search"

    query: str
    shown: int
    hits: int | None
    conversation: ConversationId | None
    searched: IndexStatus
    titles: tuple[TitleHit, ...] = ()

    def document(self) -> dict[str, object]:
        """Return how much was searched; this is the last line of the output."""
        return without_none(
            query=self.query,
            shown=self.shown,
            hits=self.hits,
            conversation=self.conversation,
            conversations=self.searched.conversations,
            branches=self.searched.branches,
            messages=self.searched.messages,
            damaged_conversations=self.searched.damaged,
            unreadable_messages=self.searched.unreadable,
            index=self.searched.state,
            commits_read=self.searched.read,
            titles=self.titles or None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Stream):
    """The hits, then the coverage; `counted` is the number of hits if they were only counted."""

    rows_in = "messages_found"

    hits: tuple[SearchHit, ...]
    coverage: SearchCoverage
    counted: int | None = None

    def document(self) -> dict[str, object]:
        """Return how much was searched, and the hits."""
        return {**self.coverage.document(), "messages_found": self.hits}

    @property
    def exit_code(self) -> int:
        """As grep: 1 if nothing was found."""
        return 0 if self.hits or self.counted or (self.coverage.titles and self.counted is None) else 1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Request:
    """A parsed and compiled query with its options; `text` is its source."""

    text: str
    query: Node
    plan: Plan
    names: Names
    conversation: ConversationId | None
    limit: int
    newest_first: bool
    context: int
    count_only: bool
    notes: tuple[Note, ...]


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
    count_only: bool = False,
    since: str | None = None,
    until: str | None = None,
    fields: Sequence[tuple[str, str]] = (),
    progress: Progress | None = None,
    reading: Callable[[], AbstractContextManager[object]] = nullcontext,
    clear: Callable[[str], str] | None = None,
) -> Search:
    """Find messages, best first; newest first if asked for, or if the query has no words to rank by.

    regex: the whole query is one regular expression.
    any_word: one of the words is enough for a hit.
    context: the number of neighbors to read on either side of a hit.
    count_only: count the messages and read no hit.
    since, until: dates; only messages of that time.
    fields: further conditions, by the names of fields in a query.
    progress: called for each message that is added to the index, and with the number of them.
    reading: makes what is entered while hits are read, but not while the index is updated.
    clear: returns a name as it is shown; nothing is found by what it hides, and messages in which `reading` hides
        something are left out.

    Raises:
        Invalid, NotFound, Ambiguous: the query, an option or the conversation is not valid.
    """
    for number in (limit, context):
        check_not_negative(number, "number of messages", "for example: -n 20 --context 2")
    if regex and any_word:
        raise Invalid("--any cannot be combined with --regex, which has no words", hint="leave out one of them")
    conversation_id = None if conversation is None else resolve_conversation(repository, conversation)
    parsed = Field("re", query, 0) if regex and query else parse(query)
    if any_word:
        parsed = with_any_phrase(parsed)
    window = parse_window(since, until, now_nanoseconds())
    end = None if window[1] is None else format_seconds(window[1] // 1_000_000_000 + 1)  # `before:` is without its time
    times = [Field(name, date, 0) for name, date in (("after", since), ("before", end)) if date is not None]
    times += [Field(name, value, 0) for name, value in fields]
    parsed = And((*(parsed.items if isinstance(parsed, And) else (parsed,)), *times)) if times else parsed
    names = Names(repository, clear)
    plan = compile_query(query, parsed, conversation_id, names)
    unknown = () if regex else dict.fromkeys(unknown_fields(query))
    known = f"fields: {', '.join(FIELDS)}"
    request = _Request(
        text=query,
        query=parsed,
        plan=plan,
        names=names,
        conversation=conversation_id,
        limit=limit,
        newest_first=newest_first,
        context=context,
        count_only=count_only,
        notes=tuple(Note(f"no field {name!a}: searched as text", known) for name in unknown),
    )

    def run(index: Index) -> Search:
        with reading():
            return _run(repository, index, request)

    directory: AbstractContextManager[str] = nullcontext(index_directory)
    if repository.is_past:  # the index is of the current state
        import tempfile  # slow

        directory = tempfile.TemporaryDirectory(prefix="scopes-")
    with directory as opened:
        found = _with_index(repository, opened, Documents(repository, progress), run)
    if regex or conversation_id is not None or not limit:
        return found
    titles = (
        ()
        if fields
        else _find_titles(repository, index_directory, query, window, any_word=any_word, clear=clear or str)
    )
    coverage = replace(found.coverage, titles=titles[:limit])
    return replace(found, items=(*found.hits, coverage), coverage=coverage)


def _find_titles(
    repository: Repository,
    directory: str,
    query: str,
    window: tuple[int | None, ...],
    *,
    any_word: bool,
    clear: Callable[[str], str],
) -> tuple[TitleHit, ...]:
    """Return the conversations whose titles contain the words of a query, read from the index of `list`.

    A query with fields, NOT, OR or parentheses is about messages, and finds no titles.
    """
    parsed = parse(query)
    phrases = parsed.items if isinstance(parsed, And) else (parsed,)
    if not all(isinstance(phrase, Phrase) for phrase in phrases):
        return ()
    wanted = ListFilter(since=window[0], until=window[1])
    cached = None if repository.is_past else find_cached_list(repository.path, directory, wanted=wanted, details=False)
    rows = (cached or list_conversations(repository, directory, wanted=wanted, details=False)).conversations
    choose = any if any_word else all
    return tuple(
        TitleHit(row.id, row.title)
        for row in rows
        if row.title is not None and choose(has_phrase(phrase, clear(row.title)) for phrase in positive_phrases(parsed))
    )


def _with_index(repository: Repository, directory: str, describe: Describe, run: Callable[[Index], Search]) -> Search:
    """Run a search on the index; if that turns out to be damaged, on a rebuilt one."""
    for rebuild in (False, True):
        try:
            with open_index(directory, repository, describe, rebuild=rebuild) as index:
                return run(index)
        except (IndexDamaged, NotFound, Corrupt) as error:
            damage = error
    raise Corrupt(f"the search index is damaged again: {damage}", hint="see: scopes verify")


def _run(repository: Repository, index: Index, request: _Request) -> Search:
    plan = request.plan
    reader = HitReader(repository, index, request.conversation, request.context)
    reader.add_functions(plan.patterns)
    total = None if plan.late is not None and not request.count_only else count_rows(index, plan)
    hits: tuple[SearchHit, ...] = ()
    if not request.count_only:
        rows = walk_rows(index, plan, request.limit, newest_first=request.newest_first)
        marks = marks_of(plan, request.query)
        hits = tuple(reader.read(row, marks) for row in rows)
        if total is None and len(hits) < request.limit:
            total = len(hits)
    searched = index.status
    if request.conversation is not None:
        branches = index.rows(_COUNT_BRANCHES, (request.conversation,))[0][0]
        messages = index.rows(_SELECT.format("count(*)", IN_CONVERSATION), (request.conversation,))[0][0]
        searched = searched._replace(conversations=1, branches=branches, messages=messages)
    coverage = SearchCoverage(
        query=request.text,
        shown=len(hits),
        hits=total,
        conversation=request.conversation,
        searched=searched,
    )
    notes = (*index.notes, *request.notes)
    if not hits and not total:
        notes = (*notes, *_suggest_any(index, request), *_period_notes(index, request))
    counted = (coverage.hits or 0) if request.count_only else None
    return Search(items=(*hits, coverage), hits=hits, coverage=coverage, counted=counted, notes=notes)


def _suggest_any(index: Index, request: _Request) -> Iterator[Note]:
    """Yield a note with the number of messages that contain some of the words, if there are any."""
    query = with_any_phrase(request.query)
    if query is request.query or request.plan.patterns or not request.limit:
        return
    plan = compile_query(request.text, query, request.conversation, request.names)
    matching = count_rows(index, plan, _MAX_COUNTED if plan.late else -1)
    if matching:
        yield Note(f"no message has all of these words; with some of them: {matching:,}", "find them with --any")


def _period_notes(index: Index, request: _Request) -> Iterator[Note]:
    """Yield a note if the query names a time: with what matches at other times, or else the days searched.

    A query with a regular expression is not run again, as it has read all messages of that time already.
    """
    query = without(request.query, "before", "after")
    if query == request.query or not request.limit:
        return
    text = "no message of that time matches"
    if query is not None and request.plan.late is None:
        plan = compile_query(request.text, query, request.conversation, request.names)
        count, newest = count_rows(index, plan), index.rows(*_select(plan, "max(message.time)"))[0][0]
        if count and newest is not None:
            one = "message matches" if count == 1 else "messages match"
            yield Note(f"{text}; {count:,} {one} outside of it, the newest of {local_day(newest)}")
            return
    condition, parameters = ("TRUE", ()) if request.conversation is None else (IN_CONVERSATION, (request.conversation,))
    first, last = index.rows(_SELECT.format("min(message.time), max(message.time)", condition), parameters)[0]
    if first is not None:
        yield Note(text, f"messages: from {local_day(first)} to {local_day(last)}")
