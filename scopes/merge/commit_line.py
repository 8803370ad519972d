"""The commits of one side of a merge: their message ids at once, the commits themselves when they are needed.

A merge of two long branches needs all message ids, but of the commits only those that state claims. The ids of a linear
history are kept in segments: digests of some hundred commits, in the file of parsed commits (`store/commit_chunks`). A
segment names its commits; it is used only for a history that has the newest of them, which then has all of them.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple, overload

from scopes.history.messages import KIND_TRAILER, message_id_of
from scopes.ids import MessageId, Oid
from scopes.merge.statements import can_state
from scopes.store.commit_chunks import CHUNK_COMMITS, CommitChunks
from scopes.store.commit_reader import reader_of
from scopes.store.graph import find_in_graph, list_new_commits, split_histories
from scopes.store.objects import Commit
from scopes.store.repository import Repository, read_commit

MIN_KEPT: Final = 32  # commits of a segment that is kept
_CUT_WITHIN: Final = 64  # commits among which the end of a segment is chosen
_KEY: Final = b"line "
_OID_BYTES: Final = 20


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

    def has(self, oid: Oid) -> bool:
        """Return True if a commit is in the segment."""
        name = bytes.fromhex(oid)
        at = self.oids.find(name)
        while at >= 0 and at % _OID_BYTES:
            at = self.oids.find(name, at + 1)
        return at >= 0


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
        return tuple(identity for segment in self.segments for identity in segment.ids)

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

    @cached_property
    def _all(self) -> tuple[Commit, ...]:
        if len(self._known) == len(self.segments):
            return tuple(commit for segment in self.segments for commit in self.read_segment(segment))
        return list_new_commits(self._repository, self._tip, None, (self._base,))


def message_ids(commits: Sequence[Commit]) -> tuple[MessageId, ...]:
    """Return the message ids of commits, in the same order."""
    return commits.message_ids if isinstance(commits, CommitLine) else tuple(map(message_id_of, commits))


def stating_commits(commits: Sequence[Commit]) -> Iterator[Commit]:
    """Yield the commits that can state a claim, in the same order."""
    return commits.read_stating() if isinstance(commits, CommitLine) else filter(can_state, commits)


def split_sides(
    repository: Repository, one: Oid, two: Oid
) -> tuple[tuple[Oid, ...], Sequence[Commit], Sequence[Commit]]:
    """Return what `split_histories` returns; long linear histories with one merge base are read from segments."""
    bases = None if repository.open_commit_chunks is None else find_in_graph(repository, one, two)
    if repository.open_commit_chunks is None or bases is None or len(bases) != 1:
        return split_histories(repository, one, two)
    chunks = repository.open_commit_chunks()
    sides = [read_line(repository, chunks, tip, bases[0]) for tip in (one, two)]
    first, second = (
        list_new_commits(repository, tip, other, bases) if side is None else side
        for side, tip, other in zip(sides, (one, two), (two, one), strict=True)
    )
    return bases, first, second


def read_line(repository: Repository, chunks: CommitChunks, tip: Oid, base: Oid) -> CommitLine | None:
    """Return the commits above a base up to a tip; None if a merge or a root is among them.

    Segments that are not kept yet are made, and kept if they are long enough.
    """
    found: list[Segment] = []  # newest first, as `line`
    new: dict[Oid, Sequence[Commit]] = {}
    line: list[Commit] = []
    read = reader_of(repository)
    oid = tip
    while oid != base:
        segment = _find_segment(chunks, oid, base)
        if segment is not None:
            new |= _cut(line, found)
            line = []
            found.append(segment)
            oid = segment.below
            continue
        commit = read(oid)
        if len(commit.parents) != 1:
            return None
        line.append(commit)
        oid = commit.parents[0]
    new |= _cut(line, found)
    kept = [each for each in found if each.newest in new and len(each.ids) >= MIN_KEPT]
    chunks.add_digests({_KEY + bytes.fromhex(each.newest): marshal.dumps(tuple(each)) for each in kept})
    return CommitLine(repository, tip, base, found[::-1], new)


def _find_segment(chunks: CommitChunks, newest: Oid, base: Oid) -> Segment | None:
    """Return the kept segment of a commit; None if there is none, or the base is in it."""
    key = _KEY + bytes.fromhex(newest)
    data = chunks.find_digest(key) if chunks.has_digest(key) else None
    segment = None if data is None else Segment(*marshal.loads(data))  # noqa: S302 - our own file, with a checksum
    return segment if segment is not None and segment.newest == newest and not segment.has(base) else None


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
    kinds = [commit.trailers.get(KIND_TRAILER) for commit in line[: CHUNK_COMMITS + 1]]
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
