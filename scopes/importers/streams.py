"""Join the event stream of a headless run with the session file of the same run, so that each call counts once.

The session file has more content and its order. A stream whose calls are all in the file is archived and read again
when its run is checked; none of its messages are written. A stream without a file is a conversation like any other, and
if the file comes later, its line becomes the main branch and that of the stream is kept on an abandoned branch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from scopes.history.messages import is_root, read_body
from scopes.history.sources import SOURCES, SourceRecord, read_source_record, source_key
from scopes.ids import Oid
from scopes.importers.archive import StoredCopy
from scopes.importers.formats.base import Format, read_session
from scopes.importers.formats.events import STREAM, Draft, Ending, Event, Session, SessionRecord
from scopes.importers.identity import source_key_of, stream_key
from scopes.importers.source_queue import QueuedSource
from scopes.importers.targets import ImportRun, TargetMatch
from scopes.model.message import FILE_WRITES, Part
from scopes.model.tools import command_of, edits_of_call
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Objects
from scopes.store.repository import Repository

_STATE = "stream/message"


class KnownCalls:
    """Calls of a session file, from which those of its event stream are taken.

    Calls are equal if their ids are; without that, if they run the same command, change the same files, or else call
    the same tool: the stream of Codex has ids of its own.
    """

    def __init__(self) -> None:
        self._by_id: dict[str, tuple[str, ...]] = {}
        self._ids: set[str] = set()
        self._left: Counter[tuple[str, ...]] = Counter()

    def add(self, part: Part) -> None:
        """Add a call of the session file."""
        key, call_id = content_key(part), part.fields.get("call_id")
        if isinstance(call_id, str):
            self._by_id[call_id] = key
            self._ids.add(call_id)
        self._left[key] += 1

    def take(self, part: Part) -> bool:
        """Return True if the file has a call of the stream that no earlier one was equal to.

        Calls whose ids the file has must be taken first.
        """
        key = self._by_id.pop(str(part.fields.get("call_id")), None)
        found = key is not None or self._left[content_key(part)] > 0
        self._left[key or content_key(part)] -= 1
        return found

    def has_id(self, part: Part) -> bool:
        """Return True if the file has a call with this id that was not taken yet."""
        return part.fields.get("call_id") in self._by_id

    def had_id(self, part: Part) -> bool:
        """Return True if the file has a call with this id."""
        return part.fields.get("call_id") in self._ids


def content_key(part: Part) -> tuple[str, ...]:
    """Return what is equal in both records of one call: its command, the names of the files it changes, or its tool."""
    command = command_of(part)
    if command is not None:
        return "run", command.strip()
    given = part.fields.get("input")
    edits = edits_of_call(part, given if isinstance(given, dict) else {})
    changed = [edit.path.rpartition("/")[2] for edit in edits if edit.op in FILE_WRITES]
    return ("edit", *sorted(changed)) if changed else ("tool", str(part.fields.get("name")))


def name_streams(
    repository: Repository, objects: Objects, queue: Sequence[QueuedSource], formats: Sequence[Format]
) -> list[QueuedSource]:
    """Return the queue with the stored streams of new session files at its end, and with the first streams named.

    The first stream of a session has the sub file `stream`, under which its session file finds it later; further ones,
    such as those of a resumed session, keep the name that the format gave them.
    """
    by_name = {known.name: known for known in formats}
    result = list(queue)
    present = {source_key_of(queued.session) for queued in queue}
    first: dict[str, str | None] = {}  # name that the format gives the first stream, by its key
    for position, queued in enumerate(queue):
        session, key = queued.session, stream_key(queued.session)
        if not session.is_stream and session.sub_file is not None:
            continue
        if key not in first:
            stored = _read_stored(repository, objects, key, by_name)
            first[key] = None if stored is None else stored.session.sub_file
        if session.is_stream:
            first[key] = first[key] or session.sub_file
            if session.sub_file == first[key]:
                result[position] = replace(queued, session=replace(session, sub_file=STREAM))
    added = [stored for queued in queue for stored in _walk_stored_streams(repository, objects, queued, by_name)]
    present = {source_key_of(queued.session) for queued in result}
    return result + [stored for stored in added if source_key_of(stored.session) not in present]


def take_session(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events of one session, up to and including its Ending."""
    for event in events:
        yield event
        if isinstance(event, Ending):
            break


def is_contained(run: ImportRun, match: TargetMatch, events: Iterable[Event]) -> bool:
    """Return True if the session file of a stream was imported, and has all calls of the stream."""
    tips = [] if match.parent is None else _tips_of(run, match.parent)
    if match.parent is None or _is_stream_source(run, match.parent):
        return False
    known = KnownCalls()
    for commit in walk_newest_first(run.objects, tips):
        if not is_root(commit):
            for part in read_body(run.objects, commit).parts:
                if part.type == "tool_call":
                    known.add(part)
    drafts = (event for event in events if isinstance(event, Draft))
    calls = [part for draft in drafts for part in draft.parts if part.type == "tool_call"]
    return all(known.take(part) for part in sorted(calls, key=known.has_id, reverse=True))


def without_messages(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events of a stream with states for its messages."""
    for event in events:
        if isinstance(event, Draft):
            yield SessionRecord(key=_STATE, spans=event.spans)
        elif isinstance(event, Ending):
            yield replace(event, active=None, open=None)
        else:
            yield event


def _tips_of(run: ImportRun, key: str) -> Sequence[Oid]:
    return run.parents[key].tips if key in run.parents else run.targets.tracked.get(key, ())


def _is_stream_source(run: ImportRun, key: str) -> bool:
    """Return True if the source that a stream belongs to is a stream itself."""
    if key in run.parents and (imported := run.parents[key].imported) is not None:
        return imported.session.is_stream
    stored = run.targets.stored(key)
    return stored is not None and is_stream_part(stored.record.part)


def is_stream_part(part: str | None) -> bool:
    """Return True if a stored source with this sub file is an event stream."""
    return part is not None and (part == STREAM or part.startswith(f"{STREAM}-"))


def _walk_stored_streams(
    repository: Repository, objects: Objects, queued: QueuedSource, formats: dict[str, Format]
) -> Iterator[QueuedSource]:
    """Yield the stored streams of a session file that is imported for the first time."""
    session = queued.session
    key = source_key(session.format, session.native_id, None)
    if session.sub_file is not None or repository.find_ref(SOURCES + stream_key(session)) is None:
        return
    if repository.find_ref(SOURCES + key) is not None:
        return
    for ref, oid in sorted(repository.list_refs(SOURCES).items()):
        record = read_source_record(objects, Oid(oid))
        if (record.format, record.native_id) == (session.format, session.native_id) and is_stream_part(record.part):
            found = _read_stored(repository, objects, ref[len(SOURCES) :], formats)
            if found is not None:
                yield replace(found, session=replace(found.session, sub_file=record.part))


def _read_stored(repository: Repository, objects: Objects, key: str, formats: dict[str, Format]) -> QueuedSource | None:
    """Return a stored source as it would be queued; None if there is none."""
    ref = repository.find_ref(SOURCES + key)
    if ref is None:
        return None
    record: SourceRecord = read_source_record(objects, Oid(ref))
    source = StoredCopy(record.file_name, record.size, objects, Oid(ref))
    chosen = formats.get(record.format)
    session: Session | None = None if chosen is None else read_session(chosen, source)
    return None if chosen is None or session is None else QueuedSource(source, chosen, session)
