"""`doctor`: is everything here that scopes needs, and in a state to work? Looks, and changes nothing."""

from __future__ import annotations

import os
import platform
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from scopes import __version__
from scopes.errors import ScopesError
from scopes.result import Result
from scopes.store.git_program import find_git, run_git
from scopes.store.init import FORMAT_VERSION
from scopes.store.maintenance import DEFAULT_PACK_THRESHOLD, estimate_loose_objects
from scopes.store.recovery import list_leftovers
from scopes.store.refs import PENDING
from scopes.store.repository import Repository, library_versions


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: `state` is ok, warning or failed."""

    name: str
    state: str
    detail: str
    cure: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis(Result):
    """Every check, in a fixed order."""

    checks: tuple[Check, ...]

    @property
    def exit_code(self) -> int:
        """1 when something that is needed does not work."""
        return 1 if any(check.state == "failed" for check in self.checks) else 0


def doctor(path: str, open_store: Repository | ScopesError) -> Diagnosis:
    """Check the program, the git program and the store at `path`, which was opened or could not be (S0-23)."""
    checks = [*_program_checks()]
    if isinstance(open_store, ScopesError):
        state = "warning" if open_store.kind == "not-found" else "failed"
        checks.append(Check("store", state, open_store.message, open_store.hint))
    else:
        checks += _store_checks(open_store)
        checks += _safety_checks(path)
    return Diagnosis(checks=tuple(checks))


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
        yield Check("format", "failed", "the store's configuration names none", "git config scopes.formatVersion 1")
    else:
        yield Check("format", "ok", str(version))
    writable = os.access(repository.path, os.W_OK)
    cure = None if writable else "check the permissions and the mount of the disk"
    yield Check("writing", "ok" if writable else "warning", "possible" if writable else "reading only", cure)
    durable = repository.durable
    yield Check(
        "durability", "ok" if durable else "warning", "full" if durable else "fast: a power cut may lose messages"
    )
    loose = estimate_loose_objects(repository)
    many = loose > 2 * DEFAULT_PACK_THRESHOLD
    yield Check("loose objects", "warning" if many else "ok", f"about {loose}", "scopes gc" if many else None)
    if repository.raw_ref(PENDING) is not None:
        yield Check("pending operation", "warning", "one was interrupted", "the next command that writes finishes it")
    leftovers = len(list(list_leftovers(repository)))
    if leftovers:
        yield Check("leftovers", "warning", f"{leftovers} files of processes that died", "scopes gc")


def _safety_checks(path: str) -> Iterator[Check]:
    mode = stat.S_IMODE(os.stat(path).st_mode)
    private = not mode & 0o077
    cure = None if private else f"chmod 700 {path}"
    yield Check("privacy", "ok" if private else "warning", f"mode {mode:04o}", cure)
    room = os.statvfs(path)
    free = room.f_bavail * room.f_frsize
    short = free < 100 << 20
    yield Check("free space", "warning" if short else "ok", f"{free >> 20} MiB", "free some space" if short else None)
    if find_git() is not None:
        try:
            run_git(path, "rev-parse", "--git-dir")
        except ScopesError as error:
            yield Check("git and the store", "warning", error.message, error.hint)
