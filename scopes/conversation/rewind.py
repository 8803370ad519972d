"""`rewind`: move a branch back to an earlier message; `undo` restores the removed messages."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from shlex import quote

from scopes.errors import Invalid, Refused
from scopes.history.ambiguous_names import HEADS_FORM
from scopes.history.handles import BranchHandle, StoreHandle
from scopes.history.messages import MessageHeader, header_of, is_root, message_id_of, walk_headers_newest_first
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.in_progress import list_in_progress
from scopes.merge.records import open_conflicts_at
from scopes.result import Result, plural
from scopes.store.graph import is_ancestor, walk_newest_first
from scopes.store.repository import Repository, read_commit
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRewound(Result):
    """A rewound branch: `messages` is the number of removed messages, `message` the last remaining one.

    With `dry_run` nothing was changed, and `removed` are the messages that would be removed, newest first.
    """

    conversation: ConversationId
    branch: BranchName
    messages: int
    old: Oid
    new: Oid
    message: MessageId | None
    operation: OperationId | None
    dry_run: bool = False
    removed: tuple[MessageHeader, ...] = ()


def rewind(
    repository: Repository,
    conversation: str,
    *,
    branch: str | None = None,
    to: str | None = None,
    count: int | None = None,
    dry_run: bool = False,
) -> BranchRewound:
    """Move a branch back to the message `to`, or by `count` messages along the first parents (default: 1).

    Of a merge all is taken back that it brought.

    Raises:
        Refused: the message is not in the history of the branch, or a merge would stay without the resolution of its
            conflicts.
        Invalid: both are given, or the count is not positive.
        NotFound: the branch has fewer messages than `count`.
    """
    if to is not None and count is not None:
        raise Invalid("name either a message or a number of messages", hint="scopes rewind CONV --to MESSAGE")
    if count is not None and count < 1:
        raise Invalid(f"cannot rewind {count} messages", hint="for example: -n 2")
    with nullcontext() if dry_run else exclusive_write(repository):
        handle = StoreHandle(repository).branch(conversation, branch)
        old = handle.tip
        new = handle.conversation.revision(f"{HEADS_FORM}{handle.name}~{count or 1}" if to is None else to).oid
        if not is_ancestor(repository, new, old):
            raise Refused(
                f"that message is not in the history of {handle}",
                hint=f"see: scopes log {quote(str(handle))}",
            )
        _check_stays_resolved(repository, handle, old, new)
        remaining = {commit.oid for commit in walk_newest_first(repository, [new])}
        removed = tuple(walk_headers_newest_first(repository, [old], remaining))
        tx = Transaction(repository, handle.conversation.id)
        tx.move_branch(handle.name, old, new)
        operation = tx.commit("rewind", f"take back {len(removed)} of {handle}").id if tx and not dry_run else None
    tip = read_commit(repository, new)
    last = None if is_root(tip) else header_of(tip).id
    return BranchRewound(
        conversation=handle.conversation.id,
        branch=handle.name,
        messages=len(removed),
        old=old,
        new=new,
        message=last,
        operation=operation,
        dry_run=dry_run,
        removed=removed if dry_run else (),
    )


def _check_stays_resolved(repository: Repository, branch: BranchHandle, old: Oid, new: Oid) -> None:
    """Refuse to end a branch between a merge and its resolution, except a conflict-resolution branch."""
    if open_conflicts_at(repository, old) or not (conflicts := open_conflicts_at(repository, new)):
        return
    if any(each.branch == branch.name for each in list_in_progress(repository, branch.conversation.id)):
        return
    count = f"{len(conflicts)} {plural(len(conflicts), 'conflict')}"
    command = f"scopes rewind {quote(str(branch))} --to {quote(_before_merge(repository, new)[:8])}"
    raise Refused(
        f"{branch} would keep a merge without the resolution of its {count}",
        hint=f"take back the merge too: {command}",
    )


def _before_merge(repository: Repository, oid: Oid) -> str:
    """Return the newest commit on the line of first parents whose conflicts are resolved."""
    commit = read_commit(repository, oid)
    while commit.parents and open_conflicts_at(repository, commit.oid):
        commit = read_commit(repository, commit.parents[0])
    return commit.oid if is_root(commit) else message_id_of(commit)
