"""`import`: import transcripts as one operation.

Objects are written under the shared lock into packs of bounded memory; only the ref update takes the exclusive lock.
Sources are never written to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from shlex import quote

from scopes.errors import Busy, CannotImport, Invalid
from scopes.history.handles import next_conversation_id
from scopes.history.metadata import read_metadata
from scopes.history.sources import SOURCES, read_purged, write_source_paths
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid
from scopes.importers.beginning import can_join
from scopes.importers.branch_updates import BranchUpdates, begin_updates, complete_branches, finish, update_branches
from scopes.importers.fork_points import number_groups
from scopes.importers.formats.base import Format, Source
from scopes.importers.formats.events import Session
from scopes.importers.identity import source_key_of
from scopes.importers.import_groups import import_groups, skip_broken
from scopes.importers.import_notes import (
    note_deleted,
    note_missing_parents,
    note_unparsed,
    notes_of_skipped,
)
from scopes.importers.import_result import build_result, list_changed, summarize
from scopes.importers.import_source import COPIES, refuse_unparsed
from scopes.importers.kept_for_later import begin_to_keep, keep_rest
from scopes.importers.live_records import drop_open
from scopes.importers.project_filter import ProjectFilter
from scopes.importers.purge_filter import name_kept_sessions
from scopes.importers.purged_texts import add_to_list
from scopes.importers.rendered_sessions import drop_rendered
from scopes.importers.repeated_import import StoreState, is_repeatable, read_store_state, repeat_of
from scopes.importers.results import GroupedNote, Imported, Skipped
from scopes.importers.run_state import ImportRun
from scopes.importers.session_files import name_session_files
from scopes.importers.shared_prefix import find_joins
from scopes.importers.stale_copy import list_stored_sources, use_stored_source
from scopes.importers.streams import name_streams
from scopes.importers.targets import ImportTarget, ImportTargets
from scopes.importers.work_queue import QueuedSource, drop_older, open_sources
from scopes.importers.worker_pool import count_workers, rare_garbage_collection
from scopes.result import Note
from scopes.secrets.count import secret_finder
from scopes.store.objects import Objects
from scopes.store.packs import BulkObjects, bulk_objects
from scopes.store.projects import Project
from scopes.store.refs import SOURCE_PATHS
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write, refs_listed_once, shared_write

OnProgress = Callable[[int], None]
Remember = Callable[[Imported, StoreState], None]
_ATTEMPTS = 5


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


class BrokenSources(Exception):
    """Sources that cannot be imported, by position in the queue: a run that met them is given up."""

    def __init__(self, skipped: dict[int, Skipped]) -> None:
        self.skipped = skipped


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
    remember: Remember | None = None,
) -> Imported:
    """Import sources; a run that finds nothing new writes nothing.

    If there is much to import, the search index in `index_directory` gets the messages too. `on_progress` is called
    with the size of each finished source. `skipped` and `notes` come first in the result. If
    another process imports one of the sources meanwhile, the run starts again. A source that turns out to be unusable
    is skipped: the run starts again without it, so that nothing of it is in the store. `remember` is called with the
    result that the same import would have now, and the state of all refs, if something was new and that is certain.

    Raises:
        CannotImport, Inaccessible: no source can be imported, or a strict import found a problem.
        Invalid: one title for several conversations.
        Busy: other processes keep importing the same sources.
    """
    all_skipped = list(skipped)
    all_notes: list[Note | GroupedNote] = list(notes)
    project_filter = ProjectFilter(options.projects)
    queue = list_stored_sources(repository, formats, all_skipped) if options.reread and not sources else open_sources(
        sources, formats, all_skipped, strict=options.strict, select=project_filter.select,
        workers=count_workers(repository), wants_beginning=lambda session: _may_join(repository, options, session),
    )  # fmt: skip
    queue = drop_rendered(repository, queue, all_skipped)
    queue = drop_open(repository, queue, all_skipped, index_directory)
    all_notes += project_filter.notes()
    count = len(queue)
    if options.since is not None:
        queue = drop_older(queue, options.since, all_notes)
    older = count - len(queue)

    def complete(result: Imported) -> Imported:
        return replace(result, other_sessions=len(project_filter.left_out), older_sources=older)

    while True:
        notes_now = [*all_notes, *notes_of_skipped(all_skipped)]
        try:
            result = _import_queue(
                repository, queue, formats, options, all_skipped, notes=notes_now, on_progress=on_progress,
                index_directory=index_directory,
                remember=None if remember is None else lambda result, state: remember(complete(result), state),
            )  # fmt: skip
            return complete(result)
        except BrokenSources as broken:
            queue = [queued for position, queued in enumerate(queue) if position not in broken.skipped]
            found = list(broken.skipped.values())
            errors = [each.error for each in found if each.error is not None]
            if options.strict or not queue:
                raise errors[0] from None
            all_skipped += found
        on_progress = _ignore_progress


def _may_join(repository: Repository, options: ImportOptions, session: Session) -> bool:
    """Return True if a session that was just opened will surely be compared with the beginnings of others."""
    if not options.join or options.projects is not None or options.since is not None:
        return False
    return can_join(session) and repository.find_ref(SOURCES + source_key_of(session)) is None


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
    remember: Remember | None,
) -> Imported:
    """Import the queue as one operation; again if another process imports one of its sources meanwhile, or purges."""
    if options.dry_run:
        with bulk_objects(repository, keep=False) as objects:
            run = import_all(repository, objects, queue, formats, options, notes=notes, on_progress=on_progress)
            changed, unchanged = _preview_conversations(run)
            return replace(build_result(run, changed, skipped, None, dry_run=True), unchanged=unchanged)
    for _ in range(_ATTEMPTS):
        with shared_write(repository), bulk_objects(repository) as objects:
            run = import_all(
                repository, objects, queue, formats, options, notes=notes, on_progress=on_progress,
                index_directory=index_directory,
            )  # fmt: skip
        with begin_to_keep(run, index_directory) as wait_until_kept:
            with exclusive_write(repository):
                result = _update_refs(run, skipped, options, notes, remember)
            if result is not None:
                wait_until_kept()
                keep_rest(repository, result, index_directory)
                return result
        on_progress = _ignore_progress
    raise Busy("other processes keep importing the same sources, or purging", hint="try again in a moment")


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
        BrokenSources: some cannot be imported; the others were read too, so that all of these are known.
    """
    sizes = [queued.source.size for queued in queue]
    with refs_listed_once(repository):
        purged = read_purged(repository)
        targets = ImportTargets(repository, objects, formats, index_directory)
        queue = name_kept_sessions(targets, purged, queue)
        queue = name_session_files(repository, objects, queue)
        queue = name_streams(repository, objects, queue, formats)
        sizes += [0] * (len(queue) - len(sizes))  # stored streams, which come last
        keys = [source_key_of(queued.session) for queued in queue]
        targets.begin(keys)
        find_secrets = secret_finder(repository)
        run = ImportRun(repository, objects, targets, options.again, find_secrets, notes=[*notes], purged=purged)
        run.rereads = options.reread
        run.paths = {key: queued.source.path for key, queued in zip(keys, queue, strict=True)}
        broken: dict[int, Skipped] = {}
        for position, queued in enumerate(queue):
            try:
                queue[position] = use_stored_source(objects, targets.stored(source_key_of(queued.session)), queued)
            except (CannotImport, OSError) as error:
                broken[position] = skip_broken(queued, error)
        positions = {source_key_of(queued.session): position for position, queued in enumerate(queue)}
        queue = find_joins(repository, objects, targets, queue, join=options.join)
        queue = sorted(queue, key=lambda queued: queued.session.is_stream)  # session files come before their streams
        groups = number_groups(
            [queued.session for queued in queue],
            targets.roots_of,
            {source_key_of(queued.session): queued.joined for queued in queue if queued.joined is not None},
        )
    readable = [
        replace(queued, group=group)
        for queued, group in zip(queue, groups, strict=True)
        if positions[source_key_of(queued.session)] not in broken
    ]
    places = [positions[source_key_of(queued.session)] for queued in readable]

    def check() -> None:
        if options.strict:
            refuse_unparsed(run.sources)
        if options.title is not None and (count := len(list(targets))) > 1:
            hint = "name one transcript, or set titles with: scopes rename CONV --title TEXT"
            raise Invalid(f"one title for {count} conversations", hint=hint)

    run.is_repeatable = is_repeatable(readable)
    found = import_groups(run, readable, on_progress=lambda place: on_progress(sizes[places[place]]), check=check)
    broken |= {places[place]: skipped for place, skipped in found.items()}
    if broken:
        raise BrokenSources(broken)
    return run


