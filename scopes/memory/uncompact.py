"""`uncompact`: make contexts start from the full history again, by retracting the compactions of a branch."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from shlex import quote

from scopes.errors import Refused
from scopes.history.handles import StoreHandle
from scopes.history.messages import (
    MessageHeader,
    check_author,
    retraction_of,
    walk_headers_newest_first,
    write_message_blob,
    write_message_commit,
)
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, MessageId, OperationId
from scopes.memory.compaction_base import walk_compactions
from scopes.model.message import Author
from scopes.result import OMIT_EMPTY, Column, Result, short_id
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_NOTICE = "contexts do not start at this compaction any more"


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncompacted(Result):
    """The compactions that were removed from contexts, newest first.

    `remaining` is the compaction at which contexts start now, and None if they start at the first message.
    """

    kind = "uncompact"
    rows_in = "compactions"
    is_one_row = True
    columns = (
        Column("id", "ID", "id"),
        Column("time", form="time", on="terminal"),
        Column("shown_subject", "Compaction", on="terminal"),
    )

    conversation: ConversationId
    branch: BranchName
    compactions: tuple[MessageHeader, ...]
    remaining: MessageId | None
    dry_run: bool = field(metadata=OMIT_EMPTY)
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """Where contexts start now."""
        start = "the first message" if self.remaining is None else f"compaction {short_id(self.remaining)}"
        verb = "would start" if self.dry_run else "start"
        return f"contexts of {self.conversation}/{self.branch} {verb} at {start}, not at the compactions above"


def uncompact(
    repository: Repository,
    branch: str,
    *,
    reason: str = "",
    author: Author,
    only_last: bool = False,
    dry_run: bool = False,
) -> Uncompacted:
    """Retract the compactions of a branch (`conversation[/branch]`), or only the last one, in one operation.

    The compactions stay in the history. Each gets a notice that retracts it, as for any retracted message, with the
    reason as its text.

    Raises:
        Invalid: the author is not valid.
        Refused: the branch has no compaction, or all of them are retracted.
    """
    checked = check_author(author)
    with nullcontext() if dry_run else exclusive_write(repository):
        handle = StoreHandle(repository).branch(branch)
        tip = parent = handle.tip
        heads = walk_headers_newest_first(repository, [tip])
        compactions = [head for head, _ in walk_compactions(repository, tip, heads)]
        if not compactions:
            raise Refused(
                f"{handle} has no compaction: its contexts start at the first message",
                hint=f"make one: scopes summarize {quote(str(handle))} --compact",
            )
        removed = compactions[:1] if only_last else compactions
        operation = None
        if not dry_run:
            for head in reversed(removed):
                message = retraction_of(head.id, checked, reason or _NOTICE)
                parent = write_message_commit(repository, parent, message, write_message_blob(repository, message))
            transaction = Transaction(repository, handle.conversation.id)
            transaction.move_branch(handle.name, tip, parent)
            operation = transaction.commit("uncompact", f"uncompact {handle}").id
    return Uncompacted(
        conversation=handle.conversation.id,
        branch=handle.name,
        compactions=tuple(removed),
        remaining=compactions[1].id if only_last and len(compactions) > 1 else None,
        dry_run=dry_run,
        operation=operation,
    )
