"""`verify FILE`: compare a transcript file with its stored source, byte by byte, and count what each byte became.

The file may have grown, been truncated or rewritten since its import. Only the bytes before the first difference count.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Literal

from scopes.errors import CannotImport, Corrupt, Inaccessible, Invalid, NotFound
from scopes.history.messages import message_id_of
from scopes.history.metadata import read_metadata
from scopes.history.names import MAIN, conversation_ids, list_branch_tips
from scopes.history.sources import SOURCES, TRACKING, SourceRecord, read_source_record, source_key, walk_chunks
from scopes.ids import MessageId, Oid
from scopes.importers.archive import Segment, digest_of, walk_segments
from scopes.importers.discovery import find_sources
from scopes.importers.expand import expand_sources, is_collection
from scopes.importers.formats.base import Format, Source, choose_format, read_session
from scopes.importers.formats.events import Session
from scopes.importers.identity import stream_key
from scopes.importers.results import Skipped
from scopes.result import HIDDEN, Column, Result, counted, named, shown
from scopes.store import refs
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Objects
from scopes.store.repository import Repository
from scopes.store.verify import Finding

Comparison = Literal["equal", "grown", "cut", "different"]


_COMPARED: Final[dict[str, str]] = {
    "equal": "the stored bytes are the file's",
    "grown": "the stored bytes are the file's beginning",
    "cut": "the file is the beginning of the stored bytes",
    "different": "file and stored bytes differ",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceVerification(Result):
    """How a file compares with its stored source, and what the bytes that both have became.

    The three byte counts add up to `equal_bytes`. `messages` are those that these bytes became; `away` of them are on
    no branch, because they were deleted or rewound here.
    """

    kind = "certificate"
    columns = (
        Column("path", "File", "path"),
        Column("whose", "Session"),
        Column("compared"),
        Column("verdict"),
        Column("counts", "Bytes", "lines"),
        Column("problems", "Findings", "lines"),
    )

    path: str
    format: str
    native_id: str = field(metadata=named("session"))
    part: str | None
    size: int = field(metadata=named("size_bytes"))
    stored_size: int = field(metadata=named("stored_bytes"))
    equal_bytes: int
    message_bytes: int = field(metadata=HIDDEN)
    state_bytes: int = field(metadata=HIDDEN)
    unparsed_bytes: int = field(metadata=HIDDEN)
    messages: int
    away: int = field(metadata=named("messages_away"))
    findings: tuple[Finding, ...]

    @property
    @shown
    def account_bytes(self) -> dict[str, int]:
        """The four byte counts, and their sum, which is the size."""
        counts = {
            "message": self.message_bytes,
            "state": self.state_bytes,
            "unparsed": self.unparsed_bytes,
            "new": self.new_bytes,
        }
        return counts | {"sum": sum(counts.values())}

    @property
    def whose(self) -> str:
        """The session and its part."""
        return f"{self.native_id}{'' if self.part is None else f', part {self.part}'} ({self.format})"

    @property
    def compared(self) -> str:
        """The comparison in words."""
        return _COMPARED[self.comparison]

    @property
    def verdict(self) -> str:
        """Whether every byte of the file is in the store."""
        if self.whole:
            return "whole: every byte of the file is in the store"
        if self.exit_code == 7:
            return "damaged: the stored bytes of this file cannot be trusted"
        return f"not whole: {counted(self.new_bytes, 'byte')} of the file are not in the store"

    @property
    def counts(self) -> list[str]:
        """What the bytes of the file became."""
        counts = [
            (self.message_bytes, f"became {counted(self.messages, 'message')}"),
            (self.state_bytes, "are state records"),
            (self.unparsed_bytes, "are kept unread"),
            *([(self.new_bytes, "are not in the store")] if self.new_bytes else []),
            (self.size, "bytes in the file"),
        ]
        return [f"{number:,} {what}" for number, what in counts]

    @property
    def problems(self) -> list[str]:
        """The findings, each with its cure."""
        return [f"{each.severity}: {each.problem}{f'; {each.cure}' if each.cure else ''}" for each in self.findings]

    @property
    def figures(self) -> dict[str, object]:
        """The numbers, and the findings by severity."""
        names = "message_bytes", "state_bytes", "unparsed_bytes", "new_bytes", "size", "stored_size", "messages", "away"
        found = {
            each.severity: [f.problem for f in self.findings if f.severity == each.severity] for each in self.findings
        }
        return {
            "path": self.path,
            "format": self.format,
            "session": self.native_id,
            "part": self.part,
            "comparison": self.comparison,
            **{name: getattr(self, name) for name in names},
            "whole": self.whole,
            **found,
        }

    @property
    @shown
    def comparison(self) -> Comparison:
        """Return how the file compares with the stored source: longer (grown), shorter (cut), or different."""
        if self.equal_bytes < min(self.size, self.stored_size):
            return "different"
        if self.size == self.stored_size:
            return "equal"
        return "grown" if self.size > self.stored_size else "cut"

    @property
    def new_bytes(self) -> int:
        """Return how many bytes of the file are not stored."""
        return self.size - self.equal_bytes

    @property
    @shown
    def whole(self) -> bool:
        """Return True if the store has every byte of the file and no damage was found."""
        return self.new_bytes == 0 and self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """Return 7 if stored data is damaged, 1 if the file has bytes that the store does not have, else 0."""
        if any(finding.severity == "error" for finding in self.findings):
            return 7
        return 1 if self.new_bytes else 0


def verify_source(repository: Repository, path: str, formats: tuple[Format, ...]) -> SourceVerification:
    """Compare a file with its stored source and look up the message of every segment.

    Raises:
        NotFound: the file does not exist or was never imported.
        CannotImport: the format is unknown and no stored source has these bytes.
        Invalid: the path is a folder.
        Corrupt: the stored source is damaged.
        Inaccessible: the file cannot be read any more.
    """
    if os.path.isdir(path) and is_collection(path) is None:
        raise Invalid(f"{path!a} is a folder", hint="name one transcript at a time")
    source = _find_one(path)
    try:
        session, error = _read_session(source, formats)
        repository.recent.clear()  # a copy in memory would hide that an object is damaged on disk
        stored = _find_stored(repository, source, session)
        if stored is not None:
            return _verify_stored(repository, source, *stored)
    except OSError as failure:
        reason = failure.strerror or str(failure)
        raise Inaccessible(f"{path!a} cannot be read any more: {reason}", hint="is it being replaced?") from failure
    except NotFound as missing:
        text = f"the stored source of {path!a} is damaged: {missing.message}"
        raise Corrupt(text, hint="run: scopes verify") from missing
    if error is not None:
        raise error
    raise NotFound(f"{path!a} was never imported", hint=f"import it with: scopes import {shlex.quote(path)}")


def _find_one(path: str) -> Source:
    """Return the source at a path, the only conversation of a collection.

    Raises:
        Invalid: it has several conversations.
        CannotImport: it is a collection without one, or damaged.
    """
    skipped: list[Skipped] = []
    sources = expand_sources(find_sources(path), skipped)
    errors = [found.error for found in skipped if found.error is not None]
    if errors:
        raise errors[0]
    if not sources:
        raise CannotImport(f"{path!a} has no conversation", hint="name the file that was imported")
    if len(sources) > 1:
        text = f"{path!a} has {len(sources)} conversations"
        raise Invalid(text, hint=f"name one of them at a time, such as {shlex.quote(sources[0].path)}")
    return sources[0]


def _verify_stored(repository: Repository, source: Source, commit: Oid, record: SourceRecord) -> SourceVerification:
    equal, digest = _compare(repository, commit, source)
    counter = _SegmentCounter(equal)
    for segment in walk_segments(repository, commit):
        counter.add(segment)
    reachability = find_reachability(repository, counter.messages, (record.root, *record.more_roots))
    return SourceVerification(
        path=source.path,
        format=record.format,
        native_id=record.native_id,
        part=record.part,
        size=source.size,
        stored_size=record.size,
        equal_bytes=equal,
        message_bytes=counter.sums["message"],
        state_bytes=counter.sums["state"],
        unparsed_bytes=counter.sums["unparsed"],
        messages=len(counter.messages),
        away=len(reachability.away),
        findings=tuple(_findings(source, record, digest, counter, reachability)),
    )


def _find_stored(repository: Repository, source: Source, session: Session | None) -> tuple[Oid, SourceRecord] | None:
    """Find the stored source of a file: one with the same bytes, else the one of its session and part."""
    named: tuple[Oid, SourceRecord] | None = None
    if session is not None:
        ref = repository.find_ref(SOURCES + source_key(session.format, session.native_id, session.sub_file))
        if ref is None and session.is_stream:
            ref = repository.find_ref(SOURCES + stream_key(session))
        named = None if ref is None else (Oid(ref), read_source_record(repository, Oid(ref)))
    digest = digest_of(source, source.size)
    if named is None or named[1].digest != digest:
        for value in repository.list_refs(SOURCES).values():
            record = read_source_record(repository, Oid(value))
            if record.digest == digest:
                return Oid(value), record
    return named


def _read_session(source: Source, formats: tuple[Format, ...]) -> tuple[Session | None, CannotImport | None]:
    """Read the session of a file, or return the error: a file with a damaged beginning may be found by its digest."""
    try:
        return read_session(choose_format(formats, source), source), None
    except CannotImport as error:
        return None, error


def _compare(objects: Objects, commit: Oid, source: Source) -> tuple[int, str]:
    """Return the number of bytes before the first difference, and the SHA-256 of the stored bytes."""
    digest, equal, same = sha256(), 0, True
    with source.open() as stream:
        for chunk in walk_chunks(objects, commit):
            digest.update(chunk)
            if same:
                common = _common_length(chunk, stream.read(min(len(chunk), source.size - equal)))
                equal += common
                same = common == len(chunk)
    return equal, digest.hexdigest()


def _common_length(left: bytes, right: bytes) -> int:
    """Return the length of the common prefix, by binary search: slices compare in C."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(slots=True)
