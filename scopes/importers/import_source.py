"""One source on its way into the store: its messages are woven and its bytes kept, unless nothing has changed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from scopes.clock import seconds_of
from scopes.errors import CannotImport
from scopes.history.sources import SOURCES, SourceRecord
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.importers.archive import digests_of, walk_segments, write_source_record
from scopes.importers.branch_names import name_branches
from scopes.importers.commits import ImportedSession, Segment, write_commits
from scopes.importers.fork_points import ForkPoints
from scopes.importers.formats.base import Source
from scopes.importers.formats.events import Event, Session, Span
from scopes.importers.identity import PARSER_VERSION, source_key_of
from scopes.importers.results import Skipped, SourceImported
from scopes.importers.stale_copy import StoredCopy
from scopes.importers.targets import UNDATED, CommittedSession, ImportTargets, StoredRecord, TargetMatch
from scopes.importers.work_queue import QueuedSource
from scopes.result import Note
from scopes.store.packs.bulk import BulkObjects
from scopes.store.repository import Repository


@dataclass(slots=True)
class ImportRun:
    """What one run has read so far. `again` tells that it brings deleted conversations back."""

    repository: Repository
    objects: BulkObjects
    homes: ImportTargets
    beginnings: ForkPoints
    again: bool = False
    versions: dict[str, str] = field(default_factory=dict)
    sources: list[SourceImported] = field(default_factory=list)
    copies: list[Skipped] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    records: RefTransaction = field(init=False)

    def __post_init__(self) -> None:
        self.records = RefTransaction(self.repository)

    def is_overtaken(self) -> bool:
        """Tell whether somebody else has brought one of its sources in meanwhile."""
        return any(self.repository.find_ref(change.ref) != change.old for change in self.records.list_changes())

    def let_go(self, family: int) -> None:
        """Forget what only the sources of a family needed, as all of them are in."""
        for home in self.homes.of_family(family):
            threads = {woven.key: self.beginnings.let_go(woven.key) for woven in home.woven}
            self.homes.settle(home, {key: thread for key, thread in threads.items() if thread is not None})


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A source as it is now: what the store has of it, and whether it begins with all of that."""

    work: QueuedSource
    key: str
    joined: TargetMatch
    stored: StoredRecord | None
    digest: str
    base: str | None
    grown: bool


def import_source(run: ImportRun, work: QueuedSource, family: int) -> None:
    """Bring one source of a family in, or find that nothing about it has changed."""
    run.homes.family = family
    arrival = _arrive(run, work)
    if arrival.stored is not None and _is_unchanged(run, arrival, arrival.stored.record):
        segments = _keep(run, arrival, arrival.stored)
    else:
        segments = _weave_all(run, arrival)
    known = arrival.stored is not None and arrival.stored.record.digest == arrival.digest
    if not isinstance(work.source, StoredCopy):
        run.sources.append(count_bytes(work.source, work.format.name, segments, new=not known))
    copies = [(copy, _account_for_copy(work, copy, segments)) for copy in work.copies]
    run.copies += [found for _, found in copies]
    run.notes += [Note(f"{found.path} is {found.reason}") for copy, found in copies if copy.named]


def _account_for_copy(work: QueuedSource, copy: Source, segments: Sequence[Segment]) -> Skipped:
    """Say of a copy what its bytes are in the source that begins with them."""
    more = work.source.size - copy.size
    if isinstance(work.source, StoredCopy):
        reason = f"an older copy of what is here already, which goes on for {more} bytes"
    else:
        reason = (
            f"a copy of {work.source.path}" if not more else f"an older copy of {work.source.path}, contained in it"
        )
    return Skipped(
        path=copy.path,
        reason=reason,
        told=copy.named,
        account=count_bytes(copy, work.format.name, truncate_segments(segments, copy.size), new=False),
    )


def _arrive(run: ImportRun, work: QueuedSource) -> SourceStatus:
    key = source_key_of(work.session)
    joined = run.homes.join(work.session, run.notes)
    stored = run.homes.stored(key)
    size = 0 if stored is None else stored.record.size
    digest, begun = digests_of(work.source, work.source.size, size)
    grown = stored is not None and begun == stored.record.digest and stored.record.parser == PARSER_VERSION
    base = None
    if joined.earlier is not None:
        before = run.homes.stored(joined.earlier)
        base = run.versions.get(joined.earlier) or (None if before is None else before.record.version)
    return SourceStatus(work, key, joined, stored, digest, base, grown)


def _is_unchanged(run: ImportRun, arrival: SourceStatus, record: SourceRecord) -> bool:
    """Tell whether a source would become what it is already.

    Its bytes are the same, so is what it goes on from, and nothing before it in its conversations has changed: what is
    said in several sources is the first one's.
    """
    same = (record.digest, record.parser, record.base) == (arrival.digest, PARSER_VERSION, arrival.base)
    if not same or record.root != arrival.joined.home.root:
        return False
    homes = [run.homes.at(root) for root in (record.root, *record.more_roots)]
    if any(home.woven for home in homes):
        return False
    return not (run.again and any(home.conversation is None for home in homes))


