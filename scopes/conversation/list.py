"""`list`: the conversations of a store, newest first, by time, agent, project, model and tag.

The rows are kept in the index. While it is up to date with the refs, the store is not opened and libgit2 not loaded;
otherwise the conversations whose refs have changed are read by `show`, which is imported only then.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from operator import attrgetter, ge, le
from typing import TYPE_CHECKING, Final, NamedTuple

from scopes.clock import format_seconds, in_seconds, utc
from scopes.errors import Corrupt, NotFound
from scopes.ids import ConversationId
from scopes.index.caches import CachedRow, CachedRows, ConversationRow, read_rows, save_rows
from scopes.index.sqlite_files import without_purged
from scopes.model.canonical_json import without_none
from scopes.regular_file import MAX_CONFIG_BYTES, read_regular
from scopes.result import Note, Result, few
from scopes.store import refs
from scopes.store.projects import Project, find_project_names
from scopes.store.refs import RefFiles, read_loose_ref, read_ref_files

if TYPE_CHECKING:
    from scopes.conversation.show import ConversationRefs
    from scopes.store.repository import Repository

_SECOND = 1_000_000_000
_TO_SECOND = len("2026-01-01T00:00:00")  # of a time that may have a fraction


class ListFilter(NamedTuple):
    """Conditions that must all be met; names are compared without regard to case.

    since: nanoseconds since 1970; the last activity is not earlier
    until: nanoseconds since 1970; the last activity is not later
    agent: a participant, or the agent whose format the conversation was imported from; if there is none of this name,
        the beginning of the name or of a word in it
    projects: the conversation began in one of them
    words: each is in the title, or in the beginning of the first prompt if there is none
    among: it is one of these
    model: the model of the newest answer, as for `agent`: `claude`, `opus`
    limit: the number of rows, the newest first; None for all
    clear: returns a name as it is shown; nothing is found by what it hides
    """

    since: int | None = None
    agent: str | None = None
    projects: tuple[Project, ...] = ()
    model: str | None = None
    tag: str | None = None
    limit: int | None = None
    until: int | None = None
    clear: Callable[[str], str] = str
    words: tuple[str, ...] = ()
    among: frozenset[str] | None = None

    @property
    def conditional(self) -> bool:
        """Return True if there is a condition besides the number of rows."""
        return self._replace(limit=None, clear=str) != ALL

    @property
    def needs_details(self) -> bool:
        """Return True if a condition is about a detail of a row, which needs a walk over the history."""
        return bool(self.projects or self.words) or any(each is not None for each in (self.agent, self.model, self.tag))

    def select(self, rows: Iterable[ConversationRow]) -> list[ConversationRow]:
        """Return the rows that meet the conditions; the limit is not applied."""
        selected = list(rows)
        for end, is_meant in ((self.since, ge), (self.until, le)):
            if end is not None:
                second = format_seconds(end // _SECOND)[:_TO_SECOND]
                selected = [row for row in selected if is_meant((row.activity or "")[:_TO_SECOND], second)]
        if self.among is not None:
            selected = [row for row in selected if row.id in self.among]
        for word in self.words:
            selected = [row for row in selected if word.casefold() in self.clear(row.heading or "").casefold()]
        if self.agent is not None:
            names = {name: self.clear(name) for name in {name for row in selected for name in row.participants}}
            shown = _matching(self.agent, names.values())
            agents = {name for name, each in names.items() if each in shown}
            sources = _matching(self.agent, (row.source for row in selected if row.source is not None))
            selected = [row for row in selected if row.source in sources or not agents.isdisjoint(row.participants)]
        if self.model is not None:
            models = _matching(self.model, (row.model for row in selected if row.model is not None))
            selected = [row for row in selected if row.model in models]
        if self.tag is not None:
            tag = self.tag.casefold()
            selected = [row for row in selected if tag in map(str.casefold, row.tags or ())]
        if self.projects:
            directories = {row.directory for row in selected}
            inside = {found for each in self.projects for found in each.find(directories)}
            selected = [row for row in selected if row.directory in inside]
        return selected


ALL = ListFilter()


def _note_none_found(rows: Sequence[ConversationRow], wanted: ListFilter) -> Note:
    """Return the note that no conversation matches; its hint names the agents, models and tags that there are."""
    there_are = {
        "agents": (wanted.agent, (name for row in rows for name in row.participants)),
        "models": (wanted.model, (row.model for row in rows if row.model is not None)),
        "tags": (wanted.tag, (name for row in rows for name in row.tags or ())),
    }
    hints = [few(what, names) for what, (word, names) in there_are.items() if word is not None]
    if wanted.projects:
        hints.append(few("projects", find_project_names(row.directory for row in rows).values()))
    return Note("no conversation matches", "\n".join(filter(None, hints)) or None)


def _matching(wanted: str, names: Iterable[str]) -> set[str]:
    """Return the names that equal a word, or else those in which a word begins with it; case does not matter."""
    word = wanted.casefold()
    found = {name: name.casefold() for name in names}
    equal = {name for name, folded in found.items() if folded == word}
    return equal or {
        name
        for name, folded in found.items()
        if folded.startswith(word) or any(f"{mark}{word}" in folded for mark in "-/_ ")
    }


BRIEF: Final = (refs.HEADS, refs.META, refs.PENDING)
LISTED: Final = (*BRIEF, refs.REMOTES)
_MAX_FILE_BYTES: Final = 64 << 20  # of what the store knows about remotes


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationList(Result):
    """Conversations by last activity, newest first (S4-53).

    projects: the names of projects by recorded directory
    copies: those that are redacted copies, with the id of the original; empty if that is gone
    damaged: conversations that could not be read
    filtered: True if conversations may have been left out by a condition
    more: the number of conversations that the limit left out
    """

    rows_in = "conversations"

    conversations: tuple[ConversationRow, ...]
    projects: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[ConversationId, str] = field(default_factory=dict)
    damaged: tuple[ConversationId, ...] = ()
    filtered: bool = False
    more: int = 0

    def document(self) -> dict[str, object]:
        """Return the rows; without a title of its own, a conversation has the beginning of its first prompt as one."""
        document: dict[str, object] = {"conversations": [self._row(row) for row in self.conversations]}
        document |= {"more": self.more} if self.more else {}
        return document | ({"damaged": list(self.damaged)} if self.damaged else {})

    def _row(self, row: ConversationRow) -> dict[str, object]:
        values = row._asdict()
        for name in ("title", "opening", "moment", "created_at"):
            del values[name]
        project = None if row.directory is None else self.projects.get(row.directory)
        return without_none(
            id=values.pop("id"), uuid=values.pop("uuid"), title=row.heading, title_source=row.heading_source,
            created_at=utc(row.created_at), project=project, **values, copy_of=self.copies.get(row.id),
        )  # fmt: skip

    @property
    def exit_code(self) -> int:
        """The exit code of damage if a conversation could not be read, otherwise 0."""
        return Corrupt.exit_code if self.damaged else 0


def find_cached_list(
    store: str, directory: str, *, wanted: ListFilter = ALL, details: bool = True
) -> ConversationList | None:
    """Return the list from the index if that is up to date with the refs; None if the store has to be opened.

    It has to be opened also while an operation is pending, and if the store belongs to another user.
    """
    try:
        if os.stat(store).st_uid != os.geteuid():
            return None
        state = list_digest(read_ref_files(store, LISTED), store)
    except (OSError, ValueError, Corrupt):
        return None
    cached = read_rows(directory, store)
    rows = [row.summary for row in cached.rows.values()]
    if cached.state != state or (wanted.needs_details and any(row.messages is None for row in rows)):
        return None
    found = sorted_list(rows, wanted=wanted)
    return None if details and any(row.messages is None for row in found.conversations) else found


def has_copies(store: str) -> bool:
    """Return True if a store may have redacted copies, which the index does not know."""
    try:
        return bool(read_ref_files(store, (refs.REDACTED,)).list_refs((refs.REDACTED,)))
    except (OSError, Corrupt):
        return False


def list_digest(files: RefFiles, store: str) -> str:
    """Return a digest of everything that a list depends on.

    The active branch is a file for each conversation; it is read of those that have several branches only.

    Raises:
        OSError: a file cannot be read.
        ValueError, Corrupt: one is damaged.
    """
    found = files.list_refs((refs.HEADS,))  # and others that were read
    names = Counter(name.split("/")[2] for name in found if name.startswith(refs.HEADS))
    active = [read_loose_ref(store, refs.ACTIVE + name) for name, count in names.items() if count > 1]
    data = refs_digest(files, store, LISTED) + repr(active)
    for name in (refs.REMOTES_FILE, refs.GONE_FILE):
        with suppress(FileNotFoundError):
            data += sha256(read_regular(os.path.join(store, name), _MAX_FILE_BYTES)).hexdigest()
    return sha256(data.encode("utf-8", "backslashreplace")).hexdigest()


def refs_digest(files: RefFiles, store: str, prefixes: tuple[str, ...]) -> str:
    """Return a digest of the refs with these prefixes and of the store's configuration.

    Raises:
        OSError: the store has no configuration.
    """
    config = read_regular(os.path.join(store, "config"), MAX_CONFIG_BYTES)
    return sha256(config + files.state_of(prefixes).encode()).hexdigest()


def sorted_list(
    summaries: Iterable[ConversationRow], *, wanted: ListFilter = ALL, notes: tuple[Note, ...] = ()
) -> ConversationList:
    """Return the wanted conversations by last activity, newest first, equal ones by id.

    If there is none, a note names the values that there are.
    """
    every = newest_first(summaries)
    rows = wanted.select(every) if wanted.conditional else every
    if wanted.conditional and not rows:
        notes = (*notes, _note_none_found(every, wanted))
    shown = rows[: wanted.limit]
    return ConversationList(
        conversations=tuple(shown),
        projects=find_project_names(row.directory for row in shown),
        filtered=wanted.conditional,
        more=len(rows) - len(shown),
        notes=notes,
    )


def newest_first(summaries: Iterable[ConversationRow]) -> list[ConversationRow]:
    """Return rows by last activity, the newest first; those of one second by their moment, then by id."""
    rows = sorted(summaries, key=attrgetter("id"))
    return sorted(rows, key=lambda row: (in_seconds(row.activity or ""), row.moment), reverse=True)


_PREFIXES: Final = (*LISTED, refs.ACTIVE)


def list_conversations(
    repository: Repository,
    directory: str | None = None,
    *,
    details: bool = True,
    wanted: ListFilter = ALL,
    on_progress: Callable[[int], None] = lambda _count: None,
) -> ConversationList:
    """List conversations.

    Args:
        repository: the store.
        directory: where the index is; None to do without it, as for an earlier state of the store.
        details: rows need the fields that a walk over each history finds; without, some may have them.
        wanted: which conversations to list.
        on_progress: called with 1 for each conversation that is read.
    """
    if directory is None or repository.is_past:  # the index is of the current state
        return _Reading(repository, CachedRows({}, ""), on_progress).select(wanted, details=details)
    with without_purged(directory, repository.path):
        cached = read_rows(directory, repository.path)
        reading = _Reading(repository, cached, on_progress)
        found = reading.select(wanted, details=details)
        state = "" if found.damaged else reading.find_state()
        if state != cached.state or reading.rows != cached.rows:
            save_rows(directory, repository.path, reading.rows.values(), state)
    return found


class _Reading:
    """The rows of all conversations; a cached one is used if the refs of its conversation are unchanged.

    What cannot be read is left out, and `damaged` has a note for it.
    """

    def __init__(self, repository: Repository, cached: CachedRows, on_progress: Callable[[int], None]) -> None:
        from scopes.conversation.show import RowReader, group_by_conversation

        self._repository = repository
        self._files, self._values = repository.read_refs(*_PREFIXES)
        self._refs = {refs_of.conversation: refs_of for refs_of in group_by_conversation(self._values)}
        self._reader = RowReader(repository)
        self.rows: dict[ConversationId, CachedRow] = {}
        damaged = {refs.conversation_of(ref): ref for ref in self._files.list_damaged(_PREFIXES)}
        self.damaged = {
            name: Note(f"left out, because the file of the ref is damaged: {ref}", "see: scopes verify")
            for name, ref in damaged.items()
            if name is not None
        }
        for name, refs_of in self._refs.items():
            known = cached.rows.get(name)
            if known is not None and known.state == refs_of.state:
                self.rows[name] = known
            else:
                self._read(name, self._reader.read)
                on_progress(1)

    def _read(self, name: ConversationId, read: Callable[[ConversationRefs], ConversationRow]) -> None:
        refs_of = self._refs[name]
        try:
            self.rows[name] = CachedRow(read(refs_of), refs_of.state)
        except (Corrupt, NotFound) as error:
            self.damaged[name] = Note(f"{name} is left out: {error.message}", "see: scopes verify")
            self.rows.pop(name, None)

    def select(self, wanted: ListFilter, *, details: bool) -> ConversationList:
        """Return the list; the rows that it shows, or that a condition is about, get their details."""
        summaries = [row.summary for row in self.rows.values()]
        if not wanted.needs_details:
            summaries = wanted.select(newest_first(summaries))[: wanted.limit] if details else []
        for row in summaries:
            if row.messages is None:
                self._read(row.id, partial(self._reader.read_details, row=row))
        self._add_counts()
        rows = (row.summary for row in self.rows.values())
        found = sorted_list(rows, wanted=wanted, notes=tuple(self.damaged.values()))
        return replace(found, damaged=tuple(self.damaged))

    def _add_counts(self) -> None:
        """Add what does not follow from the history: the active branch, and how the default remote differs."""
        from scopes.conversation.show import count_by_conversation

        detailed = [self._refs[name] for name, row in self.rows.items() if row.summary.messages is not None]
        counts = count_by_conversation(self._repository, detailed, self._values) if detailed else {}
        for refs_of in detailed:
            summary, state = self.rows[refs_of.conversation]
            ahead, behind = counts.get(summary.id, (None, None))
            row = summary._replace(active_branch=refs_of.active_branch, ahead=ahead, behind=behind)
            self.rows[summary.id] = CachedRow(row, state)

    def find_state(self) -> str:
        """Return the digest of the refs; empty if that is not known, as while an operation is pending."""
        if self._files.list_refs(_PREFIXES) != self._values:
            return ""
        try:
            return list_digest(self._files, self._repository.path)
        except (OSError, ValueError):
            return ""
