"""Check a whole store: packs, objects, refs, files of dead processes, metadata, and every message.

`verify` reports what this finds, and `repair` what is left of it. A check that found something while other processes
write is repeated under the exclusive lock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from scopes.clock import format_seconds, is_valid_seconds, seconds_of
from scopes.errors import Corrupt, NotFound, ScopesError
from scopes.history.messages import MESSAGE_FILE, header_of, is_root
from scopes.history.metadata import read_metadata_at
from scopes.history.registers import read_clocks
from scopes.ids import Oid
from scopes.model.codec import decode
from scopes.model.conversation import decode_root
from scopes.store import refs
from scopes.store.fsck import (
    REPAIR,
    Finding,
    walk_leftover_defects,
    walk_object_defects,
    walk_pack_defects,
    walk_ref_defects,
)
from scopes.store.graph import walk_newest_first
from scopes.store.objects import Commit
from scopes.store.operation_log import walk_operation_commits
from scopes.store.repository import Repository, read_commit_stub
from scopes.store.trees import find_blob

PACKS, OBJECTS, REFS, LEFTOVERS, METADATA, MESSAGES = "packs", "objects", "refs", "leftovers", "metadata", "messages"
TIMES, MORE = "times", "more"
_MAX_NAME = 40
_FAR_SECONDS = 24 * 3600
ALL_CHECKS = frozenset({PACKS, OBJECTS, REFS, LEFTOVERS, METADATA, MESSAGES, TIMES})


@dataclass
class StoreCheck:
    """What a check read and found; `failed` are the checks that found something."""

    conversations: int = 0
    branches: int = 0
    messages: int = 0
    findings: list[Finding] = field(default_factory=list)
    failed: set[str] = field(default_factory=set)

    def add(self, check: str, findings: Iterable[Finding]) -> None:
        """Add the findings of a check."""
        before = len(self.findings)
        self.findings += findings
        if len(self.findings) > before:
            self.failed.add(check)


def check_store(repository: Repository, checks: Collection[str] = ALL_CHECKS, *, locked: bool = False) -> StoreCheck:
    """Run some of the checks; `locked` if the caller holds the exclusive lock.

    If a pack index is damaged, nothing else is read: libgit2 trusts its offsets, and the process might crash.
    """
    result = StoreCheck()
    if PACKS in checks:
        result.add(PACKS, walk_pack_defects(repository))
    if any(finding.where.endswith(".idx") for finding in result.findings):
        return result
    try:
        values = repository.list_refs()
    except ScopesError as error:
        result.add(REFS, [Finding("error", "refs", error.message, error.hint)])
        values = {}
    tips = {ref: Oid(value) for ref, value in values.items() if not value.startswith(refs.SYMBOLIC)}
    found = {
        OBJECTS: (defect.finding for defect in walk_object_defects(repository, tips)),
        REFS: (defect.finding() for defect in walk_ref_defects(repository, values)),
        LEFTOVERS: walk_leftover_defects(repository, locked=locked),
        METADATA: _metadata_defects(repository, tips),
        TIMES: _operation_time_defects(repository),
    }
    for check, findings in found.items():  # nothing is read before it is added
        if check in checks:
            result.add(check, findings)
    branches = {ref: tip for ref, tip in tips.items() if ref.startswith(refs.HEADS)}
    seen: set[Oid] = set()
    if MESSAGES in checks:
        for ref, tip in branches.items():
            result.add(MESSAGES, _message_defects(repository, ref.removeprefix(refs.HEADS), tip, seen))
    result.conversations = len({refs.split_branch_ref(ref) and ref.split("/")[2] for ref in branches})
    result.branches = len(branches)
    result.messages = len(seen)
    return result


def _metadata_defects(repository: Repository, tips: Mapping[str, Oid]) -> Iterator[Finding]:
    """Decode the metadata of every conversation as it is now: branch entries, merge requests, tags."""
    for ref, commit in tips.items():
        if ref.startswith(refs.META):
            where = f"{ref.removeprefix(refs.META)}: metadata"
            cure = "find the operation that wrote it, to undo it: scopes operations list"
            try:
                damaged = read_metadata_at(repository, commit).damaged
            except ScopesError as error:
                yield Finding("error", where, error.message, cure)
            else:
                for path in sorted(damaged):
                    yield Finding("error", where, f"{describe_damaged_request(path)} is damaged", REPAIR)
            yield from _clock_defects(repository, where, commit)


def _clock_defects(repository: Repository, where: str, metadata: Oid) -> Iterator[Finding]:
    """Decode the clocks of a conversation's metadata; a change of the same thing writes a new one."""
    with suppress(NotFound):  # reported with the objects
        try:
            read_clocks(repository, read_commit_stub(repository, metadata).tree)
        except Corrupt as error:
            yield Finding("error", where, error.message, error.hint)


def _operation_time_defects(repository: Repository) -> Iterator[Finding]:
    """Check the commit times of the operation log; what else is damaged in it is found with the refs."""
    with suppress(ScopesError):
        for commit in walk_operation_commits(repository):
            yield from _time_defects(f"operations: {commit.oid}", commit)


def _time_defects(where: str, commit: Commit) -> Iterator[Finding]:
    if not is_valid_seconds(commit.time):
        problem = f"its commit time, {commit.time} seconds since 1970, is beyond the year 9999"
        yield Finding("warning", where, problem)


def _contradictory_time(where: str, commit: Commit, time: str | None) -> Iterator[Finding]:
    """Compare the time of a commit, by which lists are sorted, with that of the message, which is shown."""
    if time is not None and is_valid_seconds(commit.time) and abs(commit.time - seconds_of(time)) > _FAR_SECONDS:
        problem = f"the time of the commit, {format_seconds(commit.time)}, contradicts that of the message, {time}"
        yield Finding("warning", where, problem, "ask who wrote it; its place in lists follows the commit")


def describe_damaged_request(path: str) -> str:
    """Return the name of a merge request that cannot be read; the path is that in the metadata."""
    name = path.rpartition("/")[2]
    return f"the merge request {name[:_MAX_NAME]!a}"


def _message_defects(repository: Repository, branch: str, tip: Oid, seen: set[Oid]) -> Iterator[Finding]:
    """Decode every message of a branch that is not in `seen`, and add it; the walk asks for none twice."""
    ended_at_root = tip in seen
    try:
        for commit in walk_newest_first(repository, [tip], hidden=seen):
            if is_root(commit):
                ended_at_root = True
            else:
                seen.add(commit.oid)
            yield from _defects_of(repository, branch, commit)
            ended_at_root = ended_at_root or any(parent in seen for parent in commit.parents)
    except ScopesError as error:
        yield Finding("error", branch, f"its history breaks off: {error.message}", error.hint)
        return
    if not ended_at_root:
        yield Finding("error", branch, "its history does not begin with the root of a conversation")


def _defects_of(repository: Repository, branch: str, commit: Commit) -> Iterator[Finding]:
    where = f"{branch}: message {header_of(commit).id}"
    yield from _time_defects(where, commit)
    try:
        data = find_blob(repository, commit.tree, MESSAGE_FILE)
        if data is None:
            raise NotFound("the commit holds no message")
        if is_root(commit):
            decode_root(data)
            return
        message = decode(data)
        if message.id != header_of(commit).id:
            yield Finding("error", where, "commit and message disagree about its id")
        yield from _contradictory_time(where, commit, message.time)
    except ScopesError as error:
        yield Finding("error", where, error.message, error.hint)
