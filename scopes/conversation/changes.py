"""`changes`: the change log of a conversation, derived from its commits and operations (S4-49 to S4-52); and `blame`.

The log itself is not stored, so it cannot contradict the store, and the same store always gives the same log. It has
rows of what people and agents did: what only follows from that, such as a proposal whose time is over, has none.

Rows are in the order of time. An operation has the time of its record; a message its own, but none is before the
messages that it follows or the operation that created its conversation.

`blame` finds for each claim of the present state the message that set it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from operator import itemgetter
from typing import Any, Final, NamedTuple, TypeAlias

from scopes.clock import format_seconds, format_time, now_nanoseconds, parse_date, parse_time
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.activity import TOOL_RESULTS, find_call_message
from scopes.history.handles import read_uuid
from scopes.history.messages import (
    STATE_DIRECTORY,
    MessageHeader,
    RecordedTimes,
    header_of,
    headers_of,
    is_root,
    read_body,
    read_message_at,
    read_root,
    subject_of,
    with_subject,
)
from scopes.history.metadata import Metadata, read_metadata_at
from scopes.history.names import (
    Revision,
    list_branch_tips,
    read_active_branch,
    resolve_branch_name,
    resolve_conversation,
    resolve_revision,
)
from scopes.history.transaction import AGENT_FILES, decode_leaf, find_tree, read_json
from scopes.ids import BranchName, ConversationId, Oid
from scopes.merge.compare import state_of
from scopes.merge.keys import agent_of, decoded_key, folded_key, key_of_path
from scopes.merge.plan import blame_paths, blob_at, claim_value, open_conflicts_at
from scopes.merge.resolve import BOTH
from scopes.model import encoding
from scopes.model.conflicts import decode_conflict
from scopes.model.conversation import BranchEntry, MergeRequest
from scopes.model.encoding import encode_component, file_leaf, leaf, split_leaf
from scopes.model.message import (
    CONFLICTS,
    DECISIONS,
    ENTITIES,
    FILES,
    MESSAGES,
    PARTICIPANT_KINDS,
    PARTICIPANTS,
    Message,
    Part,
    folded,
)
from scopes.model.operation import Operation, RefChange
from scopes.result import Note, Result, Stream, few
from scopes.store import refs
from scopes.store.graph import walk_newest_first, walk_oldest_first
from scopes.store.objects import Commit
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import diff_blobs, find_blob, find_entry, read_blob, walk_blobs

OPERATIONS = ("CREATE", "APPEND", "UPDATE", "DELETE", "MERGE")
CAUSES = ("user", "agent", "system", "remote")  # kinds of cause

_ADDS_MESSAGES: Final = frozenset({
    "append", "agents-send", "review", "resolve", "collaborate", "collaborate-joined", "collaborate-argued",
    "collaborate-closed",
})  # kinds of operations that add messages of one author  # fmt: skip
_FETCH: Final = "fetch"  # the kind of operation of all that fetches: also pull, clone and bundle import
_VALUE_FIELDS: Final = {ENTITIES: "value", DECISIONS: "decision"}  # with the field of a claim that has the value
_CHANGE_VALUES: Final = frozenset({"decision", "notice"})  # kinds of messages
_CONFLICT_ID: Final = re.compile(r"[0-9a-f]{12}")
_FACT_REFS: Final = frozenset({refs.FACTS, refs.PROPOSED_FACTS})
_FACT_FIELDS: Final = ("content", "confidence", "invalidates", "state", "expires", "reason", "decision", "rationale")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Result):
    """One change; `cause` is `user:<name>`, `agent:<name>` or `system`, `source` the id of the message or operation.

    Of what a fetch has brought it is `remote:<name>`: somebody there made the change, and what was fetched has no name.
    `time` is when it was recorded. `tools` are the names of the tools that a new message calls.
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
    """The changes of a conversation, in the order in which they were recorded."""

    conversation: ConversationId


