"""`changes`: the change log of a conversation as an entity, derived from commits and operations alone (S4-49 … S4-52).

Nothing is recorded for it, so it cannot disagree with what happened: the same store gives the same log.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from scopes.clock import format_seconds, now_nanoseconds, parse_time
from scopes.errors import Invalid
from scopes.history.dates import parse_moment
from scopes.history.messages import MessageHead, head_of, is_root, read_message
from scopes.history.metadata import Metadata, read_metadata_at
from scopes.history.revparse import find_conversation, list_branch_tips
from scopes.ids import BranchName, ConversationId, MessageId, Oid
from scopes.merge.in_progress import open_conflicts_at
from scopes.model.claims import PARTICIPANT_KINDS
from scopes.model.conversation import BranchEntry
from scopes.model.message import Message
from scopes.model.operation import Operation, RefChange
from scopes.result import Result, Stream
from scopes.store import refs as names
from scopes.store.graph import walk_oldest_first
from scopes.store.operation_log import walk_operations
from scopes.store.repository import Repository

OPERATIONS = ("CREATE", "APPEND", "UPDATE", "DELETE", "MERGE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Result):
    """One change: `cause` is `user:<name>`, `agent:<name>` or `system`; `source` the message or operation behind it."""

    time: str
    field_path: str
    operation: str
    before: Any
    after: Any
    cause: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLog(Stream):
    """The changes of a conversation, oldest first."""

    conversation: ConversationId


def changes(
    repository: Repository,
    conversation: str,
    *,
    since: str | None = None,
    field: str | None = None,
    cause: str | None = None,
    operation: str | None = None,
) -> ChangeLog:
    """Derive the change log; `field` also fits what lies below it, `cause` a kind (`agent`) or a whole cause.

    Raises:
        Invalid: `since` is no moment, or `operation` no operation.
    """
    if operation is not None and operation.upper() not in OPERATIONS:
        raise Invalid(f"{operation!a} is no operation", hint="operations: " + ", ".join(OPERATIONS))
    chosen = find_conversation(repository, conversation)
    start = None if since is None else parse_moment(since, now_nanoseconds())
    lineage = list(walk_conversation_operations(repository, chosen))
    found = [*_message_changes(repository, _every_tip(repository, chosen, lineage))]
    for own in reversed(lineage):
        found += _operation_changes(repository, own)
    found.sort(key=lambda change: parse_time(change.time) or 0)
    return ChangeLog(
        conversation=chosen,
        items=tuple(
            change
            for change in found
            if (start is None or (parse_time(change.time) or 0) >= start)
            and (
                field is None or change.field_path == field or change.field_path.startswith((f"{field}.", f"{field}["))
            )
            and (cause is None or change.cause == cause or change.cause.startswith(f"{cause}:"))
            and (operation is None or change.operation == operation.upper())
        ),
    )


def _every_tip(
    repository: Repository, conversation: ConversationId, lineage: Iterable[ConversationOperation]
) -> set[Oid]:
    """Return where branches stand, and where operations found or left them: what was taken back was said as well."""
    tips = set(list_branch_tips(repository, conversation).values())
    for record, name, _ in lineage:
        heads = f"{names.HEADS}{name}/"
        tips |= {Oid(v) for c in record.changes if c.ref.startswith(heads) for v in (c.old, c.new) if v is not None}
    return tips


def _message_changes(repository: Repository, tips: Iterable[Oid]) -> Iterator[Change]:
    """Tell each message once, in an order that no further tip changes: by time, by depth, by id."""
    depths: dict[Oid, int] = {}
    rows: list[tuple[int, int, MessageId, str, MessageHead, Message]] = []
    for commit in walk_oldest_first(repository, sorted(tips)):
        depths[commit.oid] = depth = 1 + max((depths[parent] for parent in commit.parents), default=0)
        if not is_root(commit):
            head, message = head_of(commit), read_message(repository, commit.oid)
            time = message.time or format_seconds(head.time)
            rows.append((parse_time(time) or 0, depth, head.id, time, head, message))
    rows.sort(key=itemgetter(0, 1, 2))
    told: set[MessageId] = set()
    participants: set[str] = set()
    for _, _, identity, time, head, message in rows:
        if identity not in told:
            told.add(identity)
            yield from _changes_of(head, message, time, participants)


def _changes_of(head: MessageHead, message: Message, time: str, participants: set[str]) -> Iterator[Change]:
    """Tell what one message changes; its author joins the participants."""
    cause = _cause(head.author_kind, head.author)
    if head.author_kind in PARTICIPANT_KINDS and head.author not in participants:
        participants.add(head.author)
        yield _change(time, "participants", "APPEND", None, head.author, cause, head.id)
    yield _change(time, "messages", "APPEND", None, _brief(head), cause, head.id)
    target = message.retracts or message.amends
    if target is not None:
        verb = "DELETE" if message.retracts else "UPDATE"
        after = None if message.retracts else {"amended_by": head.id}
        yield _change(time, f"messages[{target}]", verb, {"id": target}, after, cause, head.id)
    match message.extra.get("conflict"):
        case {"id": str(conflict), **decided}:
            yield _change(time, f"conflicts.{conflict}", "UPDATE", {"status": "open"}, decided, cause, head.id)


def _operation_changes(repository: Repository, own: ConversationOperation) -> Iterator[Change]:
    """Tell what an operation changed, all at one time and with one cause (S4-52)."""
    record, conversation, former = own
    if former is not None:
        yield _change(record.time, "id", "UPDATE", former, conversation, _actor(record), record.id)
        return
    meta = next((c for c in record.changes if c.ref == names.meta_ref(conversation)), RefChange("", None, None))
    before, after = _metadata(repository, meta.old), _metadata(repository, meta.new)
    heads = f"{names.HEADS}{conversation}/"
    moved = {BranchName(c.ref.removeprefix(heads)): c for c in record.changes if c.ref.startswith(heads)}
    cause = _cause_of(record, moved, after.branches)
    yield from _metadata_changes(record, before, after, cause)
    for name, change in moved.items():
        yield _branch_change(record, name, change, after.branches.get(name), cause)
    if record.kind.endswith("-conflict"):
        yield from _conflict_changes(repository, record, moved.values(), cause)
    for change in record.changes:
        if change.ref == names.active_ref(conversation):
            old, new = _branch_of(change.old), _branch_of(change.new)
            yield _change(record.time, "active_branch", _verb(old, new), old, new, cause, record.id)


def _cause_of(
    record: Operation, moved: Mapping[BranchName, RefChange], described: Mapping[BranchName, BranchEntry]
) -> str:
    """Name the agent for whom a branch was begun, or else the caller."""
    begun = [described[name].agent for name in moved if name in described] if record.kind == "branch" else []
    return next((_cause("agent", agent) for agent in begun if agent is not None), _actor(record))


def _branch_change(
    record: Operation, name: BranchName, change: RefChange, entry: BranchEntry | None, cause: str
) -> Change:
    verb = "MERGE" if record.kind == "merge" else _verb(change.old, change.new)
    before = None if change.old is None else {"tip": change.old}
    after: dict[str, Any] | None = None if change.new is None else {"tip": change.new}
    if after is not None and change.old is None and entry is not None:
        known = {"purpose": entry.purpose, "agent": entry.agent, "parent": entry.parent}
        after |= {key: value for key, value in known.items() if value is not None}
    return _change(record.time, f"branches.{name}", verb, before, after, cause, record.id)


def _conflict_changes(
    repository: Repository, record: Operation, moved: Iterable[RefChange], cause: str
) -> Iterator[Change]:
    """Tell which disagreements stopped an operation."""
    for tip in (Oid(change.new) for change in moved if change.new is not None):
        for conflict in open_conflicts_at(repository, tip):
            after = {"type": conflict.type, "key": conflict.key, "status": conflict.status}
            yield _change(record.time, f"conflicts.{conflict.id}", "CREATE", None, after, cause, record.id)


def _metadata_changes(record: Operation, before: Metadata, after: Metadata, cause: str) -> Iterator[Change]:
    """Compare two states of the metadata; what concerns a branch's creation or end is told by its ref."""
    if before.title != after.title:
        verb = _verb(before.title, after.title)
        yield _change(record.time, "title", verb, before.title, after.title, cause, record.id)
    for tag in sorted(before.tags.keys() | after.tags.keys()):
        old, new = before.tags.get(tag), after.tags.get(tag)
        if old != new:
            yield _change(record.time, f"tags.{tag}", _verb(old, new), old, new, cause, record.id)
    for name in sorted(before.branches.keys() & after.branches.keys()):
        was, now = before.branches[name].status, after.branches[name].status
        if was != now:
            yield _change(record.time, f"branches.{name}.status", "UPDATE", was, now, cause, record.id)


