"""`changes`: the change log of a conversation, derived from its commits and operations (S4-49 to S4-52); and `blame`.

The log itself is not stored, so it cannot contradict the store, and the same store always gives the same log. It has
rows for messages, branches, titles, tags, merge requests, decisions and accepted values. What proposals, conflicts,
collaborations and facts went through is in their messages: `proposals`, `conflicts`, `collaborate` and `facts` show it.

Rows are in the order of time. An operation has the time of its record; a message its own, but none is before the
messages that it follows or the operation that created its conversation.

`blame` finds for each claim of the present state the message that set it.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

from scopes.clock import Time, format_seconds, format_time, now_nanoseconds, parse_date, parse_time
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.activity import TOOL_RESULTS, find_call_message
from scopes.history.messages import (
    NO_TEXT,
    STATE_DIRECTORY,
    MessageHeader,
    RecordedTimes,
    header_of,
    headers_of,
    is_root,
    read_body,
    subject_of,
    with_subject,
)
from scopes.history.metadata import Metadata, read_metadata_at
from scopes.history.names import (
    Revision,
    list_branch_tips,
    resolve_branch_name,
    resolve_conversation,
    resolve_revision,
)
from scopes.history.transaction import AGENT_FILES, find_tree, read_json
from scopes.ids import BranchName, ConversationId, Oid, is_oid
from scopes.merge.compare import state_of
from scopes.merge.keys import agent_of, decoded_key, find_file, folded_key, key_of_path
from scopes.merge.plan import blame_paths, claim_value
from scopes.merge.resolve import BOTH
from scopes.model import canonical_json
from scopes.model.canonical_json import encode_component, split_leaf
from scopes.model.conversation import MergeRequest
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
from scopes.result import HIDDEN, NULL, Column, Note, Result, Stream, few, named, short_id, shown, spread
from scopes.sanitize import mark_cut
from scopes.store import refs
from scopes.store.graph import walk_newest_first, walk_oldest_first
from scopes.store.objects import Commit, diff_blobs, read_blob, read_commit, walk_blobs
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository

OPERATIONS = ("CREATE", "APPEND", "UPDATE", "DELETE", "MERGE")
CAUSES = ("user", "agent", "system", "remote")  # kinds of cause

_ADDS_MESSAGES: Final = frozenset({
    "append", "amend", "retract", "withdraw", "agents-send", "review", "resolve", "collaborate", "collaborate-joined",
    "collaborate-argued", "collaborate-closed",
})  # kinds of operations that add messages of one author  # fmt: skip
_FETCH: Final = "fetch"  # the kind of operation of all that fetches: also pull, clone and bundle import
_CHANGE_VALUES: Final = frozenset({"decision", "notice"})  # kinds of messages


@dataclass(frozen=True, slots=True, kw_only=True)
class Change(Result):
    """One change; `cause` is `user:<name>`, `agent:<name>` or `system`, `source` the id of the message or operation.

    Of what a fetch has brought it is `remote:<name>`: somebody there made the change, and what was fetched has no name.
    `time` is when it was recorded. `tools` are the names of the tools that a new message calls.
    """

    can_undo = False
    columns = (
        Column("time", form="time"),
        Column("field_path", "Field", on="pipe"),
        Column("short_field", "Field", on="terminal"),
        Column("operation", on="pipe"),
        Column("cause", on="pipe"),
        Column("before", form="json", on="pipe"),
        Column("after", form="json", on="pipe"),
        Column("source", on="pipe"),
        Column("words", "Change", on="terminal"),
        Column("by", on="terminal"),
    )

    time: Time
    field_path: str
    operation: str
    before: Any = field(metadata=NULL)
    after: Any = field(metadata=NULL)
    cause: str
    source: str
    tools: tuple[str, ...] = field(default=(), metadata=HIDDEN)

    @property
    def short_field(self) -> str:
        """The field with the beginning of the id of a message."""
        name, bracket, key = self.field_path.partition("[")
        return f"{name}[{short_id(key)}…]" if bracket and name == "messages" else self.field_path

    @property
    def by(self) -> str:
        """Who made the change."""
        kind, _, name = self.cause.partition(":")
        return name if name and kind != "remote" else self.cause

    @property
    def words(self) -> str:
        """The change in words: what was said, created, moved or deleted."""
        return _describe(self)

    @property
    def is_tool_use(self) -> bool:
        """True of a message that only calls tools or has their results."""
        match self.after:
            case {"kind": str(kind), "subject": str(subject)} if self.field_path.startswith("messages"):
                return kind == "tool-results" or (bool(self.tools) and subject == NO_TEXT)
        return False


def _describe(row: Change) -> str:
    """Return a change in words: what was said, created, moved or deleted."""
    match row.field_path.partition(".")[0].partition("[")[0], row.before, row.after:
        case "messages", _, {"kind": str(kind), "subject": str(subject)}:
            text = mark_cut(subject)
            called = f"{kind}: → {', '.join(row.tools)}" if row.tools else kind
            is_named = kind == "plain" or text.startswith(f"{kind}: ")
            words = called if text == NO_TEXT else text if is_named else f"{kind}: {text}"
        case "messages", _, {"amended_by": str(name)}:
            words = f"amended by {short_id(name)}"
        case "messages", _, None:
            words = "retracted"
        case "participants", _, str(name):
            words = f"{name} joined"
        case _:
            words = _describe_values(row)
    return words


def _describe_values(row: Change) -> str:
    before, after = row.before, row.after
    if before is None:
        return f"{'started at' if isinstance(after, dict) else 'set to'} {_short_value(after)}"
    if after is None:
        return f"deleted, was {_short_value(before)}"
    verb = "merged: " if row.operation == "MERGE" else ""
    return f"{verb}{_short_value(before)} → {_short_value(after)}"


def _short_value(value: Any) -> str:
    """Return a value on one line: ids are shortened, documents are JSON."""
    match value:
        case {"tip": str(name)} | {"id": str(name)}:
            return short_id(name)
        case str(text):
            return short_id(text) if is_oid(text) else text
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeLog(Stream):
    """The changes of a conversation, in the order in which they were recorded."""

    rows_in = "changes"
    rows_seen = "folded"
    columns = Change.columns
    empty = "no changes"

    conversation: ConversationId

    @property
    def folded(self) -> Iterator[Any]:
        """The changes with one row for several messages that only use tools: half of the log may be those."""
        changes = (item for item in self.items if isinstance(item, Change))
        for is_tool_use, found in groupby(changes, lambda row: row.is_tool_use):
            group = list(found)
            if not is_tool_use or len(group) == 1:
                yield from group
                continue
            counts = Counter(tool for row in group for tool in row.tools)
            names = ", ".join(name if number == 1 else f"{number} {name}" for name, number in counts.items())
            words = f"{len(group):,} messages of tool calls and results" + (f": → {names}" if names else "")
            yield {"time": group[0].time, "short_field": "messages", "words": words, "by": group[0].by}


class _Row(NamedTuple):
    """What changed; None is no value. `verb` is one of OPERATIONS, None for the one that follows from the values."""

    field_path: str
    before: Any
    after: Any
    verb: str | None = None
    tools: tuple[str, ...] = ()

    def change(self, time: str, cause: str, source: str) -> Change:
        """Return the change with the time, the cause and the id of its operation or message."""
        path, before, after, verb, tools = self
        verb = verb or ("CREATE" if before is None else "DELETE" if after is None else "UPDATE")
        return Change(
            time=time, field_path=path, operation=verb, before=before, after=after, cause=cause, source=source,
            tools=tools,
        )  # fmt: skip


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


def changes(
    repository: Repository,
    conversation: str,
    *,
    since: str | None = None,
    field: str | None = None,
    cause: str | None = None,
    operation: str | None = None,
    branch: str | None = None,
    limit: int | None = None,
) -> ChangeLog:
    """Derive the change log of a conversation and filter it.

    With `branch` only the messages in its history and the changes of the branch itself are listed. `field` also selects
    the fields below it, and `limit` the newest ones. `cause` is a kind of cause (`agent`) or `agent:planner`.

    A note tells which fields or causes there are if a filter matches none of them.

    Raises:
        NotFound, Ambiguous: there is no such branch.
        Invalid: `since` is not a date, `operation` is not one of OPERATIONS, or `cause` does not begin with a kind.
    """
    operation = operation and operation.upper()
    if operation is not None and operation not in OPERATIONS:
        raise Invalid(f"{operation!a} is not a valid operation", hint="operations: " + ", ".join(OPERATIONS))
    if cause is not None and cause.partition(":")[0] not in CAUSES:
        kinds = ", ".join(CAUSES)
        raise Invalid(f"{cause!a} is not a valid cause", hint=f"causes: {kinds}, or with a name: agent:reviewer")
    start = None if since is None else parse_date(since, now_nanoseconds())
    conversation_id = resolve_conversation(repository, conversation)
    found = _list_changes(repository, conversation_id)
    if branch is not None:
        name = resolve_branch_name(repository, conversation_id, branch)
        tip = list_branch_tips(repository, conversation_id)[name]
        messages = {head.id for head in headers_of(walk_oldest_first(repository, [tip]))}
        own = (f"branches.{name}", f"branches.{name}.status")
        found = [change for change in found if change.source in messages or change.field_path in own]
    of_field = [each for each in found if field is None or _is_below(each.field_path, field)]
    notes = []

    def has_cause(change: Change) -> bool:
        return cause is None or f"{change.cause}:".startswith(f"{cause}:")

    if found and not of_field:
        fields = {re.split(r"[.\[]", change.field_path)[0] for change in found}
        notes.append(Note(f"no change has the field {field!a}", hint=few("fields", fields)))
    if found and not any(map(has_cause, found)):
        notes.append(Note(f"no change has the cause {cause!a}", hint=few("causes", {each.cause for each in found})))
    items = [
        each
        for each in of_field
        if has_cause(each)
        and (start is None or (parse_time(each.time) or 0) >= start)
        and (operation is None or each.operation == operation)
    ]
    shown = items if limit is None else items[max(len(items) - limit, 0) :]
    return ChangeLog(conversation=conversation_id, items=tuple(shown), notes=tuple(notes))


def _is_below(path: str, field: str) -> bool:
    """Return True if a path is a field or below it; a topic may be given in any spelling."""
    field = folded(field) if path.startswith(f"{DECISIONS}.") else field
    return path == field or path.startswith((f"{field}.", f"{field}["))


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
    kinds = {position: record.kind for position, record in zip(positions, records, strict=True)}
    found = list(_walk_messages(repository, commits, written, kinds))
    agents = _read_agents(repository)
    for position, record in zip(positions, records, strict=True):
        if record.id in own:
            cause = _cause_of_operation(repository, own[record.id], agents)
            time = record.time if parse_time(record.time) == position.nanoseconds else format_time(position.nanoseconds)
            rows = _walk_operation(repository, own[record.id])
            found += ((position, row.change(time, cause, record.id)) for row in rows)
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


def _walk_operation(repository: Repository, operation: ConversationOperation) -> Iterator[_Row]:
    """Yield the changes of one operation, but not what messages say."""
    record, conversation, old_id = operation
    if old_id is not None:
        yield _Row("id", old_id, conversation)
        return
    meta = next((c for c in record.changes if c.ref == refs.meta_ref(conversation)), RefChange("", None, None))
    before, after = (Metadata() if oid is None else read_metadata_at(repository, Oid(oid)) for oid in meta[1:3])
    yield from _metadata_changes(before, after)
    for name, move in operation.moves.items():
        if record.kind in _ADDS_MESSAGES and move.old is not None:
            continue  # messages have rows of their own
        old = None if move.old is None else {"tip": move.old}
        new: dict[str, Any] | None = None if move.new is None else {"tip": move.new}
        entry = after.branches.get(name)
        if new is not None and old is None and entry is not None:
            known = {"purpose": entry.purpose, "agent": entry.agent, "parent": entry.parent}
            new |= {key: value for key, value in known.items() if value is not None}
        yield _Row(f"branches.{name}", old, new, "MERGE" if record.kind == "merge" else None)
    for moved in record.changes:
        if moved.ref == refs.active_ref(conversation):
            yield _Row("active_branch", _branch_in(moved.old), _branch_in(moved.new))


def _branch_in(symbolic_value: str | None) -> BranchName | None:
    names = refs.split_branch_ref((symbolic_value or "").removeprefix(refs.SYMBOLIC))
    return names[1] if names is not None else None


def _metadata_changes(before: Metadata, after: Metadata) -> Iterator[_Row]:
    """Compare two versions of the metadata; the creation and deletion of branches are rows of their refs."""
    if before.title != after.title:
        yield _Row("title", before.title, after.title)
    for tag in sorted(before.tags.keys() | after.tags.keys()):
        if before.tags.get(tag) != after.tags.get(tag):
            yield _Row(f"tags.{tag}", before.tags.get(tag), after.tags.get(tag))
    for name in sorted(before.branches.keys() & after.branches.keys()):
        old, new = before.branches[name].status, after.branches[name].status
        if old != new:
            yield _Row(f"branches.{name}.status", old, new)
    for request in sorted(before.requests.keys() | after.requests.keys()):
        known, present = before.requests.get(request), after.requests.get(request)
        either = present or known
        if known != present and either is not None:
            yield _Row(f"merge_requests.{either.number}", _shown_request(known), _shown_request(present))


def _shown_request(request: MergeRequest | None) -> dict[str, Any] | None:
    if request is None:
        return None
    named = {"source": request.source, "target": request.target, "title": request.title, "reason": request.reason}
    return {"state": request.state, **{key: value for key, value in named.items() if value is not None}}


# Causes


def cause_of(kind: str, name: str) -> str:
    """Return the cause that an author of a kind is."""
    return f"user:{name}" if kind == "human" else f"agent:{name}" if kind == "agent" else "system"


def _read_agents(repository: Repository) -> set[str]:
    """Return the names that are registered as programs."""
    tree = find_tree(repository, repository.find_ref(refs.AGENTS), AGENT_FILES)
    documents = (read_json(repository, after) for _, _, after in diff_blobs(repository, None, tree))
    return {str(each.get("name")) for each in documents if each.get("type") == "ai"}


def _cause_of_operation(repository: Repository, operation: ConversationOperation, agents: set[str]) -> str:
    """Return who caused an operation: the remote of a fetch, the author of what it said, or else who ran it.

    The creation of a branch is caused by its agent. A name that is registered as a program is an agent, others are
    people.
    """
    record = operation.record
    meta = next((c.new for c in record.changes if c.ref == refs.meta_ref(operation.conversation)), None)
    if record.kind == "branch" and meta is not None:
        entries = read_metadata_at(repository, Oid(meta)).branches
        made = [entries[name].agent for name in operation.moves if name in entries]
        if made and made[0] is not None:
            return cause_of("agent", made[0])
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


def _walk_messages(
    repository: Repository, commits: Iterable[Commit], written: Mapping[Oid, _Position], kinds: Mapping[_Position, str]
) -> Iterator[tuple[_Position, Change]]:
    """Yield the changes of each message once, with its place; commits come parents first.

    What is at the same place is ordered by depth and by id, so that the order does not depend on the branches.
    `written` are the places of the operations that have commits first, `kinds` what these operations are.
    """
    times = RecordedTimes(repository)  # for the names in the titles of merges
    placed: dict[Oid, tuple[_Position, int]] = {}
    found: list[tuple[_Position, int, MessageHeader, Message]] = []
    for commit in commits:
        seen = written.get(commit.oid)
        if is_root(commit):
            placed[commit.oid] = (seen if seen is not None and kinds[seen] == "new" else _Position(0, 0)), 0
            continue
        head, message = times.add_to(header_of(commit)), read_body(repository, commit)
        low, depth = max((placed[parent] for parent in commit.parents), default=(_Position(0, 0), 0))
        nanoseconds = parse_time(message.time or format_seconds(head.time)) or 0
        if head.author_kind == "system" and seen is not None and kinds[seen] != "import":
            nanoseconds = seen.nanoseconds  # a merge has the time of the newest merged message
        step = _LAST if seen is None else seen.step - 1
        position = max(low, _Position(nanoseconds, step))
        placed[commit.oid] = position, depth + 1
        found.append((position, depth + 1, head, message))
    found.sort(key=lambda each: (each[0], each[1], each[2].id))
    known, participants = set[str](), set[str]()
    for position, _, head, message in found:
        if head.id in known:
            continue
        known.add(head.id)
        time = message.time or format_seconds(head.time)
        if parse_time(time) != position.nanoseconds:
            time = format_time(position.nanoseconds)
        rows: list[_Row] = []
        if head.author_kind in PARTICIPANT_KINDS and head.author not in participants:
            participants.add(head.author)
            rows.append(_Row("participants", None, head.author, "APPEND"))
        shown = {"id": head.id, "kind": head.kind, "from": head.author, "to": list(head.to)}
        shown["subject"] = subject_of(head, message)
        calls = (part.fields.get("name") or "unknown tool" for part in message.parts if part.type == "tool_call")
        rows.append(_Row("messages", None, shown, "APPEND", tuple(dict.fromkeys(map(str, calls)))))
        rows += _walk_message(repository, head, message)
        cause = cause_of(head.author_kind, head.author)
        for row in rows:
            yield position, row.change(time, cause, head.id)


def _walk_message(repository: Repository, head: MessageHeader, message: Message) -> Iterator[_Row]:
    """Yield what a message changed beside being one: the message it voids, decisions, and accepted values."""
    voided = message.retracts or message.amends
    if voided is not None:
        after = None if message.retracts else {"amended_by": head.id}
        yield _Row(f"messages[{voided}]", {"id": voided}, after)
    is_change = bool(head.parents) and (head.kind in _CHANGE_VALUES or voided is not None)
    for group, place in ((ENTITIES, "value"), (DECISIONS, "decision")) if is_change else ():
        directory = f"{STATE_DIRECTORY}/{group}"
        trees = [find_tree(repository, commit, directory) for commit in (head.parents[0], head.oid)]
        for path, *blobs in diff_blobs(repository, *trees):
            loaded = (None if blob is None else canonical_json.load(read_blob(repository, blob)) for blob in blobs)
            old, new = (claim.get(place, claim) if isinstance(claim, dict) else claim for claim in loaded)
            yield _Row(".".join((group, *split_leaf(path))), old, new)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameRow:
    """One claim of the state and the message that set it; a merge that resolved a conflict counts as its message.

    If that message holds the result of a tool, `call_message` is the message with the `call`.
    """

    key: str
    agent: str | None
    value: Any = field(metadata=NULL)
    head: MessageHeader = field(metadata=named("message"))
    call_message: MessageHeader | None = field(default=None, metadata=named("caller"))
    call: Part | None = field(default=None, metadata=HIDDEN)

    @property
    @shown
    def tool(self) -> str | None:
        """The tool that was called."""
        return None if self.call is None else self.call.fields.get("name")


@dataclass(frozen=True, slots=True, kw_only=True)
class BlameList(Result):
    """The claims of one key, or of a group of keys, sorted by key."""

    kind = "blame"
    rows_in = "rows"

    revision: Revision = field(metadata=spread(conversation="conversation", branch="branch", oid="oid"))
    rows: tuple[BlameRow, ...]


def blame(repository: Repository, where: str, key: str) -> BlameList:
    """Find the message that last set a key (`decisions/auth`, or all of `decisions`), across merges.

    Raises:
        NotFound: the state has no such key.
    """
    revision = resolve_revision(repository, where)
    state = state_of(repository, revision.oid)
    claims = {} if state is None else dict(walk_blobs(repository, state))
    matching = _match_key(claims, key)
    if not matching:
        raise NotFound(f"the state of {where} has no {key!a}", hint=_similar_keys(claims, key))
    rows = (_with_call(repository, row) for row in _walk_rows(repository, revision.oid, matching))
    return BlameList(revision=revision, rows=tuple(rows))


def _walk_rows(repository: Repository, tip: Oid, claims: Mapping[str, Oid]) -> Iterator[BlameRow]:
    """Yield a row for every claim; if a merge kept the values of both sides, a row for each value."""
    setters = blame_paths(repository, walk_newest_first(repository, [tip]), claims, count_resolutions=True)
    for path, blob in sorted(claims.items()):
        claim: Any = canonical_json.load(read_blob(repository, blob))
        commit = read_commit(repository, setters[path]) if path in setters else None
        if commit is None:
            continue
        if len(commit.parents) > 1 and isinstance(claim, dict) and claim.keys() == {BOTH}:
            for parent in commit.parents:
                value = find_file(repository, state_of(repository, parent), path)
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


def _similar_keys(claims: Mapping[str, Oid], name: str) -> str:
    """Return a hint with the keys of a similar name, or else with the groups that there are."""
    keys = [key.removeprefix(f"{FILES}/") for key in map(decoded_key, map(key_of_path, claims))]
    if found := get_close_matches(name, sorted(set(keys)), n=3):
        return f"did you mean {' or '.join(found)}?"
    groups = sorted({path.partition("/")[0] for path in claims} - {PARTICIPANTS, CONFLICTS, MESSAGES})
    return f"there are: {', '.join(groups)}" if groups else "nothing was decided, proposed or written there"