class FieldChange(NamedTuple):
    """A field that an operation or a message changed; None is no value.

    verb: one of OPERATIONS; None for the one that follows from the values
    cause: if it is another one than that of the operation
    """

    field_path: str
    before: Any
    after: Any
    verb: str | None = None
    cause: str | None = None

    def to_row(self, time: str, cause: str, source: str) -> Change:
        """Return the row of the change log."""
        verb = "CREATE" if self.before is None else "DELETE" if self.after is None else "UPDATE"
        return Change(
            time=time,
            field_path=self.field_path,
            operation=self.verb or verb,
            before=self.before,
            after=self.after,
            cause=self.cause or cause,
            source=source,
        )


class ConversationOperation(NamedTuple):
    """An operation, the conversation id after it and, if it renamed the conversation, the id before it."""

    record: Operation
    conversation: ConversationId
    old_id: ConversationId | None = None

    @property
    def moves(self) -> dict[BranchName, RefChange]:
        """The branches of the conversation that the operation moved."""
        heads = f"{refs.HEADS}{self.conversation}/"
        return {BranchName(c.ref.removeprefix(heads)): c for c in self.record.changes if c.ref.startswith(heads)}


_LAST: Final = 1 << 60  # after every operation of the same time


class _Position(NamedTuple):
    """A place in the order: nanoseconds since 1970; at one time, operation n has 2n + 1, what is before it 2n."""

    nanoseconds: int
    step: int


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
        if field is not None and path.startswith(f"{DECISIONS}."):  # a topic may be given in any spelling
            field = folded(field)
        return field is None or path == field or path.startswith((f"{field}.", f"{field}["))

    def has_cause(self, change: Change) -> bool:
        return self.cause is None or change.cause == self.cause or change.cause.startswith(f"{self.cause}:")


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
    found = _list_changes(repository, conversation_id)
    if branch is not None:
        name = resolve_branch_name(repository, conversation_id, branch)
        tip = list_branch_tips(repository, conversation_id)[name]
        messages = {head.id for head in headers_of(walk_oldest_first(repository, [tip]))}
        own = (f"branches.{name}", f"branches.{name}.status")
        found = [change for change in found if change.source in messages or change.field_path in own]
    notes = []
    if found and not any(map(wanted.has_field, found)):
        fields = {re.split(r"[.\[]", change.field_path)[0] for change in found}
        notes.append(Note(f"no change has the field {field!a}", hint=few("fields", fields)))
    if found and not any(map(wanted.has_cause, found)):
        notes.append(Note(f"no change has the cause {cause!a}", hint=few("causes", {each.cause for each in found})))
    return ChangeLog(
        conversation=conversation_id, items=tuple(each for each in found if wanted.matches(each)), notes=tuple(notes)
    )


def _check_filter(since: str | None, field: str | None, cause: str | None, operation: str | None) -> _Filter:
    if operation is not None and operation.upper() not in OPERATIONS:
        raise Invalid(f"{operation!a} is not a valid operation", hint="operations: " + ", ".join(OPERATIONS))
    if cause is not None and cause.partition(":")[0] not in CAUSES:
        kinds = ", ".join(CAUSES)
        raise Invalid(f"{cause!a} is not a valid cause", hint=f"causes: {kinds}, or with a name: agent:reviewer")
    start = None if since is None else parse_date(since, now_nanoseconds())
    return _Filter(start, field, cause, operation and operation.upper())


