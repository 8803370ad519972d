"""Import one source: write its messages as commits, archive its bytes; skip if unchanged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from scopes.clock import seconds_of
from scopes.errors import CannotImport
from scopes.history.messages import header_of, read_stored_body
from scopes.history.sources import SOURCES, Handover, SourceRecord
from scopes.ids import Oid
from scopes.importers.archive import (
    CHUNK_BYTES,
    Segment,
    StoredCopy,
    StoredRecord,
    changed_meanwhile,
    digests_of,
    walk_segments,
    write_source_record,
)
from scopes.importers.branch_updates import active_draft, name_branches, path_to
from scopes.importers.forks import find_start, stored_parent
from scopes.importers.formats.base import Source
from scopes.importers.formats.events import ByteRange, Event, Session
from scopes.importers.formats.message_trees import REPEATED_ID, REPEATED_IDS
from scopes.importers.identity import PARSER_VERSION, source_key_of, stream_key
from scopes.importers.live_records import LiveBranch, find_known, find_live_branch
from scopes.importers.purge_filter import LEFT_OUT, STAYS_OUT, is_left_out, take_left_out
from scopes.importers.purged_texts import RecordSpan, Span, list_purged_spans
from scopes.importers.results import GroupedNote, Skipped, SourceImported
from scopes.importers.session_commits import (
    RESULT_WITHOUT_CALL,
    RESULTS_WITHOUT_CALLS,
    ImportedSession,
    ParentSession,
    WrittenMessages,
    find_written,
    read_written_title,
    write_commits,
)
from scopes.importers.source_queue import QueuedSource
from scopes.importers.streams import is_contained, take_session, without_messages
from scopes.importers.targets import (
    UNDATED,
    BranchTip,
    CommittedSession,
    ImportRun,
    ImportTarget,
    JoinPoint,
    TargetMatch,
    may_be_recorded,
)
from scopes.store.objects import read_commit

_IRREGULAR = {
    ("missing parent",): "links to missing parents",
    (REPEATED_ID, REPEATED_IDS): "messages with the ids of others",
    (RESULT_WITHOUT_CALL, RESULTS_WITHOUT_CALLS): "tool results without calls",
}
_LEFT_OUT = "{} sessions stay out, because their conversations were purged"
COPIES = "{} files are copies of others"


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A source compared with what the store has of it.

    base: version of the record of the source that it continues
    has_same_bytes: it begins with all stored bytes
    grown: it does, and the current parser has read them
    """

    queued: QueuedSource
    key: str
    match: TargetMatch
    stored: StoredRecord | None
    digest: str
    base: str | None
    has_same_bytes: bool
    grown: bool


def import_source(run: ImportRun, queued: QueuedSource) -> None:
    """Import one source into the run, or find that nothing about it has changed.

    Raises:
        CannotImport: its content has changed since the run began.
        OSError: it cannot be read any more.
    """
    status = _compare_with_store(run, queued)
    stored = status.stored
    if stored is not None and _is_unchanged(run, status, stored.record):
        for key, root in [(status.key, stored.record.root), *stored.record.sessions]:
            run.paths[key] = queued.source.path
            run.targets.keep_unchanged(run.targets.at(root, queued.group), key)
        run.versions[status.key] = stored.record.version
        segments = list(walk_segments(run.repository, stored.commit))
    else:
        segments = _import_sessions(run, status)
        was_read = any(segment.message for segment in segments) or queued.session.is_stream
        if stored is None and not was_read:  # it had a message when the run began
            raise changed_meanwhile(queued.source.path)
    if run.rereads or not isinstance(queued.source, StoredCopy):
        new = stored is None or stored.record.digest != status.digest
        run.sources.append(count_bytes(queued.source, queued.format.name, segments, new=new))
    for copy in queued.copies:
        skipped = _skip_copy(queued, copy, segments)
        run.copies.append(skipped)
        if copy.named:
            text = f"{skipped.path} is {skipped.reason}"
            run.notes.append(GroupedNote(text, COPIES))


def count_bytes(source: Source, format_name: str, segments: Sequence[Segment], *, new: bool) -> SourceImported:
    """Count the bytes of a source by what they became; segments must cover the source."""
    sums = {"message": 0, "state": 0, "unparsed": 0}
    for segment in segments:
        sums[segment.kind] += segment.span.length
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
    """Return the segments of the first `size` bytes of a source."""
    inside = (segment for segment in segments if segment.span.offset < size)
    return [s._replace(span=ByteRange(s.span.offset, min(s.span.length, size - s.span.offset))) for s in inside]


