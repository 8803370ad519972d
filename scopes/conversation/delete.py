"""`delete` and `delete-branch`: move a conversation, or one branch, to the trash; `undo` restores it.

`list_deleted` lists the conversations in the trash.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from shlex import quote
from typing import NamedTuple

from scopes.errors import Corrupt, NotFound, Refused
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.metadata import read_metadata, read_metadata_at
from scopes.history.remote_branches import read_remote_branches
from scopes.history.revisions import MAIN, find_root_commit
from scopes.history.titles import heading_of, walk_main
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.model.conversation import branch_id
from scopes.model.operation import Operation
from scopes.result import Note, Result
from scopes.store import refs
from scopes.store.graph import is_ancestor
from scopes.store.operation_log import walk_operations
from scopes.store.remote_file import BUNDLE
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDeleted(Result):
    """A conversation that was moved to the trash; with `dry_run` it would be, and `branch_names` are its branches."""

    conversation: ConversationId
    branches: int
    operation: OperationId | None
    dry_run: bool = False
    branch_names: tuple[BranchName, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDeleted(Result):
    """A branch that was moved to the trash, or with `dry_run` would be, and its last tip."""

    conversation: ConversationId
    branch: BranchName
    tip: Oid
    operation: OperationId | None
    dry_run: bool = False


class DeletedRow(NamedTuple):
    """A conversation in the trash; `undo` with `operation` restores it. `title` may be its first prompt."""

    id: ConversationId
    title: str | None
    branches: int
    deleted_at: str
    operation: OperationId


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedList(Result):
    """The conversations in the trash, the one deleted last first."""

    deleted: tuple[DeletedRow, ...]


def list_deleted(repository: Repository) -> DeletedList:
    """List the conversations in the trash, the one deleted last first."""
    trash = repository.list_refs(refs.TRASH)
    rows = []
    for _, operation in walk_operations(repository):
        for change in operation.changes if operation.kind == "delete" else ():
            conversation, _, meta = change.ref.removeprefix(refs.TRASH).partition(f"/{operation.id}/")
            if meta == "meta" and change.ref in trash:
                rows.append(_deleted_row(repository, ConversationId(conversation), operation, trash))
    return DeletedList(deleted=tuple(rows))


def _deleted_row(
    repository: Repository, conversation: ConversationId, operation: Operation, trash: Mapping[str, str]
) -> DeletedRow:
    top = f"{refs.TRASH}{conversation}/{operation.id}/"
    tips = {
        BranchName(ref.removeprefix(f"{top}heads/")): Oid(oid)
        for ref, oid in trash.items()
        if ref.startswith(f"{top}heads/")
    }
    heading = None
    with suppress(Corrupt, NotFound):
        title = read_metadata_at(repository, Oid(trash[f"{top}meta"])).title
        heading = heading_of(repository, title, walk_main(repository, tips))
    return DeletedRow(conversation, heading and heading.text, len(tips), operation.time, operation.id)


def delete(repository: Repository, conversation: str, *, dry_run: bool = False) -> ConversationDeleted:
    """Move a conversation with all its branches and metadata to the trash; with `dry_run` change nothing."""
    with nullcontext() if dry_run else exclusive_write(repository):
        handle = StoreHandle(repository).conversation(conversation)  # under the lock
        tips = handle.tips
        if dry_run:
            return ConversationDeleted(
                conversation=handle.id, branches=len(tips), operation=None, dry_run=True, branch_names=tuple(tips)
            )
        there = _list_remotes(read_remote_branches(repository, find_root_commit(repository, handle.id)))
        tx = Transaction(repository, handle.id)
        for branch in tips:
            tx.trash_branch(branch)
        tx.trash_metadata()
        tx.deactivate()
        operation = tx.commit("delete", f"delete {handle.id}")
    notes = tuple(_note_remote(remote, handle.id) for remote in there)
    return ConversationDeleted(conversation=handle.id, branches=len(tips), operation=operation.id, notes=notes)


def _note_remote(remote: str, name: str) -> Note:
    return Note(
        f"{remote} still has {name}",
        f"delete it there, too: scopes push --delete {quote(name)} --remote {quote(remote)}",
    )


def delete_branch(
    repository: Repository, conversation: str, branch: str, *, force: bool = False, dry_run: bool = False
) -> BranchDeleted:
    """Move a branch to the trash; with `dry_run` change nothing.

    Raises:
        Refused: it is main or the active branch, or has messages of its own and `force` is not given (S4-7).
    """
    handle = StoreHandle(repository).conversation(conversation)
    with nullcontext() if dry_run else exclusive_write(repository):
        target = handle.branch(branch)
        tip = _check_deletable(target, force=force)
        if dry_run:
            return BranchDeleted(conversation=handle.id, branch=target.name, tip=tip, operation=None, dry_run=True)
        key = branch_id(target.name, read_metadata(repository, handle.id).branches.get(target.name))
        known = read_remote_branches(repository, find_root_commit(repository, handle.id))
        there = _list_remotes({remote: branches for remote, branches in known.items() if key in branches})
        tx = Transaction(repository, handle.id)
        tx.trash_branch(target.name)
        tx.set_branch_entry(target.name, None)
        operation = tx.commit("delete-branch", f"delete {target}", metadata_message=f"delete {target.name}")
    notes = tuple(_note_remote(remote, f"{handle.id}/{target.name}") for remote in there)
    return BranchDeleted(conversation=handle.id, branch=target.name, tip=tip, operation=operation.id, notes=notes)


def _list_remotes(known: Mapping[str, object]) -> list[str]:
    """Return the remotes that have something; what came from a bundle is on none."""
    return [remote for remote in known if remote != BUNDLE]


def _check_deletable(branch: BranchHandle, *, force: bool) -> Oid:
    """Return the tip of a branch that may be deleted."""
    conversation, name = branch.conversation, branch.name
    if name == MAIN:
        raise Refused(
            "the branch main cannot be deleted", hint=f"delete the conversation: scopes delete {quote(conversation.id)}"
        )
    if name == conversation.active_branch.name:
        raise Refused(f"{name} is the active branch", hint=f"first: scopes switch {quote(conversation.id)} main")
    tips = conversation.tips
    tip = tips.pop(name)
    if not force and not any(is_ancestor(branch.repository, tip, other) for other in tips.values()):
        raise Refused(
            f"{name} has messages that no other branch has",
            hint="delete it anyway with --force; undo restores it",
        )
    return tip
