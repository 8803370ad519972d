"""`list`: list all conversations, most recently active first.

Summaries are cached in the index; a conversation is read again only if its refs have changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final, NamedTuple

from scopes.conversation.brief_rows import BriefRows
from scopes.conversation.list_cached import BRIEF, COMPLETE, ConversationList, newest_first, refs_digest, sorted_list
from scopes.conversation.list_filter import ALL, ListFilter
from scopes.conversation.list_rows import ConversationReader, ConversationRefs, group_by_conversation, read_moment
from scopes.conversation.remote_counts import count_by_conversation
from scopes.conversation.shared_tasks import Tasks, do_tasks
from scopes.errors import Corrupt, NotFound, ScopesError
from scopes.history.conversations import ParticipantCache
from scopes.history.first_prompts import WrittenPrompts
from scopes.history.recorded_times import RecordedTimes
from scopes.ids import ConversationId
from scopes.index.conversation_table import (
    CachedRow,
    ConversationRow,
    States,
    brief_row,
    open_conversation_table,
)
from scopes.index.database import without_purged
from scopes.result import Note
from scopes.store import refs
from scopes.store.raw_refs import RefFiles
from scopes.store.read_once import ReadOnce
from scopes.store.repository import Repository

_MANY_ROWS: Final = 1000  # that many are read by several processes sooner, although it takes some time to start one
_PARTS: Final = 64
_ID: Final = ConversationRow._fields.index("id")
_NOWHERE: Final = (None, None)
_REBUILT: Final = "it was rebuilt; nothing was lost"


class _Options(NamedTuple):
    complete: bool
    wanted: ListFilter
    on_progress: Callable[[int], None]
    written: WrittenPrompts | None
    processes: int

    @property
    def needs_complete_rows(self) -> bool:
        return self.complete or self.wanted.needs_complete_rows

    @property
    def prefixes(self) -> tuple[str, ...]:
        """The refs that the list depends on."""
        return COMPLETE if self.needs_complete_rows else BRIEF


class _Rows(NamedTuple):
    """Rows by conversation, and a note for each conversation that could not be read.

    finished: those that have all fields that the list needs
    more: the number of conversations that the limit leaves out of `finished`
    """

    rows: dict[ConversationId, CachedRow]
    damaged: dict[ConversationId, Note]
    finished: list[ConversationId]
    more: int = 0


def list_conversations(
    repository: Repository,
    directory: str | None = None,
    *,
    complete: bool = False,
    wanted: ListFilter = ALL,
    on_progress: Callable[[int], None] = lambda _count: None,
    written: WrittenPrompts | None = None,
    processes: int = 1,
) -> ConversationList:
    """List conversations.

    Args:
        repository: the store.
        directory: where the index is; None to do without it, as for an earlier state of the store.
        complete: add the fields that need a walk over each history.
        wanted: which conversations to list.
        on_progress: called with 1 for each conversation.
        written: first prompts of conversations that were just written, which need no walk.
        processes: how many may read very many conversations; only one where this process has threads.
    """
    options = _Options(complete, wanted, on_progress, written, processes)
    if directory is None or repository.is_past:  # the index is of the current state
        files, values = repository.read_refs(*options.prefixes)
        damaged = _note_damaged_refs(files, options.prefixes)
        return _as_result(_make_rows(repository, values, None, options, damaged), options)
    with without_purged(directory, repository.path):
        return _list_with_table(repository, directory, options)


def _list_with_table(repository: Repository, directory: str, options: _Options) -> ConversationList:
    prefixes = options.prefixes
    files, values = repository.read_refs(*prefixes)
    damaged = _note_damaged_refs(files, prefixes)
    with open_conversation_table(directory, repository.path) as table:
        summaries = _make_rows(repository, values, table.rows, options, damaged)
        # the whole table may be reused only if no operation is pending, and every conversation was readable
        consistent = files.list_refs(prefixes) == values and not summaries.damaged and _has_all_headings(summaries)
        digests = _digests(files, repository.path, complete=options.needs_complete_rows) if consistent else None
        table.save(summaries.rows.values(), digests)
    notes = () if table.problem is None else (Note(f"the index of conversations {table.problem}", _REBUILT),)
    return _as_result(summaries, options, notes)


def _digests(files: RefFiles, store: str, *, complete: bool) -> States | None:
    try:
        return States(refs_digest(files, store, BRIEF), refs_digest(files, store, COMPLETE) if complete else None)
    except OSError:
        return None


def _has_all_headings(summaries: _Rows) -> bool:
    """Return True if the first prompt of every conversation without a title was looked for."""
    others = summaries.rows.keys() - set(summaries.finished)
    return all(summaries.rows[name].summary.heading is not None for name in others)


def _as_result(summaries: _Rows, options: _Options, notes: tuple[Note, ...] = ()) -> ConversationList:
    found = [summaries.rows[name] for name in summaries.finished]
    if options.needs_complete_rows:
        rows = [row.summary for row in found]
    else:  # the result does not depend on what the index contains
        rows = [brief_row(row.summary) if row.complete else row.summary for row in found]
    notes = (*notes, *summaries.damaged.values())
    known = [row.summary for row in summaries.rows.values()]
    result = sorted_list(rows, complete=options.complete, wanted=options.wanted, notes=notes, known=known)
    return replace(result, damaged=tuple(summaries.damaged), more=result.more + summaries.more)


def _note_damaged_refs(files: RefFiles, prefixes: tuple[str, ...]) -> dict[ConversationId, Note]:
    """Return a note for each conversation with a ref whose file is damaged; its other branches are listed."""
    damaged: dict[ConversationId, list[str]] = {}
    for ref in files.list_damaged(prefixes):
        if ref.startswith(refs.REMOTES):
            continue
        name = ref
        for prefix in (refs.HEADS, refs.META, refs.ACTIVE):
            name = name.removeprefix(prefix)
        damaged.setdefault(ConversationId(name.partition("/")[0]), []).append(ref.removeprefix(refs.HEADS))
    return {
        name: Note(f"left out, because the file of the ref is damaged: {', '.join(found)}", "see: scopes verify")
        for name, found in damaged.items()
    }


class _Readers:
    """Reads the conversations of a list; what several of them have in common is read once."""

    def __init__(self, repository: Repository, once: ReadOnce, options: _Options) -> None:
        self._repository = repository
        self._once = once
        self._options = options
        self._participants: ParticipantCache = {}
        self._times = RecordedTimes(repository)
        self._brief_rows = BriefRows(once, self._times, self._participants)
        wanted = options.wanted
        self.finishes_all = wanted.needs_complete_rows or wanted == ALL
        self._walks_all = self.finishes_all and options.needs_complete_rows

    def read_all(
        self, conversations: Sequence[ConversationRefs], cached: Mapping[ConversationId, CachedRow] | None
    ) -> _Rows:
        """Return rows: the cached ones if their refs are unchanged, otherwise new ones; those that are damaged apart.

        `cached` is None if rows are not kept.
        """
        states = ["" if cached is None else refs_of.state for refs_of in conversations]
        known = [None if cached is None else cached.get(refs_of.conversation) for refs_of in conversations]
        new = [
            refs_of
            for refs_of, row, state in zip(conversations, known, states, strict=True)
            if row is None or row.state != state
        ]
        try:
            brief = {} if self._walks_all else {row.id: row for row in self._brief_rows.read(new)}
        except (Corrupt, NotFound):  # of one of them, which is found out below
            brief = {}
        found = _Rows({}, {}, [])
        for refs_of, row, state in zip(conversations, known, states, strict=True):
            name = refs_of.conversation
            try:
                if row is None or row.state != state:
                    summary = brief.get(name)
                    if summary is not None and (summary.title is not None or not self.finishes_all):  # nothing to add
                        found.rows[name] = CachedRow(summary, state, False)
                    else:
                        found.rows[name] = self._read(refs_of, summary, state)
                else:
                    found.rows[name] = self._finish_now(None, refs_of, row)
            except (Corrupt, NotFound) as error:
                _note_damage(name, error, found)
        return found

    def _read(self, refs_of: ConversationRefs, brief: ConversationRow | None, state: str) -> CachedRow:
        if self._walks_all:
            reader = self._open(refs_of)
            return self._finish_now(reader, refs_of, CachedRow(reader.read_brief(), state, complete=False))
        if brief is None:
            [brief] = self._brief_rows.read([refs_of])
        return self._finish_now(None, refs_of, CachedRow(brief, state, complete=False))

    def _finish_now(self, reader: ConversationReader | None, refs_of: ConversationRefs, row: CachedRow) -> CachedRow:
        """Add the fields that the list needs, unless that is done only for those that are listed."""
        if self._walks_all or (self.finishes_all and row.summary.heading is None):
            return _finish(reader or self._open(refs_of), row, complete=self._walks_all)
        return row

    def finish(self, refs_of: ConversationRefs, row: CachedRow) -> CachedRow:
        """Add the fields that the list needs to a row of `read_all`."""
        return _finish(self._open(refs_of), row, complete=self._options.needs_complete_rows)

    def _open(self, refs_of: ConversationRefs) -> ConversationReader:
        return ConversationReader(
            self._repository, refs_of, self._participants, self._times, self._once, written=self._options.written
        )


def _make_rows(
    repository: Repository,
    values: Mapping[str, str],
    cached: Mapping[ConversationId, CachedRow] | None,
    options: _Options,
    damaged: dict[ConversationId, Note],
) -> _Rows:
    """Summarize every conversation, and add the other fields to those that are listed.

    The cached row is used if the refs are unchanged; `cached` is None if rows are not kept. A note for each
    conversation that cannot be read is added to `damaged`.
    """
    refs_by_name = {refs_of.conversation: refs_of for refs_of in group_by_conversation(values)}
    summaries = _Rows({}, damaged, [])
    once = ReadOnce(repository)
    readers = _Readers(repository, once, options)
    for found in _read_parts(list(refs_by_name.values()), readers, cached, options):
        summaries.rows.update(found.rows)
        damaged.update(found.damaged)
    _add_moments(repository, refs_by_name, summaries)
    if options.needs_complete_rows:
        counts = count_by_conversation(repository, once, refs_by_name.values(), values)
        for name, row in summaries.rows.items():
            ahead, behind = counts.get(name, _NOWHERE)
            if (row.summary.ahead, row.summary.behind) != (ahead, behind):
                summaries.rows[name] = row._replace(summary=row.summary._replace(ahead=ahead, behind=behind))
    if readers.finishes_all:
        return summaries._replace(finished=list(summaries.rows))
    listed, more = _choose_rows(summaries, options.wanted)
    for name in listed:
        row = summaries.rows.pop(name)
        try:
            summaries.rows[name] = readers.finish(refs_by_name[name], row)
            summaries.finished.append(name)
        except (Corrupt, NotFound) as error:
            _note_damage(name, error, summaries)
    return summaries._replace(more=more)


def _read_parts(
    conversations: Sequence[ConversationRefs],
    readers: _Readers,
    cached: Mapping[ConversationId, CachedRow] | None,
    options: _Options,
) -> list[_Rows]:
    """Read the rows of all conversations, very many new ones in several processes."""

    def read(number: int) -> _Rows:
        return readers.read_all(parts[number], cached)

    def report(found: _Rows) -> None:
        options.on_progress(len(found.rows) + len(found.damaged))

    new = len(conversations) - len(cached or ())
    size = max(-(-len(conversations) // _PARTS), 1)
    parts = [conversations[start : start + size] for start in range(0, len(conversations), size)]
    return do_tasks(Tasks(len(parts), read, _pack, _unpack, report), options.processes if new >= _MANY_ROWS else 1)


def _pack(found: _Rows) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Make plain values of the rows of a part."""
    rows = [(tuple(summary), state, complete) for summary, state, complete in found.rows.values()]
    return rows, [(name, *note) for name, note in found.damaged.items()]