def refuse_unparsed(sources: Iterable[SourceImported]) -> None:
    """Raise if a record of a source could not be read.

    Raises:
        CannotImport: the first such record.
    """
    for source in sources:
        if source.problems:
            raise CannotImport(
                f"{source.path}: {source.problems[0]}", hint="leave out --strict to keep it as raw bytes"
            )


def _compare_with_store(run: ImportRun, queued: QueuedSource) -> SourceStatus:
    key = source_key_of(queued.session)
    if is_left_out(run.targets, run.purged, queued.session):
        raise CannotImport("its conversation was purged", hint=STAYS_OUT)
    match = _match_target(run, queued.session, queued.group, queued.joined)
    stored = run.targets.stored(key)
    size = 0 if stored is None else stored.record.size
    digest, prefix_digest = digests_of(queued.source, queued.source.size, size)
    has_same_bytes = stored is not None and prefix_digest == stored.record.digest
    grown = has_same_bytes and stored is not None and stored.record.parser == PARSER_VERSION
    base = None
    if match.parent is not None:
        before = run.targets.stored(match.parent)
        base = run.versions.get(match.parent) or (None if before is None else before.record.version)
    return SourceStatus(queued, key, match, stored, digest, base, has_same_bytes, grown)


def _match_target(run: ImportRun, session: Session, group: int, joined: str | None = None) -> TargetMatch:
    match = run.targets.match(session, group, joined)
    if match.missing_base is not None:
        run.missing_parents[session.native_id] = match.missing_base
    return match


def _is_unchanged(run: ImportRun, status: SourceStatus, record: SourceRecord) -> bool:
    """Return True if importing the source again would give what is stored.

    Its bytes, the parser and the source that it continues must be the same, and no earlier source of the run may have
    added to its conversations: a message that several sources hold belongs to the first of them.
    """
    if run.rereads:
        return False
    same = (record.digest, record.parser, record.base) == (status.digest, PARSER_VERSION, status.base)
    if not same or record.root != status.match.target.root:
        return False
    targets = [run.targets.at(root, status.queued.group) for root in (record.root, *record.more_roots)]
    if any(target.sessions for target in targets):
        return False
    return not (run.again and any(target.conversation is None for target in targets))


def _import_sessions(run: ImportRun, status: SourceStatus) -> list[Segment]:
    """Import all sessions of a source and write its record."""
    queued = status.queued
    segments: list[Segment] = []
    roots: dict[str, Oid] = {}
    commits: dict[str, Oid] = {}
    events = queued.format.walk_events(queued.source)
    while isinstance(first := next(events, None), Session):
        if first.native_id != queued.session.native_id and is_left_out(run.targets, run.purged, first):
            segments += take_left_out(events)
            text = f"session {first.native_id}: its conversation was purged"
            run.notes.append(GroupedNote(text, _LEFT_OUT, STAYS_OUT))
            continue
        session = replace(first, sub_file=queued.session.sub_file) if roots else queued.session
        imported = _import_session(run, status, session, events)
        roots[source_key_of(session)] = imported.root
        segments += imported.segments
        commits |= {imported.ids[key]: oid for key, oid in imported.oids.items()}
    record = SourceRecord(
        format=queued.session.format,
        native_id=queued.session.native_id,
        part=queued.session.sub_file,
        size=queued.source.size,
        digest=status.digest,
        parser=PARSER_VERSION,
        path=queued.source.path,
        root=status.match.target.root,
        base=status.base,
        sessions=tuple(roots.items())[1:],
        joined=status.match.joined,
        handover=_handover_of(run, status),
        purged=any(_is_purged(run, segment) for segment in segments) or _was_purged(status),
    )
    run.versions[status.key] = record.version
    commit = _write_record(run, status, record, segments, commits)
    for key in roots:
        parent = run.parents[key]
        parent.record = commit
        if parent.imported is not None:
            parent.imported.segments = []  # the record has them
    return segments


def _was_purged(status: SourceStatus) -> bool:
    """Return True if records of an earlier version of a source were overwritten."""
    return status.stored is not None and status.stored.record.purged


def _is_purged(run: ImportRun, segment: Segment) -> bool:
    return segment.state == LEFT_OUT or (segment.message is not None and run.purged.has_message(segment.message))


