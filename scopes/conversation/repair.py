"""`repair`: repair what `verify` finds, as far as nothing can be lost by it."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.history.store_check import check_store
from scopes.result import Result
from scopes.store.fsck import Finding
from scopes.store.repair import Quarantine, Repair, walk_repairs
from scopes.store.repository import Repository


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


def repair(repository: Repository, *, dry_run: bool = False) -> Repaired:
    """Repair the store under the exclusive lock, and check it again; with `dry_run` only list what would be repaired.

    Raises:
        Busy, Inaccessible, TooNew: the store cannot be written now.
    """
    repository.require_writable()
    quarantine = Quarantine(repository.path)
    with repository.lock.exclusive():
        repairs = tuple(dict.fromkeys(walk_repairs(repository, quarantine, dry_run=dry_run)))
        remaining = () if dry_run else tuple(dict.fromkeys(check_store(repository, locked=True).findings))
    return Repaired(
        path=repository.path,
        dry_run=dry_run,
        repairs=repairs,
        remaining=remaining,
        quarantine=quarantine.path if quarantine.is_used else None,
    )
