"""`changes`: the change log of a conversation, derived from its commits and operations (S4-49 … S4-52).

The change log itself is not stored, so it cannot contradict the store, and the same store always gives the same log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

from scopes.clock import format_seconds, now_nanoseconds, parse_date, parse_time
from scopes.conversation.fact_changes import walk_fact_changes
from scopes.conversation.inbox_changes import walk_inbox_changes
from scopes.conversation.message_effects import Effect, MessageEffects
from scopes.conversation.moved_effects import MovedEffects
from scopes.errors import Invalid
from scopes.history.conversations import read_uuid
from scopes.history.messages import (
    MessageHeader,
    header_of,
    headers_of,
    is_root,
    read_message_at,
    subject_of,
)
from scopes.history.metadata import Metadata, read_metadata_at
from scopes.history.recorded_times import RecordedTimes
from scopes.history.revisions import list_branch_tips, resolve_branch_name, resolve_conversation
from scopes.history.shared_refs import ConversationFilter
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.records import open_conflicts_at
from scopes.model.claims import PARTICIPANT_KINDS
from scopes.model.conversation import BranchEntry
from scopes.model.message import Message
from scopes.model.operation import Operation, RefChange
from scopes.result import Note, Result, Stream
from scopes.store import refs
from scopes.store.graph import walk_oldest_first
from scopes.store.operation_log import walk_operations
from scopes.store.repository import Repository

OPERATIONS = ("CREATE", "APPEND", "UPDATE", "DELETE", "MERGE")
CAUSES = ("user", "agent", "system")  # kinds of cause
_MAX_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Result):
    """One change; `cause` is `user:<name>`, `agent:<name>` or `system`, `source` the id of the message or operation.

    `tools` are the names of the tools that a new message calls.
    """

    time: str
    field_path: str
    operation: str
    before: Any
    after: Any
    cause: str
    source: str
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLog(Stream):
    """The changes of a conversation, oldest first."""

    conversation: ConversationId


class ConversationOperation(NamedTuple):
    """An operation, the conversation id after it and, if it renamed the conversation, the id before it."""

    record: Operation
    conversation: ConversationId
    old_id: ConversationId | None = None


def changes(
    repository: Repository,
    conversation: str,
    *,
    since: str | None = None,
    field: str | None = None,
    cause: str | None = None,
    operation: str | None = None,
    branch: str | None = None,
) -> ChangeLog:
    """Derive the change log and filter it.

    With `branch` only the messages in its history and the changes of the branch itself are listed. `field` also selects
    the fields below it. `cause` is a kind of cause (`agent`) or a full cause (`agent:planner`).

    A note tells which fields or causes there are if a filter matches none of them.

    Raises:
        NotFound, Ambiguous: there is no such branch.
        Invalid: `since` is not a date, `operation` is not one of OPERATIONS, or `cause` does not begin with a kind.
    """
    if operation is not None and operation.upper() not in OPERATIONS:
        raise Invalid(f"{operation!a} is not a valid operation", hint="operations: " + ", ".join(OPERATIONS))
    if cause is not None and cause.partition(":")[0] not in CAUSES:
        kinds = ", ".join(CAUSES)
        raise Invalid(f"{cause!a} is not a valid cause", hint=f"causes: {kinds}, or with a name: agent:reviewer")
    conversation_id = resolve_conversation(repository, conversation)
    start = None if since is None else parse_date(since, now_nanoseconds())
    found = _in_order_of_recording(repository, conversation_id)
    if branch is not None:
        found = _of_branch(repository, conversation_id, branch, found)
    of_field = [change for change in found if field is None or _is_of_field(change, field)]
    of_cause = [change for change in found if cause is None or _is_of_cause(change, cause)]
    notes = []
    if found and not of_field:
        notes.append(_unmatched_note("field", field, {re.split(r"[.\[]", c.field_path)[0] for c in found}))
    if found and not of_cause:
        notes.append(_unmatched_note("cause", cause, {change.cause for change in found}))
    return ChangeLog(
        conversation=conversation_id,
        items=tuple(
            change
            for change in of_field
            if (start is None or (parse_time(change.time) or 0) >= start)
            and (cause is None or _is_of_cause(change, cause))
            and (operation is None or change.operation == operation.upper())
        ),
        notes=tuple(notes),
    )


def _in_order_of_recording(repository: Repository, conversation: ConversationId) -> list[Change]:
    """Return all changes by time; where a clock went back, in the order in which they were recorded."""
    operations = list(walk_conversation_operations(repository, conversation))
    effects: dict[MessageId, list[Effect]] = {}
    found = list(_message_changes(repository, _all_tips(repository, conversation, operations), effects))
    moved = MovedEffects(repository, list_branch_tips(repository, conversation), effects)
    own = {each.record.id: list(_changes_of_operation(repository, each, moved)) for each in operations}
    facts: dict[OperationId, list[Change]] = {}
    for change in _fact_changes(repository, conversation):
        facts.setdefault(OperationId(change.source), []).append(change)
    moment = 0
    entries_of = ConversationFilter(repository, conversation)
    for record in reversed([record for _, record in walk_operations(repository)]):
        moment = max(moment, parse_time(record.time) or 0)
        rows = [*own.get(record.id, ()), *facts.get(record.id, ())]
        rows += _inbox_changes(repository, record, entries_of)
        found += [(moment, change) for change in rows]
    found.sort(key=itemgetter(0))
    return [change for _, change in found]


def _changes_of_operation(
    repository: Repository, operation: ConversationOperation, moved: MovedEffects
) -> Iterator[Change]:
    """Yield the changes of one operation, and what it changed by taking messages back or restoring them."""
    record, conversation, _ = operation
    yield from _operation_changes(repository, operation)
    for path, before, after in moved.walk(record, _moved_branches(record, conversation)):
        yield _change(record.time, path, _verb(before, after), before, after, _actor(record), record.id)


def _moved_branches(record: Operation, conversation: ConversationId) -> dict[BranchName, RefChange]:
    heads = f"{refs.HEADS}{conversation}/"
    return {BranchName(c.ref.removeprefix(heads)): c for c in record.changes if c.ref.startswith(heads)}


def _inbox_changes(repository: Repository, record: Operation, conversation: ConversationFilter) -> Iterator[Change]:
    for each in walk_inbox_changes(repository, record, conversation):
        cause = _actor(record) if each.author is None else _cause(*each.author)
        verb = "APPEND" if each.before is None else _verb(each.before, each.after)
        yield _change(record.time, each.field_path, verb, each.before, each.after, cause, record.id)


def _of_branch(
    repository: Repository, conversation: ConversationId, branch: str, found: Iterable[Change]
) -> list[Change]:
    """Return the changes of a branch: those of the messages in its history, and of its ref and entry."""
    name = resolve_branch_name(repository, conversation, branch)
    tip = list_branch_tips(repository, conversation)[name]
    messages = {head.id for head in headers_of(walk_oldest_first(repository, [tip]))}
    own = (f"branches.{name}", f"branches.{name}.status")
    return [change for change in found if change.source in messages or change.field_path in own]


def _is_of_field(change: Change, field: str) -> bool:
    return change.field_path == field or change.field_path.startswith((f"{field}.", f"{field}["))


def _is_of_cause(change: Change, cause: str) -> bool:
    return change.cause == cause or change.cause.startswith(f"{cause}:")


def _unmatched_note(what: str, given: str | None, known: Iterable[str]) -> Note:
    names = sorted(known)
    more = f", and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return Note(f"no change has the {what} {given!a}", hint=f"{what}s: {', '.join(names[:_MAX_NAMED])}{more}")


def walk_conversation_operations(
    repository: Repository, conversation: ConversationId
) -> Iterator[ConversationOperation]:
    """Yield the operations of a conversation, newest first, back to the one that created it; follow renames.

    The operation log only records refs. A conversation is followed backwards by its id and the value of its metadata
    ref, because an id can be reused after a deletion.

    Raises:
        Corrupt, NotFound: a record of the log is damaged or missing.
    """
    name, meta = conversation, repository.find_ref(refs.meta_ref(conversation))
    deleted = False  # at that point of the log the conversation was in the trash, or undone
    for _, record in walk_operations(repository):
        change = next((c for c in record.changes if c.ref == refs.meta_ref(name)), None)
        if deleted:
            deleted = change is None or (change.old, change.new) != (meta, None)
            if not deleted:
                yield ConversationOperation(record, name)
        elif change is None:
            if any(_is_ref_of(each.ref, name) for each in record.changes):
                yield ConversationOperation(record, name)
        elif change.new is None:
            return  # an earlier conversation with the same id was deleted here
        elif change.old is not None:
            meta = change.old
            yield ConversationOperation(record, name)
        else:
            source = next((c.ref for c in record.changes if c.old == change.new and c.new is None), "")
            old_id = ConversationId(source.removeprefix(refs.META)) if source.startswith(refs.META) else None
            yield ConversationOperation(record, name, old_id)
            if old_id is not None:
                name = old_id
            elif source or record.undoes is not None:
                deleted = True
            else:
                meta = None


def _is_ref_of(ref: str, conversation: ConversationId) -> bool:
    return ref.startswith(f"{refs.HEADS}{conversation}/") or ref == refs.active_ref(conversation)


def _all_tips(
    repository: Repository, conversation: ConversationId, operations: Iterable[ConversationOperation]
) -> set[Oid]:
    """Return the branch tips of now and those before and after every operation, to include rewound messages."""
    tips = set(list_branch_tips(repository, conversation).values())
    for record, name, _ in operations:
        heads = f"{refs.HEADS}{name}/"
        tips |= {Oid(v) for c in record.changes if c.ref.startswith(heads) for v in (c.old, c.new) if v is not None}
    return tips


def _message_changes(
    repository: Repository, tips: Iterable[Oid], effects_of: dict[MessageId, list[Effect]]
) -> Iterator[tuple[int, Change]]:
    """Yield the changes of each message once, with a time that is not before that of its parents.

    They are ordered by it, by depth and by id: an order that does not depend on the tips. A merge of scopes has the
    time at which it was written, as in the log. `effects_of` gets what messages changed beside being messages.
    """
    recorded = RecordedTimes(repository)
    depths: dict[Oid, int] = {}
    moments: dict[Oid, int] = {}
    rows: list[tuple[int, int, MessageId, str, MessageHeader, Message]] = []
    for commit in walk_oldest_first(repository, sorted(tips)):
        depths[commit.oid] = depth = 1 + max((depths[parent] for parent in commit.parents), default=0)
        moments[commit.oid] = max((moments[parent] for parent in commit.parents), default=0)
        if not is_root(commit):
            head, message = recorded.add_to(header_of(commit)), read_message_at(repository, commit.tree)
            time = message.time or format_seconds(head.time)
            time = time if head.recorded is None else format_seconds(head.recorded)
            moments[commit.oid] = moment = max(moments[commit.oid], parse_time(time) or 0)
            rows.append((moment, depth, head.id, time, head, message))
    rows.sort(key=itemgetter(0, 1, 2))
    seen: set[MessageId] = set()
    participants: set[str] = set()
    effects = MessageEffects(repository)
    for moment, _, message_id, time, head, message in rows:
        if message_id in seen:
            effects.skip(head)
            continue
        seen.add(message_id)
        yield from ((moment, change) for change in _changes_of_message(head, message, time, participants))
        cause = _cause(head.author_kind, head.author)
        for path, before, after in effects.walk(head, message):
            effects_of.setdefault(head.id, []).append(Effect(path, before, after))
            yield moment, _change(time, path, _verb(before, after), before, after, cause, head.id)


def _changes_of_message(head: MessageHeader, message: Message, time: str, participants: set[str]) -> Iterator[Change]:
    """Yield the changes of one message; add its author to `participants`."""
    cause = _cause(head.author_kind, head.author)
    if head.author_kind in PARTICIPANT_KINDS and head.author not in participants:
        participants.add(head.author)
        yield _change(time, "participants", "APPEND", None, head.author, cause, head.id)
    appended = _change(time, "messages", "APPEND", None, _message_object(head, message), cause, head.id)
    tools = dict.fromkeys(str(p.fields.get("name") or "unknown tool") for p in message.parts if p.type == "tool_call")
    yield replace(appended, tools=tuple(tools))
    target = message.retracts or message.amends
    if target is not None:
        verb = "DELETE" if message.retracts else "UPDATE"
        after = None if message.retracts else {"amended_by": head.id}
        yield _change(time, f"messages[{target}]", verb, {"id": target}, after, cause, head.id)


def _operation_changes(repository: Repository, operation: ConversationOperation) -> Iterator[Change]:
    """Yield the changes of one operation; all have its time and the same cause (S4-52)."""
    record, conversation, old_id = operation
    if old_id is not None:
        yield _change(record.time, "id", "UPDATE", old_id, conversation, _actor(record), record.id)
        return
    meta = next((c for c in record.changes if c.ref == refs.meta_ref(conversation)), RefChange("", None, None))
    before, after = _read_metadata(repository, meta.old), _read_metadata(repository, meta.new)
    branches = _moved_branches(record, conversation)
    cause = _cause_of_operation(record, branches, after.branches)
    yield from _metadata_changes(record, before, after, cause)
    for name, change in branches.items():
        yield _branch_change(record, name, change, after.branches.get(name), cause)
    if record.kind.endswith("-conflict"):
        yield from _conflict_changes(repository, record, branches.values(), cause)
    for change in record.changes:
        if change.ref == refs.active_ref(conversation):
            old, new = _branch_in(change.old), _branch_in(change.new)
            yield _change(record.time, "active_branch", _verb(old, new), old, new, cause, record.id)


def _fact_changes(repository: Repository, conversation: ConversationId) -> list[Change]:
    """Return what commands did to the facts of a conversation, oldest first."""
    rows = [
        _change(
            each.record.time,
            each.field_path,
            _verb(each.before, each.after),
            each.before,
            each.after,
            _actor(each.record) if each.agent is None else _cause("agent", each.agent),
            each.record.id,
        )
        for each in walk_fact_changes(repository, read_uuid(repository, conversation))
    ]
    return rows[::-1]


def _cause_of_operation(
    record: Operation, changed: Mapping[BranchName, RefChange], entries: Mapping[BranchName, BranchEntry]
) -> str:
    """Return the agent of a created branch, or else the user who ran the operation."""
    agents = [entries[name].agent for name in changed if name in entries] if record.kind == "branch" else []
    return next((_cause("agent", agent) for agent in agents if agent is not None), _actor(record))


def _branch_change(
    record: Operation, name: BranchName, change: RefChange, entry: BranchEntry | None, cause: str
) -> Change:
    verb = "MERGE" if record.kind == "merge" else _verb(change.old, change.new)
    before = None if change.old is None else {"tip": change.old}
    after: dict[str, Any] | None = None if change.new is None else {"tip": change.new}
    if after is not None and change.old is None and entry is not None:
        facts = {"purpose": entry.purpose, "agent": entry.agent, "parent": entry.parent}
        after |= {key: value for key, value in facts.items() if value is not None}
    return _change(record.time, f"branches.{name}", verb, before, after, cause, record.id)


def _conflict_changes(
    repository: Repository, record: Operation, branches: Iterable[RefChange], cause: str
) -> Iterator[Change]:
    """Yield the conflicts that stopped a merge, rebase or cherry-pick."""
    for tip in (Oid(change.new) for change in branches if change.new is not None):
        for conflict in open_conflicts_at(repository, tip):
            after = {"type": conflict.type, "key": conflict.key, "status": conflict.status}
            yield _change(record.time, f"conflicts.{conflict.id}", "CREATE", None, after, cause, record.id)


def _metadata_changes(record: Operation, before: Metadata, after: Metadata, cause: str) -> Iterator[Change]:
    """Compare two versions of the metadata; the creation and deletion of branches are rows of their refs."""
    if before.title != after.title:
        verb = _verb(before.title, after.title)
        yield _change(record.time, "title", verb, before.title, after.title, cause, record.id)
    for tag in sorted(before.tags.keys() | after.tags.keys()):
        old, new = before.tags.get(tag), after.tags.get(tag)
        if old != new:
            yield _change(record.time, f"tags.{tag}", _verb(old, new), old, new, cause, record.id)
    for name in sorted(before.branches.keys() & after.branches.keys()):
        old_status, new_status = before.branches[name].status, after.branches[name].status
        if old_status != new_status:
            path = f"branches.{name}.status"
            yield _change(record.time, path, "UPDATE", old_status, new_status, cause, record.id)


def _read_metadata(repository: Repository, value: str | None) -> Metadata:
    return Metadata() if value is None else read_metadata_at(repository, Oid(value))


def _branch_in(symbolic_value: str | None) -> BranchName | None:
    names = refs.split_branch_ref((symbolic_value or "").removeprefix(refs.SYMBOLIC))
    return names[1] if names is not None else None


def _verb(before: object, after: object) -> str:
    return "CREATE" if before is None else "DELETE" if after is None else "UPDATE"


def _cause(kind: str, name: str) -> str:
    return f"user:{name}" if kind == "human" else f"agent:{name}" if kind == "agent" else "system"


def _actor(record: Operation) -> str:
    return _cause("human", record.actor)


def _message_object(head: MessageHeader, message: Message) -> dict[str, Any]:
    subject = subject_of(head, message)
    return {"id": head.id, "kind": head.kind, "from": head.author, "to": list(head.to), "subject": subject}


def _change(  # noqa: PLR0917 - the columns of the log, in their order
    time: str, path: str, verb: str, before: Any, after: Any, cause: str, source: str
) -> Change:
    return Change(time=time, field_path=path, operation=verb, before=before, after=after, cause=cause, source=source)