def _import_session(run: ImportRun, status: SourceStatus, session: Session, events: Iterator[Event]) -> ImportedSession:
    key, queued = source_key_of(session), status.queued
    run.paths[key] = queued.source.path
    match = status.match if key == status.key else _match_target(run, session, queued.group)
    target, record = match.target, None if status.stored is None else status.stored.record
    other_parser = record is not None and record.parser != PARSER_VERSION
    left_alone = match.joined is not None and match.parent is None
    sub_agent_fields = queued.format.sub_agent_fields
    written = _find_written(run, status, target) if key == status.key else None
    if run.rereads:
        run.targets.skip_known(target, key)
    else:
        own = match.own or other_parser or left_alone or written is not None
        run.targets.read_known(target, key, replace(match, own=own), sub_agent_fields)
    parent = _find_parent(run, match.parent)
    imported = ImportedSession(
        session=session,
        root=target.root,
        known=target.known,
        start=find_start(run.objects, session, target.root, parent),
        shared={} if parent is None else parent.open,
        own=match.own,
        sub_agent_fields=sub_agent_fields,
        secrets=None if run.find_secrets is None else run.find_secrets.begin(),
        purged=run.purged,
        quotes=run.quotes,
        written=written,
    )
    recorded = _find_recorded(run, status, session)
    if recorded is not None:
        own_events = list(take_session(events))
        imported.recorded = find_known(recorded, own_events, run.purged)
        events = iter(own_events)
    contained = False
    if session.is_stream:
        own_events = list(take_session(events))
        contained = is_contained(run, match, own_events)
        events = without_messages(own_events) if contained else iter(own_events)
    write_commits(run.objects, imported, events)
    run.purged, run.grown = imported.purged, run.grown.join(imported.grown)
    name = target.document.native_id
    run.notes += [GroupedNote(f"session {name}: {text}", _several(text)) for text in imported.notes()]
    tips = name_branches(run.objects, imported, target.document.native_id or "")
    if recorded is not None and imported.recorded:
        tips = [_on_recorded_branch(imported, tip, recorded) for tip in tips]
    run.parents[key] = ParentSession([tip.tip for tip in tips], imported=imported, open=imported.open)
    before = {} if record is None else {status.key: record.root, **dict(record.sessions)}
    moved = before.get(key, target.root) != target.root
    is_joining = match.joined is not None and record is None and not imported.recorded
    join = _find_join_point(imported, tips) if is_joining else None
    replaces = () if match.parent is not None else tuple(run.targets.tracked.get(stream_key(session), ()))
    complete = (status.has_same_bytes if run.rereads else status.grown) and not contained
    target.sessions.append(
        CommittedSession(
            key,
            tips,
            None if _has_title_of_checkout(run, status, imported) else imported.title,
            complete,
            moved,
            replaces=replaces,
            contained=contained,
            join=join,
            secrets=frozenset() if imported.secrets is None else imported.secrets.ids(),
            directory=session.local_directory if match.own else None,
        )
    )
    return imported


def _find_recorded(run: ImportRun, status: SourceStatus, session: Session) -> LiveBranch | None:
    """Return the branch on which `scopes acp` recorded a session; None if it was imported beside that before."""
    conversation = status.match.target.conversation
    if conversation is None or not may_be_recorded(session):
        return None
    found = find_live_branch(run.repository, conversation, session)
    if found is None or status.stored is None:
        return found
    ids = found.ids()
    is_known = any(segment.message in ids for segment in walk_segments(run.repository, status.stored.commit))
    return found if is_known else None


def _on_recorded_branch(imported: ImportedSession, tip: BranchTip, recorded: LiveBranch) -> BranchTip:
    """Name the active line of a session after the branch that it was recorded on, if it is there or goes on there."""
    active = active_draft(imported)
    if active is None or tip.tip != imported.oids[active]:
        return tip
    line = {imported.oids[key] for key in path_to(imported, active)}
    is_there = tip.tip in {oid for oid, _ in recorded.messages}
    return replace(tip, name=recorded.name, recorded=recorded.tip) if is_there or recorded.end in line else tip


def _several(text: str) -> str:
    """Return the beginning of the line for several sessions with the same irregularity, so that each kind has one."""
    known = (end for words, end in _IRREGULAR.items() if any(word in text for word in words))
    return f"{{}} sessions have {next(known, 'irregular records')}"


def _handover_of(run: ImportRun, status: SourceStatus) -> Handover | None:
    """Return what the session was written from; None if it was not, or went to a conversation of its own."""
    is_written = status.stored is not None and run.targets.is_written(status.key, status.match.target.root)
    return status.stored.record.handover if status.stored is not None and is_written else None