def _metadata(repository: Repository, value: str | None) -> Metadata:
    return Metadata() if value is None else read_metadata_at(repository, Oid(value))


def _branch_of(value: str | None) -> BranchName | None:
    place = names.split_branch_ref((value or "").removeprefix(names.SYMBOLIC))
    return place[1] if place is not None else None


def _verb(before: object, after: object) -> str:
    return "CREATE" if before is None else "DELETE" if after is None else "UPDATE"


def _cause(kind: str, name: str) -> str:
    return f"user:{name}" if kind == "human" else f"agent:{name}" if kind == "agent" else "system"


def _actor(record: Operation) -> str:
    return _cause("human", record.actor)


def _brief(head: MessageHead) -> dict[str, Any]:
    return {"id": head.id, "kind": head.kind, "from": head.author, "to": list(head.to), "subject": head.subject}


def _change(  # noqa: PLR0917 - the columns of the log, in their order
    time: str, path: str, verb: str, before: Any, after: Any, cause: str, source: str
) -> Change:
    return Change(time=time, field_path=path, operation=verb, before=before, after=after, cause=cause, source=source)


class ConversationOperation(NamedTuple):
    """An operation with the id that it left the conversation with, and the `former` one where it changed that."""

    record: Operation
    conversation: ConversationId
    former: ConversationId | None = None