def _list_changes(repository: Repository, conversation: ConversationId) -> list[Change]:
    """Return all changes in the order of recording."""
    own = {each.record.id: each for each in walk_conversation_operations(repository, conversation)}
    records = [record for _, record in walk_operations(repository)][::-1]
    tips = set(list_branch_tips(repository, conversation).values())  # and those of earlier, for rewound messages
    for each in own.values():
        tips |= {Oid(tip) for move in each.moves.values() for tip in (move.old, move.new) if tip is not None}
    commits = list(walk_oldest_first(repository, sorted(tips)))
    parents = {commit.oid: commit.parents for commit in commits}
    written: dict[Oid, _Position] = {}  # the place of the operation in which a commit is seen first
    positions: list[_Position] = []
    for number, record in enumerate(records):
        moment = max(parse_time(record.time) or 0, positions[-1].nanoseconds if positions else 0)  # clocks may go back
        positions.append(_Position(moment, 2 * number + 1))
        for move in own[record.id].moves.values() if record.id in own else ():
            waiting = [tip for tip in (move.old, move.new) if tip is not None]
            while waiting:
                oid = Oid(waiting.pop())
                if oid not in written and oid in parents:
                    written[oid] = positions[-1]
                    waiting.extend(parents[oid])
    messages = _MessageChanges(repository)
    found = list(messages.walk(commits, written, {p: r.kind for p, r in zip(positions, records, strict=True)}))
    agents, uuid = _read_agents(repository), encode_component(read_uuid(repository, conversation))
    for position, record in zip(positions, records, strict=True):
        rows = [] if record.id not in own else list(_walk_operation(repository, own[record.id], messages.stated))
        rows += _walk_facts(repository, record, uuid)
        if rows:
            cause = _cause_of_operation(repository, record, agents)
            time = record.time if parse_time(record.time) == position.nanoseconds else format_time(position.nanoseconds)
            for row in rows:  # whoever ran an undo or redo caused all of it
                own_row = row if record.undoes is None else row._replace(cause=None)
                found.append((position, own_row.to_row(time, cause, record.id)))
    return [change for _, change in sorted(found, key=itemgetter(0))]


# Operations


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
            own = f"{refs.HEADS}{name}/"
            if any(each.ref.startswith(own) or each.ref == refs.active_ref(name) for each in record.changes):
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


def _walk_operation(
    repository: Repository, operation: ConversationOperation, stated: Mapping[str, Mapping[str, Any]]
) -> Iterator[FieldChange]:
    """Yield the changes of one operation, but not what messages say; the agent of a created branch is the cause."""
    record, conversation, old_id = operation
    if old_id is not None:
        yield FieldChange("id", old_id, conversation)
        return
    meta = next((c for c in record.changes if c.ref == refs.meta_ref(conversation)), RefChange("", None, None))
    before, after = (Metadata() if oid is None else read_metadata_at(repository, Oid(oid)) for oid in meta[1:3])
    moves = operation.moves
    agents = [after.branches[name].agent for name in moves if name in after.branches] if record.kind == "branch" else []
    cause = next((cause_of("agent", agent) for agent in agents if agent is not None), None)
    for change in _metadata_changes(before, after):
        yield change._replace(cause=cause)
    for name, move in moves.items():
        if record.kind not in _ADDS_MESSAGES or move.old is None:  # messages have rows of their own
            yield _branch_change(record, name, move, after.branches.get(name))._replace(cause=cause)
    if record.kind.endswith(("-conflict", "-abort")):
        for move in moves.values():
            yield from _conflict_changes(repository, record, move, stated)
    for moved in record.changes:
        if moved.ref == refs.active_ref(conversation):
            yield FieldChange("active_branch", _branch_in(moved.old), _branch_in(moved.new), cause=cause)


def _branch_change(record: Operation, name: BranchName, change: RefChange, entry: BranchEntry | None) -> FieldChange:
    before = None if change.old is None else {"tip": change.old}
    after: dict[str, Any] | None = None if change.new is None else {"tip": change.new}
    if after is not None and change.old is None and entry is not None:
        facts = {"purpose": entry.purpose, "agent": entry.agent, "parent": entry.parent}
        after |= {key: value for key, value in facts.items() if value is not None}
    return FieldChange(f"branches.{name}", before, after, "MERGE" if record.kind == "merge" else None)


