"""Undo of changes of metadata that another machine may have: the old values come back as a new change.

As a rule `undo` moves the metadata of a conversation back to an earlier commit. If a remote knows the conversation,
that is not enough: the value that is taken back has the higher clock, and the next fetch would bring it again. So the
old values are written with clocks above those of now. What a fetch changed is taken back exactly.
"""

from __future__ import annotations

from scopes.history.metadata import write_metadata
from scopes.history.registers import CLOCKS, clocks_of_edit
from scopes.history.revisions import find_root_commit
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid
from scopes.model.operation import RefChange
from scopes.store import refs
from scopes.store.machine import machine_id
from scopes.store.repository import Objects, Repository, read_commit_stub
from scopes.store.trees import BlobChange, diff_blobs


def restore_shared_metadata(
    repository: Repository, tx: RefTransaction, subject: str, *, dry_run: bool
) -> RefTransaction:
    """Return the changes of an undo or redo, in which shared metadata is not moved back but changed again.

    A dry run writes nothing. Metadata whose values have changed since is left as it is: the undo refuses it.
    """
    remotes = repository.list_refs(refs.REMOTES)
    if not remotes or any(change.ref.startswith(refs.REMOTES) for change in tx.list_changes()):
        return tx
    shared = {name.rpartition("/")[2] for name in remotes}
    result = RefTransaction(repository)
    for change in tx.list_changes():
        result.move_ref(*_restore(repository, result, change, shared, subject, dry_run=dry_run))
    return result


def _restore(
    repository: Repository, tx: RefTransaction, change: RefChange, shared: set[str], subject: str, *, dry_run: bool
) -> RefChange:
    """Return what becomes of one ref."""
    current = repository.find_ref(change.ref)
    if not change.ref.startswith(refs.META) or change.old is None or change.new is None or current is None:
        return change
    if find_root_commit(repository, ConversationId(change.ref.removeprefix(refs.META))) not in shared:
        return change
    if list_value_changes(repository, current, change.old):
        return change
    if dry_run:
        return change._replace(old=current)
    values = list_value_changes(repository, current, change.new)
    clocks = clocks_of_edit(
        repository, _tree_of(repository, current), values, lambda: machine_id(repository, tx.operation_id)
    )
    new = write_metadata(repository, Oid(current), {**values, **clocks}, subject)
    return change._replace(old=current, new=new)


def list_value_changes(objects: Objects, before: str, after: str) -> dict[str, BlobChange]:
    """Return the files of the metadata whose values differ between two commits, with those of the second one."""
    if before == after:
        return {}
    differing = diff_blobs(objects, _tree_of(objects, before), _tree_of(objects, after))
    return {path: new for path, _, new in differing if not path.startswith(f"{CLOCKS}/")}


def _tree_of(objects: Objects, commit: str) -> Oid:
    return read_commit_stub(objects, Oid(commit)).tree
