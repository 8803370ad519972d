"""Read what the tool calls of one side of a merge did: tests, plans, answers, and changes of files without a claim.

The calls of a linear history are read by segments (`commit_line`), and what a segment did is kept as a digest. Segments
are joined only if none of them has a result for a call of an earlier one; otherwise all messages are read. The result
is the same: a test compares both ways.
"""

from __future__ import annotations

import marshal
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import starmap
from typing import Final, NamedTuple

from scopes.history.activity import CheckRun, find_test_command, read_test_run
from scopes.history.messages import message_id_of, read_message_at
from scopes.ids import MessageId, Oid
from scopes.merge.commit_line import MAX_SINGLE, MIN_KEPT, CommitLine, Segment, find_segment, segment_of
from scopes.merge.plans_and_answers import MARKS, deciding_calls
from scopes.merge.side_calls import (
    COMMAND_NAMES,
    MAX_COMMITS,
    SideCall,
    ToolMessages,
    agents_moved_in,
    has_any,
    list_calls,
    read_segment_calls,
    read_side_calls,
)
from scopes.merge.unclaimed_changes import Touch, list_touches, may_touch
from scopes.store.commit_chunks import CommitChunks
from scopes.store.objects import Commit
from scopes.store.repository import read_commit

MAX_TESTS: Final = 5  # test commands of a side that are reported, the last ones
_TEST_WORDS: Final = (b"test", b"tox", b"nox", b"rspec", b"phpunit", b"make check")
_WORK_KEY: Final = b"work "
_MOVED_KEY: Final = b"moved "


class SideWork(NamedTuple):
    """What the calls of one side did, oldest first.

    calls: those that set a plan or have an answer, as far as they decide
    runs: the last run of each of the last test commands
    touches: what may have changed files without a claim
    """

    calls: Sequence[SideCall] = ()
    runs: Sequence[CheckRun] = ()
    touches: Sequence[Touch] = ()


NO_WORK: Final = SideWork()


class _Place(NamedTuple):
    """The places of a call in a segment: the commits with its result and with the call, and the parts in them."""

    result: int
    result_part: int
    call: int
    call_part: int


class _Digest(NamedTuple):
    """What the calls of a segment did, and what of it depends on the commits below; see `SegmentCalls`."""

    places: tuple[_Place, ...]
    runs: tuple[CheckRun, ...]
    touches: tuple[Touch, ...]
    unanswered: frozenset[str]
    results: frozenset[str]
    is_complete: bool
    moved: frozenset[str]


def is_work(data: bytes) -> bool:
    """Return True if the stored bytes of a message may have a plan, an answer or a call that runs tests."""
    return has_any(data, MARKS) or (has_any(data, COMMAND_NAMES) and has_any(data, _TEST_WORDS))


_WANTED: Final = is_work, may_touch


def read_side_work(
    messages: ToolMessages, commits: Sequence[Commit], bases: Sequence[Oid], chunks: CommitChunks | None = None
) -> SideWork:
    """Return what the calls in commits above merge bases did; the commits are oldest first."""
    if isinstance(commits, CommitLine) and len(bases) == 1 and chunks is not None:
        found = _WorkReader(chunks, messages, commits, bases[0]).read()
        if found is not None:
            return found
    work, touching = read_side_calls(messages, commits, bases, *_WANTED)
    touches = [touch._replace(agent=None, absolute=()) for touch in list_touches(touching)]
    return SideWork(deciding_calls(work), _last_runs(_walk_runs(work)), touches)


