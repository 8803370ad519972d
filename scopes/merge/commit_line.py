"""The commits of one side of a merge: their message ids at once, the commits themselves when they are needed.

A merge of two long branches needs all message ids, but of the commits only those that state claims. The ids of a linear
history are kept in segments: digests of some hundred commits, in the file of parsed commits (`store/commit_chunks`). A
segment names its commits; it is used only for a history that has the newest of them, which then has all of them.
"""

from __future__ import annotations

import marshal
import struct
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Final, NamedTuple, overload

from scopes.history.messages import message_id_of
from scopes.ids import MessageId, Oid
from scopes.merge.statements import can_state
from scopes.store.commit_chunks import CHUNK_COMMITS, CommitChunks
from scopes.store.graph import list_new_commits, split_histories
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit

MIN_KEPT: Final = 32  # commits of a segment that is kept
MAX_SINGLE: Final = 2 * CHUNK_COMMITS  # commits between kept segments that are read one by one
_CUT_WITHIN: Final = 64  # commits among which the end of a segment is chosen
_KEY: Final = b"line "
_OID_BYTES: Final = 20
_START: Final = "I"
_START_BYTES: Final = struct.calcsize(_START)


class Segment(NamedTuple):
    """Consecutive commits of a linear history, oldest first.

    below: the parent of the oldest commit
    oids: the ids of the commits as bytes, one after the other
    stating: the positions of commits that can state a claim
    """

    below: Oid
    oids: bytes
    ids: tuple[MessageId, ...]
    stating: tuple[int, ...]

    @property
    def newest(self) -> Oid:
        """The newest commit."""
        return Oid(self.oids[-_OID_BYTES:].hex())

    def oid(self, position: int) -> Oid:
        """Return the id of the commit at a position from the oldest one."""
        return Oid(self.oids[position * _OID_BYTES : (position + 1) * _OID_BYTES].hex())

    def position_of(self, oid: Oid) -> int | None:
        """Return the position of a commit; None if it is not in the segment."""
        name = bytes.fromhex(oid)
        at = self.oids.find(name)
        while at >= 0 and at % _OID_BYTES:
            at = self.oids.find(name, at + 1)
        return None if at < 0 else at // _OID_BYTES


class CommitLine(Sequence[Commit]):
    """The commits of a linear history above a merge base, oldest first; they are read when they are needed."""

    def __init__(
        self,
        repository: Repository,
        tip: Oid,
        base: Oid,
        segments: Sequence[Segment],
        known: Mapping[Oid, Sequence[Commit]],
    ) -> None:
        """`known` are the commits of segments that were read already, by the newest one."""
        self.segments = segments
        self._repository = repository
        self._tip = tip
        self._base = base
        self._known = known
        self._size = sum(len(segment.ids) for segment in segments)

    @cached_property
    def message_ids(self) -> tuple[MessageId, ...]:
        """The message ids of the commits."""
        return tuple(chain.from_iterable(segment.ids for segment in self.segments))

    @cached_property
    def message_id_set(self) -> frozenset[MessageId]:
        """The message ids of the commits as a set."""
        return frozenset(self.message_ids)

    def read_segment(self, segment: Segment) -> Sequence[Commit]:
        """Return the commits of a segment, oldest first."""
        known = self._known.get(segment.newest)
        if known is not None:
            return known
        return [read_commit(self._repository, segment.oid(position)) for position in range(len(segment.ids))]

    def read_stating(self) -> Iterator[Commit]:
        """Yield the commits that can state a claim, oldest first."""
        for segment in self.segments:
            yield from (read_commit(self._repository, segment.oid(position)) for position in segment.stating)

    @overload
    def __getitem__(self, index: int) -> Commit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Commit, ...]: ...
    def __getitem__(self, index: int | slice) -> Commit | tuple[Commit, ...]:
        """Return a commit, or some of them; the first one is read alone."""
        if index == 0 and self.segments:
            return read_commit(self._repository, self.segments[0].oid(0))
        return self._all[index]

    def __len__(self) -> int:
        """Return the number of commits."""
        return self._size

    def __iter__(self) -> Iterator[Commit]:
        """Yield the commits, oldest first."""
        return iter(self._all)

    def __reversed__(self) -> Iterator[Commit]:
        """Yield the commits, newest first; only the segments that are needed are read."""
        for segment in reversed(self.segments):
            yield from reversed(self.read_segment(segment))

    @cached_property
    def _all(self) -> tuple[Commit, ...]:
        if len(self._known) == len(self.segments):
            return tuple(commit for segment in self.segments for commit in self.read_segment(segment))
        return list_new_commits(self._repository, self._tip, None, (self._base,))


def message_ids(commits: Sequence[Commit]) -> tuple[MessageId, ...]:
    """Return the message ids of commits, in the same order."""
    return commits.message_ids if isinstance(commits, CommitLine) else tuple(map(message_id_of, commits))


