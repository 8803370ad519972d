"""`verify --source`: prove of a transcript on disk that the store has it, byte for byte, and what each byte became.

The file may have grown, been cut or been rewritten since its import; the certificate says how far the two agree, and
accounts for exactly the bytes that do.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Literal

from scopes.errors import CannotImport, Corrupt, Invalid, NotFound
from scopes.history.messages import message_id_of
from scopes.history.metadata import read_metadata
from scopes.history.revparse import MAIN, conversation_ids, list_branch_tips
from scopes.history.sources import SOURCES, SourceRecord, read_source_record, walk_chunks
from scopes.ids import MessageId, Oid
from scopes.importers.archive import walk_segments
from scopes.importers.commits import Segment
from scopes.importers.discovery import find_sources
from scopes.importers.formats.base import Format, Source, choose_format
from scopes.importers.formats.events import Session
from scopes.importers.identity import source_key
from scopes.importers.targets import TRACKING
from scopes.result import Result
from scopes.store import refs as names
from scopes.store.fsck import Finding
from scopes.store.graph import walk_newest_first
from scopes.store.repository import Objects, Repository

Comparison = Literal["equal", "grown", "cut", "different"]
_BLOCK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceVerification(Result):
    """How a file and what is stored of it agree, and what the bytes became that both have.

    The three byte counts add up to `equal_bytes`. `messages` are those that these bytes became; `away` of them are on
    no branch any more, because somebody here deleted or rewound them.
    """

    path: str
    format: str
    native_id: str
    part: str | None
    size: int
    stored_size: int
    equal_bytes: int
    message_bytes: int
    state_bytes: int
    unparsed_bytes: int
    messages: int
    away: int
    findings: tuple[Finding, ...]

    @property
    def comparison(self) -> Comparison:
        """How the file is to what is stored: a longer file has grown, a shorter one was cut, unless they differ."""
        if self.equal_bytes < min(self.size, self.stored_size):
            return "different"
        if self.size == self.stored_size:
            return "equal"
        return "grown" if self.size > self.stored_size else "cut"

    @property
    def new_bytes(self) -> int:
        """How many bytes of the file are not stored."""
        return self.size - self.equal_bytes

    @property
    def whole(self) -> bool:
        """Whether the store has every byte of the file, and what it made of them is undamaged."""
        return self.new_bytes == 0 and self.exit_code == 0

    @property
    def exit_code(self) -> int:
        """7 where stored data is damaged, 1 where the file has something that the store has not."""
        if any(finding.severity == "error" for finding in self.findings):
            return 7
        return 1 if self.new_bytes else 0


def verify_source(repository: Repository, path: str, formats: tuple[Format, ...]) -> SourceVerification:
    """Compare a file with what is stored of it, and follow every segment to its message.

    Raises:
        NotFound: there is no such file, or it was never imported.
        CannotImport: it is in no known format and nothing stored has its bytes.
        Invalid: it is a folder.
    """
    if os.path.isdir(path):
        raise Invalid(f"{path!a} is a folder", hint="name one transcript at a time")
    source = find_sources(path)[0]
    session, trouble = _read_session(source, formats)
    try:
        stored = _find_stored(repository, source, session)
        if stored is not None:
            return _account(repository, source, *stored)
    except NotFound as error:
        raise Corrupt(f"what is stored of {path!a} is damaged: {error.message}", hint="see: scopes verify") from error
    if trouble is not None:
        raise trouble
    raise NotFound(f"{path!a} was never imported", hint=f"bring it in with: scopes conv import {shlex.quote(path)}")


def _account(repository: Repository, source: Source, commit: Oid, record: SourceRecord) -> SourceVerification:
    equal, digest = _compare(repository, commit, source)
    tally = _Tally(equal)
    for segment in walk_segments(repository, commit):
        tally.add(segment)
    presence = find_reachability(repository, tally.messages, (record.root, *record.more_roots))
    return SourceVerification(
        path=source.path,
        format=record.format,
        native_id=record.native_id,
        part=record.part,
        size=source.size,
        stored_size=record.size,
        equal_bytes=equal,
        message_bytes=tally.sums["message"],
        state_bytes=tally.sums["state"],
        unparsed_bytes=tally.sums["unparsed"],
        messages=len(tally.messages),
        away=len(presence.away),
        findings=tuple(_findings(source, record, digest, tally, presence)),
    )


def _find_stored(repository: Repository, source: Source, session: Session | None) -> tuple[Oid, SourceRecord] | None:
    """Find what is stored of a file: what has its very bytes, or else what has its format, session and part."""
    named: tuple[Oid, SourceRecord] | None = None
    if session is not None:
        ref = repository.find_ref(SOURCES + source_key(session.format, session.native_id, session.part))
        named = None if ref is None else (Oid(ref), read_source_record(repository, Oid(ref)))
    digest = _digest(source)
    if named is None or named[1].digest != digest:
        for value in repository.list_refs(SOURCES).values():
            record = read_source_record(repository, Oid(value))
            if record.digest == digest:
                return Oid(value), record
    return named


def _read_session(source: Source, formats: tuple[Format, ...]) -> tuple[Session | None, CannotImport | None]:
    """Read whose history a file says it is; a file whose beginning is damaged may still be known by its digest."""
    try:
        first = next(iter(choose_format(formats, source).walk_events(source)), None)
    except CannotImport as error:
        return None, error
    return first if isinstance(first, Session) else None, None


def _digest(source: Source) -> str:
    digest = sha256()
    with source.open() as stream:
        while block := stream.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _compare(objects: Objects, commit: Oid, source: Source) -> tuple[int, str]:
    """Count the bytes up to the first difference; also hash what is stored."""
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
    """Return how many bytes two pieces have in common, by halving: the loop is in C."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(slots=True)
