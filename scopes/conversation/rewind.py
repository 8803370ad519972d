"""`rewind`: move a branch back to an earlier message; `undo` restores the removed messages."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import Invalid, Refused
from scopes.history.handles import Store
from scopes.history.messages import head_of, is_root, walk_heads_newest_first
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
        handle = Store(repository).branch(conversation, branch)
        old = handle.tip
        new = handle.conversation.revision(to if to is not None else f"{handle.name}~{count or 1}").oid
        if not is_ancestor(repository, new, old):
            raise Refused(
                f"that message is not in the history of {handle}",
                hint=f"see: scopes conv log {handle}",
            )
        remaining = {commit.oid for commit in walk_newest_first(repository, [new])}
        removed = sum(1 for _ in walk_heads_newest_first(repository, [old], remaining))
        tx = Transaction(repository, handle.conversation.id)
        tx.move_branch(handle.name, old, new)
        operation = tx.commit("rewind", f"take back {removed} of {handle}").id if tx else None
    tip = read_commit(repository, new)
    last = None if is_root(tip) else head_of(tip).id
    return BranchRewound(
        conversation=handle.conversation.id,
        branch=handle.name,
        messages=removed,
        old=old,
        new=new,
        message=last,
        operation=operation,
    )
