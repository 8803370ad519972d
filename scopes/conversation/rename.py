"""`rename`: give a conversation another title or id, or a branch another name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.conversation.new import refuse_taken
from scopes.errors import Refused
from scopes.history.metadata import read_metadata
from scopes.history.revparse import find_active_branch, find_branch, find_conversation, list_branch_tips
from scopes.history.transaction import RefTransaction, Transaction
from scopes.ids import ConversationId, OperationId, parse_branch_name, parse_conversation_id
from scopes.model.conversation import BranchEntry
from scopes.result import Result
from scopes.store import refs as names
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed(Result):
    """What has another name now; `what` is title, conversation or branch."""

    conversation: ConversationId
    what: str
    old: str | None
    new: str | None
    operation: OperationId | None


def rename_title(repository: Repository, conversation: str, title: str) -> Renamed:
    """Set a conversation's title; an empty one removes it."""
    with exclusive_write(repository):
        chosen = find_conversation(repository, conversation)  # it may have gone while we waited
        before = read_metadata(repository, chosen)
        after = title.strip() or None
        operation = None
        if after != before.title:
            tx = Transaction(repository, chosen)
            tx.set_title(after)
            operation = tx.commit("rename", f"set the title of {chosen}", metadata_message="set the title").id
    return Renamed(conversation=chosen, what="title", old=before.title, new=after, operation=operation)


def rename_conversation(repository: Repository, conversation: str, new: str) -> Renamed:
    """Give a conversation another id; its root, and so its identity on other machines, stays.

    Raises:
        Refused: the id is taken.
    """
    chosen, wanted = find_conversation(repository, conversation), parse_conversation_id(new)
    with exclusive_write(repository):
        refuse_taken(repository, wanted)
        active = find_active_branch(repository, chosen)
        tx = RefTransaction(repository)
        for branch, tip in list_branch_tips(repository, chosen).items():
            tx.rename_ref(names.branch_ref(chosen, branch), names.branch_ref(wanted, branch), tip)
        meta, old_active = names.meta_ref(chosen), names.active_ref(chosen)
        tx.rename_ref(meta, names.meta_ref(wanted), repository.find_ref(meta))
        tx.move_ref(old_active, repository.find_ref(old_active), None)
        tx.move_ref(names.active_ref(wanted), None, names.SYMBOLIC + names.branch_ref(wanted, active))
        operation = tx.commit("rename", f"rename {chosen} to {wanted}")
    return Renamed(conversation=wanted, what="conversation", old=chosen, new=wanted, operation=operation.id)


def rename_branch(repository: Repository, conversation: str, branch: str, new: str) -> Renamed:
    """Give a branch another name; what is known of it moves along, also where it is another branch's parent.

    Raises:
        Refused: the name is taken, or the branch is main.
    """
    chosen, wanted = find_conversation(repository, conversation), parse_branch_name(new)
    with exclusive_write(repository):
        name = find_branch(repository, chosen, branch)
        tips = list_branch_tips(repository, chosen)
        if name == "main":
            raise Refused("the branch main keeps its name", hint="begin another from it: scopes conv branch")
        if wanted in tips:
            raise Refused(f"there is a branch {wanted!a} in {chosen} already", hint="choose another name")
        entries = read_metadata(repository, chosen).branches
        tx = Transaction(repository, chosen)
        tx.rename_branch(name, wanted, tips[name])
        tx.describe_branch(name, None)
        tx.describe_branch(wanted, entries.get(name, BranchEntry()))
        for child, entry in entries.items():
            if entry.parent == name and child != name:
                tx.describe_branch(child, replace(entry, parent=wanted))
        if repository.find_ref(names.active_ref(chosen)) == names.SYMBOLIC + names.branch_ref(chosen, name):
            tx.activate(wanted)
        operation = tx.commit(
            "rename", f"rename {chosen}/{name} to {wanted}", metadata_message=f"rename {name} to {wanted}"
        )
    return Renamed(conversation=chosen, what="branch", old=name, new=wanted, operation=operation.id)