def message_id_set(commits: Sequence[Commit]) -> frozenset[MessageId]:
    """Return the message ids of commits as a set."""
    return commits.message_id_set if isinstance(commits, CommitLine) else frozenset(map(message_id_of, commits))


def stating_commits(commits: Sequence[Commit]) -> Iterator[Commit]:
    """Yield the commits that can state a claim, in the same order."""
    return commits.read_stating() if isinstance(commits, CommitLine) else filter(can_state, commits)


def split_sides(
    repository: Repository, one: Oid, two: Oid
) -> tuple[tuple[Oid, ...], Sequence[Commit], Sequence[Commit]]:
    """Return what `split_histories` returns; long linear histories are read from segments, if these are kept.

    Otherwise they are kept now.
    """
    if repository.open_commit_chunks is None:
        return split_histories(repository, one, two)
    chunks = repository.open_commit_chunks()
    descents = [_Descent(repository, chunks, tip) for tip in (one, two)]
    base = _find_meeting(*descents)
    if base is not None:
        first, second = (descent.line_above(base) for descent in descents)
        return (base,), first, second
    bases, *sides = split_histories(repository, one, two)
    if len(bases) != 1:
        return bases, sides[0], sides[1]
    lines = [_line_of(repository, chunks, bases[0], commits) for commits in sides]
    return bases, lines[0], lines[1]


class _Descent:
    """Goes down a linear history by segments; where none is kept, by some single commits.

    starts: the first bytes of the ids of all commits so far, which are compared much faster than whole ids
    """

    def __init__(self, repository: Repository, chunks: CommitChunks, tip: Oid) -> None:
        self.starts: set[int] = set()
        self.is_finished = False
        self.is_given_up = False
        self._repository = repository
        self._chunks = chunks
        self._tip = tip
        self._next: Oid = tip
        self._steps: list[Segment | Commit] = []
        self._singles = 0

    def go_on(self) -> bytes:
        """Take a segment or a commit; return the ids of its commits as bytes, oldest first."""
        step: Segment | Commit | None = find_segment(self._chunks, self._next)
        if step is None:
            step = read_commit(self._repository, self._next)
            self._singles += 1
            self.is_given_up = self._singles > MAX_SINGLE
            self.is_finished = self.is_given_up or len(step.parents) != 1
            if self.is_finished:
                return b""
        self._next = step.below if isinstance(step, Segment) else step.parents[0]
        self._steps.append(step)
        return step.oids if isinstance(step, Segment) else bytes.fromhex(step.oid)

    def has(self, name: bytes) -> bool:
        """Return True if an id, as bytes, is that of one of the commits so far."""
        oid = Oid(name.hex())
        return any(
            step.position_of(oid) is not None if isinstance(step, Segment) else step.oid == oid for step in self._steps
        )

    def line_above(self, base: Oid) -> CommitLine:
        """Return the commits above a base that was met."""
        found: list[Segment] = []
        new: dict[Oid, Sequence[Commit]] = {}
        singles: list[Commit] = []
        for step in self._steps:
            if isinstance(step, Commit):
                if step.oid == base:
                    break
                singles.append(step)
                continue
            new |= _cut(singles, found)
            singles = []
            part = _part_above(step, base)
            found += [] if part is None else [part]
            if part is not step:
                break
        new |= _cut(singles, found)
        keep_segments(self._chunks, [each for each in found if each.newest in new])
        return CommitLine(self._repository, self._tip, base, found[::-1], new)


def _find_meeting(one: _Descent, two: _Descent) -> Oid | None:
    """Return the commit in which two linear histories meet; None if they do not, or too little of them is kept."""
    while not (one.is_given_up or two.is_given_up or (one.is_finished and two.is_finished)):
        is_first_behind = two.is_finished or (not one.is_finished and len(one.starts) <= len(two.starts))
        behind, other = (one, two) if is_first_behind else (two, one)
        oids = behind.go_on()
        starts = _starts_of(oids)
        behind.starts.update(starts)
        if not other.starts.isdisjoint(starts):
            names = (oids[at - _OID_BYTES : at] for at in range(len(oids), 0, -_OID_BYTES))
            shared = next(filter(other.has, names), None)
            if shared is not None:
                return Oid(shared.hex())
    return None