def _conflict_changes(
    repository: Repository, record: Operation, move: RefChange, stated: Mapping[str, Mapping[str, Any]]
) -> Iterator[FieldChange]:
    """Yield the conflicts that stopped a merge, rebase or cherry-pick, or that ended when it was aborted."""
    is_stop = record.kind.endswith("-conflict")
    tip = move.new if is_stop else move.old
    for conflict in () if tip is None else open_conflicts_at(repository, Oid(tip)):
        path, details = f"conflicts.{conflict.id}", {"type": conflict.type, "key": conflict.key}
        if is_stop:
            yield FieldChange(path, None, {**details, "status": conflict.status})
        else:
            yield FieldChange(path, {**details, **_status_in(stated.get(path))}, {**details, "status": "aborted"})


def _metadata_changes(before: Metadata, after: Metadata) -> Iterator[FieldChange]:
    """Compare two versions of the metadata; the creation and deletion of branches are rows of their refs."""
    if before.title != after.title:
        yield FieldChange("title", before.title, after.title)
    for tag in sorted(before.tags.keys() | after.tags.keys()):
        if before.tags.get(tag) != after.tags.get(tag):
            yield FieldChange(f"tags.{tag}", before.tags.get(tag), after.tags.get(tag))
    for name in sorted(before.branches.keys() & after.branches.keys()):
        old, new = before.branches[name].status, after.branches[name].status
        if old != new:
            yield FieldChange(f"branches.{name}.status", old, new)
    for request in sorted(before.requests.keys() | after.requests.keys()):
        known, present = before.requests.get(request), after.requests.get(request)
        either = present or known
        if known != present and either is not None:
            yield FieldChange(f"merge_requests.{either.number}", _shown_request(known), _shown_request(present))
    for candidate in sorted(before.dismissed ^ after.dismissed):
        dismissed, was = ("dismissed" if candidate in each.dismissed else None for each in (after, before))
        yield FieldChange(f"decision_candidates.{candidate}", was, dismissed)


def _shown_request(request: MergeRequest | None) -> dict[str, Any] | None:
    if request is None:
        return None
    named = {"source": request.source, "target": request.target, "title": request.title, "reason": request.reason}
    return {"state": request.state, **{key: value for key, value in named.items() if value is not None}}


def _branch_in(symbolic_value: str | None) -> BranchName | None:
    names = refs.split_branch_ref((symbolic_value or "").removeprefix(refs.SYMBOLIC))
    return names[1] if names is not None else None


# Facts

_Document: TypeAlias = Mapping[str, Any] | None


def _walk_facts(repository: Repository, record: Operation, uuid: str) -> Iterator[FieldChange]:
    """Yield what an operation did to the facts of a conversation: facts, proposed ones, and decisions about them.

    The cause of a fact is the agent that made it; with a decision, it is the person who decided.
    """
    files: list[tuple[str, list[str], _Document, _Document]] = []
    for change in (each for each in record.changes if each.ref in _FACT_REFS):
        trees = [find_tree(repository, value, uuid) for value in (change.old, change.new)]
        for name, *blobs in sorted(diff_blobs(repository, *trees), key=itemgetter(0)) if trees[0] != trees[1] else ():
            one, two = (None if blob is None else read_json(repository, Oid(blob)) for blob in blobs)
            files.append((change.ref, name.removesuffix("=").split("/"), one, two))
    deciders = [after.get("actor") for _, path, _, after in files if path[0] == "decisions" and after is not None]
    decided = next((cause_of("human", name) for name in deciders if isinstance(name, str)), None)
    for ref, path, before, after in files:
        match path:
            case ["facts", key, _, name] if ref == refs.FACTS:
                field = f"facts.{decode_leaf(key)}.{decode_leaf(name)}"
            case [key, _, name] if ref == refs.PROPOSED_FACTS:
                field = f"proposed_facts.{decode_leaf(key)}.{decode_leaf(name)}"
            case ["decisions", subject] if ref == refs.FACTS:
                field = f"fact_decisions.{decode_leaf(subject)}"
            case _:
                continue
        source = (after or before or {}).get("provenance")
        agent = source.get("agent") if isinstance(source, dict) else None
        made = isinstance(agent, str) and agent != record.actor and record.kind in {"facts-run", "facts-propose"}
        old, new = (
            None if each is None else {k: each[k] for k in _FACT_FIELDS if k in each} for each in (before, after)
        )
        yield FieldChange(field, old, new, cause=cause_of("agent", str(agent)) if made else decided)