def _keep(run: ImportRun, arrival: SourceStatus, stored: StoredRecord) -> list[Segment]:
    """Let a source be as it is."""
    for key, root in [(arrival.key, stored.record.root), *stored.record.sessions]:
        run.homes.keep(run.homes.at(root), key)
    run.versions[arrival.key] = stored.record.version
    return list(walk_segments(run.repository, stored.commit))


def _weave_all(run: ImportRun, arrival: SourceStatus) -> list[Segment]:
    """Weave the sessions of a source, and keep its bytes."""
    work = arrival.work
    segments: list[Segment] = []
    threads: dict[str, ImportedSession] = {}
    events = work.format.walk_events(work.source)
    while isinstance(opening := next(events, None), Session):
        session = replace(opening, part=work.session.part) if threads else work.session
        thread = threads[source_key_of(session)] = _weave(run, arrival, session, events)
        segments += thread.segments
    roots = [(key, thread.root) for key, thread in threads.items()]
    record = SourceRecord(
        format=work.session.format,
        native_id=work.session.native_id,
        part=work.session.part,
        size=work.source.size,
        digest=arrival.digest,
        parser=PARSER_VERSION,
        path=work.source.path,
        root=arrival.joined.home.root,
        base=arrival.base,
        sessions=tuple(roots[1:]),
    )
    run.versions[arrival.key] = record.version
    commit = _write_record(run, arrival, record, segments)
    for key in threads:
        run.beginnings.keep_record(key, commit)
    return segments


def _weave(run: ImportRun, arrival: SourceStatus, session: Session, events: Iterator[Event]) -> ImportedSession:
    key = source_key_of(session)
    joined = arrival.joined if key == arrival.key else run.homes.join(session, run.notes)
    home, record = joined.home, None if arrival.stored is None else arrival.stored.record
    other_parser = record is not None and record.parser != PARSER_VERSION
    run.homes.learn(home, key, joined.earlier, own=joined.own or other_parser)
    start = run.beginnings.start_of(session, joined)
    borrowed = run.beginnings.open_messages(joined.earlier)
    thread = ImportedSession(session, home.root, home.known, home.calls, home.agents, start, borrowed, joined.own)
    write_commits(run.objects, thread, events)
    run.notes += [Note(text) for text in thread.ending.notes]
    leaves = name_branches(run.objects, thread, home.document.native_id or "")
    run.beginnings.add(key, thread, [leaf.tip for leaf in leaves])
    before = {} if record is None else {arrival.key: record.root, **dict(record.sessions)}
    moved = before.get(key, home.root) != home.root
    home.woven.append(CommittedSession(key, leaves, thread.title, complete=arrival.grown, moved=moved))
    return thread


def _write_record(run: ImportRun, arrival: SourceStatus, record: SourceRecord, segments: list[Segment]) -> Oid:
    """Keep a source's bytes and what they became, if the store does not have just that; returns where."""
    stored = arrival.stored
    if stored is not None and record == replace(stored.record, path=record.path):
        return stored.commit
    previous = None if stored is None else stored.commit
    time = seconds_of(arrival.work.session.created or UNDATED)
    with arrival.work.source.open() as stream:
        commit = write_source_record(run.objects, previous, record, stream, segments, time=time)
    run.records.move_ref(SOURCES + arrival.key, previous, commit)
    return commit


def count_bytes(source: Source, format_name: str, segments: Sequence[Segment], *, new: bool) -> SourceImported:
    """Add up what every byte of a source became."""
    sums = {"message": 0, "state": 0, "unparsed": 0}
    for segment in segments:
        kind = "message" if segment.message else "state" if segment.state is not None else "unparsed"
        sums[kind] += segment.span.length
    problems = [f"byte {s.span.offset}: {s.unparsed}" for s in segments if s.unparsed is not None]
    return SourceImported(
        path=source.path,
        format=format_name,
        records=sum(1 for segment in segments if segment.span.length),
        messages=len({segment.message for segment in segments if segment.message}),
        unparsed=len(problems),
        new=new,
        size=source.size,
        message_bytes=sums["message"],
        state_bytes=sums["state"],
        unparsed_bytes=sums["unparsed"],
        problems=tuple(problems),
    )


def truncate_segments(segments: Sequence[Segment], size: int) -> list[Segment]:
    """Return what the first `size` bytes of a source became."""
    inside = (segment for segment in segments if segment.span.offset < size)
    return [replace(s, span=Span(s.span.offset, min(s.span.length, size - s.span.offset))) for s in inside]


def refuse_unparsed(sources: Iterable[SourceImported]) -> None:
    """Raise when a record of a source could not be read.

    Raises:
        CannotImport: one could not.
    """
    for source in sources:
        if source.problems:
            raise CannotImport(f"{source.path}: {source.problems[0]}", hint="leave out --strict to keep it as it is")
