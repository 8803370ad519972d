"""`undo` and `redo`: restore the refs that an operation or an append moved; both are operations themselves.

`undo` takes back the newest thing that the same actor did, and a second one the thing before; a note tells what the
first one took back, because nobody knows whether a process that was killed had committed. As in an editor, `redo` works
only until the actor's next new operation. Operations of one command are one step. Appends have no operation record:
`history.transaction` reads them from the reflogs.

Two kinds of refs do not simply move back. Metadata that a remote knows get their old values with new clocks, because
the next fetch would bring back the values that were taken away. In refs of the whole store (agents, facts, memory) the
files that the operation changed get their old content: what others have changed beside them stays.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from itertools import islice
from shlex import quote

from scopes.errors import Invalid, NotFound, Refused, check_not_negative
from scopes.history.metadata import CLOCKS, clocks_of_edit, write_metadata
from scopes.history.names import conversation_ids, find_root_commit, resolve_conversation
from scopes.history.transaction import (
    AGENT_FILES,
    ALONE,
    APPEND,
    INBOX_FILES,
    PUSH,
    REMOTE,
    SHARED,
    UNDO,
    RefTransaction,
    conversations_of,
    find_recorded_operation,
    find_tree,
    read_json,
    tree_of,
    walk_history,
    walk_path_changes,
)
from scopes.ids import BranchName, ConversationId, Oid, OperationId
from scopes.merge.in_progress import (
    InProgress,
    describe_in_progress,
    list_in_progress,
    next_command,
)
from scopes.merge.keys import find_file
from scopes.model.operation import SAME_COMMAND, Operation, RefChange
from scopes.result import HIDDEN, OMIT_EMPTY, Column, Note, Result, first_few
from scopes.store import refs
from scopes.store.config import machine_id
from scopes.store.graph import is_ancestor
from scopes.store.maintenance import FINAL, PURGE
from scopes.store.objects import BlobChange, Objects, diff_blobs, read_tree, update_tree
from scopes.store.operations import MIN_PREFIX_LENGTH, find_operation, walk_operations
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

LIST_OPERATIONS = "see: scopes op -a"
_REDO, _IMPORT, _RESOLVE = "redo", "import", "resolve"  # kinds of operations
_ON_REMOTES = (refs.REMOTES, refs.REMOTE_SOURCES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone(Result):
    """An operation or an append was undone, or redone; with `dry_run` it would be, and `operation` is None.

    `actor` is who did it; that of the target may be another one. An append is an operation of the kind `append`, with
    the id of its first message. `also` are the other operations of the same command, the newest first.
    `active_branch` is set if another branch is active now.
    """

    can_undo = False
    columns = (Column("recorded", "ID"), Column("sentence", "Outcome"))

    target: Operation
    also: tuple[Operation, ...] = field(default=(), metadata=OMIT_EMPTY)
    redo: bool = field(metadata=HIDDEN)
    operation: OperationId | None
    actor: str = field(metadata=HIDDEN)
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)
    active_branch: BranchName | None = None

    @property
    def kind(self) -> str:
        """The kind of the document."""
        return "redo" if self.redo else "undo"

    @property
    def summary(self) -> str:
        """What was undone or redone."""
        text = _summary(self.target, self.also)
        return text.removeprefix("undo ") if self.redo else text

    @property
    def recorded(self) -> OperationId:
        """The operation that did it; in a dry run the one that would be undone or redone."""
        return self.operation or self.target.id

    @property
    def sentence(self) -> str:
        """What was undone or redone, and whose it was if that is somebody else."""
        verb = ("would redo" if self.redo else "would undo") if self.dry_run else "redone" if self.redo else "undone"
        is_of_others = self.target.actor != self.actor and self.target.kind != "append" and not self.redo
        return f"{verb}: {self.summary}" + (f" by {self.target.actor}" if is_of_others else "")

    @property
    def next_step(self) -> str:
        """The other direction."""
        return "" if self.dry_run else "undo with: scopes undo" if self.redo else "redo with: scopes redo"


def undo(
    repository: Repository,
    name: str | None = None,
    *,
    conversation: str | None = None,
    any_actor: bool = False,
    dry_run: bool = False,
) -> Undone:
    """Undo the newest operation or append of the caller: restore every ref that it moved.

    If the same command recorded several operations, all of them are undone together, whichever is named.

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
    with nullcontext() if dry_run else exclusive_write(repository):
        operation, limit = _resolve(repository, name, conversation)
        notes: tuple[Note, ...] = ()
        if operation is None:
            target, notes = _find_newest(repository, limit, any_actor=any_actor)
        else:
            target, canceled = operation, set[OperationId]()
            for _, record in walk_operations(repository):
                _cancel(record, canceled)
                if target is operation and operation.id in record.details.get(SAME_COMMAND, ()):
                    target = record  # the last one of the command
            if target.id in canceled:
                raise Refused(f"operation {target.id[:8]} was undone already", hint="redo it: scopes redo")
        done = _reverse(repository, target, redo=False, dry_run=dry_run, conversation=limit)
        return replace(done, notes=(*done.notes, *notes))