# Causes


def cause_of(kind: str, name: str) -> str:
    """Return the cause that an author of a kind is."""
    return f"user:{name}" if kind == "human" else f"agent:{name}" if kind == "agent" else "system"


def _read_agents(repository: Repository) -> set[str]:
    """Return the names that are registered as programs."""
    tree = find_tree(repository, repository.find_ref(refs.AGENTS), AGENT_FILES)
    documents = (read_json(repository, after) for _, _, after in diff_blobs(repository, None, tree))
    return {str(each.get("name")) for each in documents if each.get("type") == "ai"}


def _cause_of_operation(repository: Repository, record: Operation, agents: set[str]) -> str:
    """Return who caused an operation: the remote of a fetch, the author of what it said, or else who ran it.

    A name that is registered as a program is an agent, others are people.
    """
    if record.kind == _FETCH:
        moved = [change.ref.removeprefix(refs.REMOTES) for change in record.changes if refs.REMOTES in change.ref]
        return f"remote:{moved[0].partition('/')[0]}" if moved else "remote"
    for change in record.changes if record.kind in _ADDS_MESSAGES else ():
        if change.ref.startswith(refs.HEADS) and change.new is not None:
            with suppress(NotFound, Corrupt):
                head = header_of(read_commit(repository, Oid(change.new)))
                if head.author_kind in PARTICIPANT_KINDS:
                    return cause_of(head.author_kind, head.author)
    return cause_of("agent" if record.actor in agents else "human", record.actor)


# Messages