class _Tally:
    """What the segments add up to, up to the byte where file and stored source part."""

    end: int
    covered: int = 0
    gaps: int = 0
    sums: dict[str, int] = field(default_factory=lambda: {"message": 0, "state": 0, "unparsed": 0})
    messages: dict[MessageId, None] = field(default_factory=dict)

    def add(self, segment: Segment) -> None:
        """Add a segment; they come in the order of their bytes."""
        offset, length = segment.span.offset, segment.span.length
        self.gaps += offset != self.covered
        self.covered = offset + length
        agreed = max(0, min(self.covered, self.end) - offset)
        kind = "message" if segment.message else "state" if segment.state is not None else "unparsed"
        self.sums[kind] += agreed
        if agreed and segment.message is not None:
            self.messages[segment.message] = None


def _findings(
    source: Source, record: SourceRecord, digest: str, tally: _Tally, presence: Reachability
) -> Iterator[Finding]:
    where = record.native_id if record.part is None else f"{record.native_id}/{record.part}"
    cure = "restore the store from a backup, or import into a new one"
    if digest != record.digest:
        yield Finding("error", where, "the stored bytes are not those that were imported", cure)
    if tally.gaps or tally.covered != record.size:
        yield Finding("error", where, "its segments do not cover its bytes once each", cure)
    for identity in presence.missing:
        yield Finding("error", where, f"message {identity} is named by it and is nowhere in the store", cure)
    if presence.away:
        back = "bring them back with: scopes undo, or scopes conv import --again"
        yield Finding("warning", where, f"{len(presence.away)} of its messages were deleted or rewound here", back)
    if tally.end < min(source.size, record.size):
        what = f"the file differs from what was imported from byte {tally.end} on"
        yield Finding("warning", where, what, f"bring it in again with: scopes conv import {shlex.quote(source.path)}")
    elif source.size > record.size:
        what = f"{source.size - record.size} bytes of the file came after its import"
        yield Finding("warning", where, what, f"bring them in with: scopes conv import {shlex.quote(source.path)}")
    elif source.size < record.size:
        what = f"the file ends {record.size - source.size} bytes before what is stored of it"
        yield Finding(
            "warning", where, what, "it was cut since, or is an older copy: scopes conv export CONV --format original"
        )


@dataclass(frozen=True, slots=True)
class Reachability:
    """The messages that no branch shows: those `away` are still held by a deleted or an imported line of history."""

    away: tuple[MessageId, ...]
    missing: tuple[MessageId, ...]


def find_reachability(repository: Repository, wanted: Iterable[MessageId], roots: Iterable[Oid]) -> Reachability:
    """Look for messages in the conversations that begin with `roots`, then everywhere else."""
    looked_for = _Search(repository, dict.fromkeys(wanted))
    looked_for.walk(_tips_of(repository, frozenset(roots)))
    looked_for.walk(repository.list_refs(names.HEADS).values())
    hidden = tuple(looked_for.left)
    looked_for.walk(repository.list_refs(TRACKING, names.TRASH).values())
    missing = tuple(looked_for.left)
    return Reachability(tuple(identity for identity in hidden if identity not in looked_for.left), missing)


class _Search:
    """A walk that stops as soon as everything is found, and goes over no commit twice."""

    def __init__(self, repository: Repository, left: dict[MessageId, None]) -> None:
        self.left = left
        self._repository = repository
        self._seen: set[Oid] = set()

    def walk(self, tips: Iterable[str]) -> None:
        """Strike out what is reachable from the tips."""
        for tip in dict.fromkeys(tips):
            if not self.left:
                return
            # the walk only asks for commits that it has not yielded, so the set may grow beside it
            for commit in walk_newest_first(self._repository, [Oid(tip)], hidden=self._seen):
                self._seen.add(commit.oid)
                self.left.pop(message_id_of(commit), None)


def _tips_of(repository: Repository, roots: frozenset[Oid]) -> list[Oid]:
    """Return the branches of the conversations that begin with one of the roots."""
    found: list[Oid] = []
    for conversation in conversation_ids(repository):
        main = read_metadata(repository, conversation).branches.get(MAIN)
        if main is not None and main.fork in roots:
            found += list_branch_tips(repository, conversation).values()
    return found