def walk_conversation_operations(
    repository: Repository, conversation: ConversationId
) -> Iterator[ConversationOperation]:
    """Yield the operations of a conversation, newest first, back to the one that made it.

    Raises:
        Corrupt, NotFound: a record of the log is damaged or missing.
    """
    name, meta = conversation, repository.find_ref(names.meta_ref(conversation))
    gone = False  # at that time it was in the trash, or undone
    for _, record in walk_operations(repository):
        moved = next((change for change in record.changes if change.ref == names.meta_ref(name)), None)
        if gone:
            gone = moved is None or (moved.old, moved.new) != (meta, None)
            if not gone:
                yield ConversationOperation(record, name)
        elif moved is None:
            if any(_belongs(change.ref, name) for change in record.changes):
                yield ConversationOperation(record, name)
        elif moved.new is None:
            return  # the end of another life of the id
        elif moved.old is not None:
            meta = moved.old
            yield ConversationOperation(record, name)
        else:
            source = next((c.ref for c in record.changes if c.old == moved.new and c.new is None), "")
            former = ConversationId(source.removeprefix(names.META)) if source.startswith(names.META) else None
            yield ConversationOperation(record, name, former)
            if former is not None:
                name = former
            elif source or record.undoes is not None:
                gone = True
            else:
                meta = None


def _belongs(ref: str, conversation: ConversationId) -> bool:
    return ref.startswith(f"{names.HEADS}{conversation}/") or ref == names.active_ref(conversation)
