"""`conflicts resolve`, `intervene` and `escalate`: a decision about a conflict, as a message on its branch.

Only these commands resolve a conflict, other messages never do. A resolution changes the key in the state of the
conflict-resolution branch and records strategy, choice, reason, actor and the rejected values (S4-57).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from shlex import quote
from typing import Any

from scopes.clock import new_id, now, seconds_of
from scopes.conversation.cherry_pick import continue_cherry_pick
from scopes.conversation.merge import continue_merge
from scopes.conversation.rebase import continue_rebase
from scopes.errors import Invalid, Refused
from scopes.history.messages import check_author, read_message, write_commit_over, write_message_blob
from scopes.history.revisions import resolve_conversation
from scopes.history.transaction import Transaction, same_command, signs_as
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId, parse_agent_name
from scopes.merge.automatic_resolution import CHOICE_OF_STRATEGY, choice_of, resolve, resolve_as_before
from scopes.merge.conflict_keys import decoded_key, group_of
from scopes.merge.conflict_list import list_earlier, read_conflict
from scopes.merge.discussion import read_discussion
from scopes.merge.divergence import state_of
from scopes.merge.in_progress import HELD, InProgress, restore_hint
from scopes.merge.manual_resolution import (
    changes_made_since,
    find_disagreement,
    read_value,
    require_side,
    resolved_changes,
)
from scopes.merge.records import conflict_path, keep_resolutions, list_conflicts_at, open_conflicts_at
from scopes.model import encoding
from scopes.model.claims import MESSAGES, participant_claim
from scopes.model.conflicts import Conflict, EarlierResolution, encode_conflict, resolution_document
from scopes.model.message import Author, Message, text_parts
from scopes.result import Note, Result, plural
from scopes.store.operation_log import walk_operations
from scopes.store.refs import branch_ref
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.store.trees import BlobChange, update_tree

_CONTINUE: Mapping[str, Callable[[Repository, str, str | None], Result]] = {
    "merge": continue_merge,
    "rebase": continue_rebase,
    "cherry-pick": continue_cherry_pick,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictResolved(Result):
    """A conflict was resolved or escalated.

    Attributes:
        remaining: The number of open conflicts on its branch.
        kind: What is in progress: "merge", "rebase" or "cherry-pick"; "branch" if nothing is.
        continued: The outcome of the merge, rebase or cherry-pick, if the same command continued it.
        escalated_to: Who was asked to resolve it.
    """

    conversation: ConversationId
    branch: BranchName
    number: int
    conflict: Conflict
    message: MessageId
    remaining: int
    operation: OperationId
    kind: str = "merge"
    continued: Result | None = None
    escalated_to: str | None = None

    @property
    def exit_code(self) -> int:
        """The exit code of what was continued: 3 if it stopped on other conflicts."""
        return 0 if self.continued is None else self.continued.exit_code


def resolve_conflict(
    repository: Repository,
    conversation: str,
    conflict: str,
    *,
    take: str | None = None,
    value: str | None = None,
    reason: str = "",
    author: Author,
    as_before: bool = False,
    intervening: bool = False,
    continue_after: bool = False,
) -> ConflictResolved:
    """Resolve a conflict by taking a side, with a new value (text or JSON), or as it was resolved before.

    As in git, "ours" is the target and "theirs" the source. With `continue_after`, the merge, rebase or cherry-pick is
    finished if no conflict is open then; that is an operation of its own, but `undo` takes back both in one step.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
        Refused: it is resolved already; or it was not resolved before, or in ways that contradict each other.
        Invalid: none or several of side, value and `as_before` are given, the conflict cannot take the side, the key
            cannot have the value, or an intervention has no reason.
    """
    if [take is not None, value is not None, as_before].count(True) != 1:
        hint = "give one: --take, --value, --edit or --as-before"
        raise Invalid("a resolution takes a side or has a new value", hint=hint)
    if intervening and not reason.strip():
        raise Invalid("an intervention needs a reason", hint="for example: --reason 'the audit is next week'")
    take = take if take is None else CHOICE_OF_STRATEGY.get(take, take)
    strategy = "intervention" if intervening else "manual"
    conversation_id = resolve_conversation(repository, conversation)
    actor = check_author(author)
    with exclusive_write(repository):
        row, in_progress = read_conflict(repository, conversation_id, conflict)
        record = _read_open_conflict(repository, in_progress, row.conflict)
        disagreement = find_disagreement(repository, in_progress, record)
        if take is not None:
            require_side(disagreement, record, take)
        if as_before:
            earlier = _read_earlier(repository, in_progress, record)
            choice, new_value = choice_of(earlier)
            resolved = resolve_as_before(record, earlier, reason or earlier.reason, actor.name)
        else:
            choice, new_value = take or "value", None if value is None else read_value(record.key, value)
            resolved = resolve(record, choice, strategy, reason, actor.name, new_value)
        changes = resolved_changes(repository, disagreement, record, choice, value=new_value, actor=actor.name)
        changes = changes_made_since(repository, in_progress, record.key) | changes
        notes = _note_escalated(repository, in_progress, record, actor.name)
        resolved = keep_resolutions(resolved, _list_earlier_records(repository, in_progress, record))
        if group_of(record.key) == MESSAGES and choice == "value":
            text = str(new_value)  # the resolution amends the message: its text is the new text
        else:
            text = f"Resolved {decoded_key(record.key)}: {_describe(resolved)}" + (f" ({reason})" if reason else "")
        result = replace(_write(repository, in_progress, row.number, resolved, actor, text, changes), notes=notes)
    return _continue(repository, result) if continue_after else result


def _note_escalated(
    repository: Repository, in_progress: InProgress, conflict: Conflict, actor: str
) -> tuple[Note, ...]:
    """Return a note if a conflict was escalated to somebody else than who resolves it now."""
    asked = read_discussion(repository, in_progress, conflict).escalated_to
    if asked is None or asked == actor:
        return ()
    holds = any(actor in {each.agent, each.resolved_by} for each in (*conflict.source, *conflict.target))
    who = f"{actor}, who holds a side of it," if holds else actor
    return (
        Note(f"the conflict was escalated to {asked}, and {who} has resolved it", "to let them decide: scopes undo"),
    )


def _continue(repository: Repository, result: ConflictResolved) -> ConflictResolved:
    """Continue the merge, rebase or cherry-pick of a resolved conflict if no conflict is open; else add a note."""
    if result.remaining:
        verb = "is" if result.remaining == 1 else "are"
        text = f"the {result.kind} was not continued: {result.remaining} {plural(result.remaining, 'conflict')} {verb}"
        return replace(result, notes=(*result.notes, Note(f"{text} still open")))
    if result.kind not in _CONTINUE:
        return replace(result, notes=(*result.notes, Note(f"nothing is in progress on {result.branch}")))
    with same_command(repository, result.operation):
        outcome = _CONTINUE[result.kind](repository, result.conversation, result.branch)
    return replace(result, continued=outcome, notes=(*result.notes, *outcome.notes))


def escalate_conflict(
    repository: Repository,
    conversation: str,
    conflict: str,
    *,
    to: str,
    reason: str = "",
    author: Author,
) -> ConflictResolved:
    """Ask another agent, `to`, to resolve an open conflict.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
        Refused: it is resolved already.
    """
    conversation_id = resolve_conversation(repository, conversation)
    addressee = parse_agent_name(to)
    with exclusive_write(repository):
        row, in_progress = read_conflict(repository, conversation_id, conflict)
        record = replace(_read_open_conflict(repository, in_progress, row.conflict), status="escalated")
        text = f"Escalated {decoded_key(record.key)} to {addressee}" + (f": {reason}" if reason else "")
        actor = check_author(author)
        return _write(repository, in_progress, row.number, record, actor, text, {}, addressee)


def require_open_conflict(repository: Repository, conversation: str, conflict: str) -> None:
    """Refuse a conflict that cannot be resolved any more.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
        Refused: it was resolved or aborted.
    """
    row, in_progress = read_conflict(repository, resolve_conversation(repository, conversation), conflict)
    _read_open_conflict(repository, in_progress, row.conflict)


def _read_open_conflict(repository: Repository, in_progress: InProgress, conflict: Conflict) -> Conflict:
    if conflict.status == "aborted":
        hint = restore_hint(repository, in_progress.conversation, in_progress.branch)
        text = f"conflict {conflict.id} was aborted with its merge or replay, or skipped with its message"
        raise Refused(text, hint=hint)
    record = list_conflicts_at(repository, in_progress.tip).get(conflict.id, conflict)
    if record.status == "resolved":
        raise Refused(f"conflict {record.id} is resolved already", hint=_resolved_hint(repository, in_progress, record))
    return record


def _resolved_hint(repository: Repository, in_progress: InProgress, conflict: Conflict) -> str:
    """Return how to see a resolution, and while its merge or replay is in progress, to undo it or to continue."""
    if in_progress.kind == HELD:
        return f"show it: scopes conflicts show {quote(in_progress.conversation)} {quote(conflict.id[:8])}"
    onward = f"continue: scopes {quote(in_progress.kind)} {quote(in_progress.conversation)} --continue"
    ref = branch_ref(in_progress.conversation, in_progress.branch)
    for _, operation in walk_operations(repository):
        for change in operation.changes if operation.kind == "resolve" else ():
            if change.ref == ref and change.new is not None and repository.has(Oid(change.new)):
                match read_message(repository, Oid(change.new)).extra.get("conflict"):
                    case {"id": str(found)} if found == conflict.id:
                        return f"undo that: scopes undo {quote(operation.id[:8])}, or {onward}"
    return onward


def _read_earlier(repository: Repository, in_progress: InProgress, conflict: Conflict) -> EarlierResolution:
    """Return the only earlier resolution of a conflict.

    Raises:
        Refused: there is none, there are several that contradict each other, or it does not fit.
    """
    found = list_earlier(repository, in_progress).find(conflict)
    command = f"scopes conflicts resolve {quote(in_progress.conversation)} {quote(conflict.id[:8])} --take source"
    if not found:
        raise Refused(f"conflict {conflict.id} was not resolved before", hint=f"take a side: {command}")
    if len(found) > 1:
        names = ", ".join(f"{each.actor} in {each.conflict}" for each in found)
        raise Refused(f"it was resolved before in different ways: {names}", hint=f"take a side: {command}")
    if found[0].choice is None:
        text = f"conflict {found[0].conflict} was resolved with a value that this one does not have"
        raise Refused(text, hint=f"take a side: {command}")
    return found[0]


def _list_earlier_records(repository: Repository, in_progress: InProgress, conflict: Conflict) -> list[Conflict]:
    """Return the resolved records that a conflict had on both sides before it was opened again."""
    records = [list_conflicts_at(repository, tip) for tip in (in_progress.target_tip, in_progress.source_tip)]
    return [found[conflict.id] for found in records if conflict.id in found]


def _amended_message(conflict: Conflict) -> str | None:
    """Return the id of the message that the resolution gives a new text; None if it does not."""
    new_value = conflict.resolution is not None and conflict.resolution.choice == "value"
    return conflict.key.partition("/")[2] if new_value and group_of(conflict.key) == MESSAGES else None


def _describe(conflict: Conflict) -> str:
    if conflict.resolution is None:
        return conflict.status
    if conflict.resolution.choice == "value":
        value = conflict.resolution.value
        return value if isinstance(value, str) else encoding.dump(value).decode().rstrip()
    return f"took {conflict.resolution.choice}{'' if conflict.resolution.reused is None else ' as before'}"


def _write(  # noqa: PLR0917 - the parts of a decision
    repository: Repository,
    in_progress: InProgress,
    number: int,
    conflict: Conflict,
    actor: Author,
    text: str,
    changes: dict[str, BlobChange],
    *to: str,
) -> ConflictResolved:
    """Append the decision to the conflict-resolution branch: a message and its state."""
    document: dict[str, Any] = {"id": conflict.id, "type": conflict.type, "key": conflict.key}
    document["status"] = conflict.status
    if conflict.resolution is not None:
        document |= resolution_document(conflict.resolution)
    message = Message(
        id=new_id(),
        author=actor,
        parts=text_parts(text),
        kind="notice",
        time=now(),
        to=to,
        amends=_amended_message(conflict),
        extra={"conflict": document},
    )
    changes = changes | {conflict_path(conflict): encode_conflict(conflict)} | dict([participant_claim(*actor)])
    state = update_tree(repository, state_of(repository, in_progress.tip), changes)
    blob = write_message_blob(repository, message)
    time = seconds_of(message.time or now())
    sign = signs_as(repository, actor)
    tip = write_commit_over(repository, (in_progress.tip,), message, blob, state, time=time, sign=sign)
    tx = Transaction(repository, in_progress.conversation)
    tx.move_branch(in_progress.branch, in_progress.tip, tip)
    verb = "resolve" if conflict.status == "resolved" else "escalate"
    summary = f"{verb} {decoded_key(conflict.key)} of {in_progress.conversation}/{in_progress.branch}"
    operation = tx.commit("resolve", summary)
    return ConflictResolved(
        conversation=in_progress.conversation,
        branch=in_progress.branch,
        number=number,
        conflict=conflict,
        message=message.id,
        remaining=len(open_conflicts_at(repository, tip)),
        operation=operation.id,
        kind=in_progress.kind,
        escalated_to=next(iter(to), None),
    )
