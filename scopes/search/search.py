"""`search`: find messages in the whole store or in one conversation, on every branch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import islice
from typing import NamedTuple

from scopes.clock import format_seconds, local_day, now_nanoseconds, parse_window
from scopes.conversation.list import list_conversations
from scopes.conversation.list_cached import find_cached_list
from scopes.conversation.list_filter import ListFilter
from scopes.errors import Corrupt, Invalid, check_not_negative
from scopes.history.metadata import read_metadata
from scopes.history.revisions import conversation_ids, list_branch_tips, resolve_conversation, walk_directories
from scopes.ids import ConversationId, Oid
from scopes.index.database import State
from scopes.index.full_text import Index, IndexDamaged, open_index
from scopes.index.tokenize import tokenize
from scopes.index.writer import Describe
from scopes.result import Note, Result, Stream
from scopes.search.compile import Names, Plan, compile_query
from scopes.search.execute import (
    PostFilter,
    Row,
    can_rank,
    count_conversation,
    count_rows,
    find_newest,
    find_period,
    walk_rows,
)
from scopes.search.hits import HitReader, SearchHit, highlighters
from scopes.search.message_documents import Progress, describe_from
from scopes.search.query import (
    FIELDS,
    And,
    Field,
    Node,
    Phrase,
    parse,
    positive_phrases,
    unknown_fields,
    with_any_phrase,
    without_times,
)
from scopes.store.projects import find_project
from scopes.store.repository import Repository

_MAX_COUNTED = 500  # further messages of which each is read to count it


class TitleHit(NamedTuple):
    """A conversation whose title matches a query."""

    conversation: ConversationId
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchCoverage(Result):
    """What was searched; `hits` is the number of matches, shown or not, None if the search ended before all were found.

    `damaged` conversations and `unreadable` messages could not be searched; `read` commits were added to the index.
    `titles` are the conversations whose titles match, the most recently active first.
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
    titles: tuple[TitleHit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Search(Stream):
    """The hits, then the coverage; `counted` is the number of hits if they were only counted."""

    hits: tuple[SearchHit, ...]
    coverage: SearchCoverage
    counted: int | None = None

    @property
    def titles(self) -> tuple[TitleHit, ...]:
        """The conversations whose titles match."""
        return self.coverage.titles

    @property
    def exit_code(self) -> int:
        """As grep: 1 if nothing was found."""
        return 0 if self.hits or self.counted or (self.titles and self.counted is None) else 1


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
    progress: Progress | None = None,
    reading: Callable[[], AbstractContextManager[object]] = nullcontext,
    clear: Callable[[str], str] | None = None,
) -> Search:
    """Find messages, best first; newest first if asked for, or if the query has no words to rank by.

    Words that occur in more than half of very many messages are not ranked by either.

    regex: the whole query is one regular expression.
    any_word: one of the words is enough for a hit.
    context: the number of neighbors to read on either side of a hit.
    count_only: count the messages and read no hit.
    since, until: dates; only messages of that time.
    progress: called for each message that is added to the index, and with the number of them.
    reading: makes what is entered while hits are read, but not while the index is updated.
    clear: returns a name as it is shown; nothing is found by what it hides, or by what `reading` hides in messages.

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
    parsed = And((*(parsed.items if isinstance(parsed, And) else (parsed,)), *times)) if times else parsed
    names = _names_in(repository, clear)
    plan = compile_query(query, parsed, conversation_id, names)
    unknown = () if regex else tuple(_unknown_field_notes(query))
    request = _Request(
        text=query, query=parsed, plan=plan, names=names, conversation=conversation_id, limit=limit,
        newest_first=newest_first, context=context, count_only=count_only, notes=unknown,
    )  # fmt: skip
    describe = describe_from(repository, progress)

    def run(index: Index) -> Search:
        with reading():
            return _run(repository, index, request)

    with _directory_for(repository, index_directory) as directory:
        found = _with_index(repository, directory, describe, run)
    if regex or conversation_id is not None or not limit:
        return found
    titles = _find_titles(repository, index_directory, query, window, any_word=any_word, clear=clear or str)
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
        if row.title is not None
        and choose(_contains(tokenize(clear(row.title)), phrase) for phrase in positive_phrases(parsed))
    )


def _contains(words: list[str], phrase: Phrase) -> bool:
    """Return True if the words of a phrase follow each other in a text."""
    count = len(phrase.words)
    *first, last = phrase.words
    return any(
        words[at : at + count - 1] == first
        and (words[at + count - 1].startswith(last) if phrase.prefix else words[at + count - 1] == last)
        for at in range(len(words) - count + 1)
    )


def _directory_for(repository: Repository, directory: str) -> AbstractContextManager[str]:
    """Return the directory of the index; for an earlier state a temporary one, as the index is of the current state."""
    if not repository.is_past:
        return nullcontext(directory)
    import tempfile  # slow

    return tempfile.TemporaryDirectory(prefix="scopes-")


def _with_index(repository: Repository, directory: str, describe: Describe, run: Callable[[Index], Search]) -> Search:
    """Run a search on the index; if that turns out to be damaged, on a rebuilt one."""
    for rebuild in (False, True):
        try:
            with open_index(directory, repository, describe, rebuild=rebuild) as index:
                return run(index)
        except IndexDamaged as error:
            damage = error
    raise Corrupt(f"the search index is damaged again: {damage}", hint="see: scopes verify")


def _run(repository: Repository, index: Index, request: _Request) -> Search:
    plan = request.plan
    reader = HitReader(repository, index, request.conversation, request.context)
    post_filter = PostFilter(plan.predicates, reader.texts)
    is_masked = request.names.masked_branches is not None
    matching = None if plan.predicates and not is_masked else count_rows(index, plan)
    newest_first = request.newest_first or (matching is not None and not can_rank(index, plan, matching))
    rows = post_filter.filter(walk_rows(index, plan, request.limit, newest_first=newest_first, matching=matching))
    if is_masked and not newest_first:
        rows = _masked_last(rows, reader, request.limit)
    marks = highlighters(plan, request.query)
    hits: tuple[SearchHit, ...] = ()
    if not request.count_only:
        hits = tuple(reader.read(row, marks) for row in islice(rows, request.limit))
    seen = sum(1 for _ in rows) if request.count_only and plan.predicates else len(hits)
    if is_masked and not request.count_only:
        seen += sum(1 for _ in islice(rows, _MAX_COUNTED))
    total = matching
    if plan.predicates:
        total = seen if post_filter.finished else None
    coverage = _coverage(index, request, len(hits), total)
    notes = (*index.notes, *request.notes)
    if not hits and not total:
        notes = (*notes, *_suggest_any(index, request, reader), *_period_notes(index, request))
    counted = (coverage.hits or 0) if request.count_only else None
    return Search(items=(*hits, coverage), hits=hits, coverage=coverage, counted=counted, notes=notes)


def _masked_last(rows: Iterable[Row], reader: HitReader, limit: int) -> Iterator[Row]:
    """Yield rows in their order, and those of masked messages behind the others, in one that no score decides.

    The score of a message tells whether the index has a word of it, and so its place among the others.
    """
    masked: list[Row] = []
    count = 0
    for row in rows:
        if reader.texts(row.number).is_masked:
            masked.append(row)
        else:
            count += 1
            yield row
        if count + len(masked) > limit + _MAX_COUNTED:
            break
    yield from sorted(masked, key=lambda row: row.number, reverse=True)


def _suggest_any(index: Index, request: _Request, reader: HitReader) -> Iterator[Note]:
    """Yield a note with the number of messages that contain some of the words, if there are any."""
    query = with_any_phrase(request.query)
    is_masked = request.names.masked_branches is not None
    if query is request.query or (request.plan.predicates and not is_masked) or not request.limit:
        return
    plan = compile_query(request.text, query, request.conversation, request.names)
    if is_masked:
        rows = walk_rows(index, plan, 0, newest_first=True)
        matching = sum(1 for _ in islice(PostFilter(plan.predicates, reader.texts).filter(rows), _MAX_COUNTED))
    else:
        matching = count_rows(index, plan)
    if matching:
        yield Note(f"no message has all of these words; with some of them: {matching:,}", "find them with --any")


def _period_notes(index: Index, request: _Request) -> Iterator[Note]:
    """Yield a note with what matches at other times, if the query names a time; without any, with the days searched."""
    query = without_times(request.query)
    if query == request.query or not request.limit:
        return
    count, newest = _match_at_any_time(index, request, query)
    if count and newest is not None:
        one = "message matches" if count == 1 else "messages match"
        yield Note(f"no message of that time matches; {count:,} {one} outside of it, the newest of {_day(newest)}")
        return
    period = find_period(index, request.conversation)
    if period is not None:
        first, last = map(_day, period)
        yield Note("no message of that time matches", f"messages: from {first} to {last}")


def _match_at_any_time(index: Index, request: _Request, query: Node | None) -> tuple[int, int | None]:
    """Count the messages that match a query without times; return also the time of the newest, in seconds.

    A query with a regular expression is not run again, as it has read all messages of that time already.
    """
    if query is None or request.plan.predicates:
        return 0, None
    plan = compile_query(request.text, query, request.conversation, request.names)
    return count_rows(index, plan), find_newest(index, plan)


def _day(seconds: int) -> str:
    return local_day(seconds)


def _coverage(index: Index, request: _Request, shown: int, total: int | None) -> SearchCoverage:
    status = index.status
    conversations, branches, messages = status.conversations, status.branches, status.messages
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
        index=status.state,
        read=status.read,
        damaged=status.damaged,
        unreadable=status.unreadable,
    )


def _unknown_field_notes(query: str) -> Iterator[Note]:
    """Yield a note for each word before a colon that is no field (D8)."""
    for name in dict.fromkeys(unknown_fields(query)):
        yield Note(f"no field {name!a}: searched as text", f"fields: {', '.join(FIELDS)}")


def _names_in(repository: Repository, clear: Callable[[str], str] | None) -> Names:
    """Return what resolves names; what is not shown as it is resolves to nothing."""

    def is_shown(name: str) -> bool:
        return clear is None or clear(name) == name

    def masked_branches() -> Iterator[str]:
        for conversation in conversation_ids(repository):
            yield from (name for name in list_branch_tips(repository, conversation) if not is_shown(name))

    return Names(
        lambda tag: _tagged_commits(repository, tag, is_shown),
        lambda name: _conversations_of(repository, name, is_shown),
        None if clear is None else masked_branches,
    )


def _conversations_of(repository: Repository, name: str, is_shown: Callable[[str], bool]) -> Iterable[ConversationId]:
    """Yield the conversations that began in a project, given by its name or by a directory in it."""
    project = find_project(os.path.abspath(os.path.expanduser(name))) if os.sep in name else None
    for conversation, directory in walk_directories(repository, conversation_ids(repository)):
        if directory is None or not is_shown(directory):
            continue
        own = find_project(directory) if project is None else None
        if (project is not None and project.contains(directory)) or (
            own is not None and fnmatchcase(own.name.casefold(), name.casefold())
        ):
            yield conversation


def _tagged_commits(repository: Repository, tag: str, is_shown: Callable[[str], bool]) -> Iterable[Oid]:
    """Yield the commits that a tag names in any conversation; `*` and `?` are wildcards."""
    pattern = tag.replace("[", "[[]")
    for conversation in conversation_ids(repository):
        for name, oid in read_metadata(repository, conversation).tags.items():
            if fnmatchcase(name, pattern) and is_shown(name):
                yield oid
