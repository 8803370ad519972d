"""`verify`: read the whole store and report every defect; read-only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from scopes.errors import Inaccessible
from scopes.history.store_check import MORE, StoreCheck, check_store
from scopes.result import Note, Result
from scopes.store.fsck import Finding
from scopes.store.repository import Repository

MoreChecks: TypeAlias = Sequence[Callable[[Repository], Iterable[Finding]]]


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
    first = check_store(repository)
    run_more_checks(repository, first, more_checks)
    if not first.failed:
        return _verification(repository, first, first.findings)
    try:
        with repository.lock.exclusive():
            second = check_store(repository, first.failed, locked=True)
            run_more_checks(repository, second, more_checks)
    except Inaccessible as error:
        note = Note(f"{error.message}: a defect may be the work of another process", "run it again: scopes verify")
        return _verification(repository, first, first.findings, note)
    return _verification(repository, first, second.findings)


def run_more_checks(repository: Repository, result: StoreCheck, more_checks: MoreChecks) -> None:
    """Add the findings of further checks; nothing is read through a damaged pack index, which might crash."""
    if not any(finding.where.endswith(".idx") for finding in result.findings):
        for check in more_checks:
            result.add(MORE, check(repository))


def _verification(repository: Repository, read: StoreCheck, findings: list[Finding], *notes: Note) -> Verification:
    return Verification(
        path=repository.path,
        conversations=read.conversations,
        branches=read.branches,
        messages=read.messages,
        findings=tuple(dict.fromkeys(findings)),
        notes=notes,
    )
