"""Read what the transcripts of a run hold besides its messages: how its event streams end, and the results in them.

The archived bytes of a stream are read again each time, because nothing of them is stored in another form.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

from scopes.check.run import RunSource
from scopes.check.session_files import SessionFile, find_damage, find_other_sessions, read_session_file
from scopes.check.unread_calls import SourceRecords, read_source_records
from scopes.history.activity import Tokens
from scopes.history.handles import Scope
from scopes.history.messages import read_root_of
from scopes.history.names import find_root_commit
from scopes.history.sources import SOURCES, SourceRecord, read_source_record, source_key, with_last_path
from scopes.ids import MessageId, Oid
from scopes.importers.archive import Segment, StoredCopy, walk_segments
from scopes.importers.formats.base import Format, read_session
from scopes.importers.formats.events import Draft, Ending, RunEnd, Session
from scopes.importers.formats.registry import FORMATS
from scopes.importers.streams import content_key, is_stream_part
from scopes.model.message import Part
from scopes.store.objects import read_commit
from scopes.store.repository import Repository

_LINKED = frozenset({"claude-code", "qwen"})  # formats whose records name their session and the record before them
_ONE_DOCUMENT = "openai-messages"  # a format of files that hold many conversations, without records
_Result = tuple[Part, Part]  # a call and its result


class Stream(NamedTuple):
    """One event stream: its end, if it has an end record, the results of its calls in order, and its messages."""

    order: tuple[str, str]
    end: RunEnd | None
    results: tuple[_Result, ...]
    messages: frozenset[MessageId]


@dataclass(frozen=True, slots=True)
class Transcripts:
    """The transcripts of a run; `streams` are in the order in which they were printed, if that is known.

    files: the session files of the main agent
    damage: the records of all session files that cannot be read, of streams if there is no session file
    records: the calls in the records of all sources
    """

    sources: tuple[RunSource, ...] = ()
    streams: tuple[Stream, ...] = ()
    denials: frozenset[str] = frozenset()
    files: tuple[SessionFile, ...] = ()
    damage: tuple[str, ...] = ()
    records: tuple[SourceRecords, ...] = ()

    @property
    def end(self) -> RunEnd | None:
        """The end of the last stream, with the costs and the times of all; None if it has no end record."""
        last = self.streams[-1].end if self.streams else None
        if last is None:
            return None
        ends = [stream.end for stream in self.streams if stream.end is not None]
        return last._replace(
            cost_usd=_sum(end.cost_usd for end in ends),
            seconds=_sum(end.seconds for end in ends),
            denials=tuple(dict.fromkeys(each for end in ends for each in end.denials)),
        )

    @property
    def tokens(self) -> Tokens | None:
        """The most tokens that the end of a stream counts; None if none does."""
        counted = [stream.end.usage for stream in self.streams if stream.end is not None and stream.end.usage]
        totals = [Tokens(1, *(usage.get(name) for name in Tokens._fields[1:])) for usage in counted]
        return max(totals, key=lambda each: (each.input or 0) + (each.output or 0), default=None)

    def complete(self, calls: Sequence[Part], results: Sequence[Part | None]) -> list[Part | None]:
        """Return the results of calls, in order, with what only a stream has: exit codes, and results that were lost.

        Without equal ids, the calls that do the same in a stream are the same calls if there are as many of them.
        """
        found = [result for stream in self.streams for result in stream.results]
        by_id = {str(call.fields.get("call_id")): reported for call, reported in reversed(found)}
        by_content: dict[tuple[str, ...], list[Part]] = {}
        for call, reported in found:
            by_content.setdefault(content_key(call), []).append(reported)
        keys = [content_key(call) for call in calls] if found else []
        numbers = Counter(keys)
        same = {key: iter(reports) for key, reports in by_content.items() if len(reports) == numbers[key]}
        completed: list[Part | None] = list(results)
        for position, (part, key) in enumerate(zip(calls, keys, strict=False)):
            other = by_id.get(str(part.fields.get("call_id"))) or next(same.get(key, iter(())), None)
            result = completed[position]
            if other is not None and result is not None and "exit_code" in other.fields:
                completed[position] = Part("tool_result", {"exit_code": other.fields["exit_code"], **result.fields})
            elif result is None:
                completed[position] = other
        return completed


class Sources:
    """The sources that were imported into a store, by conversation; they are read once, for a check of many runs."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository

    @cached_property
    def _by_root(self) -> Mapping[Oid, Sequence[tuple[Oid, SourceRecord]]]:
        found: dict[Oid, list[tuple[Oid, SourceRecord]]] = {}
        for _, value in sorted(self._repository.list_refs(SOURCES).items()):
            record = read_source_record(self._repository, Oid(value))
            for root in dict.fromkeys((record.root, *record.more_roots)):
                found.setdefault(root, []).append((Oid(value), record))
        return found

    def of(self, root: Oid | None) -> Sequence[tuple[Oid, SourceRecord]]:
        """Return the sources of the conversation with this root, as commits and records."""
        found = () if root is None else self._by_root.get(root, ())
        return [(commit, with_last_path(self._repository, record)) for commit, record in found]