class _WorkReader:
    """Reads the work of a linear history by segments."""

    def __init__(self, chunks: CommitChunks, messages: ToolMessages, commits: CommitLine, base: Oid) -> None:
        self._chunks = chunks
        self._messages = messages
        self._commits = commits
        self._base = base
        self._new: dict[bytes, bytes] = {}

    def read(self) -> SideWork | None:
        """Return the work; None if a segment cannot be read without the commits below it."""
        if len(self._commits.message_id_set) != len(self._commits):
            return None
        base = read_commit(self._messages.objects, self._base)
        unanswered = list_calls(self._messages, base, *_WANTED)
        digests = [(segment, self._digest_of(segment)) for segment in self._list_newest()]
        self._chunks.add_digests(self._new)
        for _, digest in digests:
            if not digest.is_complete or not unanswered.isdisjoint(digest.results):
                return None
            unanswered |= digest.unanswered
        calls = [self._read_call(segment, place) for segment, digest in digests for place in digest.places]
        runs = _last_runs(run for _, digest in reversed(digests) for run in reversed(digest.runs))
        return SideWork(deciding_calls(calls), runs, self._list_touches([digest for _, digest in digests]))

    def _list_newest(self) -> list[Segment]:
        """Return the segments with the newest commits, as many as are read of a side; the first one may be shorter."""
        found: list[Segment] = []
        left = MAX_COMMITS
        for segment in reversed(self._commits.segments):
            if left <= 0:
                break
            size = len(segment.ids)
            found.append(segment if size <= left else segment_of(self._commits.read_segment(segment)[-left:]))
            left -= size
        return found[::-1]

    def _digest_of(self, segment: Segment) -> _Digest:
        found = _find_digest(self._chunks, segment)
        if found is not None:
            return found
        digest = _read_digest(self._messages, self._commits.read_segment(segment)[-len(segment.ids) :])
        if len(segment.ids) >= MIN_KEPT:
            self._new[_key_of(segment)] = _pack(digest)
        return digest

    def _read_call(self, segment: Segment, place: _Place) -> SideCall:
        objects = self._messages.objects
        commits = [read_commit(objects, segment.oid(position)) for position in (place.result, place.call)]
        message, caller = (read_message_at(objects, commit.tree) for commit in commits)
        result, call = message.parts[place.result_part], caller.parts[place.call_part]
        return SideCall(call, result, message.id, caller.author.name, caller.id, message.time)

    def _list_touches(self, digests: Iterable[_Digest]) -> list[Touch]:
        """Return what touched files; a relative path counts only if the agent has not changed its directory before."""
        found: list[Touch] = []
        moved: set[str] = set()
        is_read = False
        for digest in digests:
            for touch in digest.touches:
                if touch.agent is not None and not is_read:
                    is_read = True
                    moved |= self._find_moved_before()
                is_known = touch.agent is None or touch.agent not in moved
                found.append(touch._replace(agent=None, named=touch.named if is_known else touch.absolute, absolute=()))
            moved |= digest.moved
        return found

    def _find_moved_before(self) -> frozenset[str]:
        """Return the agents that changed the directory of their shell before the merge base."""
        key = _MOVED_KEY + bytes.fromhex(self._base)
        data = self._chunks.find_digest(key)
        if data is not None:
            return frozenset(marshal.loads(data))  # noqa: S302 - our own file, with a checksum
        found = self._read_moved_before()
        self._chunks.add_digests({key: marshal.dumps(sorted(found))})
        return found

    def _read_moved_before(self) -> frozenset[str]:
        """Read which agents moved, in the segments below the merge base that are kept and in all other commits."""
        found: set[str] = set()
        oid, left, singles = self._base, MAX_COMMITS, 0
        while left > 0:
            segment = find_segment(self._chunks, oid)
            digest = None if segment is None or len(segment.ids) > left else _find_digest(self._chunks, segment)
            if segment is not None and digest is not None:
                found |= digest.moved
                oid, left = segment.below, left - len(segment.ids)
                continue
            commit = read_commit(self._messages.objects, oid)
            if len(commit.parents) != 1 or singles == MAX_SINGLE:
                return frozenset(found | agents_moved_in(self._messages, (oid,), left))
            found |= agents_moved_in(self._messages, (oid,), 1)
            oid, left, singles = commit.parents[0], left - 1, singles + 1
        return frozenset(found)


