"""Check a whole store: packs, objects, refs, files of dead processes, metadata, and every message.

`verify` reports what this finds, and `repair` what is left of it. A check that found something while other processes
write is repeated under the exclusive lock.
"""

from __future__ import annotations

import errno
import os
import platform
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from scopes import __version__
from scopes.errors import Busy, Corrupt, Inaccessible, NotFound, ScopesError
from scopes.history.messages import MESSAGE_FILE, header_of, is_root
from scopes.history.metadata import clocks_of_edit, read_clocks, read_metadata_at, write_metadata
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.model.conversation import decode_root
from scopes.model.message import decode
from scopes.result import Note, Result, plural
from scopes.store import refs
from scopes.store.config import machine_id
from scopes.store.git_program import find_git
from scopes.store.graph import walk_newest_first
from scopes.store.libgit2 import REPAIR, library_versions
from scopes.store.locks import LOCK_FILE, StoreLock
from scopes.store.maintenance import DEFAULT_PACK_THRESHOLD, estimate_loose_objects
from scopes.store.objects import Commit, try_write
from scopes.store.refs import OPERATIONS, PENDING
from scopes.store.repository import FORMAT_VERSION, Repository, read_commit
from scopes.store.transactions import list_leftovers, list_orphans
from scopes.store.trees import find_blob
from scopes.store.verify import (
    Finding,
    Quarantine,
    Repair,
    walk_file_defects,
    walk_leftover_defects,
    walk_object_defects,
    walk_pack_defects,
    walk_ref_defects,
    walk_repairs,
)

_MAX_NAME = 40


MoreChecks: TypeAlias = Sequence[Callable[[Repository], Iterable[Finding]]]


@dataclass
class StoreCheck:
    """What a check read and found."""

    conversations: int = 0
    branches: int = 0
    messages: int = 0
    findings: list[Finding] = field(default_factory=list)


def check_store(repository: Repository, more_checks: MoreChecks = (), *, locked: bool = False) -> StoreCheck:
    """Check the whole store; `locked` if the caller holds the exclusive lock.

    more_checks: what reads the refs of which this package knows nothing, such as agents and facts

    If a pack index is damaged, nothing else is read: libgit2 trusts its offsets, and the process might crash.
    """
    result = StoreCheck(findings=list(walk_pack_defects(repository)))
    if any(finding.where.endswith(".idx") for finding in result.findings):
        return result
    values: dict[str, str] = {}
    try:
        values = repository.list_refs()
    except ScopesError as error:
        result.findings.append(Finding("error", "refs", error.message, error.hint))
    tips = {ref: Oid(value) for ref, value in values.items() if not value.startswith(refs.SYMBOLIC)}
    branches = {ref: tip for ref, tip in tips.items() if ref.startswith(refs.HEADS)}
    seen: set[Oid] = set()
    result.findings += walk_file_defects(repository)
    result.findings += [defect.finding for defect in walk_object_defects(repository)]
    result.findings += [defect.finding() for defect in walk_ref_defects(repository, values)]
    result.findings += walk_leftover_defects(repository, locked=locked)
    result.findings += _metadata_defects(repository, tips)
    for ref, tip in branches.items():
        result.findings += _message_defects(repository, ref.removeprefix(refs.HEADS), tip, seen)
    for check in more_checks:
        result.findings += check(repository)
    result.conversations = len({ref.split("/")[2] for ref in branches})
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
            read_clocks(repository, read_commit(repository, metadata).tree)
        except Corrupt as error:
            yield Finding("error", where, error.message, error.hint)


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
    except ScopesError as error:
        yield Finding("error", where, error.message, error.hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Result):
    """The number of conversations, branches and messages that were read, and the defects found."""

    path: str
    conversations: int
    branches: int
    messages: int
    findings: tuple[Finding, ...]

    @property
    def sound(self) -> bool:
        """True if nothing worse than a warning was found."""
        return not any(finding.severity == "error" for finding in self.findings)

    @property
    def exit_code(self) -> int:
        """7 if data is damaged, as for any other command that reads damaged data; otherwise 0."""
        return 0 if self.sound else 7


def verify(repository: Repository, more_checks: MoreChecks = ()) -> Verification:
    """Check packs, objects, messages, refs and leftover files of the whole store.

    more_checks: what reads the refs of which this package knows nothing, such as agents and facts

    The store is read without a lock. A check that finds something is repeated under the exclusive lock, because another
    process may have moved refs in the meantime. If the lock file cannot be written, a note says so.

    Raises:
        Busy: something was found, and another process holds the lock.
    """
    with repository.from_disk():
        return _verify(repository, more_checks)


