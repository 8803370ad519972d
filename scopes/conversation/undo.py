"""`undo` and `redo`: restore the refs that an operation or an append moved; both are operations themselves.

`undo` takes back the newest thing that the same actor did. A second `undo` takes back the one before. As in an editor,
`redo` works only until the actor's next new operation. Appends have no operation record: `history.appends` reads them
from the reflogs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NoReturn

from scopes.errors import Invalid, NotFound, Refused
from scopes.history.appends import APPEND, UNDO, conversations_of, walk_history
from scopes.history.revisions import conversation_ids, resolve_conversation
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid, OperationId
from scopes.model.operation import Operation, RefChange
from scopes.result import Result
from scopes.store import refs
from scopes.store.expire import EXPIRE
from scopes.store.graph import is_ancestor
from scopes.store.operation_log import find_operation, walk_operations
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

REDO = "redo"
_LIST = "see: scopes conv operations list"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone(Result):
    """An operation or an append was undone, or redone; with `dry_run` it would be, and `operation` is None.

    `actor` is who did it; that of the target may be another one. An append is an operation of the kind `append`, with
    the id of its first message.
    """

    target: Operation
    redo: bool
    operation: OperationId | None
    actor: str
    dry_run: bool = False


def undo(
    repository: Repository,
    name: str | None = None,
    *,
    conversation: str | None = None,
    any_actor: bool = False,
    dry_run: bool = False,
) -> Undone:
    """Undo the newest operation or append of the caller: restore every ref that it moved.

    Args:
        repository: the store, with the caller.
        name: an operation by a unique prefix of its id, whoever did it; or a conversation, as `conversation`.
        conversation: only what changed this conversation.
        any_actor: whoever did it.
        dry_run: return what would be undone, and change nothing.

    Raises:
        NotFound: there is nothing to undo, or no such operation or conversation.
        Refused: a ref has moved since, the operation was undone already, or it cannot be undone; the hint names a way
            out.
    """
    with _lock(repository, dry_run=dry_run):
        operation, limit = _resolve(repository, name, conversation)
        if operation is None:
            target = _find_newest(repository, limit, any_actor=any_actor)
        else:
            target = operation
            if target.id in _canceled(record for _, record in walk_operations(repository)):
                raise Refused(f"operation {target.id[:8]} was undone already", hint="redo it: scopes redo")
        return _reverse(repository, target, redo=False, dry_run=dry_run, conversation=limit)


def redo(
    repository: Repository, *, conversation: str | None = None, any_actor: bool = False, dry_run: bool = False
) -> Undone:
    """Redo what the caller undid last; the options are those of `undo`.

    Raises:
        NotFound: the caller's last operation is not an undo.
        Refused: a ref has moved since.
    """
    with _lock(repository, dry_run=dry_run):
        limit = None if conversation is None else _resolve_conversation(repository, conversation)
        canceled: set[OperationId] = set()
        for _, record in walk_operations(repository):
            _cancel(record, canceled)
            if limit is not None and limit not in conversations_of(record):
                continue
            if not any_actor and record.actor != repository.caller.actor:
                continue
            if record.kind == UNDO and record.id not in canceled:
                return _reverse(repository, record, redo=True, dry_run=dry_run, conversation=limit)
            if record.kind not in (UNDO, REDO):
                break
        return _nothing(REDO)


def _lock(repository: Repository, *, dry_run: bool) -> AbstractContextManager[None]:
    return nullcontext() if dry_run else exclusive_write(repository)


def _find_newest(repository: Repository, conversation: ConversationId | None, *, any_actor: bool) -> Operation:
    """Return the newest operation or append of the caller that was not undone.

    An expire cannot be undone. Once the caller has undone something older by its id, it no longer stops them.
    """
    canceled: set[OperationId] = set()
    seen: set[OperationId] = set()
    for record in walk_history(repository, conversation):
        _cancel(record, canceled)
        seen.add(record.id)
        skipped = record.kind in (UNDO, REDO) or record.id in canceled
        if skipped or not (any_actor or record.actor == repository.caller.actor):
            continue
        if record.kind != EXPIRE:
            return record
        if conversation is None and canceled <= seen:
            raise _is_final(record)
    return _nothing(UNDO, "" if any_actor else repository.caller.actor)


def _reverse(
    repository: Repository, target: Operation, *, redo: bool, dry_run: bool, conversation: ConversationId | None
) -> Undone:
    if target.kind == EXPIRE:
        raise _is_final(target)
    if conversation is not None:
        _refuse_others(target, conversation)
    tx = RefTransaction(repository)
    for change in target.changes:
        tx.move_ref(change.ref, change.new, change.old)
    for change in tx.list_changes():
        current = repository.find_ref(change.ref)
        if current != change.old or not target.details.get("contiguous", True):
            explain = _append_moved if target.kind == APPEND else _moved_since
            raise explain(repository, target, change, current)
    summary = target.summary.removeprefix("undo ") if redo else f"undo {target.summary}"
    operation = None
    if not dry_run:
        details = {APPEND: {"actor": target.actor, "time": target.time, **target.details}}
        is_append = target.kind == APPEND
        done = tx.commit(REDO if redo else UNDO, summary, undoes=target.id, details=details if is_append else None)
        operation = done.id
    return Undone(target=target, redo=redo, operation=operation, actor=repository.caller.actor, dry_run=dry_run)


def _refuse_others(target: Operation, conversation: ConversationId) -> None:
    others = sorted(conversations_of(target) - {conversation})
    if others:
        names = ", ".join(others[:3]) + (f" and {len(others) - 3} more" if len(others) > 3 else "")
        raise Refused(
            f"'{target.summary}' also changed {names}", hint=f"undo it everywhere: scopes undo {target.id[:8]}"
        )


def _is_final(record: Operation) -> Refused:
    """Return the error for an operation that deleted what undo would need."""
    return Refused(
        f"gc --expire cannot be undone: {record.summary}",
        hint="what came before and is still recorded: scopes conv operations list; then: scopes undo OPERATION",
    )


def _append_moved(repository: Repository, target: Operation, change: RefChange, current: str | None) -> Refused:
    """Return the error for an append whose messages are not the last ones of their branch."""
    shown = change.ref.removeprefix(refs.HEADS)
    messages = target.details["messages"]
    if current is None:
        return Refused(f"{shown} was deleted since '{target.summary}'", hint=_LIST)
    if change.old is None or not is_ancestor(repository, Oid(change.old), Oid(current)):
        return Refused(f"{shown} was moved since '{target.summary}'", hint=_LIST)
    rewind = f"scopes conv rewind {shown} --to {(change.new or '')[:12]}"
    hint = f"take back the newer ones too: {rewind}"
    if len(messages) == 1:
        conversation, branch = target.details["conversation"], target.details["branch"]
        hint = f"scopes conv retract {conversation} {messages[0][:12]} --branch {branch}; or {hint}"
    if current == change.old:
        return Refused(f"{shown} has other messages between those of '{target.summary}'", hint=hint)
    return Refused(f"{shown} has newer messages than '{target.summary}'", hint=hint)


def _moved_since(repository: Repository, target: Operation, change: RefChange, current: str | None) -> Refused:
    """Return the error for a ref that has moved since an operation; its hint names the commands to undo it anyway."""
    shown = change.ref.removeprefix(refs.HEADS)
    if (
        change.ref.startswith(refs.HEADS)
        and current
        and change.old
        and is_ancestor(repository, Oid(change.old), Oid(current))
    ):
        rewind = f"scopes conv rewind {shown} --to {change.old[:12]}"
        return Refused(
            f"{shown} has new messages since '{target.summary}'",
            hint=f"rewind them first: {rewind}; then: scopes undo {target.id}",
        )
    return Refused(f"{shown} was moved since '{target.summary}'", hint=_LIST)


def _canceled(newest_first: Iterable[Operation]) -> set[OperationId]:
    """Return the operations that were undone by an undo or redo that was not undone itself."""
    canceled: set[OperationId] = set()
    for record in newest_first:
        _cancel(record, canceled)
    return canceled


def _cancel(record: Operation, canceled: set[OperationId]) -> None:
    if record.undoes is not None and record.id not in canceled:
        canceled.add(record.undoes)


def _resolve(
    repository: Repository, name: str | None, conversation: str | None
) -> tuple[Operation | None, ConversationId | None]:
    """Return the named operation, or the conversation that limits the search; None for what is not named."""
    if conversation is not None:
        limit = _resolve_conversation(repository, conversation)
        return (None if name is None else _find_anywhere(repository, name)), limit
    if name is None:
        return None, None
    if name in conversation_ids(repository):
        return None, ConversationId(name)
    try:
        return _find_anywhere(repository, name), None
    except NotFound as error:
        try:
            return None, _resolve_conversation(repository, name)
        except (NotFound, Invalid):
            raise error from None


def _resolve_conversation(repository: Repository, text: str) -> ConversationId:
    """Resolve a conversation, also one that was deleted, by its full id."""
    try:
        return resolve_conversation(repository, text)
    except NotFound:
        if any(text in conversations_of(record) for _, record in walk_operations(repository)):
            return ConversationId(text)
        raise


def _find_anywhere(repository: Repository, prefix: str) -> Operation:
    """Resolve an operation, or an append by the id of its first message."""
    try:
        return find_operation((record for _, record in walk_operations(repository)), prefix)
    except NotFound:
        return find_operation(_walk_appends(repository), prefix)


def _walk_appends(repository: Repository) -> Iterator[Operation]:
    return (record for record in walk_history(repository) if record.kind == APPEND)


def _nothing(what: str, actor: str = "") -> NoReturn:
    if actor:
        hint = f"{_LIST}; what somebody else did: scopes undo --any-actor"
        raise NotFound(f"there is nothing to {what} for {actor}", hint=hint)
    raise NotFound(f"there is nothing to {what}", hint=_LIST)