def keep_work(
    messages: ToolMessages, chunks: CommitChunks, segments: Iterable[tuple[Segment, Sequence[Commit]]]
) -> None:
    """Keep what the calls of segments did, given their commits, oldest first; of those that are long enough."""
    kept = [(segment, commits) for segment, commits in segments if len(segment.ids) >= MIN_KEPT]
    chunks.add_digests({_key_of(segment): _pack(_read_digest(messages, commits)) for segment, commits in kept})


def _key_of(segment: Segment) -> bytes:
    return b"%s%s %d" % (_WORK_KEY, bytes.fromhex(segment.newest), len(segment.ids))


def _find_digest(chunks: CommitChunks, segment: Segment) -> _Digest | None:
    """Return the kept digest of a segment."""
    key = _key_of(segment)
    data = chunks.find_digest(key) if chunks.has_digest(key) else None
    return None if data is None else _unpack(data)


def _read_digest(messages: ToolMessages, commits: Sequence[Commit]) -> _Digest:
    found = read_segment_calls(messages, commits, *_WANTED)
    work, touching = found.calls
    positions = {message_id_of(commit): position for position, commit in enumerate(commits)}
    named = all(call.message in positions and call.caller in positions for calls in found.calls for call in calls)
    is_complete = found.is_complete and named  # a commit of another program may have another id than its message
    places: list[_Place] = []
    if is_complete:
        bodies = _Bodies(messages, commits, positions)
        places = [place for call in deciding_calls(work) for place in filter(None, [bodies.find(call)])]
        is_complete = len(places) == len(deciding_calls(work))
    return _Digest(
        tuple(places),
        tuple(_last_runs(_walk_runs(work))),
        tuple(list_touches(touching)),
        found.unanswered,
        found.results,
        is_complete,
        found.moved,
    )


class _Bodies:
    """Finds the parts of calls in the messages of a segment."""

    def __init__(self, messages: ToolMessages, commits: Sequence[Commit], positions: Mapping[MessageId, int]) -> None:
        self._messages = messages
        self._commits = commits
        self._positions = positions

    def find(self, call: SideCall) -> _Place | None:
        """Return the place of a call; None if its messages do not have its parts."""
        result, caller = self._positions[call.message], self._positions[call.caller]
        parts = [read_message_at(self._messages.objects, self._commits[at].tree).parts for at in (result, caller)]
        if call.call is None or call.result not in parts[0] or call.call not in parts[1]:
            return None
        return _Place(result, parts[0].index(call.result), caller, parts[1].index(call.call))


def _pack(digest: _Digest) -> bytes:
    """Return a digest as bytes, with plain tuples: `marshal` writes no others."""
    return marshal.dumps((
        [tuple(place) for place in digest.places],
        [tuple(run) for run in digest.runs],
        [tuple(touch) for touch in digest.touches],
        sorted(digest.unanswered),
        sorted(digest.results),
        digest.is_complete,
        sorted(digest.moved),
    ))  # fmt: skip


def _unpack(data: bytes) -> _Digest:
    places, runs, touches, unanswered, results, is_complete, moved = marshal.loads(data)  # noqa: S302 - as above
    return _Digest(
        tuple(starmap(_Place, places)),
        tuple(starmap(CheckRun, runs)),
        tuple(starmap(Touch, touches)),
        frozenset(unanswered),
        frozenset(results),
        is_complete,
        frozenset(moved),
    )


def _walk_runs(calls: Sequence[SideCall]) -> Iterator[CheckRun]:
    """Yield the last run of each test command, newest first; the result of an earlier one is not read."""
    seen: set[str] = set()
    for call in reversed(calls):
        command = None if call.call is None else find_test_command(call.call)
        run = None if command is None or command in seen else read_test_run(command, call.result)
        if run is not None:
            seen.add(run.command)
            yield run


def _last_runs(runs: Iterable[CheckRun]) -> list[CheckRun]:
    """Return the last run of each of the last test commands, the one that ran last at the end, of runs newest first."""
    found: dict[str, CheckRun] = {}
    for run in runs:
        found.setdefault(run.command, run)
        if len(found) == MAX_TESTS:
            break
    return list(found.values())[::-1]