def _starts_of(oids: bytes) -> list[int]:
    """Return the first bytes of ids as numbers, given the ids one after the other."""
    return memoryview(oids).cast(_START)[:: _OID_BYTES // _START_BYTES].tolist()


def _line_of(
    repository: Repository, chunks: CommitChunks, base: Oid, commits: Sequence[Commit]
) -> CommitLine | Sequence[Commit]:
    """Return the commits above a base as a line, whose segments are kept; unchanged if they are not a line."""
    parents = [base, *(commit.oid for commit in commits[:-1])]
    if any(commit.parents != (parent,) for commit, parent in zip(commits, parents, strict=False)) or not commits:
        return commits
    found: list[Segment] = []
    known: dict[Oid, Sequence[Commit]] = {}
    end = gap = len(commits)  # the commits from `end` to `gap` are in no kept segment
    while end:
        segment = find_segment(chunks, commits[end - 1].oid)
        if segment is None:
            end -= 1
            continue
        known |= _cut(commits[end:gap][::-1], found)
        part = segment if len(segment.ids) <= end else _part_above(segment, base)
        if part is None:
            break
        found.append(part)
        gap = end - len(part.ids)
        known[part.newest] = commits[gap:end]
        end = gap
    new = _cut(commits[:gap][::-1], found)
    known |= new
    keep_segments(chunks, [each for each in found if not chunks.has_digest(_key_of(each.newest))])
    return CommitLine(repository, commits[-1].oid, base, found[::-1], known)


def _part_above(segment: Segment, base: Oid) -> Segment | None:
    """Return the commits of a segment above a base; the segment if it does not have the base, None if nothing is."""
    at = segment.position_of(base)
    if at is None:
        return segment
    if at + 1 == len(segment.ids):
        return None
    stating = tuple(position - at - 1 for position in segment.stating if position > at)
    return Segment(base, segment.oids[(at + 1) * _OID_BYTES :], segment.ids[at + 1 :], stating)


def _key_of(newest: Oid) -> bytes:
    return _KEY + bytes.fromhex(newest)


def find_segment(chunks: CommitChunks, newest: Oid) -> Segment | None:
    """Return the kept segment of a commit."""
    key = _key_of(newest)
    data = chunks.find_digest(key) if chunks.has_digest(key) else None
    segment = None if data is None else Segment(*marshal.loads(data))  # noqa: S302 - our own file, with a checksum
    return segment if segment is not None and segment.newest == newest else None


def walk_new_segments(
    repository: Repository, chunks: CommitChunks, tip: Oid, ends: Container[Oid], most: int
) -> Iterator[tuple[Segment, Sequence[Commit]]]:
    """Yield segments of a linear history that are not kept, newest first, each with its commits, oldest first.

    They reach from a tip down to a kept segment, a root or a merge, and have at most `most` commits together. Where a
    commit is in `ends`, a segment ends: with a fork point no part of a segment is on one side of a merge only.
    """
    line: list[Commit] = []  # newest first
    oid = tip
    for _ in range(most):
        commit = None if chunks.has_digest(_key_of(oid)) else read_commit(repository, oid)
        if commit is None or len(commit.parents) != 1:
            break
        if oid in ends:
            yield from _cut_all(line)
            line = []
        line.append(commit)
        if len(line) > CHUNK_COMMITS:
            size = _length_of_next(line)
            yield from _cut_all(line[:size])
            line = line[size:]
        oid = commit.parents[0]
    yield from _cut_all(line)


def _cut_all(line: Sequence[Commit]) -> list[tuple[Segment, Sequence[Commit]]]:
    found: list[Segment] = []
    commits = _cut(line, found)
    return [(segment, commits[segment.newest]) for segment in found]


def keep_segments(chunks: CommitChunks, segments: Iterable[Segment]) -> None:
    """Keep those of the segments that are long enough."""
    kept = [each for each in segments if len(each.ids) >= MIN_KEPT]
    chunks.add_digests({_key_of(each.newest): marshal.dumps(tuple(each)) for each in kept})


def _cut(line: Sequence[Commit], found: list[Segment]) -> dict[Oid, Sequence[Commit]]:
    """Cut commits, newest first, into segments and add them to `found`; return their commits, oldest first."""
    cut = {}
    while line:
        size = _length_of_next(line)
        commits, line = line[:size][::-1], line[size:]
        found.append(segment_of(commits))
        cut[commits[-1].oid] = commits
    return cut


def _length_of_next(line: Sequence[Commit]) -> int:
    """Return how many commits the next segment has; tool calls are not separated from their results if possible."""
    if len(line) <= CHUNK_COMMITS:
        return len(line)
    kinds = [commit.kind for commit in line[: CHUNK_COMMITS + 1]]
    sizes = range(CHUNK_COMMITS, CHUNK_COMMITS - _CUT_WITHIN, -1)
    before_prompts = (size for size in sizes if kinds[size - 1] == "prompt")
    after_results = (size for size in sizes if kinds[size - 1] != "tool-results" == kinds[size])
    return next(before_prompts, None) or next(after_results, CHUNK_COMMITS)


def segment_of(commits: Sequence[Commit]) -> Segment:
    """Return the segment of consecutive commits of a linear history, oldest first."""
    return Segment(
        commits[0].parents[0],
        bytes.fromhex("".join(commit.oid for commit in commits)),
        tuple(map(message_id_of, commits)),
        tuple(position for position, commit in enumerate(commits) if can_state(commit)),
    )