def redo(
    repository: Repository, *, conversation: str | None = None, any_actor: bool = False, dry_run: bool = False
) -> Undone:
    """Redo what the caller undid last; the options are those of `undo`.

    Raises:
        NotFound: the caller's last operation is not an undo.
        Refused: a ref has moved since.
    """
    with nullcontext() if dry_run else exclusive_write(repository):
        limit = None if conversation is None else _resolve_conversation(repository, conversation)
        canceled: set[OperationId] = set()
        other: Operation | None = None
        for _, record in walk_operations(repository):
            _cancel(record, canceled)
            if limit is not None and limit not in conversations_of(record):
                continue
            if not any_actor and record.actor != repository.caller.actor:
                if other is None and record.kind not in (_REDO, PUSH) and record.id not in canceled:
                    other = record
                continue
            if record.kind == UNDO and record.id not in canceled:
                return _reverse(repository, record, redo=True, dry_run=dry_run, conversation=limit)
            if record.kind not in (UNDO, _REDO, PUSH):
                break
        is_undo = other is not None and other.kind == UNDO
        raise _nothing(_REDO, "" if any_actor else repository.caller.actor, other if is_undo else None)


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
        skipped = record.kind in (UNDO, _REDO, PUSH, REMOTE) or record.id in canceled
        if is_own and last is not None and last.kind != UNDO and record.kind in (PUSH, REMOTE):
            since.append(record)
        if skipped or not (any_actor or is_own):
            other = record if other is None and not skipped and record.kind not in FINAL else other
            continue
        if record.kind not in FINAL:
            if last is None or last.kind != UNDO:
                return record, _note_kept(record, since)
            # who was killed may not know that the undo before was committed
            text = f"this is one more step back; the last undo took back: {last.summary.removeprefix('undo ')}"
            return record, (Note(text, "if that was enough: scopes redo"),)
        if conversation is None and canceled <= seen:
            raise _final(record)
    raise _nothing(UNDO, "" if any_actor else repository.caller.actor, other)


def _reverse(
    repository: Repository, target: Operation, *, redo: bool, dry_run: bool, conversation: ConversationId | None
) -> Undone:
    if target.kind in ALONE:
        raise _final(target)
    also = _same_command(repository, target)
    tx = RefTransaction(repository)
    for each in (target, *also):
        if conversation is not None:
            _refuse_others(each, conversation)
        for change in each.changes:
            current = repository.find_ref(change.ref)
            if change.ref in SHARED or (change.ref.startswith(_ON_REMOTES) and current != change.new):
                continue  # what a remote was seen to have since is still true
            later = next((other for other in tx.list_changes() if other.ref == change.ref), None)
            if later is not None and later.new != change.new:  # another command moved it in between
                raise _moved_since(repository, each, change, later.new)
            tx.move_ref(change.ref, change.new, change.old)
    summary = target.summary.removeprefix("undo ") if redo else f"undo {_summary(target, also)}"
    tx = _restore_shared_metadata(repository, tx, summary, dry_run=dry_run)
    (_refuse_new_messages if redo else _refuse_ended)(repository, target, tx.list_changes())
    for change in tx.list_changes():
        current = repository.find_ref(change.ref)
        if current != change.old or not target.details.get("contiguous", True):
            raise _moved_since(repository, target, change, current)
    for ref, files in _take_back_shared(repository, (target, *also)).items():
        if not dry_run:
            value = repository.find_ref(ref)
            *_, before = (change.old for each in (target, *also) for change in each.changes if change.ref == ref)
            tx.move_ref(ref, value, _write_shared(repository, value, before, files, summary))
    names = {name for change in tx.list_changes() if (name := refs.conversation_of(change.ref)) is not None}
    only = names.pop() if len(names) == 1 else None
    stopped = _in_progress(repository, only)
    active = _find_new_active(only, tx.list_changes())
    operation = None
    if not dry_run:
        append = {APPEND: {"actor": target.actor, "time": target.time, **target.details}}
        details = append if target.kind == APPEND else None
        operation = tx.commit(_REDO if redo else UNDO, summary, undoes=target.id, details=details).id
    again = [each for branch, each in _in_progress(repository, only).items() if branch not in stopped]
    return Undone(
        target=target,
        also=also,
        redo=redo,
        operation=operation,
        actor=repository.caller.actor,
        dry_run=dry_run,
        active_branch=active,
        notes=_describe_changes(repository, active, again, redo=redo),
    )