class _SegmentCounter:
    """Counts over the segments up to byte `end`, the first difference between the file and the stored source."""

    end: int
    covered: int = 0
    gaps: int = 0
    sums: dict[str, int] = field(default_factory=lambda: {"message": 0, "state": 0, "unparsed": 0})
    messages: dict[MessageId, None] = field(default_factory=dict)

    def add(self, segment: Segment) -> None:
        """Add the next segment in byte order."""
        offset, length = segment.span.offset, segment.span.length
        self.gaps += offset != self.covered
        self.covered = offset + length
        agreed = max(0, min(self.covered, self.end) - offset)
        self.sums[segment.kind] += agreed
        if agreed and segment.message is not None:
            self.messages[segment.message] = None


def _findings(
    source: Source, record: SourceRecord, digest: str, counter: _SegmentCounter, reachability: Reachability
) -> Iterator[Finding]:
    where = record.native_id if record.part is None else f"{record.native_id}/{record.part}"
    cure = "restore the store from a backup, or import into a new store"
    if record.purged:
        yield Finding("warning", where, "messages of it were purged: what was imported is no longer stored", None)
    elif digest != record.digest:
        yield Finding("error", where, "the stored bytes are not those that were imported", cure)
    if counter.gaps or counter.covered != record.size:
        yield Finding("error", where, "its segments do not cover each byte exactly once", cure)
    for identity in reachability.missing:
        yield Finding("error", where, f"its message {identity} is not in the store", cure)
    if reachability.away:
        restore = "restore them with: scopes undo, or scopes import --again"
        yield Finding(
            "warning", where, f"{len(reachability.away)} of its messages were deleted or rewound here", restore
        )
    if record.purged:
        return
    if counter.end < min(source.size, record.size):
        what = f"the file differs from the imported bytes from byte {counter.end} on"
        yield Finding("warning", where, what, f"import it again with: scopes import {shlex.quote(source.path)}")
    elif source.size > record.size:
        what = f"{source.size - record.size} bytes were added to the file after its import"
        yield Finding("warning", where, what, f"import them with: scopes import {shlex.quote(source.path)}")
    elif source.size < record.size:
        what = f"the file is {record.size - source.size} bytes shorter than the stored source"
        yield Finding(
            "warning",
            where,
            what,
            "it was truncated or is an older copy; get all with: scopes export CONV --format original",
        )


