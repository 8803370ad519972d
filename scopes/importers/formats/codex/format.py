"""The Codex format: recognize a rollout, or the output of `codex exec --json`, and yield its events."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO
from itertools import chain, islice

from scopes.hosts.agents import AGENTS
from scopes.importers.formats.base import SNIFF_BYTES, Source, StandardFolders
from scopes.importers.formats.codex.header import read_header
from scopes.importers.formats.codex.reader import Reader
from scopes.importers.formats.codex.record import NAME, SESSION, RolloutRecord, is_rollout_record, parse_record
from scopes.importers.formats.codex.rollout_files import find_rollout
from scopes.importers.formats.codex.stream import is_stream, may_be_stream, walk_stream_events
from scopes.importers.formats.events import ByteRange, Event, Unparsed
from scopes.importers.formats.json_lines import Record, walk_records
from scopes.importers.formats.stream_documents import first_records

_AHEAD = 8  # records that are searched for the session record
_TRIED = 20  # records of which one must be a rollout record
_CUT_BEGINNING = b'"type":"session_meta"'
_NAMING_BYTES = 4096


class Codex:
    """Codex rollouts of all versions, also those split into several files, and what `codex exec --json` prints."""

    name = NAME
    file_suffixes = (".jsonl", ".jsonl.zst")
    standard_folders = StandardFolders(AGENTS[NAME], ("sessions", "archived_sessions"), find_rollout)
    sub_agent_fields = ("new_thread_id",)

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format."""
        return _is_rollout(head) or _is_stream(head)

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield the Session, its drafts and states, and the Ending."""
        with source.open() as stream:
            head = stream.read(min(SNIFF_BYTES, source.size))
        if may_be_stream(head) and not _is_rollout(head) and _is_stream(head):
            yield from walk_stream_events(source)
            return
        beginning = head[:_NAMING_BYTES]
        with source.open() as stream:
            records = walk_records(stream, source.size)
            ahead = _look_ahead(records)
            parsed_records = [parsed for record in ahead if (parsed := parse_record(record)) is not None]
            header = read_header(parsed_records, source.path, beginning.partition(b"\n")[0])
            yield header.session
            reader = Reader(header)
            for record in chain(ahead, records):
                yield from _read(reader, record)
            if not ahead and source.size:
                yield Unparsed(spans=(ByteRange(0, source.size),), reason="only whitespace")
            yield from reader.finish()


def _is_rollout(head: bytes) -> bool:
    records = list(islice(walk_records(BytesIO(head), len(head)), _TRIED))
    if len(records) == 1 and records[0].problem is not None:
        return _CUT_BEGINNING in head[:200]
    return any(is_rollout_record(record.value) for record in records)


def _is_stream(head: bytes) -> bool:
    return may_be_stream(head) and is_stream(first_records(head))


def _look_ahead(records: Iterator[Record]) -> list[Record]:
    ahead: list[Record] = []
    for record in records:
        ahead.append(record)
        parsed: RolloutRecord | None = parse_record(record)
        if len(ahead) == _AHEAD or (parsed is not None and parsed.kind == SESSION):
            break
    return ahead


def _read(reader: Reader, record: Record) -> Iterator[Event]:
    parsed = parse_record(record)
    if parsed is None:
        yield Unparsed(spans=(record.span,), reason=record.problem or "not a record of a rollout")
    else:
        yield from reader.read(parsed)