def _ignore_progress(_: int) -> None:
    """Report no progress: a further attempt would count the sources twice."""


def _update_refs(
    run: ImportRun,
    skipped: Sequence[Skipped],
    options: ImportOptions,
    notes: Sequence[Note | GroupedNote],
    remember: Remember | None,
) -> Imported | None:
    """Move the refs and record the operation; return None if the run was overtaken. Needs the exclusive lock."""
    sessions = sum(len(target.sessions) for target in run.targets)
    one_each = sessions == sum(source.new for source in run.sources)
    is_repeatable = run.is_repeatable and one_each and all(map(_is_new_or_unchanged, run.targets))
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
        result = build_result(run, conversations, skipped, operation, changed=changed)
    all_changed = operation is not None and len(conversations) == len(list(run.targets))
    if remember is not None and is_repeatable and all_changed:
        copies = [note for note in run.notes if isinstance(note, GroupedNote) and note.several == COPIES]
        again = [*note_unparsed(run), *notes, *copies, *note_missing_parents(run)]
        keys = {conversation: tuple(target.keys) for conversation, target in conversations.items()}
        remember(repeat_of(result, again, keys), read_store_state(run.repository))
    return result


def _keep_paths(run: ImportRun, objects: Objects, tx: RefTransaction) -> None:
    """Add the paths of the sources whose records change to those that this machine keeps for itself."""
    changed = {change.ref.removeprefix(SOURCES) for change in tx.list_changes() if change.ref.startswith(SOURCES)}
    previous = run.repository.find_ref(SOURCE_PATHS)
    paths = {key: path for key, path in run.paths.items() if key in changed}
    new = write_source_paths(objects, None if previous is None else Oid(previous), paths) if paths else previous
    if new != previous:
        tx.move_ref(SOURCE_PATHS, previous, new)


def _is_new_or_unchanged(target: ImportTarget) -> bool:
    """Return True if a conversation is new, before it has an id, or all its sources of the run are unchanged."""
    return not (target.sessions if target.conversation is not None else target.unchanged)


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