class _MessageChanges:
    """Finds what messages changed; `stated` is what they stated last about conflicts and positions, by field."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self.stated: dict[str, Mapping[str, Any]] = {}
        self._requests: dict[Oid, str] = {}  # the collaboration request to which a commit belongs

    def walk(
        self, commits: Iterable[Commit], written: Mapping[Oid, _Position], kinds: Mapping[_Position, str]
    ) -> Iterator[tuple[_Position, Change]]:
        """Yield the changes of each message once, with its place; commits come parents first.

        What is at the same place is ordered by depth and by id, so that the order does not depend on the branches.
        `written` are the places of the operations that have commits first, `kinds` what these operations are.
        """
        times = RecordedTimes(self._repository)  # for the names in the titles of merges
        placed: dict[Oid, tuple[_Position, int]] = {}
        found: list[tuple[_Position, int, MessageHeader, Message]] = []
        for commit in commits:
            seen = written.get(commit.oid)
            if is_root(commit):
                placed[commit.oid] = (seen if seen is not None and kinds[seen] == "new" else _Position(0, 0)), 0
                continue
            head, message = times.add_to(header_of(commit)), read_message_at(self._repository, commit.tree)
            low, depth = max((placed[parent] for parent in commit.parents), default=(_Position(0, 0), 0))
            nanoseconds = parse_time(message.time or format_seconds(head.time)) or 0
            if head.author_kind == "system" and seen is not None and kinds[seen] != "import":
                nanoseconds = seen.nanoseconds  # a merge has the time of the newest merged message
            step = _LAST if seen is None else seen.step - 1
            position = max(low, _Position(nanoseconds, step))
            placed[commit.oid] = position, depth + 1
            found.append((position, depth + 1, head, message))
        found.sort(key=lambda each: (each[0], each[1], each[2].id))
        requests: dict[str, str] = {}
        known, participants = set[str](), set[str]()
        for position, _, head, message in found:
            if head.id in known:
                if head.id in requests:
                    self._requests[head.oid] = requests[head.id]
                continue
            known.add(head.id)
            time = message.time or format_seconds(head.time)
            if parse_time(time) != position.nanoseconds:
                time = format_time(position.nanoseconds)
            if head.author_kind in PARTICIPANT_KINDS and head.author not in participants:
                participants.add(head.author)
                yield position, self._to_row(FieldChange("participants", None, head.author, "APPEND"), time, head)
            shown = {"id": head.id, "kind": head.kind, "from": head.author, "to": list(head.to)}
            shown["subject"] = subject_of(head, message)
            row = self._to_row(FieldChange("messages", None, shown, "APPEND"), time, head)
            yield position, replace(row, tools=_tools_of(message))
            for change in self._walk_message(head, message):
                yield position, self._to_row(change, time, head)
            if head.oid in self._requests:
                requests[head.id] = self._requests[head.oid]

    def _to_row(self, change: FieldChange, time: str, head: MessageHeader) -> Change:
        return change.to_row(time, cause_of(head.author_kind, head.author), head.id)

    def _walk_message(self, head: MessageHeader, message: Message) -> Iterator[FieldChange]:
        """Yield what a message changed beside being one."""
        voided = message.retracts or message.amends
        if voided is not None:
            after = None if message.retracts else {"amended_by": head.id}
            yield FieldChange(f"messages[{voided}]", {"id": voided}, after)
        yield from self._walk_proposal(head, message)
        yield from self._walk_collaboration(head, message)
        yield from self._walk_conflict(head, message)
        if head.parents and (head.kind in _CHANGE_VALUES or voided is not None):
            yield from self._walk_values(head)

    def _state(self, path: str, before: Any, after: Mapping[str, Any]) -> FieldChange:
        self.stated[path] = after
        return FieldChange(path, before, after)

    def _walk_proposal(self, head: MessageHeader, message: Message) -> Iterator[FieldChange]:
        """Yield that a proposal was made or reviewed."""
        match head.kind, message.payload, message.extra.get("review"):
            case "proposal", {"entity_type": str(entity), "entity_id": str(name)}, _:
                after = {"entity": f"{entity}/{name}", "state": "pending"}
                yield self._state(f"proposals.{head.id}", None, after)
            case _, _, {"proposal": str(proposal), "state": str(state), "decision": str(decision)}:
                path = f"proposals.{proposal}"
                before = {"state": self.stated.get(path, {}).get("state", "pending")}
                yield self._state(path, before, {"state": state, "decision": decision})

    def _walk_collaboration(self, head: MessageHeader, message: Message) -> Iterator[FieldChange]:
        """Yield that a collaboration was opened, joined, argued in or closed; its id is that of the request."""
        request = self._requests.get(head.parents[0]) if head.parents else None
        details = message.extra.get("collaboration")
        event = details.get("event") if isinstance(details, Mapping) else None
        if event == "request":
            request = head.id
            yield FieldChange(f"collaborations.{request}", None, {"status": "open", **(message.payload or {})})
        if request is None:
            return
        self._requests[head.oid] = request
        argument = message.extra.get("argument")
        if event == "join":
            yield FieldChange(f"collaborations.{request}.participants.{head.author}", None, "joined")
        elif event == "close" and isinstance(details, Mapping):
            after = {"status": "closed", "outcome": details.get("outcome")}
            yield FieldChange(f"collaborations.{request}", {"status": "open"}, after)
        elif isinstance(argument, Mapping) and isinstance(argument.get("position"), str):
            path = f"collaborations.{request}.positions.{head.author}.{argument.get('about')}"
            after = {"about": argument.get("about"), "position": argument["position"]}
            yield self._state(path, self.stated.get(path), after)

    def _walk_conflict(self, head: MessageHeader, message: Message) -> Iterator[FieldChange]:
        """Yield that a conflict was argued about, escalated or resolved."""
        match message.extra.get("conflict"), message.extra.get("argument"):
            case {"id": str(conflict), **rest}, _:
                after = {str(name): value for name, value in rest.items()}
                if after.get("status") == "escalated" and message.to:
                    after["to"] = message.to[0]
                path, details = f"conflicts.{conflict}", self._read_conflict(head, conflict)
                yield self._state(path, {**details, **_status_in(self.stated.get(path))}, {**details, **after})
            case _, {"about": str(conflict), "position": str(position)} if _CONFLICT_ID.fullmatch(conflict):
                path = f"conflicts.{conflict}.positions.{head.author}"
                yield self._state(path, self.stated.get(path), {"position": position})
                path = f"conflicts.{conflict}"
                before = _status_in(self.stated.get(path))
                if before == {"status": "open"}:
                    details = self._read_conflict(head, conflict)
                    yield self._state(path, {**details, **before}, {**details, "status": "debate"})

    def _read_conflict(self, head: MessageHeader, conflict: str) -> Mapping[str, str]:
        """Return the type and key of a conflict, which every row of it has; nothing if it is not recorded."""
        tree = read_commit(self._repository, head.oid).tree
        blob = find_blob(self._repository, tree, f"{STATE_DIRECTORY}/{leaf(CONFLICTS, conflict)}")
        if blob is None:
            return {}
        record = decode_conflict(blob)
        return {"type": record.type, "key": record.key}

    def _walk_values(self, head: MessageHeader) -> Iterator[FieldChange]:
        """Yield the decisions and accepted values that are others after a message."""
        for group, field in _VALUE_FIELDS.items():
            before, after = (self._find_group(commit, group) for commit in (head.parents[0], head.oid))
            for path, *blobs in diff_blobs(self._repository, before, after) if before != after else ():
                old, new = (None if blob is None else self._read_value(blob, field) for blob in blobs)
                yield FieldChange(".".join((group, *split_leaf(path))), old, new)

    def _find_group(self, commit: Oid, group: str) -> Oid | None:
        tree = read_commit(self._repository, commit).tree
        entry = find_entry(self._repository, tree, f"{STATE_DIRECTORY}/{group}")
        return entry.oid if entry is not None and entry.is_tree else None

    def _read_value(self, blob: Oid, field: str) -> Any:
        claim = encoding.load(read_blob(self._repository, blob))
        return claim[field] if isinstance(claim, dict) and claim.keys() == {field} else claim


def _status_in(known: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the status of a conflict before a message: open at first, and again after it had been resolved."""
    if known is None or known.get("status") == "resolved":
        return {"status": "open"}
    return {name: known[name] for name in ("status", "to") if name in known}