def _unpack(packed: tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]) -> _Rows:
    make = tuple.__new__
    rows = {row[_ID]: make(CachedRow, (make(ConversationRow, row), state, whole)) for row, state, whole in packed[0]}
    return _Rows(rows, {name: Note(*note) for name, *note in packed[1]}, [])


def _note_damage(name: ConversationId, error: ScopesError, summaries: _Rows) -> None:
    """Note that a conversation is left out, because it cannot be read."""
    summaries.damaged[name] = Note(f"{name} is left out: {error.message}", "see: scopes verify")


def _choose_rows(summaries: _Rows, wanted: ListFilter) -> tuple[list[ConversationId], int]:
    """Return the conversations that are listed, as brief rows tell, and how many the limit leaves out."""
    rows = wanted.select(newest_first(row.summary for row in summaries.rows.values()))
    listed = rows[: wanted.limit]
    return [row.id for row in listed], len(rows) - len(listed)


def _finish(reader: ConversationReader, row: CachedRow, *, complete: bool) -> CachedRow:
    """Add the fields that the list needs to a row that has only what the tips tell."""
    summary = row.summary
    if complete:
        if not row.complete:
            summary = reader.read_complete(summary)
        active = reader.active_branch
        if row.complete and summary.active_branch == active:
            return row
        return CachedRow(summary._replace(active_branch=active), row.state, complete=True)
    if summary.heading is not None:
        return row
    with suppress(Corrupt, NotFound):  # a damaged history has no first prompt
        summary = summary._replace(opening=reader.read_first_prompt())
    return row._replace(summary=summary)


def _add_moments(
    repository: Repository, refs_by_name: Mapping[ConversationId, ConversationRefs], summaries: _Rows
) -> None:
    """Add the exact time of the last activity to conversations that were active in the same second (S4-51)."""
    times = [row.summary.last_activity for row in summaries.rows.values()]
    counts = Counter(times)
    if len(counts) == len(times):
        return
    for name, row in summaries.rows.items():
        summary = row.summary
        if summary.last_activity is not None and counts[summary.last_activity] > 1 and summary.moment is None:
            with suppress(Corrupt, NotFound):
                moment = read_moment(repository, refs_by_name[name].tips.values())
                summaries.rows[name] = row._replace(summary=summary._replace(moment=moment))
