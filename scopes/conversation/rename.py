"""`rename`: give a conversation another title or id, or a branch another name."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.conversation.new import refuse_taken
from scopes.errors import Refused
from scopes.history.metadata import branch_change, read_metadata, title_change, write_metadata
from scopes.history.operation_record import record_operation
from scopes.history.revparse import find_active_branch, find_branch, find_conversation, list_branch_tips
from scopes.ids import BranchName, ConversationId, OperationId, parse_branch_name, parse_conversation_id
from scopes.model.conversation import BranchEntry
from scopes.model.operation import RefChange
from scopes.result import Result
from scopes.store import refs as names
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write
from scopes.store.trees import Change


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
            commit = write_metadata(repository, before.commit, title_change(after), "set the title")
            change = RefChange(names.meta_ref(chosen), before.commit, commit)
            operation = record_operation(repository, "rename", f"set the title of {chosen}", [change]).id
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
        changes: list[RefChange] = []
        for branch, tip in list_branch_tips(repository, chosen).items():
            changes.append(RefChange(names.branch_ref(chosen, branch), tip, None))
            changes.append(RefChange(names.branch_ref(wanted, branch), None, tip))
        meta, old_active = names.meta_ref(chosen), names.active_ref(chosen)
        changes.append(RefChange(meta, repository.find_ref(meta), None))
        changes.append(RefChange(names.meta_ref(wanted), None, repository.find_ref(meta)))
        changes.append(RefChange(old_active, repository.find_ref(old_active), None))
        target = names.SYMBOLIC + names.branch_ref(wanted, active)
        changes.append(RefChange(names.active_ref(wanted), None, target))
        operation = record_operation(repository, "rename", f"rename {chosen} to {wanted}", changes)
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
        before = read_metadata(repository, chosen)
        described: dict[str, Change] = branch_change(name, None)
        described |= branch_change(wanted, before.branches.get(name, BranchEntry()))
        for child, entry in before.branches.items():
            if entry.parent == name and child != name:
                described |= branch_change(child, _with_parent(entry, wanted))
        commit = write_metadata(repository, before.commit, described, f"rename {name} to {wanted}")
        old_ref, new_ref = names.branch_ref(chosen, name), names.branch_ref(chosen, wanted)
        changes = [
            RefChange(old_ref, tips[name], None),
            RefChange(new_ref, None, tips[name]),
            RefChange(names.meta_ref(chosen), before.commit, commit),
        ]
        active = names.active_ref(chosen)
        if repository.find_ref(active) == names.SYMBOLIC + old_ref:
            changes.append(RefChange(active, names.SYMBOLIC + old_ref, names.SYMBOLIC + new_ref))
        operation = record_operation(repository, "rename", f"rename {chosen}/{name} to {wanted}", changes)
    return Renamed(conversation=chosen, what="branch", old=name, new=wanted, operation=operation.id)


def _with_parent(entry: BranchEntry, parent: str) -> BranchEntry:
    return replace(entry, parent=BranchName(parent))
