"""`rewind`: take back the last messages of a branch; they stay in the store, and `undo` brings them back."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.errors import Invalid, Refused
from scopes.history.messages import head_of, is_root, walk_heads_newest_first
from scopes.history.revparse import resolve_branch, resolve_revision
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.result import Result
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.repository import Repository, read_commit
from scopes.store.transaction import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRewound(Result):
    """A branch that stands at an earlier message; `messages` were taken back, `message` is the last one now."""

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
    """Move a branch back to the message `to`, or by `count` messages (one when neither is given).

    Raises:
        Refused: the message is not in the branch's history.
        Invalid: both are given, or the count is not positive.
        NotFound: the branch has not that many messages.
    """
    if to is not None and count is not None:
        raise Invalid("name either a message or a number of messages", hint="scopes conv rewind CONV --to MESSAGE")
    if count is not None and count < 1:
        raise Invalid(f"cannot take back {count} messages", hint="for example: -n 2")
    with exclusive_write(repository):
        chosen, name = resolve_branch(repository, conversation, branch)
        old = resolve_revision(repository, name, chosen).oid
        new = resolve_revision(repository, to if to is not None else f"{name}~{count or 1}", chosen).oid
        if not is_ancestor(repository, new, old):
            raise Refused(
                f"that message is not in the history of {chosen}/{name}", hint=f"see: scopes conv log {chosen}/{name}"
            )
        kept = {commit.oid for commit in walk_newest_first(repository, [new])}
        taken = sum(1 for _ in walk_heads_newest_first(repository, [old], kept))
        tx = Transaction(repository, chosen)
        tx.move_branch(name, old, new)
        operation = tx.commit("rewind", f"take back {taken} of {chosen}/{name}").id if tx else None
    tip = read_commit(repository, new)
    last = None if is_root(tip) else head_of(tip).id
    return BranchRewound(
        conversation=chosen, branch=name, messages=taken, old=old, new=new, message=last, operation=operation
    )
