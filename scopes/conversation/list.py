"""`list`: list all conversations, most recently active first.

Summaries are cached in the index; a conversation is read again only if its refs have changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple

from scopes.conversation.brief_rows import BriefRows
from scopes.conversation.list_cached import BRIEF, COMPLETE, ConversationList, newest_first, refs_digest, sorted_list
from scopes.conversation.list_filter import ALL, ListFilter
from scopes.conversation.list_rows import ConversationReader, ConversationRefs, group_by_conversation, read_moment
from scopes.errors import Corrupt, NotFound, ScopesError
from scopes.history.conversations import ParticipantCache
from scopes.history.first_prompts import WrittenPrompts
from scopes.history.recorded_times import RecordedTimes
from scopes.ids import ConversationId
from scopes.index.conversation_table import CachedRow, States, brief_row, open_conversation_table
from scopes.result import Note
from scopes.store import refs
from scopes.store.raw_refs import RefFiles
from scopes.store.read_once import ReadOnce
from scopes.store.repository import Repository

_REBUILT: Final = "it was rebuilt; nothing was lost"


class _Options(NamedTuple):
    complete: bool
    wanted: ListFilter
    on_progress: Callable[[int], None]
    written: WrittenPrompts | None

    @property
    def needs_complete_rows(self) -> bool:
        return self.complete or self.wanted.needs_complete_rows


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
) -> ConversationList:
    """List conversations.

    Args:
        repository: the store.
        directory: where the index is; None to do without it, as for an earlier state of the store.
        complete: add the fields that need a walk over each history.
        wanted: which conversations to list.
        on_progress: called with 1 for each conversation.
        written: first prompts of conversations that were just written, which need no walk.
    """
    options = _Options(complete, wanted, on_progress, written)
    prefixes = COMPLETE if options.needs_complete_rows else BRIEF
    files, values = repository.read_refs(*prefixes)
    damaged = _note_damaged_refs(files, prefixes)
    if directory is None or repository.is_past:  # the index is of the current state
        return _as_result(_make_rows(repository, values, None, options, damaged), options)
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

    def read(self, refs_of: ConversationRefs, cached: CachedRow | None, state: str) -> CachedRow:
        """Return the row of a conversation: the cached one if it has this state, otherwise a new one."""
        reader = None
        if cached is None or cached.state != state:
            if self._walks_all:
                reader = self._open(refs_of)
                cached = CachedRow(reader.read_brief(), state, complete=False)
            else:
                cached = CachedRow(self._brief_rows.read(refs_of), state, complete=False)
        if self._walks_all or (self.finishes_all and cached.summary.heading is None):
            return _finish(reader or self._open(refs_of), cached, complete=self._walks_all)
        return cached

    def finish(self, refs_of: ConversationRefs, row: CachedRow) -> CachedRow:
        """Add the fields that the list needs to a row of `read`."""
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
    readers = _Readers(repository, ReadOnce(repository, len(refs_by_name)), options)
    for name, refs_of in refs_by_name.items():
        try:
            if cached is None:
                summaries.rows[name] = readers.read(refs_of, None, "")
            else:
                summaries.rows[name] = readers.read(refs_of, cached.get(name), refs_of.state)
        except (Corrupt, NotFound) as error:
            _note_damage(name, error, summaries)
        options.on_progress(1)
    _add_moments(repository, refs_by_name, summaries)
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
    counts = Counter(row.summary.last_activity for row in summaries.rows.values())
    for name, row in summaries.rows.items():
        summary = row.summary
        if summary.last_activity is not None and counts[summary.last_activity] > 1 and summary.moment is None:
            with suppress(Corrupt, NotFound):
                moment = read_moment(repository, refs_by_name[name].tips.values())
                summaries.rows[name] = row._replace(summary=summary._replace(moment=moment))
