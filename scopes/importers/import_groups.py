"""Import the sources of a queue group by group, in worker processes if there is much to do.

Sources that continue each other, or share a conversation, are a group. Groups do not depend on each other, and the
outcomes are put together in the order of the queue, so that the result does not depend on the number of workers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from scopes.errors import CannotImport
from scopes.history.sources import NOTHING, Purged, join_all
from scopes.ids import Oid
from scopes.importers.formats.base import name_source
from scopes.importers.import_source import import_source
from scopes.importers.results import GroupedNote, Skipped, SourceImported
from scopes.importers.run_state import ImportRun
from scopes.importers.targets import ImportTarget
from scopes.importers.work_queue import QueuedSource, skip_failed
from scopes.importers.worker_pool import WorkerPool, count_workers
from scopes.model.operation import RefChange
from scopes.result import Note

BYTES_PER_WORKER = 4 << 20  # of sources; fewer are imported sooner than a worker is started


@dataclass(frozen=True, slots=True)
class SourceOutcome:
    """What the import of one source adds to the run; `place` is its place in the queue, `roots` are new targets."""

    place: int
    broken: Skipped | None = None
    sources: list[SourceImported] = field(default_factory=list)
    copies: list[Skipped] = field(default_factory=list)
    notes: list[Note | GroupedNote] = field(default_factory=list)
    missing_parents: dict[str, str] = field(default_factory=dict)
    records: list[RefChange] = field(default_factory=list)
    roots: list[Oid] = field(default_factory=list)
    grown: Purged = NOTHING


@dataclass(frozen=True, slots=True)
class GroupOutcome:
    """What the import of a group adds to the run; `is_scanned` if all its messages were searched for secrets."""

    sources: list[SourceOutcome]
    targets: dict[Oid, ImportTarget]
    is_scanned: bool


def import_groups(
    run: ImportRun, queue: Sequence[QueuedSource], *, on_progress: Callable[[int], None], check: Callable[[], None]
) -> dict[int, Skipped]:
    """Import all sources of a queue into the run; return those that cannot be imported, by place.

    `queue` has the groups of its sources. `on_progress` is called with the place of each finished source. `check` may
    refuse the result before workers keep their objects; it is not called if a source cannot be imported.
    """
    notes = run.notes
    groups: dict[int, list[int]] = {}
    for place, queued in enumerate(queue):
        groups.setdefault(queued.group, []).append(place)
    sizes = {group: sum(queue[place].source.size for place in places) for group, places in groups.items()}

    def work(group: int, report: Callable[[int], None]) -> GroupOutcome:
        return _import_group(run, queue, groups[group], report)

    workers = min(count_workers(run.repository), len(groups), sum(sizes.values()) // BYTES_PER_WORKER)
    if workers < 2:
        outcomes = [work(group, on_progress) for group in groups]
        broken = _add_outcomes(run, notes, outcomes)
        if not broken:
            check()
        return broken
    largest_first = sorted(groups, key=lambda group: -sizes[group])
    with WorkerPool(workers, work, run.objects.finish, run.objects.remove_temporary_files) as pool:
        broken = _add_outcomes(run, notes, list(pool.run(largest_first, on_progress)))
        if not broken:
            check()
            pool.finish()
    return broken


def _import_group(
    run: ImportRun, queue: Sequence[QueuedSource], places: Sequence[int], report: Callable[[int], None]
) -> GroupOutcome:
    """Import the sources of one group, and free the memory that only they needed."""
    outcomes: list[SourceOutcome] = []
    roots = list(run.targets.roots())
    known = len(roots)
    for place in places:
        run.start_source()
        broken = None
        try:
            with name_source(queue[place].source):
                import_source(run, queue[place])
        except (CannotImport, OSError) as error:
            broken = skip_broken(queue[place], error)
        roots = list(run.targets.roots())
        added = roots[known:]
        known = len(roots)
        changes = run.records.list_changes()
        outcomes.append(
            SourceOutcome(
                place, broken, run.sources, run.copies, run.notes, run.missing_parents, changes, added, run.grown
            )
        )
        report(place)
    run.release(queue[places[0]].group)
    new = {root for outcome in outcomes for root in outcome.roots}
    targets = {target.root: target for target in run.targets if target.root in new}
    return GroupOutcome(outcomes, targets, run.find_secrets is None or not run.find_secrets.is_incomplete)


def _add_outcomes(
    run: ImportRun, notes: Sequence[Note | GroupedNote], groups: Sequence[GroupOutcome]
) -> dict[int, Skipped]:
    """Add all outcomes to the run in the order of the queue, after earlier notes."""
    run.start_source()
    run.notes += notes
    if run.find_secrets is not None and not all(group.is_scanned for group in groups):
        run.find_secrets.note_incomplete()
    targets = {root: target for group in groups for root, target in group.targets.items()}
    roots: list[Oid] = []
    broken: dict[int, Skipped] = {}
    for outcome in sorted((source for group in groups for source in group.sources), key=lambda source: source.place):
        if outcome.broken is not None:
            broken[outcome.place] = outcome.broken
        run.sources += outcome.sources
        run.copies += outcome.copies
        run.notes += outcome.notes
        run.missing_parents |= outcome.missing_parents
        for change in outcome.records:
            run.records.move_ref(*change)
        roots += outcome.roots
    run.grown = join_all(source.grown for group in groups for source in group.sources)
    run.targets.replace_all(targets[root] for root in roots)
    return broken


def skip_broken(queued: QueuedSource, error: CannotImport | OSError) -> Skipped:
    """Return the entry of a source that could not be read to its end; raise the error of any other file."""
    if isinstance(error, OSError) and error.filename not in (None, queued.source.path):
        raise error
    if isinstance(error, CannotImport) and queued.source.path not in error.message:
        error = CannotImport(f"{queued.source.path}: {error.message}", hint=error.hint)
    return skip_failed(queued.source, error)