def _has_title_of_checkout(run: ImportRun, status: SourceStatus, imported: ImportedSession) -> bool:
    """Return True if `checkout` gave the session its title, because the agent has no session without one."""
    if imported.title is None or imported.written is None or status.stored is None:
        return False
    return read_written_title(run.objects, status.queued.format, status.stored) == imported.title


def _find_written(run: ImportRun, status: SourceStatus, target: ImportTarget) -> WrittenMessages | None:
    """Return the messages that `checkout` has written into the session; None if it did not write it."""
    handover, stored = _handover_of(run, status), status.stored
    if handover is None or stored is None:
        return None
    tips = [*run.targets.tracked.get(status.key, ()), *target.tips]
    chosen, has_same_bytes = status.queued.format, status.has_same_bytes
    return find_written(run.objects, tips, handover, chosen, stored, has_same_bytes=has_same_bytes)


def _find_join_point(imported: ImportedSession, tips: Sequence[BranchTip]) -> JoinPoint | None:
    """Return where a session that joined another one leaves its messages; None if they share none."""
    line = path_to(imported, active_draft(imported))
    shared = [imported.ids[key] for key in line if _is_shared(imported, key)]
    tip = next((tip for tip in tips if line and tip.tip == imported.oids[line[0]]), None)
    if tip is None or not shared:
        return None
    return JoinPoint(imported.session.native_id, tip.name, shared[0], len(shared))


def _is_shared(imported: ImportedSession, key: str) -> bool:
    """Return True if a draft became an earlier message, or is open and equals one."""
    if key not in imported.new:
        return True
    parent = imported.parents[key]
    position = imported.ids[key], imported.start[1] if parent is None else imported.oids[parent]
    return position in imported.open and position in imported.known.commits


def _find_parent(run: ImportRun, key: str | None) -> ParentSession | None:
    if key is None or key in run.parents:
        return None if key is None else run.parents[key]
    stored = run.targets.stored(key)
    return stored_parent(run.objects, run.targets.tracked.get(key, ()), None if stored is None else stored.commit)


def _write_record(
    run: ImportRun, status: SourceStatus, record: SourceRecord, segments: list[Segment], commits: Mapping[str, Oid]
) -> Oid:
    """Archive a source's bytes and segments, unless the store has just those; return the record's commit.

    The bytes of purged messages are left out; `commits` are those of all messages.
    """
    stored = status.stored
    is_same = stored is not None and record == replace(stored.record, path=record.path)
    if stored is not None and is_same and run.rereads:
        is_same = segments == list(walk_segments(run.objects, stored.commit))
    if stored is not None and is_same:
        return stored.commit
    previous = None if stored is None else stored.commit
    time = seconds_of(status.queued.session.created or UNDATED)
    may_have = record.purged or run.purged.conversations
    blank = _list_purged_spans(run, status.queued.source, segments, commits) if may_have else []
    record = replace(record, purged=record.purged or bool(blank))
    left_out = {Span(*each.span) for each in segments if each.state == LEFT_OUT}
    blank = sorted(left_out.union(blank))
    with status.queued.source.open() as stream:
        commit = write_source_record(run.objects, previous, record, stream, segments, time=time, blank=blank)
    run.records.move_ref(SOURCES + status.key, previous, commit)
    return commit


def _list_purged_spans(
    run: ImportRun, source: Source, segments: Iterable[Segment], commits: Mapping[str, Oid]
) -> list[Span]:
    def read_message(message: str) -> Iterator[bytes]:
        if message in commits:
            yield read_stored_body(run.objects, header_of(read_commit(run.objects, commits[message])))

    records = [RecordSpan(Span(*each.span), each.message) for each in segments if each.state != LEFT_OUT]
    with source.open() as stream:
        return list_purged_spans(
            records,
            run.purged,
            run.quotes,
            lambda: iter(lambda: stream.read(CHUNK_BYTES), b""),
            read_message,
        )


def _skip_copy(queued: QueuedSource, copy: Source, segments: Sequence[Segment]) -> Skipped:
    """Account for a copy by what its bytes became in the longer source."""
    more = queued.source.size - copy.size
    if isinstance(queued.source, StoredCopy):
        reason = f"an older copy of a source that is imported already and has {more} more bytes"
    elif more:
        reason = f"an older copy of {queued.source.path}, contained in it"
    else:
        reason = f"a copy of {queued.source.path}"
    became = count_bytes(copy, queued.format.name, truncate_segments(segments, copy.size), new=False)
    return Skipped(path=copy.path, reason=reason, noted=copy.named, became=became)
