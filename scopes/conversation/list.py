"""`list`: list all conversations, most recently active first.

Rows are cached in the index; a conversation is read again only if its refs have changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from scopes.conversation.list_cached import ConversationList, list_digest, newest_first, sorted_list
from scopes.conversation.list_filter import ALL, ListFilter
from scopes.conversation.list_rows import ConversationReader, ConversationRefs, group_by_conversation
from scopes.conversation.remote_counts import count_by_conversation
from scopes.errors import Corrupt, NotFound
from scopes.history.conversations import ParticipantCache
from scopes.history.recorded_times import RecordedTimes
from scopes.ids import ConversationId
from scopes.index.conversation_table import CachedRow, CachedRows, read_rows, save_rows
from scopes.index.database import without_purged
from scopes.result import Note
from scopes.store import refs
from scopes.store.raw_refs import RefFiles
from scopes.store.repository import Repository

_PREFIXES = (refs.HEADS, refs.META, refs.PENDING, refs.REMOTES, refs.ACTIVE)


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
    needs = "listed" if details else "none"
    if wanted.needs_details:
        needs = "all"
    if directory is None or repository.is_past:  # the index is of the current state
        files, values = repository.read_refs(*_PREFIXES)
        made = _Rows(repository, values, CachedRows({}, ""), _note_damaged_refs(files), on_progress)
        return made.finish(wanted, needs)
    with without_purged(directory, repository.path):
        cached = read_rows(directory, repository.path)
        files, values = repository.read_refs(*_PREFIXES)
        made = _Rows(repository, values, cached, _note_damaged_refs(files), on_progress)
        found = made.finish(wanted, needs)
        state = ""
        if files.list_refs(_PREFIXES) == values and not found.damaged:  # otherwise an operation is pending
            try:
                state = list_digest(files, repository.path)
            except (OSError, ValueError):
                state = ""
        if state != cached.state or made.rows != cached.rows:
            save_rows(directory, repository.path, made.rows.values(), state)
    return found


def _note_damaged_refs(files: RefFiles) -> dict[ConversationId, Note]:
    """Return a note for each conversation with a ref whose file is damaged; its other branches are listed."""
    damaged: dict[ConversationId, list[str]] = {}
    for ref in files.list_damaged(_PREFIXES):
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


class _Rows:
    """The rows of all conversations; a cached one is used if the refs of its conversation are unchanged.

    rows: by conversation; damaged: a note for each conversation that cannot be read
    """

    def __init__(
        self,
        repository: Repository,
        values: Mapping[str, str],
        cached: CachedRows,
        damaged: dict[ConversationId, Note],
        on_progress: Callable[[int], None],
    ) -> None:
        self._repository = repository
        self._values = values
        self._on_progress = on_progress
        self._participants: ParticipantCache = {}
        self._times = RecordedTimes(repository)
        self._refs = {refs_of.conversation: refs_of for refs_of in group_by_conversation(values)}
        self.rows: dict[ConversationId, CachedRow] = {}
        self.damaged = damaged
        for name, refs_of in self._refs.items():
            row, state = cached.rows.get(name), refs_of.state
            try:
                if row is None or row.state != state:
                    row = CachedRow(self._reader(refs_of).read(), state)
                    on_progress(1)
                self.rows[name] = row
            except (Corrupt, NotFound) as error:
                self._leave_out(name, error)

    def _reader(self, refs_of: ConversationRefs) -> ConversationReader:
        return ConversationReader(self._repository, refs_of, self._participants, self._times)

    def _leave_out(self, name: ConversationId, error: Corrupt | NotFound) -> None:
        self.damaged[name] = Note(f"{name} is left out: {error.message}", "see: scopes verify")
        self.rows.pop(name, None)

    def finish(self, wanted: ListFilter, needs: str) -> ConversationList:
        """Return the list; `needs` says which rows get their details: `all`, those that are `listed`, or `none`."""
        if needs == "listed":
            summaries = newest_first(row.summary for row in self.rows.values())
            self._add_details(row.id for row in wanted.select(summaries)[: wanted.limit])
        elif needs == "all":
            self._add_details(list(self.rows))
        self._add_counts()
        notes = tuple(self.damaged.values())
        found = sorted_list((row.summary for row in self.rows.values()), wanted=wanted, notes=notes)
        return replace(found, damaged=tuple(self.damaged))

    def _add_details(self, names: Iterable[ConversationId]) -> None:
        for name in names:
            summary, state = self.rows[name]
            if summary.messages is None:
                try:
                    self.rows[name] = CachedRow(self._reader(self._refs[name]).read_details(summary), state)
                except (Corrupt, NotFound) as error:
                    self._leave_out(name, error)

    def _add_counts(self) -> None:
        """Add what does not follow from the history: the active branch, and how the default remote differs."""
        detailed = [self._refs[name] for name, row in self.rows.items() if row.summary.messages is not None]
        counts = count_by_conversation(self._repository, detailed, self._values) if detailed else {}
        for refs_of in detailed:
            summary, state = self.rows[refs_of.conversation]
            ahead, behind = counts.get(summary.id, (None, None))
            active = self._reader(refs_of).active_branch
            self.rows[summary.id] = CachedRow(summary._replace(active_branch=active, ahead=ahead, behind=behind), state)
