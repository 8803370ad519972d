"""`rewind`: move a branch back to an earlier message; `undo` restores the removed messages."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import Invalid, Refused
from scopes.history.messages import head_of, is_root, walk_heads_newest_first
from scopes.history.revisions import resolve_branch, resolve_revision
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.result import Result
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.repository import Repository, read_commit
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRewound(Result):
    """A rewound branch: `messages` is the number of removed messages, `message` the last remaining one."""

    conversation: ConversationId
    branch: BranchName
    messages: int
    old: Oid
    new: Oid
    message: MessageId | None
    operation: OperationId | None


def rewind(
    repository: Repository,
    conversation: str,
    *,
    branch: str | None = None,
    to: str | None = None,
    count: int | None = None,
) -> BranchRewound:
    """Move a branch back to the message `to`, or by `count` messages (default: one).

    Raises:
        Refused: the message is not in the history of the branch.
        Invalid: both are given, or the count is not positive.
        NotFound: the branch has fewer messages than `count`.
    """
    if to is not None and count is not None:
        raise Invalid("name either a message or a number of messages", hint="scopes conv rewind CONV --to MESSAGE")
    if count is not None and count < 1:
        raise Invalid(f"cannot rewind {count} messages", hint="for example: -n 2")
    with exclusive_write(repository):
        conversation_id, branch_name = resolve_branch(repository, conversation, branch)
        old = resolve_revision(repository, branch_name, conversation_id).oid
        new = resolve_revision(repository, to if to is not None else f"{branch_name}~{count or 1}", conversation_id).oid
        if not is_ancestor(repository, new, old):
            raise Refused(
                f"that message is not in the history of {conversation_id}/{branch_name}",
                hint=f"see: scopes conv log {conversation_id}/{branch_name}",
            )
        remaining = {commit.oid for commit in walk_newest_first(repository, [new])}
        removed = sum(1 for _ in walk_heads_newest_first(repository, [old], remaining))
        tx = Transaction(repository, conversation_id)
        tx.move_branch(branch_name, old, new)
        operation = tx.commit("rewind", f"take back {removed} of {conversation_id}/{branch_name}").id if tx else None
    tip = read_commit(repository, new)
    last = None if is_root(tip) else head_of(tip).id
    return BranchRewound(
        conversation=conversation_id,
        branch=branch_name,
        messages=removed,
        old=old,
        new=new,
        message=last,
        operation=operation,
    )
