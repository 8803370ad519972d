"""`undo` and `redo`: restore the refs that an operation or an append moved; both are operations themselves.

`undo` takes back the newest thing that the same actor did. A second `undo` takes back the one before, and a note tells
what the first one took back: nobody knows whether a process that was killed had committed. If the store shows that it
was interrupted, the second one only finishes it. As in an editor, `redo` works only until the actor's next new
operation. Operations of one command are one step. Appends have no operation record: `history.appends` reads them from
the reflogs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from shlex import quote
from typing import NoReturn

from scopes.conversation.undo_metadata import restore_shared_metadata
from scopes.conversation.undo_refusals import (
    LIST_OPERATIONS,
    PUSH,
    REMOTE,
    append_moved,
    check_redo,
    check_undo,
    final_operation,
    final_push,
    moved_since,
    note_kept,
    refuse_others,
)
from scopes.conversation.undo_shared import SharedUndo
from scopes.errors import Invalid, NotFound, Refused
from scopes.history.appends import APPEND, UNDO, conversations_of, walk_history
from scopes.history.metadata import read_metadata_at
from scopes.history.revisions import conversation_ids, list_branch_tips, resolve_conversation
from scopes.history.shared_refs import SHARED, ConversationFilter
from scopes.history.transaction import RefTransaction
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.merge.in_progress import (
    InProgress,
    decode_in_progress,
    describe_in_progress,
    list_in_progress,
    next_command,
)
from scopes.model.operation import SAME_COMMAND, Operation, RefChange
from scopes.result import Note, Result
from scopes.store import refs
from scopes.store.expire import FINAL
from scopes.store.operation_log import MIN_PREFIX_LENGTH, find_operation, walk_operations
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

REDO = "redo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone(Result):
    """An operation or an append was undone, or redone; with `dry_run` it would be, and `operation` is None.

    `actor` is who did it; that of the target may be another one. An append is an operation of the kind `append`, with
    the id of its first message. `also` are the other operations of the same command, the newest first.
    `active_branch` is set if another branch is active now.
    """

    target: Operation
    also: tuple[Operation, ...] = ()
    redo: bool
    operation: OperationId | None
    actor: str
    dry_run: bool = False
    active_branch: BranchName | None = None

    @property
    def summary(self) -> str:
        """What was undone or redone."""
        text = _summary(self.target, self.also)
        return text.removeprefix("undo ") if self.redo else text


def undo(
    repository: Repository,
    name: str | None = None,
    *,
    conversation: str | None = None,
    any_actor: bool = False,
    dry_run: bool = False,
) -> Undone:
    """Undo the newest operation or append of the caller: restore every ref that it moved.

    If the same command recorded several operations, all of them are undone together, whichever is named. If an undo of
    the caller was interrupted after it had committed, it is finished instead, and nothing more is taken back.

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
    with _lock(repository, dry_run=dry_run) as finished:
        operation, limit = _resolve(repository, name, conversation)
        interrupted = _find_interrupted(repository, UNDO, finished, limit)
        named = None if operation is None else _last_of_command(repository, operation).id
        if interrupted is not None and named in {None, interrupted[1].id}:
            return _report_finished(repository, *interrupted, dry_run=dry_run)
        notes: tuple[Note, ...] = ()
        if operation is None:
            target, notes = _find_newest(repository, limit, any_actor=any_actor)
        else:
            target = _last_of_command(repository, operation)
            if target.id in _canceled(record for _, record in walk_operations(repository)):
                raise Refused(f"operation {target.id[:8]} was undone already", hint="redo it: scopes redo")
        done = _reverse(repository, target, redo=False, dry_run=dry_run, conversation=limit)
        return replace(done, notes=(*done.notes, *notes))


def redo(
    repository: Repository, *, conversation: str | None = None, any_actor: bool = False, dry_run: bool = False
) -> Undone:
    """Redo what the caller undid last; the options are those of `undo`, and so is what happens after an interruption.

    Raises:
        NotFound: the caller's last operation is not an undo.
        Refused: a ref has moved since, or a decision candidate was accepted again since.
    """
    with _lock(repository, dry_run=dry_run) as finished:
        limit = None if conversation is None else _resolve_conversation(repository, conversation)
        interrupted = _find_interrupted(repository, REDO, finished, limit)
        if interrupted is not None:
            return _report_finished(repository, *interrupted, dry_run=dry_run)
        canceled: set[OperationId] = set()
        of_conversation = None if limit is None else ConversationFilter(repository, limit)
        others: list[Operation] = []
        for _, record in walk_operations(repository):
            _cancel(record, canceled)
            if of_conversation is not None and not of_conversation.matches(record):
                continue
            if not any_actor and record.actor != repository.caller.actor:
                if record.kind not in (REDO, PUSH) and record.id not in canceled:
                    others.append(record)
                continue
            if record.kind == UNDO and record.id not in canceled:
                return _reverse(repository, record, redo=True, dry_run=dry_run, conversation=limit)
            if record.kind not in (UNDO, REDO, PUSH):
                break
        other = next(iter(others), None)
        is_undo = other is not None and other.kind == UNDO
        return _nothing(REDO, "" if any_actor else repository.caller.actor, other if is_undo else None)