def _summary(target: Operation, also: Sequence[Operation]) -> str:
    return "; ".join(each.summary for each in (*reversed(also), target))


def _same_command(repository: Repository, target: Operation) -> tuple[Operation, ...]:
    """Return the operations that the same command recorded before, the newest first, unless an expire deleted them."""
    ids = target.details.get(SAME_COMMAND)
    wanted = set(ids) if isinstance(ids, list) else set()
    return tuple(record for _, record in (walk_operations(repository) if wanted else ()) if record.id in wanted)


def _in_progress(repository: Repository, conversation: ConversationId | None) -> dict[BranchName, InProgress]:
    found = [] if conversation is None else list_in_progress(repository, conversation)
    return {each.branch: each for each in found}


def _find_new_active(conversation: ConversationId | None, changes: Iterable[RefChange]) -> BranchName | None:
    """Return the branch that becomes active in a conversation that exists before and after."""
    ref = None if conversation is None else refs.active_ref(conversation)
    change = next((each for each in changes if each.ref == ref), None)
    if change is None or not change.old or not change.new or change.old == change.new:
        return None
    pair = refs.split_branch_ref(change.new.removeprefix(refs.SYMBOLIC))
    return None if pair is None else pair[1]


def _describe_changes(
    repository: Repository, active: BranchName | None, again: Sequence[InProgress], *, redo: bool
) -> tuple[Note, ...]:
    """Return a note about the branch that is active now and about what is in progress again.

    The hint names the command that continues it, and after an undo also those that take it back.
    """
    texts = [] if active is None else [f"active branch: {active}"]
    texts += map(describe_in_progress, again)
    hint = next_command(repository, again[0]) if again else None
    if again and not redo:
        abort = f"scopes {quote(again[0].kind)} {quote(again[0].conversation)} --abort"
        hint = f"to go on: {hint}; to take back more: scopes undo; to abort it: {abort}"
    return (Note("; ".join(texts), hint),) if texts else ()


def _cancel(record: Operation, canceled: set[OperationId]) -> None:
    """Add what an undo or redo that was not undone itself has undone; records come newest first."""
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
        return find_operation((record for record in walk_history(repository) if record.kind == APPEND), prefix)


def _nothing(what: str, actor: str, other: Operation | None) -> NotFound:
    hint = LIST_OPERATIONS
    if actor and other is not None:
        hint = f"{hint}; the last is by {other.actor} ({other.summary}): scopes {what} -a"
    return NotFound(f"there is nothing to {what}" + (f" for {actor}" if actor else ""), hint=hint)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationList(Result):
    """Operations, newest first."""

    rows_in = "operations"
    columns = (
        Column("id", "ID", "id"),
        Column("time", form="time"),
        Column("actor"),
        Column("kind"),
        Column("story", "Summary"),
        Column("command", on="template"),
    )
    empty = "There are no operations yet."

    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationView(Result):
    """One operation with its ref changes, and the commit that records it."""

    kind = "operation"
    can_undo = False
    columns = (
        Column("operation.id", "Operation"),
        Column("operation.kind"),
        Column("operation.actor"),
        Column("operation.time", form="time"),
        Column("operation.command"),
        Column("operation.undoes"),
        Column("operation.earlier", "One step with"),
        Column("commit"),
        Column("operation.summary", form="body"),
        Column("operation.moves", "Refs", "lines"),
    )

    operation: Operation
    commit: Oid


def list_operations(repository: Repository, *, limit: int | None = None, actor: str | None = None) -> OperationList:
    """List operations, newest first; of one actor if that is given.

    Raises:
        Invalid: the limit is negative.
    """
    check_not_negative(limit, "number of operations", "for example: -n 20")
    records = (record for _, record in walk_operations(repository) if actor in {None, record.actor})
    return OperationList(operations=tuple(islice(records, limit and min(limit, sys.maxsize))))


def show_operation(repository: Repository, operation: str) -> OperationView:
    """Return one operation, given as in `find_recorded_operation`.

    Raises as `find_recorded_operation` does.
    """
    commit, found = find_recorded_operation(repository, operation)
    return OperationView(operation=found, commit=commit)


