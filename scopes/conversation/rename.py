"""`rename`: change the title or id of a conversation, or the name of a branch."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.errors import Refused
from scopes.history.conversations import refuse_taken
from scopes.history.handles import StoreHandle
from scopes.history.new_names import parse_new_branch_name, parse_new_conversation_id
from scopes.history.transaction import RefTransaction, Transaction
from scopes.ids import ConversationId, OperationId
from scopes.merge.in_progress import follow_rename
from scopes.merge.requests import rename_in_requests
from scopes.model.conversation import BranchEntry, branch_id
from scopes.result import Note, Result
from scopes.store import refs
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed(Result):
    """An old and a new name; `what` is `title`, `conversation` or `branch`."""

    conversation: ConversationId
    what: str
    old: str | None
    new: str | None
    operation: OperationId | None


def rename_title(repository: Repository, conversation: str, title: str) -> Renamed:
    """Set the title of a conversation; an empty title removes it."""
    with exclusive_write(repository):
        handle = StoreHandle(repository).conversation(conversation)  # under the lock
        before, after = handle.metadata.title, title.strip() or None
        operation = None
        notes: tuple[Note, ...] = ()
        if after != before:
            from scopes.secrets.count import title_note

            notes = () if after is None else title_note(repository, after)
            tx = Transaction(repository, handle.id)
            tx.set_title(after)
            operation = tx.commit("rename", f"set the title of {handle.id}", metadata_message="set the title").id
    return Renamed(conversation=handle.id, what="title", old=before, new=after, operation=operation, notes=notes)


def rename_conversation(repository: Repository, conversation: str, new: str) -> Renamed:
    """Change the id of a conversation; its root commit, which identifies it on other machines, stays the same.

    Raises:
        Refused: the id is taken.
    """
    handle, new_id = StoreHandle(repository).conversation(conversation), parse_new_conversation_id(new)
    old_id = handle.id
    with exclusive_write(repository):
        refuse_taken(repository, new_id)
        active = handle.active_branch.name
        tx = RefTransaction(repository)
        for branch, tip in handle.tips.items():
            tx.rename_ref(refs.branch_ref(old_id, branch), refs.branch_ref(new_id, branch), tip)
        meta, old_active = refs.meta_ref(old_id), refs.active_ref(old_id)
        tx.rename_ref(meta, refs.meta_ref(new_id), repository.find_ref(meta))
        tx.move_ref(old_active, repository.find_ref(old_active), None)
        tx.move_ref(refs.active_ref(new_id), None, refs.SYMBOLIC + refs.branch_ref(new_id, active))
        operation = tx.commit("rename", f"rename {old_id} to {new_id}")
    return Renamed(conversation=new_id, what="conversation", old=old_id, new=new_id, operation=operation.id)


def rename_branch(repository: Repository, conversation: str, branch: str, new: str) -> Renamed:
    """Rename a branch, also in its metadata, as the parent of another branch, in merge requests and in what is in
    progress.

    Raises:
        Refused: the name is taken, or the branch is main.
    """
    handle, new_name = StoreHandle(repository).conversation(conversation), parse_new_branch_name(repository, new)
    with exclusive_write(repository):
        name, tips = handle.branch(branch).name, handle.tips
        if name == "main":
            raise Refused("the branch main cannot be renamed", hint="create another branch from it: scopes branch")
        if new_name in tips:
            raise Refused(f"branch {new_name!a} already exists in {handle.id}", hint="choose another name")
        entries = handle.metadata.branches
        tx = Transaction(repository, handle.id)
        tx.rename_branch(name, new_name, tips[name])
        tx.set_branch_entry(name, None)
        renamed = entries.get(name, BranchEntry())
        tx.set_branch_entry(new_name, replace(renamed, id=branch_id(name, renamed), name=None))
        for child, entry in entries.items():
            followed = follow_rename(entry, name, new_name)
            if followed != entry and child != name:
                tx.set_branch_entry(child, followed)
        rename_in_requests(tx, handle.metadata, name, new_name)
        active = repository.find_ref(refs.active_ref(handle.id))
        if active == refs.SYMBOLIC + refs.branch_ref(handle.id, name):
            tx.activate(new_name)
        operation = tx.commit(
            "rename", f"rename {handle.id}/{name} to {new_name}", metadata_message=f"rename {name} to {new_name}"
        )
    return Renamed(conversation=handle.id, what="branch", old=name, new=new_name, operation=operation.id)