def _lock(repository: Repository, *, dry_run: bool) -> AbstractContextManager[Operation | None]:
    """Hold the exclusive lock, and return the operation that had to be finished; for a dry run the pending one."""
    if not dry_run:
        return exclusive_write(repository)
    pending = repository.find_pending(repository.raw_ref(refs.PENDING), repository.raw_ref(refs.OPERATIONS))
    return nullcontext(None if pending is None else pending[1])


def _find_interrupted(
    repository: Repository, kind: str, finished: Operation | None, conversation: ConversationId | None
) -> tuple[Operation, Operation] | None:
    """Return an undo or redo of the caller that was finished just now, and its target; None if there is none."""
    if finished is None or finished.kind != kind or finished.actor != repository.caller.actor:
        return None
    if conversation is not None and not ConversationFilter(repository, conversation).matches(finished):
        return None
    target = next((each for each in walk_history(repository) if each.id == finished.undoes), None)
    return None if target is None else (finished, target)


def _report_finished(repository: Repository, finished: Operation, target: Operation, *, dry_run: bool) -> Undone:
    active, _ = _describe_changes(repository, finished.changes, redo=finished.kind == REDO)
    text = (
        f"an earlier {finished.kind} was interrupted after it had committed: it is complete, and nothing else changed"
    )
    return Undone(
        target=target,
        also=_same_command(repository, target),
        redo=finished.kind == REDO,
        operation=None if dry_run else finished.id,
        actor=finished.actor,
        dry_run=dry_run,
        active_branch=active,
        notes=(Note(text, f"one more step: scopes {quote(finished.kind)}"),),
    )


def _find_newest(
    repository: Repository, conversation: ConversationId | None, *, any_actor: bool
) -> tuple[Operation, tuple[Note, ...]]:
    """Return the newest operation or append of the caller that was not undone, and a note if their last was an undo.

    A push is none, because the remote has what it sent. An expire or a purge cannot be undone. Once the caller has
    undone something older by its id, it no longer stops them.
    """
    canceled: set[OperationId] = set()
    seen: set[OperationId] = set()
    last: Operation | None = None
    other: Operation | None = None
    since: list[Operation] = []
    for record in walk_history(repository, conversation):
        _cancel(record, canceled)
        seen.add(record.id)
        is_own = record.actor == repository.caller.actor
        last = record if last is None and is_own else last
        skipped = record.kind in (UNDO, REDO, PUSH, REMOTE) or record.id in canceled
        if is_own and last is not None and last.kind != UNDO and record.kind in (PUSH, REMOTE):
            since.append(record)
        if skipped or not (any_actor or is_own):
            other = record if other is None and not skipped and record.kind not in FINAL else other
            continue
        if record.kind not in FINAL:
            return record, (*_note_one_more(last), *note_kept(repository, record, since))
        if conversation is None and canceled <= seen:
            raise final_operation(record)
    return _nothing(UNDO, "" if any_actor else repository.caller.actor, other)


def _note_one_more(last: Operation | None) -> tuple[Note, ...]:
    """Return a note that tells what was undone before, which the caller may not know if that was killed."""
    if last is None or last.kind != UNDO:
        return ()
    text = f"this is one more step back; the last undo took back: {last.summary.removeprefix('undo ')}"
    return (Note(text, "if that was enough: scopes redo"),)


def _reverse(
    repository: Repository, target: Operation, *, redo: bool, dry_run: bool, conversation: ConversationId | None
) -> Undone:
    if target.kind in FINAL:
        raise final_operation(target)
    if target.kind in (PUSH, REMOTE):
        raise final_push(target)
    also = _same_command(repository, target)
    tx = RefTransaction(repository)
    for each in (target, *also):
        if conversation is not None:
            refuse_others(repository, each, conversation)
        for change in each.changes:
            if change.ref not in SHARED and not _is_seen_since(repository, change):
                _require_unmoved(repository, each, change, tx)
                tx.move_ref(change.ref, change.new, change.old)
    summary = target.summary.removeprefix("undo ") if redo else f"undo {_summary(target, also)}"
    tx = restore_shared_metadata(repository, tx, summary, dry_run=dry_run)
    (check_redo if redo else check_undo)(repository, target, tx.list_changes())
    for change in tx.list_changes():
        current = repository.find_ref(change.ref)
        if current != change.old or not target.details.get("contiguous", True):
            explain = append_moved if target.kind == APPEND else moved_since
            raise explain(repository, target, change, current)
    shared = SharedUndo(repository, (target, *also))
    shared.move_refs(tx, summary, dry_run=dry_run)
    active, notes = _describe_changes(repository, tx.list_changes(), redo=redo)
    operation = None
    if not dry_run:
        details = {APPEND: {"actor": target.actor, "time": target.time, **target.details}}
        is_append = target.kind == APPEND
        done = tx.commit(REDO if redo else UNDO, summary, undoes=target.id, details=details if is_append else None)
        operation = done.id
    return Undone(
        target=target,
        also=also,
        redo=redo,
        operation=operation,
        actor=repository.caller.actor,
        dry_run=dry_run,
        active_branch=active,
        notes=notes,
    )