def _tools_of(message: Message) -> tuple[str, ...]:
    calls = (part.fields.get("name") or "unknown tool" for part in message.parts if part.type == "tool_call")
    return tuple(dict.fromkeys(map(str, calls)))


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameRow:
    """One claim of the state and the message that set it; a merge that resolved a conflict counts as its message.

    If that message holds the result of a tool, `call_message` is the message with the `call`.
    """

    key: str
    agent: str | None
    value: Any
    head: MessageHeader
    call_message: MessageHeader | None = None
    call: Part | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameList(Result):
    """The claims of one key, or of a group of keys, sorted by key."""

    revision: Revision
    rows: tuple[BlameRow, ...]
    on_active_branch: bool = False


def blame(repository: Repository, where: str, *, key: str | None = None, file: str | None = None) -> BlameList:
    """Find the message that last set a key (`decisions/auth`, or all of `decisions`) or wrote a file, across merges.

    Raises:
        NotFound: the state has no such key or file.
        Invalid: neither or both of key and file are given.
    """
    if (key is None) == (file is None):
        raise Invalid("name a key or a file", hint="for example: scopes blame conv-001 --key decisions/auth")
    revision = resolve_revision(repository, where)
    state = state_of(repository, revision.oid)
    claims = {} if state is None else dict(walk_blobs(repository, state))
    matching = _match_key(claims, key) if key is not None else _match_file(repository, revision, claims, file or "")
    if not matching:
        name = key if key is not None else file
        raise NotFound(f"the state of {where} has no {name!a}", hint=_similar_keys(claims, name or ""))
    rows = (_with_call(repository, row) for row in _walk_rows(repository, revision.oid, matching))
    active = read_active_branch(repository, revision.conversation)
    return BlameList(revision=revision, rows=tuple(rows), on_active_branch=revision.branch == active)


