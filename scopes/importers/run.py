"""`import`: bring sources in, as one operation. The machine that every format plugs into.

Objects are written beside everybody else, into packs of bounded memory; only the moment in which the refs move has the
store alone. Sources are only ever read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from scopes.clock import parse_time, seconds_of
from scopes.conversation.metadata import read_metadata
from scopes.conversation.new import next_conversation_id
from scopes.conversation.operating import perform
from scopes.conversation.source_record import SOURCES, SourceRecord, read_source_record
from scopes.errors import CannotImport
from scopes.ids import BranchName, ConversationId, Oid, OperationId, slug
from scopes.importers.arranging import SHORT_ID, arrange
from scopes.importers.format import Format, Source, choose_format
from scopes.importers.home import UNDATED, Home, Homes
from scopes.importers.identity import PARSER_VERSION, source_key
from scopes.importers.landing import TRACKING, Landing, finish, land
from scopes.importers.projection import Event, Session
from scopes.importers.results import ConversationImported, Imported, SourceImported
from scopes.importers.source_record import digest_of, write_source_record
from scopes.importers.weaving import Segment, Thread, weave
from scopes.model.operation import RefChange
from scopes.result import Note
from scopes.store.bulk import BulkObjects, bulk_objects
from scopes.store.repository import Repository
from scopes.store.transaction import writing, writing_beside

Advance = Callable[[int], None]


@dataclass(slots=True)
class Work:
    """A source that was opened: its format, and the session that it begins with."""

    source: Source
    format: Format
    session: Session


@dataclass(slots=True)
class Run:
    """What one run has read so far."""

    repository: Repository
    objects: BulkObjects
    homes: Homes
    sources: list[SourceImported] = field(default_factory=list)
    records: list[RefChange] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)


def import_sources(
    repository: Repository,
    sources: Sequence[Source],
    formats: Sequence[Format],
    *,
    dry_run: bool = False,
    strict: bool = False,
    again: bool = False,
    title: str | None = None,
    report: bool = False,
    advance: Advance = lambda _: None,
) -> Imported:
    """Bring sources in; what the store has already is not written again, and a run that changes nothing writes nothing.

    `strict` refuses everything when one record cannot be read. `again` brings a deleted conversation back. `advance` is
    told the bytes of each source when it is done.

    Raises:
        CannotImport: a single source is in no known format, or `strict` found something.
        Busy, Inaccessible: nothing was brought in.
    """
    skipped: list[str] = []
    works = _in_order(_told_apart(_open_all(sources, formats, skipped), skipped))
    with writing_beside(repository), bulk_objects(repository, keep=not dry_run) as objects:
        run = Run(repository, objects, Homes(repository, objects))
        for work in works:
            _read(run, work)
            advance(work.source.size)
        if strict:
            _refuse_unparsed(run.sources)
        if dry_run:
            return _result(run, _numbered(run), skipped, None, report=report, dry_run=True)
    with writing(repository):
        conversations, changes = _land_all(run, again=again, title=title)
        operation = None
        if changes:
            summary = f"bring in {len(run.sources)} sources into {len(conversations)} conversations"
            operation = perform(repository, "import", summary, changes).id
    return _result(run, conversations, skipped, operation, report=report)


def _open_all(sources: Sequence[Source], formats: Sequence[Format], skipped: list[str]) -> list[Work]:
    """Find out what every source is; of several, those in no known format are passed over."""
    works = []
    for source in sources:
        try:
            chosen = choose_format(formats, source)
            first = next(iter(chosen.walk_events(source)), None)
        except CannotImport:
            if len(sources) == 1:
                raise
            skipped.append(source.path)
            continue
        if isinstance(first, Session):
            works.append(Work(source, chosen, first))
        else:
            skipped.append(source.path)
    return works


def _told_apart(works: list[Work], skipped: list[str]) -> list[Work]:
    """Let every session be read once: of its copies the longest; one that differs from it becomes a part of its own."""
    by_key: dict[str, list[Work]] = {}
    for work in works:
        session = work.session
        by_key.setdefault(source_key(session.format, session.native_id, session.part), []).append(work)
    kept = []
    for copies in by_key.values():
        copies.sort(key=lambda work: (-work.source.size, work.source.path))
        longest = copies[0]
        kept.append(longest)
        for work in copies[1:]:
            digest = _digest(work.source, work.source.size)
            if digest == _digest(longest.source, work.source.size):
                skipped.append(work.source.path)
            else:
                part = f"{work.session.part or 'copy'}-{digest[:SHORT_ID]}"
                kept.append(replace(work, session=replace(work.session, part=part)))
    return kept


def _digest(source: Source, size: int) -> str:
    with source.open() as stream:
        return digest_of(stream, size)


def _in_order(works: list[Work]) -> list[Work]:
    """Sort: what others began from first, then by creation time, then by native id; the same on every machine."""
    works.sort(key=lambda work: (work.session.part is not None, work.session.native_id, work.session.part or ""))
    works.sort(key=lambda work: parse_time(work.session.created or "") or 0)
    by_id = {(w.session.format, w.session.native_id): w for w in reversed(works) if w.session.part is None}
    ordered: dict[int, Work] = {}

    def add(work: Work, waiting: frozenset[int]) -> None:
        session = work.session
        wanted = session.native_id if session.part is not None else session.base
        before = by_id.get((session.format, wanted)) if wanted is not None else None
        if before is not None and id(before) not in waiting and id(before) not in ordered:
            add(before, waiting | {id(work)})
        ordered[id(work)] = work

    for work in works:
        if id(work) not in ordered:
            add(work, frozenset())
    return list(ordered.values())


def _read(run: Run, work: Work) -> None:
    """Weave the sessions of one source and keep its bytes, unless the store has them all already."""
    session = work.session
    key = source_key(session.format, session.native_id, session.part)
    digest = _digest(work.source, work.source.size)
    previous = run.repository.find_ref(SOURCES + key)
    stored = None if previous is None else read_source_record(run.objects, Oid(previous))
    segments: list[Segment] = []
    events = work.format.walk_events(work.source)
    roots: dict[Oid, None] = {}
    while isinstance(opening := next(events, None), Session):
        opening = replace(opening, part=work.session.part)
        thread, home = _weave(run, opening, events)
        roots[home.root] = None
        segments += thread.segments
    run.sources.append(_account(work, segments, new=stored is None or stored.digest != digest))
    if roots and (stored is None or stored.digest != digest):
        record = SourceRecord(
            format=session.format,
            native_id=session.native_id,
            part=session.part,
            size=work.source.size,
            digest=digest,
            parser=PARSER_VERSION,
            path=work.source.path,
            root=next(iter(roots)),
            more_roots=tuple(roots)[1:],
        )
        with work.source.open() as stream:
            time = seconds_of(session.created or UNDATED)
            commit = write_source_record(
                run.objects, None if previous is None else Oid(previous), record, stream, segments, time=time
            )
        run.records.append(RefChange(SOURCES + key, previous, commit))


def _weave(run: Run, session: Session, events: Iterator[Event]) -> tuple[Thread, Home]:
    home, own, notes = run.homes.of(session)
    run.notes += notes
    thread = Thread(session, home.root, home.known, home.calls, run.homes.start_of(session, home), own=own)
    weave(run.objects, thread, events)
    run.notes += [Note(text) for text in thread.ending.notes]
    key = source_key(session.format, session.native_id, session.part)
    home.threads.append((key, thread))
    home.segments[key] = thread.segments
    return thread, home


def _account(work: Work, segments: list[Segment], *, new: bool) -> SourceImported:
    """Add up what every byte of a source became."""
    sums = {"message": 0, "state": 0, "unparsed": 0}
    for segment in segments:
        kind = "message" if segment.message else "state" if segment.state is not None else "unparsed"
        sums[kind] += segment.span.length
    return SourceImported(
        path=work.source.path,
        format=work.format.name,
        records=len(segments),
        messages=len({segment.message for segment in segments if segment.message}),
        unparsed=sum(1 for segment in segments if segment.unparsed is not None),
        new=new,
        size=work.source.size,
        message_bytes=sums["message"],
        state_bytes=sums["state"],
        unparsed_bytes=sums["unparsed"],
        problems=tuple(
            f"byte {segment.span.offset}: {segment.unparsed}" for segment in segments if segment.unparsed is not None
        ),
    )


def _refuse_unparsed(sources: list[SourceImported]) -> None:
    for source in sources:
        if source.problems:
            raise CannotImport(f"{source.path}: {source.problems[0]}", hint="leave out --strict to keep it as it is")


def _numbered(run: Run) -> dict[ConversationId, Home]:
    """Give every conversation of the run its id; new ones get the next numbers, in the order of the sources."""
    found: dict[ConversationId, Home] = {}
    number = int(next_conversation_id(run.repository).removeprefix("conv-"))
    for home in run.homes:
        if home.conversation is None:
            home.conversation = ConversationId(f"conv-{number:03d}")
            number += 1
        found[home.conversation] = home
    return found


def _land_all(run: Run, *, again: bool, title: str | None) -> tuple[dict[ConversationId, Home], list[RefChange]]:
    """Collect the ref changes of all conversations; what was deleted stays so unless it is wanted again."""
    changes: list[RefChange] = []
    landed: dict[ConversationId, Home] = {}
    stored = {home.root: home.conversation for home in run.homes}
    for conversation, home in _numbered(run).items():
        fresh = stored[home.root] is None
        if fresh and not again and any(run.repository.list_refs(f"{TRACKING}{key}/") for key, _ in home.threads):
            hint = "bring it back with --again, or with: scopes undo"
            run.notes.append(Note(f"session {home.document.native_id} was deleted here and stays so", hint))
            continue
        landing = Landing(conversation, home.root, home.document.created, fresh=fresh)
        landing.title = title or next((thread.title for _, thread in home.threads if thread.title), None)
        for key, thread in home.threads:
            leaves = arrange(run.objects, thread, _main_name(thread))
            land(run.repository, landing, key, [replace(leaf, active=leaf.active and thread.own) for leaf in leaves])
        changes += finish(run.repository, landing)
        run.notes += landing.notes
        landed[conversation] = home
    return landed, [*changes, *run.records] if landed else []


def _main_name(thread: Thread) -> BranchName | None:
    """Name the line that a session stands at, where it is not its conversation's own."""
    if thread.own:
        return None
    session = thread.session
    if session.part is not None or session.spawned_by is not None:
        agent = session.details.get("agent") or session.part or session.native_id
        return BranchName(f"subagent/{slug(str(agent))[:40]}")
    return BranchName(f"fork/{slug(session.native_id)[-SHORT_ID:]}")


def _result(
    run: Run,
    conversations: dict[ConversationId, Home],
    skipped: list[str],
    operation: OperationId | None,
    *,
    report: bool,
    dry_run: bool = False,
) -> Imported:
    return Imported(
        sources=tuple(run.sources),
        conversations=tuple(_describe(run, conversation, home) for conversation, home in conversations.items()),
        skipped=tuple(skipped),
        dry_run=dry_run,
        report=report,
        operation=operation,
        notes=tuple(dict.fromkeys(run.notes)),
    )


def _describe(run: Run, conversation: ConversationId, home: Home) -> ConversationImported:
    now = {identity for _, thread in home.threads for identity in thread.ids.values()}
    return ConversationImported(
        id=conversation,
        uuid=home.document.uuid,
        title=read_metadata(run.repository, conversation).title,
        messages=len(now | home.before),
        new_messages=len(now - home.before),
        branches=sum(len(thread.leaves()) for _, thread in home.threads),
    )
