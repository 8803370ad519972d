"""`conflicts`: list, show, resolve and escalate the conflicts of merges, rebases and cherry-picks (S4-56, S4-57)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import Any

from scopes.clock import new_id, now, seconds_of
from scopes.conversation.merge import continue_merge
from scopes.conversation.rebase import continue_cherry_pick, continue_rebase
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.history.messages import (
    MessageHeader,
    check_author,
    message_id_of,
    read_body,
    write_commit_over,
    write_message_blob,
)
from scopes.history.names import conversation_ids, find_directory, resolve_conversation
from scopes.history.transaction import Transaction, signs_as
from scopes.ids import BranchName, ConversationId, MessageId, OperationId, parse_agent_name
from scopes.merge.compare import find_divergence, state_of
from scopes.merge.conflicts import (
    ConflictRow,
    changes_made_since,
    find_disagreement,
    is_id_prefix,
    list_earlier,
    list_sides,
    read_conflict,
    read_discussion,
    read_ended,
    read_value,
    require_side,
    walk_conflicts,
)
from scopes.merge.files import FileComparison, compare_files, patch_of
from scopes.merge.in_progress import HELD, NO_OTHERS, InProgress, OthersInProgress, read_others, restore_hint
from scopes.merge.keys import decoded_key, group_of
from scopes.merge.plan import conflict_path, list_conflicts_at, open_conflicts_at
from scopes.merge.resolve import CHOICE_OF_STRATEGY, apply_choice, resolve, set_value
from scopes.model import canonical_json
from scopes.model.conflicts import (
    ENDED,
    STATUSES,
    Choice,
    Conflict,
    EarlierResolution,
    Reused,
    conflict_document,
    encode_conflict,
    resolution_document,
)
from scopes.model.message import FILES, MESSAGES, Author, Message, participant_claim, text_parts
from scopes.model.message import Position as StatedPosition
from scopes.result import HIDDEN, INLINE, OMIT_EMPTY, Note, Result, plural
from scopes.store.graph import walk_newest_first
from scopes.store.objects import BlobChange, ObjectsInMemory, update_tree
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

MAX_PATCH = 1 << 16


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictList(Result):
    """The conflicts of one conversation or of all; open ones only, unless `include_all`."""

    rows_in = "conflicts"

    conversation: ConversationId | None
    conflicts: tuple[ConflictRow, ...]
    include_all: bool = field(default=False, metadata=HIDDEN)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChanges:
    """What both sides did to a file: the last edits of target and source as patches.

    A patch is empty if it is not recorded or not wanted, and cut after MAX_PATCH characters.
    """

    comparison: FileComparison = field(metadata=INLINE)
    target_patch: str = field(default="", metadata=OMIT_EMPTY)
    source_patch: str = field(default="", metadata=OMIT_EMPTY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictView(Result):
    """One conflict with the texts of its messages, by id, and what was said about it, oldest first, until it ended.

    `positions` are what authors hold, with what speaks for it: the newest one of each. `escalated_to` is who was asked
    last to resolve it, `escalated_at` when; `sides` are the sides that a resolution can take, none if the
    conflict is resolved. `file` is what
    both sides did to the file.
    """

    kind = "conflict"

    row: ConflictRow
    texts: Mapping[str, str]
    talk: tuple[MessageHeader, ...]
    positions: tuple[StatedPosition, ...] = ()
    escalated_to: str | None = None
    escalated_at: str | None = None
    sides: tuple[str, ...] = ()
    file: FileChanges | None = None

    def document(self) -> dict[str, object]:
        """Return the conflict with the texts of its messages, what was said about it, and what its sides changed."""
        known = canonical_json.without_none(
            escalated_to=self.escalated_to, escalated_at=self.escalated_at, file=self.file
        )
        discussion = {"talk": self.talk, "positions": self.positions, "sides": self.sides}
        return {**self.row.document(self.texts), **discussion, **known}


def list_conflicts(
    repository: Repository, conversation: str | None = None, *, status: str | None = None, include_all: bool = False
) -> ConflictList:
    """List the unresolved conflicts; with `include_all` also all that were resolved or aborted.

    Raises:
        NotFound, Ambiguous: there is no such conversation.
        Invalid: there is no such status.
    """
    if status is not None and status not in STATUSES:
        raise Invalid(f"{status!a} is not a valid conflict status", hint="statuses: " + ", ".join(STATUSES))
    conversation_id = None if conversation is None else resolve_conversation(repository, conversation)
    searched = conversation_ids(repository) if conversation_id is None else [conversation_id]
    ended = read_ended(repository) if include_all or status in ENDED else None
    rows = [row for each in searched for row in walk_conflicts(repository, each, ended=ended)]
    statuses = {status} if status is not None else set(STATUSES) if include_all else set(STATUSES) - ENDED
    found = tuple(row for row in rows if row.conflict.status in statuses)
    selected = include_all or status is not None
    return ConflictList(conversation=conversation_id, conflicts=found, include_all=selected)


def show_conflict(
    repository: Repository, conversation: str, conflict: str, *, files: bool = True, patch: bool = True
) -> ConflictView:
    """Show one conflict, named by its id, a unique prefix of it, its number, or its key.

    With `files`, a conflict about a file says whether the edits of both sides overlap, with `patch` what the last ones
    did.

    Raises:
        NotFound, Ambiguous: there is no such conflict.
    """
    row, in_progress = read_conflict(repository, resolve_conversation(repository, conversation), conflict)
    texts = _read_texts(repository, in_progress, row.conflict)
    discussion = read_discussion(repository, in_progress, row.conflict)
    sides: tuple[str, ...] = ()
    if row.conflict.status not in ENDED:
        unwritten = ObjectsInMemory(repository)
        sides = list_sides(find_disagreement(repository, in_progress, row.conflict, unwritten), row.conflict)
    file = _read_file_changes(repository, row, in_progress, patch=patch) if files else None
    return ConflictView(
        row=row,
        texts=texts,
        sides=sides,
        file=file,
        **discussion._asdict(),
    )


def find_conflict_anywhere(repository: Repository, name: str) -> ConversationId:
    """Return the conversation of a conflict that is named alone: the latest one, else the only one with that id.

    A number names a conflict of the latest conversation only.

    Raises:
        NotFound, Ambiguous: no conversation or several have such a conflict.
        Invalid: the name is that of a conversation.
    """
    latest: ConversationId | None = None
    with contextlib.suppress(NotFound):  # the store is empty
        latest = resolve_conversation(repository, "@")
        read_conflict(repository, latest, name)
        return latest

    every = list_conflicts(repository, include_all=True).conflicts if is_id_prefix(name) else ()
    rows = [row for row in every if row.conflict.id.startswith(name)]
    rows = [row for row in rows if row.conflict.status not in ENDED] or rows
    found = list(dict.fromkeys(row.conversation for row in rows))
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"{conversation} {name}" for conversation in found[:8])
        raise Ambiguous(f"{name!a} matches conflicts of {len(found)} conversations", hint=f"name one of: {names}")
    if name in conversation_ids(repository):
        raise Invalid(f"{name} is a conversation", hint=f"name its conflict too: {name} 1")
    where = f" in {latest}, the latest conversation" if latest is not None and not is_id_prefix(name) else ""
    hint = "list them: scopes conflicts list; a number needs its conversation before it"
    raise NotFound(f"there is no conflict {name!a}{where}", hint=hint)


def _read_texts(repository: Repository, in_progress: InProgress, conflict: Conflict) -> dict[str, str]:
    """Read the texts of the messages that set the values of a conflict."""
    positions = (*conflict.base, *conflict.source, *conflict.target)
    missing = {position.message for position in positions if position.message is not None}
    found: dict[str, str] = {}
    for commit in walk_newest_first(repository, [in_progress.tip, in_progress.source_tip]):
        if not missing:
            break
        message = message_id_of(commit)
        if message in missing:
            missing.discard(message)
            found[message] = read_body(repository, commit).text
    return found


def _read_file_changes(
    repository: Repository, row: ConflictRow, in_progress: InProgress, *, patch: bool
) -> FileChanges | None:
    """Compare the file of a conflict again, from the messages of both sides; None if it is about something else,
    or if the branch only holds its record.
    """
    if group_of(row.conflict.key) != FILES or in_progress.kind == HELD:
        return None
    divergence = find_divergence(repository, repository, in_progress.target_tip, in_progress.source_tip)
    if divergence is None:
        return None
    directory = find_directory(repository, row.conversation)
    comparison = compare_files(repository, divergence, [row.conflict.key], directory)[0]
    if not patch:
        return FileChanges(comparison=comparison)
    return FileChanges(
        comparison=comparison,
        target_patch=patch_of(comparison.path, comparison.target.edit)[:MAX_PATCH],
        source_patch=patch_of(comparison.path, comparison.source.edit)[:MAX_PATCH],
    )


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
        others: What else is in progress: commands then have to name the branch.
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
    others: OthersInProgress = NO_OTHERS

    def document(self) -> dict[str, object]:
        """Return the conflict, how many others of its branch are open, and the outcome of what was continued."""
        known = canonical_json.without_none(escalated_to=self.escalated_to, continued=self.continued)
        return {
            "kind": "resolution" if self.conflict.status == "resolved" else "escalation",
            "conversation": self.conversation,
            "branch": self.branch,
            "conflict": conflict_document(self.number, self.conflict),
            "message": self.message,
            "remaining": self.remaining,
            "operation": self.operation,
            **known,
        }

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
        choice, new_value, reused = take or "value", None if value is None else read_value(record.key, value), None
        if as_before:
            choice, earlier = _read_earlier(repository, in_progress, record)
            strategy, reused = "reused", Reused(earlier.conflict, earlier.actor, earlier.reason)
            new_value = earlier.values[0] if choice == "value" else None
        if choice != "value":
            require_side(disagreement, record, choice)
        why = reason or ("" if reused is None else reused.reason)
        resolved = resolve(record, choice, strategy, why, actor.name, new_value, reused)
        if choice == "value":
            changes = set_value(disagreement, new_value, actor.name)
        else:
            changes = apply_choice(repository, disagreement.target, disagreement.source, choice)
        changes = changes_made_since(repository, in_progress, record.key) | changes
        if group_of(record.key) == MESSAGES and choice == "value":
            text = str(new_value)  # the resolution amends the message: its text is the new text
        else:
            outcome = f"took {choice}{'' if reused is None else ' as before'}"
            if choice == "value":
                outcome = new_value if isinstance(new_value, str) else canonical_json.dump(new_value).decode().rstrip()
            text = f"Resolved {decoded_key(record.key)}: {outcome}" + (f" ({reason})" if reason else "")
        result = _write(repository, in_progress, row.number, resolved, actor, text, changes)
    return _continue(repository, result) if continue_after else result


def _continue(repository: Repository, result: ConflictResolved) -> ConflictResolved:
    """Continue the merge, rebase or cherry-pick of a resolved conflict if no conflict is open; else add a note."""
    if result.remaining:
        verb = "is" if result.remaining == 1 else "are"
        text = f"the {result.kind} was not continued: {result.remaining} {plural(result.remaining, 'conflict')} {verb}"
        return replace(result, notes=(*result.notes, Note(f"{text} still open")))
    if result.kind not in _CONTINUE:
        return replace(result, notes=(*result.notes, Note(f"nothing is in progress on {result.branch}")))
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
    conversation_id, addressee = resolve_conversation(repository, conversation), parse_agent_name(to)
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
        hint = f"show it: scopes conflicts show {quote(in_progress.conversation)} {quote(record.id[:8])}"
        raise Refused(f"conflict {record.id} is resolved already", hint=hint)
    return record


def _read_earlier(
    repository: Repository, in_progress: InProgress, conflict: Conflict
) -> tuple[Choice, EarlierResolution]:
    """Return the only earlier resolution of a conflict, and the choice that repeats it.

    Raises:
        Refused: there is none, there are several that contradict each other, or it does not fit.
    """
    found = list_earlier(repository, in_progress.conversation, in_progress).find(conflict)
    command = f"scopes conflicts resolve {quote(in_progress.conversation)} {quote(conflict.id[:8])} --take source"
    if len(found) > 1:
        names = ", ".join(f"{each.actor} in {each.conflict}" for each in found)
        raise Refused(f"it was resolved before in different ways: {names}", hint=f"take a side: {command}")
    for earlier in found:
        if earlier.choice is not None:
            return earlier.choice, earlier
    raise Refused(f"conflict {conflict.id} was not resolved before with such a value", hint=f"take a side: {command}")


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
    amended = None
    if conflict.resolution is not None:
        document |= resolution_document(conflict.resolution)
        if conflict.resolution.choice == "value" and group_of(conflict.key) == MESSAGES:
            amended = conflict.key.partition("/")[2]  # the resolution gives the message a new text
    message = Message(
        id=new_id(),
        author=actor,
        parts=text_parts(text),
        kind="notice",
        time=now(),
        to=to,
        amends=amended,
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
        others=read_others(repository, in_progress.conversation, in_progress.branch),
    )