def _refuse_ended(repository: Repository, target: Operation, changes: Sequence[RefChange]) -> None:
    """Refuse to undo the resolution of a conflict whose merge or replay has ended: the target would keep it."""
    for change in changes if target.kind == _RESOLVE else ():
        pair = refs.split_branch_ref(change.ref)
        if pair is not None and all(each.branch != pair[1] for each in list_in_progress(repository, pair[0])):
            hint = "undo first what ended it: scopes undo OPERATION; see: scopes op -a"
            raise Refused(f"what {pair[0]}/{pair[1]} was for has ended since '{target.summary}'", hint=hint)


def _refuse_new_messages(repository: Repository, target: Operation, changes: Sequence[RefChange]) -> None:
    """Refuse to redo the end of a merge if its conflict-resolution branch got messages that it would not have."""
    moved = {change.ref: change.new for change in changes}
    for conversation in {name for ref in moved if (name := refs.conversation_of(ref)) is not None}:
        for each in list_in_progress(repository, conversation) if refs.meta_ref(conversation) in moved else ():
            merged = moved.get(refs.branch_ref(conversation, each.target))
            if each.kind == "merge" and merged and not is_ancestor(repository, each.tip, Oid(merged)):
                cure = f"scopes merge {quote(f'{conversation}/{each.branch}')} --continue"
                raise Refused(
                    f"{conversation}/{each.branch} has new messages since '{target.summary}'",
                    hint=f"finish the merge with them: {cure}",
                )


def _refuse_others(target: Operation, conversation: ConversationId) -> None:
    """Refuse an operation that changed other conversations too."""
    others = sorted(conversations_of(target) - {conversation})
    if others:
        hint = f"undo it everywhere: scopes undo {target.id[:8]}"
        if target.kind == _IMPORT:
            hint = f"nothing else is to be undone here; to remove this one alone: scopes delete {quote(conversation)}"
        raise Refused(f"'{target.summary}' also changed {first_few(others, 3)}", hint=hint)


def _final(record: Operation) -> Refused:
    """Return the error for what deleted what an undo would need, or changed something outside the store."""
    if record.kind in FINAL:
        what = "purge" if record.kind == PURGE else "gc --expire"
        hint = "what came before and is still recorded: scopes op -a; then: scopes undo OPERATION"
    elif record.kind == REMOTE:
        what, hint = "a change of a remote", "use scopes remote add, rename or set-url"
    else:
        what = "a push"
        hint = "what was sent is in its history; to go back here: scopes rewind CONV; then: scopes push CONV --force"
    return Refused(f"{what} cannot be undone: {record.summary}", hint=hint)


def _note_kept(target: Operation, since: Iterable[Operation]) -> tuple[Note, ...]:
    """Return a note if an undo passes over something that it cannot take back: what was sent, or a changed remote."""
    for record in since:
        on_remotes = any(each.ref.startswith(_ON_REMOTES) for each in record.changes)
        if record.kind == REMOTE:
            return (Note(f"not undone: {record.summary}", "see: scopes help remote"),)
        if on_remotes and not record.summary.startswith("fetch "):  # what a push fetches for itself
            names = sorted(conversations_of(target))
            name = quote(names[0]) if len(names) == 1 else "CONV"
            hint = f"to have it there as it is here then: scopes push {name} --force"
            return (Note(f"not undone: {record.summary}", hint),)
    return ()


def _moved_since(repository: Repository, target: Operation, change: RefChange, current: str | None) -> Refused:
    """Return the error for a ref that has moved since an operation or an append; its hint names what takes it back."""
    shown, old, hint = change.ref.removeprefix(refs.HEADS), change.old, LIST_OPERATIONS
    if current is None:
        what = "was deleted since"
    elif not old and shown != change.ref:
        what, name = "exists again since", quote(shown.partition("/")[0])
        hint = f"give it another name first: scopes rename {name} NEW; then: scopes undo {target.id}"
    elif shown == change.ref or not old or not is_ancestor(repository, Oid(old), Oid(current)):
        what = "was moved since"
    elif target.kind != APPEND:
        what = "has new messages since"
        hint = f"rewind them first: scopes rewind {quote(shown)} {quote(old[:12])}; then: scopes undo {target.id}"
    else:
        what = "has other messages between those of" if current == old else "has newer messages than"
        messages = target.details["messages"]
        hint = f"take back the newer ones too: scopes rewind {quote(shown)} {quote((change.new or '')[:12])}"
        if len(messages) == 1:
            hint = f"scopes retract {quote(shown)} {quote(messages[0][:12])}; or {hint}"
    return Refused(f"{shown} {what} '{target.summary}'", hint=hint)


