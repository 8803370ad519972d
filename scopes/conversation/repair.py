"""`repair`: repair what `verify` finds, as far as nothing can be lost by it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from scopes.errors import ScopesError
from scopes.history.metadata import read_metadata_at, write_metadata
from scopes.history.registers import clocks_of_edit
from scopes.history.store_check import MoreChecks, check_store, describe_damaged_request
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.result import Result, plural
from scopes.store import refs
from scopes.store.fsck import Finding
from scopes.store.machine import machine_id
from scopes.store.repair import Quarantine, Repair, walk_repairs
from scopes.store.repository import Repository, read_commit_stub


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
    tree = read_commit_stub(repository, metadata).tree
    clocks = clocks_of_edit(repository, tree, removed, lambda: machine_id(repository, tx.operation_id))
    return write_metadata(repository, metadata, {**removed, **clocks}, "remove damaged merge requests")


def _list_damaged_requests(repository: Repository, commit: Oid) -> list[str]:
    """Return the paths of the damaged merge requests; none if the metadata cannot be read: that is another defect."""
    try:
        return sorted(read_metadata_at(repository, commit).damaged)
    except ScopesError:
        return []
