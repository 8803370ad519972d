"""`reproject`: read the stored bytes of sources again with the parsers of today, as one operation with a map.

An import goes on from what it has stored. A newer version of scopes may read the same bytes better: other messages,
times or tokens. Where it does, the branches of the conversation move to the new reading, and all that names messages of
the old one follows: messages that were appended, tags, forks, memory and facts. The old history is what `undo` brings
back. What became what is in refs/scopes/local/reprojected/<root> of this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from scopes.errors import Busy, CannotImport
from scopes.history.names import conversation_ids, find_root_commit, resolve_conversation
from scopes.history.sources import SOURCES, SourceRecord, read_source_record, with_last_path
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid, OperationId
from scopes.importers.formats.base import Format, name_source, read_session
from scopes.importers.identity import source_key_of
from scopes.importers.import_sources import DEFAULT_OPTIONS, BrokenSources, import_all
from scopes.importers.reproject_refs import Reprojection, follow_shared_refs
from scopes.importers.run_state import ImportRun
from scopes.importers.stale_copy import StoredCopy
from scopes.importers.work_queue import COPY, QueuedSource, sort_key, sort_parents_first
from scopes.result import Column, Note, Result, counted
from scopes.store.packs import BulkObjects, bulk_objects
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write, shared_write

_ATTEMPTS: Final = 5


class ReprojectedConversation(NamedTuple):
    """A conversation that the parsers of today read in another way.

    messages: of its sources, as they are now
    changed: messages that have another content, time, author, usage or id; new_ids: those that have another id
    added, removed: messages that the old reading, or the new one, does not have
    rewritten: other messages that were put on top of the new reading
    map_ref: which commits and messages became which; None if no message did
    """

    id: ConversationId
    messages: int
    changed: int
    new_ids: int
    added: int
    removed: int
    rewritten: int
    map_ref: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reprojected(Result):
    """What was read in another way. unchanged: the number of conversations that are as they were."""

    rows_in = "conversations"
    is_one_row = True
    columns = (
        Column("id", "ID"),
        Column("messages", form="count"),
        Column("changed", form="count"),
        Column("new_ids", form="count"),
        Column("added", form="count"),
        Column("removed", form="count"),
        Column("rewritten", form="count"),
    )
    empty = "nothing changes: everything is read as it was"

    conversations: tuple[ReprojectedConversation, ...]
    unchanged: int
    dry_run: bool
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """How much stays as it is."""
        stay = f"{counted(self.unchanged, 'conversation')} stay as they are"
        return stay if self.unchanged and self.conversations else ""


def reproject(
    repository: Repository,
    conversations: Sequence[str],
    formats: Sequence[Format],
    *,
    dry_run: bool = False,
    on_progress: Callable[[int], None] = lambda _size: None,
) -> Reprojected:
    """Read the sources of conversations again, of all if none is named; what is read as before stays as it is.

    A source that holds several conversations is read as a whole.

    Raises:
        NotFound, Ambiguous: a conversation cannot be resolved.
        Busy: other processes keep importing into the same conversations.
    """
    wanted = [resolve_conversation(repository, name) for name in conversations] or conversation_ids(repository)
    if dry_run:
        with bulk_objects(repository, keep=False) as objects:
            run, notes = _read_again(repository, objects, wanted, formats, on_progress)
            found, _ = _plan(repository, objects, run)
            return _result({*wanted, *_conversations(run)}, found, notes, None, dry_run=True)
    for _ in range(_ATTEMPTS):
        with shared_write(repository), bulk_objects(repository) as objects:
            run, notes = _read_again(repository, objects, wanted, formats, on_progress)
        with exclusive_write(repository):
            if not run.is_overtaken():
                with bulk_objects(repository) as objects:
                    found, tx = _plan(repository, objects, run)
                operation = None
                if tx:
                    count = len(found)
                    summary = f"reproject {count} conversation{'' if count == 1 else 's'}"
                    operation = tx.commit("reproject", summary).id
                return _result({*wanted, *_conversations(run)}, found, notes, operation, dry_run=False)
        on_progress = lambda _size: None  # noqa: E731 - a further attempt would count the sources twice
    raise Busy("other processes keep importing into the same conversations", hint="try again in a moment")


def _conversations(run: ImportRun) -> set[ConversationId]:
    """Return the conversations of a run: one source may have several."""
    return {target.conversation for target in run.targets if target.conversation is not None}


def _result(
    read: Collection[ConversationId],
    found: Sequence[ReprojectedConversation],
    notes: Sequence[Note],
    operation: OperationId | None,
    *,
    dry_run: bool,
) -> Reprojected:
    return Reprojected(
        conversations=tuple(found),
        unchanged=len(read) - len(found),
        dry_run=dry_run,
        operation=operation,
        notes=tuple(notes),
    )


def _read_again(
    repository: Repository,
    objects: BulkObjects,
    wanted: Sequence[ConversationId],
    formats: Sequence[Format],
    on_progress: Callable[[int], None],
) -> tuple[ImportRun, list[Note]]:
    """Write the objects of a new reading; sources that cannot be read now stay as they are, with a note."""
    left_out: list[str] = []
    queue = _queue(repository, objects, wanted, formats, left_out)
    while True:
        try:
            run = import_all(
                repository, objects, queue, formats, DEFAULT_OPTIONS, notes=(), on_progress=on_progress, rereads=True
            )
            break
        except BrokenSources as broken:
            left_out += [skipped.path for skipped in broken.skipped.values()]
            queue = [queued for position, queued in enumerate(queue) if position not in broken.skipped]
    notes = []
    if left_out:
        several = f" and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        notes = [Note(f"cannot read again: {left_out[0]}{several}", "their messages stay as they are")]
    return run, notes


def _queue(
    repository: Repository,
    objects: BulkObjects,
    wanted: Sequence[ConversationId],
    formats: Sequence[Format],
    left_out: list[str],
) -> list[QueuedSource]:
    """Return the stored sources of conversations in the order of an import."""
    roots = {find_root_commit(repository, conversation) for conversation in wanted}
    by_name = {each.name: each for each in formats}
    queue = []
    for ref, oid in sorted(repository.list_refs(SOURCES).items()):
        record = read_source_record(repository, Oid(oid))
        if roots.isdisjoint((record.root, *record.more_roots)):
            continue
        record = with_last_path(repository, record)
        if record.handover is not None:
            continue  # `checkout` has written it: its messages are those of the conversation
        queued = None if record.purged else _open(objects, Oid(oid), record, by_name.get(record.format))
        if queued is None or source_key_of(queued.session) != ref.removeprefix(SOURCES):
            left_out.append(record.file_name)
        else:
            queue.append(queued)
    return sort_parents_first(sorted(queue, key=sort_key))


def _open(objects: BulkObjects, commit: Oid, record: SourceRecord, chosen: Format | None) -> QueuedSource | None:
    """Return a stored source as an import would queue it; None if its format is not known or cannot read it."""
    if chosen is None:
        return None
    source = StoredCopy(record.file_name, record.size, objects, commit)
    try:
        with name_source(source):
            session = read_session(chosen, source)
    except CannotImport:
        return None
    if session is None:
        return None
    is_copy = session.sub_file != record.part and not session.is_stream  # of another file of the session
    details = {"line": COPY, **session.details} if is_copy else session.details
    return QueuedSource(source, chosen, replace(session, sub_file=record.part, details=details))


def _plan(
    repository: Repository, objects: BulkObjects, run: ImportRun
) -> tuple[list[ReprojectedConversation], RefTransaction]:
    """Return what changes in each conversation, and a transaction with all ref changes. Needs the exclusive lock."""
    tx = RefTransaction(repository)
    found: list[ReprojectedConversation] = []
    maps = []
    records = {change.ref.removeprefix(SOURCES): change for change in run.records.list_changes()}
    for target in run.targets:
        if target.conversation is None:
            continue
        reprojection = Reprojection(repository, objects, target.conversation, target, records)
        tx.include(reprojection.build())
        if reprojection.is_changed:
            found.append(
                ReprojectedConversation(target.conversation, *reprojection.counts, map_ref=reprojection.map_ref)
            )
        maps.append(reprojection.ids)
    tx.include(run.records)
    tx.include(follow_shared_refs(repository, objects, maps))
    return found, tx