def read_transcripts(repository: Repository, scope: Scope, imported: Sources) -> Transcripts:
    """Read the transcripts that were imported into a conversation, and its event streams again."""
    root = find_root_commit(repository, scope.conversation)
    sources: list[RunSource] = []
    streams: list[Stream] = []
    files: list[SessionFile] = []
    damage: dict[str, list[str]] = {"stream": [], "session": []}
    records: list[SourceRecords] = []
    for commit, record in imported.of(root):
        kind: Literal["stream", "session"] = "stream" if is_stream_part(record.part) else "session"
        sources.append(RunSource(record.file_name, record.format, kind, record.digest))
        segments = sorted(walk_segments(repository, commit), key=lambda segment: segment.span.offset)
        damage[kind] += find_damage(repository, commit, record, segments)
        damage[kind] += find_other_sessions(repository, commit, record, segments)
        if segments and record.format != _ONE_DOCUMENT:
            others = _other_sessions(repository, record, root)
            records.append(_read_records_of(repository, commit, record, segments, others))
            damage[kind] += records[-1].damage
        if record.part is None:
            files.append(read_session_file(record.file_name, segments, commit))
        if root is not None and is_stream_part(record.part):
            streams += _read_streams(repository, commit, record, root)
    streams.sort(key=lambda stream: stream.order)
    ends = [stream.end for stream in streams if stream.end is not None]
    denials = frozenset(each for end in ends for each in end.denials)
    has_session = any(source.kind == "session" for source in sources)
    return Transcripts(
        tuple(sources),
        tuple(streams),
        denials,
        tuple(files),
        tuple(damage["session" if has_session else "stream"]),
        tuple(records),
    )


def _other_sessions(repository: Repository, record: SourceRecord, root: Oid | None) -> frozenset[str]:
    """Return the sessions of other conversations in a source, such as an event stream of two runs."""
    roots = {record.root, *record.more_roots} - {root}
    found = (read_root_of(repository, read_commit(repository, Oid(oid)), Oid(oid)).native_id for oid in roots)
    return frozenset(native_id for native_id in found if native_id is not None)


def _read_records_of(
    repository: Repository,
    commit: Oid,
    record: SourceRecord,
    segments: Sequence[Segment],
    others: frozenset[str],
) -> SourceRecords:
    """Read the calls in the archived records of a source, without those of other sessions."""
    name = record.file_name.rpartition("/")[2]
    is_linked = record.format in _LINKED and not is_stream_part(record.part)
    with StoredCopy(record.file_name, record.size, repository, commit).open() as source:
        return read_source_records(source, record.size, segments, name, is_linked=is_linked, others=others)


def find_session_directory(repository: Repository, scope: Scope, imported: Sources) -> str | None:
    """Return the working directory of the first session file; the root of a stream that came first does not have it."""
    for commit, record in imported.of(find_root_commit(repository, scope.conversation)):
        chosen = None if is_stream_part(record.part) else _find_format(record)
        if chosen is not None:
            session = read_session(chosen, StoredCopy(record.file_name, record.size, repository, commit))
            if session is not None and session.cwd is not None:
                return session.cwd
    return None


def _find_format(record: SourceRecord) -> Format | None:
    return next((known for known in FORMATS if known.name == record.format), None)


def _read_streams(repository: Repository, commit: Oid, record: SourceRecord, root: Oid) -> Iterator[Stream]:
    """Yield the streams in one archived source whose messages went to the conversation with this root."""
    chosen = _find_format(record)
    if chosen is None:
        return
    messages = frozenset(segment.message for segment in walk_segments(repository, commit) if segment.message)
    roots = {source_key(record.format, record.native_id, record.part): record.root, **dict(record.sessions)}
    order, is_own = ("", ""), False
    calls: dict[object, Part] = {}
    results: list[_Result] = []
    for event in chosen.walk_events(StoredCopy(record.file_name, record.size, repository, commit)):
        if isinstance(event, Session):
            is_own = roots.get(source_key(event.format, event.native_id, record.part)) == root
            order, calls, results = (event.created or "", record.file_name), {}, []
        elif isinstance(event, Draft):
            for part in event.parts:
                call_id = part.fields.get("call_id")
                if part.type == "tool_call":
                    calls[call_id] = part
                elif part.type == "tool_result" and call_id in calls:
                    results.append((calls[call_id], part))
        elif isinstance(event, Ending) and is_own:
            yield Stream(order, event.run_end, tuple(results), messages)


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
