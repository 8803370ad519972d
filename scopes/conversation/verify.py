"""`verify`: read the whole store and report every defect; read-only."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import Inaccessible
from scopes.history.store_check import MoreChecks, StoreCheck, check_store
from scopes.result import Note, Result
from scopes.store.fsck import Finding
from scopes.store.repository import Repository


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