def _verify(repository: Repository, more_checks: MoreChecks) -> Verification:
    first = check_store(repository, more_checks)
    if not first.findings:
        return _verification(repository, first)
    try:
        with repository.lock.exclusive():
            return _verification(repository, check_store(repository, more_checks, locked=True))
    except Inaccessible as error:
        note = Note(f"{error.message}: a defect may be the work of another process", "run it again: scopes verify")
        return _verification(repository, first, note)


def _verification(repository: Repository, read: StoreCheck, *notes: Note) -> Verification:
    return Verification(
        path=repository.path,
        conversations=read.conversations,
        branches=read.branches,
        messages=read.messages,
        findings=tuple(dict.fromkeys(read.findings)),
        notes=notes,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired(Result):
    """The repairs, and the defects that remain; `quarantine` is the directory with the replaced files, if any."""

    path: str
    dry_run: bool
    repairs: tuple[Repair, ...]
    remaining: tuple[Finding, ...]
    quarantine: str | None

    @property
    def exit_code(self) -> int:
        """7 if data is still damaged, as for `verify`; otherwise 0."""
        return 7 if any(finding.severity == "error" for finding in self.remaining) else 0


def repair(
    repository: Repository, more_checks: MoreChecks = (), *, dry_run: bool = False, before: tuple[Repair, ...] = ()
) -> Repaired:
    """Repair the store under the exclusive lock, and check it again; with `dry_run` only list what would be repaired.

    more_checks: as for `verify`
    before: what `repair_unopened` has repaired

    Every object is read from disk: a copy in memory would hide that it is damaged there.

    Raises:
        Busy, Inaccessible, TooNew: the store cannot be written now.
    """
    repository.require_writable()
    quarantine = Quarantine(repository.path)
    with repository.lock.exclusive(), repository.from_disk():
        repairs = before + tuple(dict.fromkeys(walk_repairs(repository, quarantine, dry_run=dry_run)))
        repairs += tuple(_remove_damaged_requests(repository, dry_run=dry_run))
        remaining = () if dry_run else tuple(dict.fromkeys(check_store(repository, more_checks, locked=True).findings))
    return Repaired(
        path=repository.path,
        dry_run=dry_run,
        repairs=repairs,
        remaining=remaining,
        quarantine=quarantine.path if quarantine.is_used else None,
    )


def _remove_damaged_requests(repository: Repository, *, dry_run: bool) -> Iterator[Repair]:
    """Remove the damaged merge requests from the metadata of all conversations, in one operation.

    Their bytes stay in the earlier commits of the metadata: `undo` restores them.
    """
    tx = RefTransaction(repository)
    repairs: list[Repair] = []
    try:
        for ref, value in repository.list_refs(refs.META).items():
            damaged = _list_damaged_requests(repository, Oid(value))
            where = f"{ref.removeprefix(refs.META)}: metadata"
            for path in damaged:
                action = f"remove {describe_damaged_request(path)}, which is damaged; undo restores it"
                repairs.append(Repair(where, action))
            if damaged and not dry_run:
                tx.move_ref(ref, value, _remove_files(tx, Oid(value), damaged))
        if tx:
            tx.commit("repair", f"remove {len(repairs)} {plural(len(repairs), 'damaged merge request')}")
    except ScopesError:
        return  # reported again as a defect
    yield from repairs


def _remove_files(tx: RefTransaction, metadata: Oid, paths: list[str]) -> Oid:
    """Write the metadata without some files, as a change of this machine."""
    repository, removed = tx.repository, dict.fromkeys(paths)
    tree = read_commit(repository, metadata).tree
    clocks = clocks_of_edit(repository, tree, removed, lambda: machine_id(repository.config, tx.operation_id))
    return write_metadata(repository, metadata, {**removed, **clocks}, "remove damaged merge requests")


def _list_damaged_requests(repository: Repository, commit: Oid) -> list[str]:
    """Return the paths of the damaged merge requests; none if the metadata cannot be read: that is another defect."""
    try:
        return sorted(read_metadata_at(repository, commit).damaged)
    except ScopesError:
        return []


_TRIED_BYTES: Final = 16 << 10
_LOCK_SECONDS: Final = 1
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check; `state` is `ok`, `warning` or `failed`, `cure` the suggested remedy."""

    name: str
    state: str
    detail: str
    cure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis(Result):
    """The outcomes of all checks, in a fixed order."""

    checks: tuple[Check, ...]

    @property
    def exit_code(self) -> int:
        """1 if a check failed, otherwise 0."""
        return 1 if any(check.state == "failed" for check in self.checks) else 0


def doctor(path: str, open_store: Repository | ScopesError, more: Iterable[Check] = ()) -> Diagnosis:
    """Check the installation and the store at `path`; `open_store` is the opened store or its error (S0-23).

    more: checks of what is above the store, which follow.
    """
    checks = list(_program_checks())
    if isinstance(open_store, ScopesError):
        state = "warning" if open_store.kind == "not-found" else "failed"
        checks.append(Check("store", state, open_store.message, open_store.hint))
    else:
        checks += _store_checks(open_store)
        checks += _safety_checks(path)
    return Diagnosis(checks=(*checks, *more))


def _program_checks() -> Iterator[Check]:
    yield Check("scopes", "ok", f"{__version__}, Python {platform.python_version()} on {sys.platform}")
    yield Check("libraries", "ok", library_versions())
    program = find_git()
    if program is None:
        yield Check("git", "warning", "not installed", "install git: gc and the store's packing need it")
    else:
        yield Check("git", "ok", program)


def _store_checks(repository: Repository) -> Iterator[Check]:
    yield Check("store", "ok", repository.path)
    version = repository.format_version
    if version > FORMAT_VERSION:
        yield Check("format", "failed", f"{version}, newer than {FORMAT_VERSION}", "update scopes; reading still works")
    elif version < 1:
        yield Check(
            "format",
            "failed",
            "the store's configuration names none",
            f"git config scopes.formatVersion {FORMAT_VERSION}",
        )
    else:
        yield Check("format", "ok", str(version))
    try:
        repository.raw_ref(OPERATIONS)
    except Corrupt as error:
        yield Check("operation log", "failed", error.message, REPAIR)
    yield _check_writing(repository)
    durable = repository.durable
    yield Check(
        "durability", "ok" if durable else "warning", "full" if durable else "fast: a power cut may lose messages"
    )
    loose = estimate_loose_objects(repository)
    many = loose > 2 * DEFAULT_PACK_THRESHOLD
    yield Check("loose objects", "warning" if many else "ok", f"about {loose}", "scopes gc" if many else None)
    pending, leftovers = _find_leftovers(repository)
    if pending:
        yield Check(
            "pending operation", "warning", "one was interrupted", "the next command that writes will finish it"
        )
    if leftovers:
        yield Check("leftovers", "warning", f"{leftovers} files of processes that died", "scopes gc")


def _check_writing(repository: Repository) -> Check:
    """Write what a message may need, where git writes objects, and take it away again; then lock as an append does."""
    try:
        try_write(os.path.join(repository.path, "objects"), _TRIED_BYTES)
    except OSError as error:
        if error.errno in _FULL:
            cure = f"free some space on the disk of {repository.path}"
            return Check("writing", "failed", f"impossible: {os.strerror(error.errno).lower()}", cure)
        return Check("writing", "warning", "reading only", "check the permissions and the mount of the disk")
    if not os.path.exists(os.path.join(repository.path, LOCK_FILE)):
        return Check("writing", "ok", "possible")  # nobody has locked it, and doctor creates nothing
    try:
        with StoreLock(repository.path, timeout_seconds=_LOCK_SECONDS).shared():
            return Check("writing", "ok", "possible")
    except Busy as error:
        return Check("writing", "warning", error.message, error.hint)
    except (Corrupt, Inaccessible) as error:
        return Check("writing", "warning", f"reading only: {error.message}", error.hint)


def _find_leftovers(repository: Repository) -> tuple[bool, int]:
    """Return whether an operation was interrupted, and the number of files of dead processes.

    Only under the exclusive lock are they known to be of dead processes. Nothing is reported while another process
    writes.
    """
    pending, leftovers = repository.raw_ref(PENDING) is not None, len(list(list_leftovers(repository)))
    if not pending and not leftovers:
        return False, 0
    try:
        with StoreLock(repository.path, timeout_seconds=0).exclusive():
            return repository.raw_ref(PENDING) is not None, len(list_orphans(repository))
    except Busy:
        return False, 0
    except Inaccessible:
        return pending, leftovers


def _safety_checks(path: str) -> Iterator[Check]:
    mode = stat.S_IMODE(os.stat(path).st_mode)
    private = not mode & 0o077
    cure = None if private else f"chmod 700 {path}"
    yield Check("privacy", "ok" if private else "warning", f"mode {mode:04o}", cure)
    disk = os.statvfs(path)
    free_bytes = disk.f_bavail * disk.f_frsize
    low = free_bytes < 100 << 20
    yield Check("free space", "warning" if low else "ok", f"{free_bytes >> 20} MiB", "free some space" if low else None)
