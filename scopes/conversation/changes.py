"""`changes`: the change log of a conversation or of the registry, from commits and operations (S4-49 … S4-52).

The change log itself is not stored, so it cannot contradict the store, and the same store always gives the same log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from shlex import quote
from typing import NamedTuple

from scopes.clock import now_nanoseconds, parse_date, parse_time
from scopes.conversation.causes import Causes
from scopes.conversation.change import CAUSES, OPERATIONS, Change, FieldChange
from scopes.conversation.fact_changes import walk_fact_changes, walk_key_changes
from scopes.conversation.lapsed_facts import LapsedFacts
from scopes.conversation.merged_branches import MergedBranches, keep_statuses
from scopes.conversation.message_changes import Recorded, walk_message_changes
from scopes.conversation.moved_effects import MovedEffects
from scopes.conversation.operation_changes import (
    ConversationOperation,
    find_effective,
    moved_branches,
    walk_conversation_operations,
    walk_operation_changes,
)
from scopes.conversation.participants import keep_changes
from scopes.conversation.recording_order import Position, RecordingOrder
from scopes.conversation.registry_changes import (
    list_registry_files,
    walk_agent_changes,
    walk_allowed_changes,
    walk_inbox_changes,
)
from scopes.errors import Invalid
from scopes.history.conversations import read_uuid
from scopes.history.messages import headers_of
from scopes.history.metadata import read_metadata
from scopes.history.revisions import list_branch_tips, resolve_branch_name, resolve_conversation
from scopes.history.shared_refs import AGENT_FILES, INBOX_FILES, ConversationFilter
from scopes.ids import ConversationId, Oid
from scopes.model.claims import DECISIONS, folded
from scopes.model.path_encoding import encode_component
from scopes.result import Note, Stream
from scopes.store import refs
from scopes.store.graph import walk_oldest_first
from scopes.store.repository import Repository

_MAX_NAMED = 10
_OF_REGISTRY = frozenset({"agents", "context_keys", "allowed_secrets"})  # fields


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLog(Stream):
    """The changes of a conversation, or of the registry, in the order in which they were recorded."""

    conversation: ConversationId | None


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
    """Derive the change log of a conversation and filter it.

    With `branch` only the messages in its history and the changes of the branch itself are listed. `field` also selects
    the fields below it. `cause` is a kind of cause (`agent`) or a full cause (`agent:planner`).

    A note tells which fields or causes there are if a filter matches none of them.

    Raises:
        NotFound, Ambiguous: there is no such branch.
        Invalid: `since` is not a date, `operation` is not one of OPERATIONS, or `cause` does not begin with a kind.
    """
    wanted = _check_filter(since, field, cause, operation)
    conversation_id = resolve_conversation(repository, conversation)
    found = _changes_of_conversation(repository, conversation_id)
    if branch is not None:
        found = _of_branch(repository, conversation_id, branch, found)
    return _filtered(conversation_id, found, wanted)


def registry_changes(
    repository: Repository,
    *,
    since: str | None = None,
    field: str | None = None,
    cause: str | None = None,
    operation: str | None = None,
) -> ChangeLog:
    """Derive the change log of what belongs to no conversation: agents, context keys, allowed secrets; and filter it.

    The filters and what is raised are those of `changes`.
    """
    wanted = _check_filter(since, field, cause, operation)
    order, causes = RecordingOrder(repository), Causes(repository)
    found: list[tuple[Position, Change]] = []
    for number, record in enumerate(order.records):
        files = list_registry_files(repository, record, AGENT_FILES)
        changed = (*walk_agent_changes(files), *walk_key_changes(repository, record))
        changed += tuple(walk_allowed_changes(repository, record))
        found += _rows_of(order, number, changed, causes.find(record, files))
    return _filtered(None, [change for _, change in found], wanted)


class _Filter(NamedTuple):
    start: int | None
    field: str | None
    cause: str | None
    operation: str | None

    def matches(self, change: Change) -> bool:
        return (
            (self.start is None or (parse_time(change.time) or 0) >= self.start)
            and (self.operation is None or change.operation == self.operation)
            and self.has_field(change)
            and self.has_cause(change)
        )

    def has_field(self, change: Change) -> bool:
        path, field = change.field_path, self.field
        if field is not None and path.startswith(f"{DECISIONS}."):  # topics are the same in any case
            path, field = folded(path), folded(field)
        return field is None or path == field or path.startswith((f"{field}.", f"{field}["))

    def has_cause(self, change: Change) -> bool:
        return self.cause is None or change.cause == self.cause or change.cause.startswith(f"{self.cause}:")


def _check_filter(since: str | None, field: str | None, cause: str | None, operation: str | None) -> _Filter:
    if operation is not None and operation.upper() not in OPERATIONS:
        raise Invalid(f"{operation!a} is not a valid operation", hint="operations: " + ", ".join(OPERATIONS))
    if cause is not None and cause.partition(":")[0] not in CAUSES:
        kinds = ", ".join(CAUSES)
        raise Invalid(f"{cause!a} is not a valid cause", hint=f"causes: {kinds}, or with a name: agent:reviewer")
    start = None if since is None else parse_date(since, now_nanoseconds())
    return _Filter(start, field, cause, operation and operation.upper())


def _filtered(conversation: ConversationId | None, found: Sequence[Change], wanted: _Filter) -> ChangeLog:
    notes = []
    if found and not any(map(wanted.has_field, found)):
        is_of_registry = (wanted.field or "").partition(".")[0] in _OF_REGISTRY
        groups = {re.split(r"[.\[]", change.field_path)[0] for change in found}
        note = _unmatched_note("field", wanted.field, groups)
        hint = f"see: scopes conv changes --registry --field {quote(wanted.field or '')}"
        notes.append(note._replace(hint=hint) if is_of_registry and conversation is not None else note)
    if found and not any(map(wanted.has_cause, found)):
        notes.append(_unmatched_note("cause", wanted.cause, {change.cause for change in found}))
    return ChangeLog(
        conversation=conversation, items=tuple(each for each in found if wanted.matches(each)), notes=tuple(notes)
    )


def _changes_of_conversation(repository: Repository, conversation: ConversationId) -> list[Change]:
    """Return all changes in the order of recording."""
    own = list(walk_conversation_operations(repository, conversation))
    commits = list(walk_oldest_first(repository, sorted(_all_tips(repository, conversation, own))))
    order = RecordingOrder(repository)
    moves = {each.record.id: moved_branches(each.record, each.conversation) for each in own}
    order.read_moves(conversation, moves, {commit.oid: commit.parents for commit in commits})
    recorded = Recorded({}, {}, {})
    tips = list_branch_tips(repository, conversation)
    found = list(walk_message_changes(repository, commits, order, recorded, tips.values()))
    moved = MovedEffects(repository, tips, recorded)
    merged = MergedBranches(repository, order, recorded, tips, read_metadata(repository, conversation).branches)
    effective = find_effective(reversed(own))
    rows = {
        each.record.id: [
            *walk_operation_changes(repository, each, effective[each.record.id], recorded.stated),
            *moved.walk(each.record, effective[each.record.id].kind, moves[each.record.id]),
            *merged.walk(each.record, each.conversation, moves[each.record.id]),
        ]
        for each in own
    }
    uuid, causes = encode_component(read_uuid(repository, conversation)), Causes(repository)
    entries, lapsed = ConversationFilter(repository, conversation), LapsedFacts(order)
    for number, record in enumerate(order.records):
        files = list_registry_files(repository, record, AGENT_FILES, INBOX_FILES)
        inboxes = list(walk_inbox_changes(repository, files, entries))
        found += _rows_of(
            order,
            number,
            (
                *rows.get(record.id, ()),
                *lapsed.take(number, walk_fact_changes(repository, record, uuid)),
                *(walk_agent_changes(files) if inboxes else ()),
                *inboxes,
            ),
            causes.find(record, files),
        )
    found += [*lapsed.list_rows(now_nanoseconds()), *merged.later]
    return list(keep_statuses(keep_changes(change for _, change in sorted(found, key=itemgetter(0)))))


def _rows_of(
    order: RecordingOrder, number: int, found: Iterable[FieldChange], cause: str
) -> Iterator[tuple[Position, Change]]:
    """Yield the rows of an operation, with its place: all have one time, and one cause unless a change has its own.

    Whoever ran an undo or redo caused all of it: who had caused what that takes back or restores did not.
    """
    record = order.records[number]
    position, time, source = order.position_of(number), order.time_of(number), record.id
    for each in found:
        own = each if record.undoes is None else each._replace(cause=None)
        yield position, own.to_row(time, cause, source)


def _of_branch(
    repository: Repository, conversation: ConversationId, branch: str, found: Iterable[Change]
) -> list[Change]:
    """Return the changes of a branch: those of the messages in its history, and of its ref and entry."""
    name = resolve_branch_name(repository, conversation, branch)
    tip = list_branch_tips(repository, conversation)[name]
    messages = {head.id for head in headers_of(walk_oldest_first(repository, [tip]))}
    own = (f"branches.{name}", f"branches.{name}.status")
    return [change for change in found if change.source in messages or change.field_path in own]


def _unmatched_note(what: str, given: str | None, known: Iterable[str]) -> Note:
    names = sorted(known)
    more = f", and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return Note(f"no change has the {what} {given!a}", hint=f"{what}s: {', '.join(names[:_MAX_NAMED])}{more}")


def _all_tips(
    repository: Repository, conversation: ConversationId, operations: Iterable[ConversationOperation]
) -> set[Oid]:
    """Return the branch tips of now and those before and after every operation, to include rewound messages."""
    tips = set(list_branch_tips(repository, conversation).values())
    for record, name, _ in operations:
        heads = f"{refs.HEADS}{name}/"
        tips |= {Oid(v) for c in record.changes if c.ref.startswith(heads) for v in (c.old, c.new) if v is not None}
    return tips
