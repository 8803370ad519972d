"""`doctor`: check the installation, the git program and the store for problems; what it tries it takes away again."""

from __future__ import annotations

import errno
import os
import platform
import stat
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from scopes import __version__
from scopes.errors import Busy, Corrupt, Inaccessible, ScopesError
from scopes.result import Result
from scopes.store.error_translation import REPAIR
from scopes.store.git_program import find_git
from scopes.store.init import FORMAT_VERSION
from scopes.store.libgit2 import library_versions
from scopes.store.locks import LOCK_FILE, StoreLock
from scopes.store.loose_writer import try_write
from scopes.store.maintenance import DEFAULT_PACK_THRESHOLD, estimate_loose_objects
from scopes.store.recovery import list_leftovers, list_orphans
from scopes.store.refs import OPERATIONS, PENDING
from scopes.store.repository import Repository

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