def _is_seen_since(repository: Repository, change: RefChange) -> bool:
    """Return True for what a remote had, if it was seen to have something else since: that is still true."""
    return change.ref.startswith((refs.REMOTES, refs.REMOTE_SOURCES)) and repository.find_ref(change.ref) != change.new


def _summary(target: Operation, also: Sequence[Operation]) -> str:
    return "; ".join(each.summary for each in (*reversed(also), target))


def _same_command(repository: Repository, target: Operation) -> tuple[Operation, ...]:
    """Return the operations that the same command recorded before, the newest first, unless an expire deleted them."""
    ids = target.details.get(SAME_COMMAND)
    wanted = set(ids) if isinstance(ids, list) else set()
    found: list[Operation] = []
    for _, record in walk_operations(repository) if wanted else ():
        if record.id in wanted:
            found.append(record)
            wanted.remove(record.id)
        if not wanted:
            break
    return tuple(found)


def _last_of_command(repository: Repository, operation: Operation) -> Operation:
    """Return the last operation of the command that recorded an operation; appends are one already."""
    if operation.kind == APPEND:
        return operation
    for _, record in walk_operations(repository):
        if record.id == operation.id or operation.id in record.details.get(SAME_COMMAND, ()):
            return record
    return operation


def _require_unmoved(repository: Repository, earlier: Operation, change: RefChange, tx: RefTransaction) -> None:
    """Refuse an operation if another command moved the ref before a later operation of the same command did."""
    later = next((each for each in tx.list_changes() if each.ref == change.ref), None)
    if later is not None and later.new != change.new:
        raise moved_since(repository, earlier, change, later.new)


def _describe_changes(
    repository: Repository, changes: Sequence[RefChange], *, redo: bool
) -> tuple[BranchName | None, tuple[Note, ...]]:
    """Return the branch that becomes active, and a note about it and about what is in progress again.

    The hint names the command that continues it, and after an undo also those that take it back.

    Only for changes of one conversation that exists before and after.
    """
    found = {refs.conversation_of(change.ref) for change in changes} - {None}
    conversation = found.pop() if len(found) == 1 else None
    if conversation is None:
        return None, ()
    moved = {change.ref: change for change in changes}
    active = moved.get(refs.active_ref(conversation))
    branch = None
    if active is not None and active.old and active.new and active.old != active.new:
        pair = refs.split_branch_ref(active.new.removeprefix(refs.SYMBOLIC))
        branch = None if pair is None else pair[1]
    texts = [] if branch is None else [f"active branch: {branch}"]
    again = _resumed(repository, conversation, moved)
    texts += map(describe_in_progress, again)
    hint = None
    if again:
        hint = next_command(repository, again[0])
        if not redo:
            abort = f"scopes {quote(again[0].kind)} {quote(conversation)} --abort"
            hint = f"to go on: {hint}; to take back more: scopes undo; to abort it: {abort}"
    return branch, (Note("; ".join(texts), hint),) if texts else ()


def _resumed(repository: Repository, conversation: ConversationId, moved: Mapping[str, RefChange]) -> list[InProgress]:
    """Return what is in progress after the changes of refs, but was not before."""
    metadata = moved.get(refs.meta_ref(conversation))
    if metadata is None or metadata.new is None:
        return []
    tips = dict(list_branch_tips(repository, conversation))
    for change in moved.values():
        pair = refs.split_branch_ref(change.ref)
        if pair is not None and change.new is not None:
            tips[pair[1]] = Oid(change.new)
        elif pair is not None:
            tips.pop(pair[1], None)
    after = decode_in_progress(conversation, read_metadata_at(repository, Oid(metadata.new)).branches, tips)
    before = {each.branch for each in list_in_progress(repository, conversation)}
    return [each for each in after if each.branch not in before]


def _canceled(newest_first: Iterable[Operation]) -> set[OperationId]:
    """Return the operations that were undone by an undo or redo that was not undone itself."""
    canceled: set[OperationId] = set()
    for record in newest_first:
        _cancel(record, canceled)
    return canceled


def _cancel(record: Operation, canceled: set[OperationId]) -> None:
    if record.undoes is not None and record.id not in canceled:
        canceled.add(record.undoes)
    if record.id in canceled:
        canceled.update(record.details.get(SAME_COMMAND, ()))


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
    if name.isdecimal() and len(name) < MIN_PREFIX_LENGTH:
        prefix = f"the prefix of an operation id has at least {MIN_PREFIX_LENGTH} characters"
        hint = f"to go further back, repeat: scopes undo; {prefix}"
        raise NotFound(f"{name!a} is neither an operation nor a conversation", hint=hint)
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


def _nothing(what: str, actor: str = "", other: Operation | None = None) -> NoReturn:
    if actor:
        hint = LIST_OPERATIONS
        if other is not None:
            hint = f"{hint}; the last is by {other.actor} ({other.summary}): scopes {what} --any-actor"
        raise NotFound(f"there is nothing to {what} for {actor}", hint=hint)
    raise NotFound(f"there is nothing to {what}", hint=LIST_OPERATIONS)