def _walk_rows(repository: Repository, tip: Oid, claims: Mapping[str, Oid]) -> Iterator[BlameRow]:
    """Yield a row for every claim; if a merge kept the values of both sides, a row for each value."""
    setters = blame_paths(repository, walk_newest_first(repository, [tip]), claims, count_resolutions=True)
    for path, blob in sorted(claims.items()):
        claim: Any = encoding.load(read_blob(repository, blob))
        commit = read_commit(repository, setters[path]) if path in setters else None
        if commit is None:
            continue
        if len(commit.parents) > 1 and isinstance(claim, dict) and claim.keys() == {BOTH}:
            for parent in commit.parents:
                value = blob_at(repository, state_of(repository, parent), path)
                yield from _walk_rows(repository, parent, {} if value is None else {path: value})
        else:
            key = key_of_path(path)
            head = with_subject(repository, header_of(commit))
            yield BlameRow(key=key, agent=agent_of(path), value=claim_value(key, claim), head=head)


def _with_call(repository: Repository, row: BlameRow) -> BlameRow:
    """Add the call to a claim that a tool's result made: of several calls the one that names the file."""
    call_message = find_call_message(repository, row.head) if row.head.kind == TOOL_RESULTS else None
    if call_message is None:
        return row
    results = [part for part in read_body(repository, row.head).parts if part.type == "tool_result"]
    answered = {part.fields.get("call_id") for part in results}
    parts = read_body(repository, call_message).parts
    calls = [part for part in parts if part.type == "tool_call" and part.fields.get("call_id") in answered]
    path = decoded_key(row.key).partition("/")[2]
    for name in (path, path.rpartition("/")[2], ""):
        call = next((call for call in calls if name in str(call.fields)), None)
        if call is not None:
            return replace(row, call_message=call_message, call=call)
    return replace(row, call_message=call_message)


def _match_key(claims: Mapping[str, Oid], key: str) -> dict[str, Oid]:
    """Return the claims of a key, or of all keys below it; the key may be given as it is shown or as it is stored.

    A topic is found in any spelling.
    """
    given = key.strip("/").removesuffix("=")
    encoded = "/".join(map(encode_component, given.split("/")))
    wanted = tuple(f"{name}/" for name in (given, folded_key(given), folded_key(encoded)))
    return {
        path: blob
        for path, blob in claims.items()
        for stored in (key_of_path(path), path.removesuffix("="))
        if f"{stored}/".startswith(wanted) or f"{decoded_key(stored)}/".startswith(wanted)
    }


def _match_file(repository: Repository, revision: Revision, claims: Mapping[str, Oid], file: str) -> dict[str, Oid]:
    """Return the claim of a file, or else of the only one whose path ends with `/file`; empty if there is none."""
    root = read_root(repository, read_commit(repository, revision.oid), None)
    path = f"{FILES}/{file_leaf(file, root.cwd)}"
    if path in claims:
        return {path: claims[path]}
    end = "/" + file.removeprefix("./")
    found = {
        path: blob
        for path, blob in claims.items()
        if path.startswith(f"{FILES}/") and decoded_key(key_of_path(path)).endswith(end)
    }
    several = len({key_of_path(path) for path in found}) > 1
    return {} if several or not file else found


def _similar_keys(claims: Mapping[str, Oid], name: str) -> str:
    """Return a hint with the keys of a similar name, or else with the groups that there are."""
    keys = [key.removeprefix(f"{FILES}/") for key in map(decoded_key, map(key_of_path, claims))]
    if found := get_close_matches(name, sorted(set(keys)), n=3):
        return f"did you mean {' or '.join(found)}?"
    groups = sorted({path.partition("/")[0] for path in claims} - {PARTICIPANTS, CONFLICTS, MESSAGES})
    return f"there are: {', '.join(groups)}" if groups else "nothing was decided, proposed or written there"