def _restore_shared_metadata(
    repository: Repository, tx: RefTransaction, subject: str, *, dry_run: bool
) -> RefTransaction:
    """Return the changes of an undo or redo, in which shared metadata is not moved back but changed again.

    A dry run writes nothing. Metadata whose values have changed since is left as it is: the undo refuses it.
    """
    remotes = repository.list_refs(refs.REMOTES)
    if not remotes or any(change.ref.startswith(refs.REMOTES) for change in tx.list_changes()):
        return tx
    shared = {name.rpartition("/")[2] for name in remotes}
    result = RefTransaction(repository)
    for change in tx.list_changes():
        old, new, name = change.old, change.new, change.ref.removeprefix(refs.META)
        current = repository.find_ref(change.ref) if name != change.ref and old and new else None
        if (
            current is not None
            and find_root_commit(repository, ConversationId(name)) in shared
            and not _list_value_changes(repository, current, old)
        ):
            old = current
            if not dry_run:
                values = _list_value_changes(repository, current, new)
                tree = tree_of(repository, current)
                clocks = clocks_of_edit(
                    repository, tree, values, lambda: machine_id(repository.config, result.operation_id)
                )
                new = write_metadata(repository, Oid(current), {**values, **clocks}, subject)
        result.move_ref(change.ref, old, new)
    return result


def _list_value_changes(objects: Objects, before: str | None, after: str | None) -> dict[str, BlobChange]:
    """Return the files of the metadata whose values differ between two commits, with those of the second one."""
    differing = diff_blobs(objects, tree_of(objects, before), tree_of(objects, after)) if before != after else ()
    return {path: new for path, _, new in differing if not path.startswith(f"{CLOCKS}/")}


def _take_back_shared(repository: Repository, operations: Sequence[Operation]) -> dict[str, dict[str, Oid | None]]:
    """Return the files of shared refs as they were before the operations, the newest first; None for no file.

    Raises:
        Refused: a file has been changed since, or an agent has got messages; the hint names what to undo first.
    """
    found: dict[str, dict[str, Oid | None]] = {}
    for operation in operations:
        for change in operation.changes:
            if change.ref not in SHARED:
                continue
            files, tree = found.setdefault(change.ref, {}), tree_of(repository, repository.find_ref(change.ref))
            for path, before, after in walk_path_changes(repository, change):
                if (files[path] if path in files else find_file(repository, tree, path)) != after:
                    hint = _hint_later(repository, operations, operation, change.ref, path)
                    raise Refused(f"what '{operation.summary}' changed was changed again since", hint=hint)
                files[path] = before
    agents, value = found.get(refs.AGENTS, {}), repository.find_ref(refs.AGENTS)
    for path, blob in agents.items():
        inbox = INBOX_FILES + path.removeprefix(AGENT_FILES).removesuffix(".json")
        waiting = find_tree(repository, value, inbox) if blob is None and path.startswith(AGENT_FILES) else None
        names = {} if waiting is None else read_tree(repository, waiting)
        if any(agents.get(f"{inbox}/{name}", waiting) is not None for name in names):
            agent = find_file(repository, tree_of(repository, value), path)
            name = "NAME" if agent is None else str(read_json(repository, agent).get("name"))
            text = f"the agent has got messages since '{operations[0].summary}'"
            raise Refused(text, hint=f"remove it: scopes agents remove {quote(name)}")
    return found


def _write_shared(
    repository: Repository, value: str | None, before: str | None, files: Mapping[str, BlobChange], subject: str
) -> str | None:
    """Return a commit of a shared ref with some files changed: the one from `before` if it has the same files.

    None if no file is left.
    """
    tree = tree_of(repository, value)
    changed = update_tree(repository, tree, files)
    if not read_tree(repository, changed):
        return None
    if changed in (tree, tree_of(repository, before)):
        return value if changed == tree else before
    return write_metadata(repository, Oid(value) if value else None, files, subject)


def _hint_later(repository: Repository, operations: Sequence[Operation], target: Operation, ref: str, path: str) -> str:
    """Name the newest operation after the target that changed a file, and is not taken back with it."""
    taken_back = {each.id for each in operations}
    for _, record in walk_operations(repository):
        if record.id == target.id:
            break
        for change in record.changes if record.id not in taken_back else ():
            if change.ref == ref and any(each == path for each, _, _ in walk_path_changes(repository, change)):
                return f"undo first '{record.summary}': scopes undo {quote(record.id[:8])}"
    return LIST_OPERATIONS