@dataclass(frozen=True, slots=True)
class Reachability:
    """Messages that are on no branch. `away`: reachable only from trash or tracking refs; `missing`: not found."""

    away: tuple[MessageId, ...]
    missing: tuple[MessageId, ...]


def find_reachability(repository: Repository, wanted: Iterable[MessageId], roots: Iterable[Oid]) -> Reachability:
    """Search for messages in the conversations with these roots first, then in all others, then in the trash."""
    search = _MessageSearch(repository, dict.fromkeys(wanted))
    search.walk(_tips_of(repository, frozenset(roots)))
    search.walk(repository.list_refs(refs.HEADS).values())
    hidden = tuple(search.left)
    search.walk(repository.list_refs(TRACKING, refs.TRASH).values())
    missing = tuple(search.left)
    return Reachability(tuple(identity for identity in hidden if identity not in search.left), missing)


class _MessageSearch:
    """A search that stops when all messages are found, and visits no commit twice. `left` are those not found."""

    def __init__(self, repository: Repository, left: dict[MessageId, None]) -> None:
        self.left = left
        self._repository = repository
        self._seen: set[Oid] = set()

    def walk(self, tips: Iterable[str]) -> None:
        """Remove the messages that are reachable from the tips."""
        for tip in dict.fromkeys(tips):
            if not self.left:
                return
            # the walk only looks up commits that it has not yielded, so the set may grow meanwhile
            for commit in walk_newest_first(self._repository, [Oid(tip)], hidden=self._seen):
                self._seen.add(commit.oid)
                self.left.pop(message_id_of(commit), None)


def _tips_of(repository: Repository, roots: frozenset[Oid]) -> list[Oid]:
    """Return the branch tips of the conversations with one of these root commits."""
    found: list[Oid] = []
    for conversation in conversation_ids(repository):
        main = read_metadata(repository, conversation).branches.get(MAIN)
        if main is not None and main.fork in roots:
            found += list_branch_tips(repository, conversation).values()
    return found
