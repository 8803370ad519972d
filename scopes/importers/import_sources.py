"""`import`: import transcripts as one operation.

Objects are written under the shared lock into packs of bounded memory; only the ref update takes the exclusive lock.
Sources are never written to.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from shlex import quote
from types import FrameType

from scopes.errors import Busy, CannotImport, Invalid
from scopes.history.handles import next_conversation_id
from scopes.history.metadata import read_metadata
from scopes.history.sources import SOURCES, Purged, join_all, read_purged, write_source_paths
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid
from scopes.importers.branch_updates import BranchUpdates, begin_updates, complete_branches, finish, update_branches
from scopes.importers.forks import find_joins, number_groups
from scopes.importers.formats.base import Format, Source, name_source
from scopes.importers.identity import source_key_of
from scopes.importers.import_source import import_source, refuse_unparsed
from scopes.importers.live_records import drop_open
from scopes.importers.purge_filter import name_kept_sessions
from scopes.importers.purged_texts import add_to_list
from scopes.importers.report import (
    build_result,
    list_changed,
    note_deleted,
    notes_of_skipped,
    summarize,
)
from scopes.importers.results import GroupedNote, Imported, Skipped, SourceImported
from scopes.importers.source_queue import (
    ProjectFilter,
    QueuedSource,
    drop_older,
    drop_rendered,
    list_stored_sources,
    name_session_files,
    open_sources,
    skip_failed,
    use_stored_source,
)
from scopes.importers.stat_cache import StatCache, Unchanged, is_worth_it
from scopes.importers.streams import name_streams
from scopes.importers.targets import ImportRun, ImportTarget, ImportTargets
from scopes.importers.workers import count_workers, rare_garbage_collection, walk_results
from scopes.model.operation import RefChange
from scopes.result import Note
from scopes.secrets.count import secret_finder
from scopes.store.objects import Objects
from scopes.store.packs import BulkObjects, bulk_objects
from scopes.store.projects import Project
from scopes.store.refs import SOURCE_PATHS
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write, refs_listed_once, shared_write

OnProgress = Callable[[int], None]
_ATTEMPTS = 5
BYTES_PER_WORKER = 4 << 20  # of sources; fewer are imported sooner than a worker is started
BYTES_PER_TASK = 32 << 20  # of sources that share a pack


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """Options of an import.

    strict: import nothing if a record cannot be read or a file would be skipped
    again: also import conversations that were deleted here
    reread: read sources as if nothing of them was stored; without sources, the stored bytes of all
    title: title of the one conversation
    since: nanoseconds since 1970; leave out sessions whose last message is older
    projects: import only the sessions of these projects, and files that were named; None for all
    join: a new session that begins with the messages of another one belongs to the conversation of that one
    """

    dry_run: bool = False
    strict: bool = False
    again: bool = False
    reread: bool = False
    title: str | None = None
    since: int | None = None
    projects: Sequence[Project] | None = None
    join: bool = True


DEFAULT_OPTIONS = ImportOptions()


@rare_garbage_collection()
def import_sources(
    repository: Repository,
    sources: Sequence[Source],
    formats: Sequence[Format],
    options: ImportOptions = DEFAULT_OPTIONS,
    *,
    on_progress: OnProgress = lambda _: None,
    skipped: Sequence[Skipped] = (),
    notes: Sequence[Note | GroupedNote] = (),
    index_directory: str | None = None,
) -> Imported:
    """Import sources as one operation; a run that finds nothing new writes nothing.

    A source either is wholly there or leaves no ref and is named in the result. After Ctrl-C, the sources that are done
    stay, and the result tells how many were left out. If another process imports one of the sources meanwhile, the run
    starts again.

    on_progress: called with the size of each finished source
    skipped, notes: come first in the result
    index_directory: that of the store; files that are as the last import left them are not read then

    Raises:
        CannotImport, Inaccessible: no source can be imported, or a strict import found a problem.
        Invalid: one title for several conversations.
        Busy: other processes keep importing the same sources.
        KeyboardInterrupt: nothing was imported yet.
    """
    all_skipped = list(skipped)
    all_notes: list[Note | GroupedNote] = list(notes)
    cache = _open_cache(sources, options, index_directory)
    unchanged = Unchanged() if cache is None else cache.find(repository)
    changed = [source for source in sources if source.path not in unchanged.paths]
    for source in sources:
        if source.path in unchanged.paths:
            on_progress(source.size)
    project_filter = ProjectFilter(options.projects, lambda key: repository.find_ref(SOURCES + key) is not None)
    if options.reread and not sources:
        queue = list_stored_sources(repository, formats, all_skipped)
    else:
        queue = open_sources(
            changed, formats, all_skipped, strict=options.strict, select=project_filter.select,
            workers=count_workers(repository),
            has_others=bool(unchanged.paths),
        )  # fmt: skip
    queue = drop_rendered(repository, queue, all_skipped)
    queue = drop_open(repository, queue, all_skipped, index_directory)
    all_notes += project_filter.notes()
    count = len(queue)
    if options.since is not None:
        queue = drop_older(queue, options.since, all_notes)
    older = count - len(queue)
    all_notes += notes_of_skipped(all_skipped)
    copies = [Skipped(path=found.path, reason=found.reason, noted=True) for found in unchanged.copies]
    result = _import_queue(
        repository, queue, formats, options, [*all_skipped, *copies],
        notes=all_notes, on_progress=on_progress, index_directory=index_directory, cache=cache, unchanged=unchanged,
    )  # fmt: skip
    return replace(result, other_sessions=len(project_filter.left_out), older_sources=older)


def _open_cache(sources: Sequence[Source], options: ImportOptions, index_directory: str | None) -> StatCache | None:
    """Return the cache of unchanged files; None for an import of few bytes, or with other options."""
    if index_directory is None or replace(options, projects=None) != DEFAULT_OPTIONS or not is_worth_it(sources):
        return None
    view = "all" if options.projects is None else " ".join(project.text for project in options.projects)
    return StatCache(index_directory, sources, view=view)


def _import_queue(
    repository: Repository,
    queue: list[QueuedSource],
    formats: Sequence[Format],
    options: ImportOptions,
    skipped: Sequence[Skipped],
    *,
    notes: Sequence[Note | GroupedNote],
    on_progress: OnProgress,
    index_directory: str | None,
    cache: StatCache | None,
    unchanged: Unchanged,
) -> Imported:
    """Import the queue as one operation; again if another process imports one of its sources meanwhile, or purges."""
    if options.dry_run:
        with bulk_objects(repository, keep=False) as objects:
            run = import_all(repository, objects, queue, formats, options, notes=notes, on_progress=on_progress)
            changed, left = _preview_conversations(run)
            return replace(build_result(run, changed, [*skipped, *run.broken], None, dry_run=True), unchanged=left)
    for _ in range(_ATTEMPTS):
        with shared_write(repository), bulk_objects(repository) as objects:
            run = import_all(
                repository, objects, queue, formats, options, notes=notes, on_progress=on_progress,
                index_directory=index_directory,
            )  # fmt: skip
        run.sources = [*unchanged.sources, *run.sources]
        with exclusive_write(repository):
            result = _update_refs(run, skipped, options)
        if result is not None:
            if cache is not None and not run.stopped:
                _keep_in_cache(cache, run, result, queue)
            rows = sorted([*unchanged.conversations, *result.conversations], key=lambda row: row.id)
            return replace(result, conversations=tuple(rows))
        on_progress = _ignore_progress
    raise Busy("other processes keep importing the same sources, or purging", hint="try again in a moment")


def _keep_in_cache(cache: StatCache, run: ImportRun, result: Imported, queue: Sequence[QueuedSource]) -> None:
    """Keep what the next import need not read."""
    reasons = {found.path: found.reason for found in run.copies}
    copies = {
        copy.path: (queued.source.path, reasons[copy.path])
        for queued in queue
        for copy in queued.copies
        if copy.path in reasons
    }
    cache.save(run.repository, result, copies, run.paths)


def number_conversations(run: ImportRun) -> dict[ConversationId, ImportTarget]:
    """Return the conversations of the run by id; new ones get the next numbers in source order."""
    found: dict[ConversationId, ImportTarget] = {}
    number = int(next_conversation_id(run.repository).removeprefix("conv-"))
    for target in run.targets:
        if target.conversation is None:
            target.conversation = ConversationId(f"conv-{number:03d}")
            number += 1
        found[target.conversation] = target
    return found


def collect_changes(
    run: ImportRun, objects: Objects, title: str | None
) -> tuple[dict[ConversationId, ImportTarget], RefTransaction]:
    """Return the conversations to update, and a transaction with all ref changes.

    Deleted conversations are left out without `again`.
    """
    tx = RefTransaction(run.repository)
    updated: dict[ConversationId, ImportTarget] = {}
    collected: list[BranchUpdates] = []
    unnumbered = {target.root for target in run.targets if target.conversation is None}
    for conversation, target in number_conversations(run).items():
        new = target.root in unnumbered
        if new and not run.again and _was_deleted(run, target):
            run.notes.append(note_deleted(target))
            continue
        updates = _update_branches(run, conversation, target, new=new)
        current = None if new or title is None else read_metadata(run.repository, conversation).title
        if current not in (None, title):
            hint = f"change it with: scopes rename {quote(conversation)} --title TEXT"
            text = f"{conversation} already has a title: {current}"
            run.notes.append(GroupedNote(text, "{} conversations already have a title", hint))
        updates.has_given_title = bool(title)
        updates.title = title or next((session.title for session in target.sessions if session.title), None)
        updates.renamed = next((session.title for session in target.sessions if session.key == target.own_key), None)
        updates.directory = next(filter(None, (session.directory for session in target.sessions)), None)
        collected.append(updates)
        run.notes += updates.notes
        updated[conversation] = target
    for updates in collected:
        tx.include(finish(run.repository, objects, updates))
    if updated:
        tx.include(run.records)
    return updated, tx


def _preview_conversations(run: ImportRun) -> tuple[dict[ConversationId, ImportTarget], int]:
    """Return the conversations that the run would change, and the number of those that stay as they are."""
    changed: dict[ConversationId, ImportTarget] = {}
    unchanged = 0
    unnumbered = {target.root for target in run.targets if target.conversation is None}
    for conversation, target in number_conversations(run).items():
        new = target.root in unnumbered
        if new and not run.again and _was_deleted(run, target):
            run.notes.append(note_deleted(target))
        elif new or target.sessions:
            changed[conversation] = target
        else:
            unchanged += 1
    return changed, unchanged


def import_all(
    repository: Repository,
    objects: BulkObjects,
    queue: list[QueuedSource],
    formats: Sequence[Format],
    options: ImportOptions,
    *,
    notes: Sequence[Note | GroupedNote],
    on_progress: OnProgress,
    index_directory: str | None = None,
) -> ImportRun:
    """Write the objects of all sources; the memory of a group is freed after its last source.

    Raises:
        CannotImport, Inaccessible: no source can be imported, or a strict import found a problem.
        Invalid: one title for several conversations.
    """
    with refs_listed_once(repository):
        purged = read_purged(repository)
        targets = ImportTargets(repository, objects, formats, index_directory)
        run = ImportRun(repository, objects, targets, options.again, secret_finder(repository), purged=purged)
        run.rereads = options.reread
        queue = name_kept_sessions(targets, purged, queue)
        queue = name_session_files(repository, objects, queue)
        queue = name_streams(repository, objects, queue, formats)
        keys = [source_key_of(queued.session) for queued in queue]
        targets.begin(keys)
        readable = []
        for key, queued in zip(keys, queue, strict=True):
            try:
                readable.append(use_stored_source(objects, targets.stored(key), queued))
            except (CannotImport, OSError) as error:
                run.broken.append(_skip_broken(queued, error))
        queue = find_joins(repository, objects, targets, readable, join=options.join)
        queue = sorted(queue, key=lambda queued: queued.session.is_stream)  # session files come before their streams
        groups = number_groups(
            [queued.session for queued in queue],
            targets.roots_of,
            {source_key_of(queued.session): queued.joined for queued in queue if queued.joined is not None},
        )
    queue = [replace(queued, group=group) for queued, group in zip(queue, groups, strict=True)]
    _import_groups(run, queue, on_progress=on_progress, keep=not options.dry_run)
    errors = [found.error for found in run.broken if found.error is not None]
    if errors and (options.strict or not run.sources):
        raise errors[0]
    if options.strict:
        refuse_unparsed(run.sources)
    if options.title is not None and (count := len(list(targets))) > 1:
        hint = "name one transcript, or set titles with: scopes rename CONV --title TEXT"
        raise Invalid(f"one title for {count} conversations", hint=hint)
    if run.stopped and not run.sources:
        raise KeyboardInterrupt
    run.notes = [*notes, *notes_of_skipped(run.broken), *run.notes]
    return run


@contextmanager
def stop_on_interrupt(is_worth_it: Callable[[], bool]) -> Iterator[Callable[[], bool]]:
    """Yield a function that tells whether Ctrl-C was pressed; pressed again, it interrupts as always.

    So it does if it is not worth stopping in order. Elsewhere than in the main thread, and where somebody else handles
    Ctrl-C, nothing changes.
    """
    before = signal.getsignal(signal.SIGINT)
    stopped: list[int] = []
    if before is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        if not is_worth_it():
            signal.default_int_handler(number, frame)
        stopped.append(number)

    signal.signal(signal.SIGINT, stop)
    try:
        yield lambda: bool(stopped)
    finally:
        signal.signal(signal.SIGINT, before)


@dataclass(frozen=True, slots=True)
class SourceOutcome:
    """What the import of one source adds to the run; `place` is its place in the queue, `roots` are new targets."""

    place: int
    broken: Skipped | None
    sources: list[SourceImported]
    copies: list[Skipped]
    notes: list[Note | GroupedNote]
    missing_parents: dict[str, str]
    paths: dict[str, str]
    records: list[RefChange]
    roots: list[Oid]
    grown: Purged


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """What the import of a group adds to the run; `is_scanned` if all its messages were searched for secrets."""

    sources: list[SourceOutcome]
    targets: dict[Oid, ImportTarget]
    is_scanned: bool


def _import_groups(
    run: ImportRun,
    queue: Sequence[QueuedSource],
    *,
    on_progress: OnProgress,
    keep: bool,
) -> None:
    """Import all sources of a queue into the run, group by group, in worker processes if there is much to do.

    Sources that continue each other, or share a conversation, are a group. Groups do not depend on each other, and the
    outcomes are put together in the order of the queue, so that the result does not depend on the number of workers.
    Each task of a worker has a pack of its own.
    """
    groups: dict[int, list[int]] = {}
    for place, queued in enumerate(queue):
        groups.setdefault(queued.group, []).append(place)
    sizes = {group: sum(queue[place].source.size for place in places) for group, places in groups.items()}
    workers = min(count_workers(run.repository), len(groups), sum(sizes.values()) // BYTES_PER_WORKER)
    outcomes: list[GroupOutcome] = []

    def add(found: Sequence[GroupOutcome]) -> None:
        outcomes.extend(found)
        for source in (source for outcome in found for source in outcome.sources):
            on_progress(queue[source.place].source.size)

    with stop_on_interrupt(lambda: bool(outcomes)) as is_stopped:
        if workers < 2:
            for places in groups.values():
                if not is_stopped():
                    add([_import_group(run, queue, places, is_stopped)])
        else:
            batches = _divide(sorted(groups, key=lambda group: -sizes[group]), sizes)

            def work(number: int) -> list[GroupOutcome]:
                with bulk_objects(run.repository, keep=keep) as objects:
                    run.use_objects(objects)
                    return [_import_group(run, queue, groups[group], lambda: False) for group in batches[number]]

            clean_up = run.objects.remove_temporary_files
            for found in walk_results(work, len(batches), workers, is_stopped=is_stopped, clean_up=clean_up):
                add(found)
    _add_outcomes(run, outcomes)
    run.stopped = len(queue) - sum(len(outcome.sources) for outcome in outcomes)


def _divide(groups: Sequence[int], sizes: Mapping[int, int]) -> list[list[int]]:
    """Divide groups into tasks of about BYTES_PER_TASK, in order."""
    tasks: list[list[int]] = []
    size = BYTES_PER_TASK
    for group in groups:
        if size >= BYTES_PER_TASK:
            tasks.append([])
            size = 0
        tasks[-1].append(group)
        size += sizes[group]
    return tasks


def _import_group(
    run: ImportRun, queue: Sequence[QueuedSource], places: Sequence[int], is_stopped: Callable[[], bool]
) -> GroupOutcome:
    """Import the sources of one group, and free the memory that only they needed."""
    outcomes: list[SourceOutcome] = []
    known = len(list(run.targets.roots()))
    for place in places:
        if is_stopped():
            break
        run.start_source()
        broken = None
        try:
            with name_source(queue[place].source):
                import_source(run, queue[place])
        except (CannotImport, OSError) as error:
            broken = _skip_broken(queue[place], error)
            run.take_back_source()
        added = list(run.targets.roots())[known:]
        known += len(added)
        outcomes.append(
            SourceOutcome(
                place,
                broken,
                run.sources,
                run.copies,
                run.notes,
                run.missing_parents,
                run.paths,
                run.records.list_changes(),
                added,
                run.grown,
            )
        )
    run.release(queue[places[0]].group)
    new = {root for outcome in outcomes for root in outcome.roots}
    targets = {target.root: target for target in run.targets if target.root in new}
    return GroupOutcome(outcomes, targets, run.find_secrets is None or not run.find_secrets.is_incomplete)


def _add_outcomes(run: ImportRun, groups: Sequence[GroupOutcome]) -> None:
    """Add all outcomes to the run, in the order of the queue."""
    run.start_source()
    if run.find_secrets is not None and not all(group.is_scanned for group in groups):
        run.find_secrets.note_incomplete()
    targets = {root: target for group in groups for root, target in group.targets.items() if target.keys}
    roots: list[Oid] = []
    for outcome in sorted((source for group in groups for source in group.sources), key=lambda source: source.place):
        run.broken += [] if outcome.broken is None else [outcome.broken]
        run.sources += outcome.sources
        run.copies += outcome.copies
        run.notes += outcome.notes
        run.missing_parents |= outcome.missing_parents
        run.paths |= outcome.paths
        for change in outcome.records:
            run.records.move_ref(*change)
        roots += outcome.roots
    run.grown = join_all(source.grown for group in groups for source in group.sources)
    run.targets.replace_all(targets[root] for root in roots if root in targets)


def _skip_broken(queued: QueuedSource, error: CannotImport | OSError) -> Skipped:
    """Return the entry of a source that could not be read to its end; raise the error of any other file."""
    if isinstance(error, OSError) and error.filename not in (None, queued.source.path):
        raise error
    if isinstance(error, CannotImport) and queued.source.path not in error.message:
        error = CannotImport(f"{queued.source.path}: {error.message}", hint=error.hint)
    return skip_failed(queued.source, error)


def _ignore_progress(_: int) -> None:
    """Report no progress: a further attempt would count the sources twice."""


def _update_refs(run: ImportRun, skipped: Sequence[Skipped], options: ImportOptions) -> Imported | None:
    """Move the refs and record the operation; return None if the run was overtaken. Needs the exclusive lock."""
    with refs_listed_once(run.repository):
        if run.is_overtaken():
            return None
        with bulk_objects(run.repository) as objects:
            conversations, tx = collect_changes(run, objects, options.title)
            _keep_paths(run, objects, tx)
            add_to_list(run.repository, objects, run.grown, tx)
    operation = None
    changes = tx.list_changes()
    changed = list_changed(run, conversations, changes)
    if changes:
        operation = tx.commit("import", summarize(conversations, changed)).id
    with refs_listed_once(run.repository):
        return build_result(run, conversations, [*skipped, *run.broken], operation, changed=changed)


def _keep_paths(run: ImportRun, objects: Objects, tx: RefTransaction) -> None:
    """Add the paths of the sources whose records change to those that this machine keeps for itself."""
    changed = {change.ref.removeprefix(SOURCES) for change in tx.list_changes() if change.ref.startswith(SOURCES)}
    previous = run.repository.find_ref(SOURCE_PATHS)
    paths = {key: path for key, path in run.paths.items() if key in changed}
    new = write_source_paths(objects, None if previous is None else Oid(previous), paths) if paths else previous
    if new != previous:
        tx.move_ref(SOURCE_PATHS, previous, new)


def _update_branches(run: ImportRun, conversation: ConversationId, target: ImportTarget, *, new: bool) -> BranchUpdates:
    updates = begin_updates(run.repository, target, conversation, new=new)
    for session in target.sessions:
        update_branches(run.repository, updates, session)
    complete_branches(updates)
    return updates


def _was_deleted(run: ImportRun, target: ImportTarget) -> bool:
    """Return True if sources were imported before into a conversation that does not exist."""
    tracked = any(run.targets.tracked.get(session.key) and not session.moved for session in target.sessions)
    return tracked or bool(target.unchanged)
