"""Build and commit an operation: ref changes, metadata edits, and the record that `undo` reads; read the past again.

A verb opens a transaction inside `exclusive_write`, adds its changes, and commits once. How refs move atomically is
decided below, in `store.transactions`.

An append is recorded by the reflog of its branch alone. It is shown as an operation of the kind `append`: its id is
that of the first message of the command, its one ref change goes from the commit below that message to the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from heapq import heappop, heappush
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

from scopes.clock import format_time, new_id, now, now_nanoseconds, parse_date, parse_time
from scopes.errors import Invalid, NotFound
from scopes.history.activity import with_summary
from scopes.history.messages import (
    NO_CHANGES,
    header_of,
    is_root,
    read_message,
    write_message_blob,
    write_message_commit,
)
from scopes.history.metadata import (
    DIRECTORY,
    DISMISSED,
    REQUESTS,
    TAGS,
    TITLE,
    branch_change,
    clocks_of_edit,
    has_branch,
    write_metadata,
)
from scopes.history.names import MAIN, parse_latest, split_time
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.model import canonical_json
from scopes.model.canonical_json import encode_component
from scopes.model.conversation import BranchEntry, MergeRequest, branch_id, encode_merge_request, random_branch_id
from scopes.model.message import Author, Message
from scopes.model.operation import SAME_COMMAND, Operation, RefChange
from scopes.result import Note, plural
from scopes.sanitize import mark_cut
from scopes.store import refs
from scopes.store.config import machine_id
from scopes.store.maintenance import EXPIRE, FINAL, pack_refs_when_needed
from scopes.store.objects import BlobChange, Objects, diff_blobs, find_subtree, read_blob, read_commit
from scopes.store.operations import (
    OPERATION_PREFIX_LENGTH,
    AppendNote,
    RefMove,
    find_operation,
    list_logs,
    parse_append,
    walk_moves,
    walk_operations,
)
from scopes.store.repository import Repository
from scopes.store.transactions import append, commit_operation, renamed_branches

_MAX_COMMAND_LENGTH = 2000
PUSH, REMOTE = "push", "remote"
ALONE: Final = frozenset({*FINAL, PUSH, REMOTE})
"""Kinds of operations that cannot be undone: they are no part of the step of their command."""


class RefTransaction:
    """Collect ref changes for one operation; repeated changes of a ref are merged.

    Truthy if at least one ref would move.
    """

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._changes: dict[str, RefChange] = {}

    def __bool__(self) -> bool:
        return any(change.old != change.new for change in self._changes.values())

    @cached_property
    def operation_id(self) -> OperationId:
        """The id of the operation, for refs that are named after it."""
        return OperationId(new_id())

    def move_ref(self, ref: str, old: str | None, new: str | None) -> None:
        """Move a ref; None means that the ref does not exist."""
        self._changes[ref] = self._changes.get(ref, RefChange(ref, old, new))._replace(new=new)

    def rename_ref(self, ref: str, new_ref: str, value: str | None) -> None:
        """Give a ref another name; `value` is what it points to."""
        self.move_ref(ref, value, None)
        self.move_ref(new_ref, None, value)

    def include(self, other: RefTransaction) -> None:
        """Add the changes of another transaction."""
        for change in other.list_changes():
            self.move_ref(change.ref, change.old, change.new)

    def list_changes(self) -> list[RefChange]:
        """Return the changes in the order in which their refs were first named."""
        return list(self._changes.values())

    def commit(
        self, kind: str, summary: str, *, undoes: OperationId | None = None, details: Mapping[str, Any] | None = None
    ) -> Operation:
        """Commit the operation with the caller's name and command line; call it inside `exclusive_write`.

        All objects must be written before. Changes that change nothing are left out.

        Raises:
            Busy, Invalid, Inaccessible: nothing has happened.
        """
        caller = self.repository.caller
        earlier = None if kind in ALONE else caller.command_operations
        linked = {SAME_COMMAND: list(earlier)} if earlier else {}
        operation = Operation(
            id=self.operation_id,
            kind=kind,
            summary=summary,
            command=caller.command[:_MAX_COMMAND_LENGTH],
            actor=caller.actor,
            time=now(),
            changes=tuple(change for change in self.list_changes() if change.old != change.new),
            undoes=undoes,
            details={**(details or {}), **linked},
        )
        commit_operation(self.repository, operation)
        if not self.repository.is_dry:
            pack_refs_when_needed(self.repository)
        if earlier is not None:
            earlier.append(operation.id)
        return operation


class Transaction(RefTransaction):
    """Changes of one conversation; all metadata edits become one metadata commit.

    In the operation record the metadata ref has the place of the first edit.
    """

    def __init__(self, repository: Repository, conversation: ConversationId) -> None:
        super().__init__(repository)
        self.conversation = conversation
        self._edits: dict[str, BlobChange] = {}
        self._entries: dict[BranchName, BranchEntry] = {}

    def create_branch(self, branch: BranchName, tip: Oid | None) -> None:
        """Create a branch."""
        self.move_branch(branch, None, tip)

    def move_branch(self, branch: BranchName, old: str | None, new: str | None) -> None:
        """Move a branch; None means that the branch does not exist."""
        self.move_ref(refs.branch_ref(self.conversation, branch), old, new)

    def trash(self, branch: BranchName | None) -> None:
        """Move a branch to the trash; None for the metadata."""
        conversation = self.conversation
        ref = refs.meta_ref(conversation) if branch is None else refs.branch_ref(conversation, branch)
        value = self.repository.find_ref(ref)
        if value is not None:
            self.rename_ref(ref, refs.trash_ref(conversation, self.operation_id, ref), value)

    def activate(self, branch: BranchName) -> None:
        """Make a branch the active one."""
        active = refs.active_ref(self.conversation)
        target = refs.SYMBOLIC + refs.branch_ref(self.conversation, branch)
        self.move_ref(active, self.repository.find_ref(active), target)

    def set_branch_entry(self, branch: BranchName, entry: BranchEntry | None) -> None:
        """Set or remove the metadata entry of a branch; that of a branch which is created gets an id."""
        self._edit(branch_change(branch, entry))
        self._entries.pop(branch, None)
        if entry is not None:
            self._entries[branch] = entry

    def set_title(self, title: str | None) -> None:
        """Set or remove the title."""
        self._edit({TITLE: None if title is None else title.encode("utf-8", "replace") + b"\n"})

    def set_directory(self, directory: str) -> None:
        """Set the directory where the conversation was started."""
        self._edit({DIRECTORY: directory.encode("utf-8", "replace") + b"\n"})

    def set_tag(self, tag: str, oid: Oid | None) -> None:
        """Set or remove a tag."""
        self._edit({TAGS + encode_component(tag): None if oid is None else f"{oid}\n".encode()})

    def set_request(self, request: MergeRequest) -> None:
        """Set a merge request."""
        self._edit({REQUESTS + encode_component(request.id): encode_merge_request(request)})

    def dismiss(self, candidate: str, document: Mapping[str, str]) -> None:
        """Dismiss a decision candidate; the document says who did it, when and why."""
        self._edit({DISMISSED + encode_component(candidate): canonical_json.dump(dict(document))})

    def _edit(self, change: Mapping[str, BlobChange]) -> None:
        meta = refs.meta_ref(self.conversation)
        if not self._edits:  # keeps the place of the metadata among the changes
            value = self.repository.find_ref(meta)
            self.move_ref(meta, value, value)
        self._edits.update(change)

    @property
    def edited_paths(self) -> frozenset[str]:
        """The files of the metadata that are edited."""
        return frozenset(self._edits)

    def write_edits(
        self, objects: Objects, message: str, *, time: int | None = None, original: Container[str] | None = None
    ) -> None:
        """Write the metadata commit, if there are edits, and move the metadata ref to it.

        time: of the commit, in seconds; now if None
        original: paths whose values come from a source, see `clocks_of_edit`; None if nothing was imported
        """
        if not self._edits:
            return
        meta = refs.meta_ref(self.conversation)
        before = self._changes[meta].old
        previous = None if before is None else Oid(before)
        tree = None if previous is None else read_commit(objects, previous).tree
        self._add_branch_ids(objects, tree, imported=original is not None)
        if original is None and previous is None:
            original = self._edits  # nobody else has the conversation
        machine = partial(machine_id, self.repository.config, self.operation_id)
        clocks = clocks_of_edit(objects, tree, self._edits, machine, original=original or ())
        commit = write_metadata(objects, previous, {**self._edits, **clocks}, message, time=time)
        self.move_ref(meta, before, commit)
        self._edits = {}

    def _add_branch_ids(self, objects: Objects, tree: Oid | None, *, imported: bool) -> None:
        """Give the branches that are created an id, but for main and imported ones, which have that of their name.

        Where a branch with that name was renamed, it keeps its id, and an imported branch of the same name gets one.
        """
        for branch, entry in self._entries.items():
            change = self._changes.get(refs.branch_ref(self.conversation, branch))
            if entry.id is not None or change is None or change.old is not None or change.new is None:
                continue
            derived = imported or branch == MAIN
            if not derived or (tree is not None and has_branch(objects, tree, branch_id(branch, None))):
                made = replace(entry, id=random_branch_id(self.operation_id, branch))
                self._edits.update(branch_change(branch, made))

    def commit(
        self,
        kind: str,
        summary: str,
        *,
        metadata_message: str | None = None,
        undoes: OperationId | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> Operation:
        """Commit the operation; the message of the metadata commit is the summary if none is given.

        Raises:
            Busy, Invalid, Inaccessible: nothing has happened.
        """
        self.write_edits(self.repository, metadata_message or summary)
        return super().commit(kind, summary, undoes=undoes, details=details)


def signs_as(repository: Repository, author: Author) -> Callable[[bytes], bytes]:
    """Return what signs the commit of a decision: only that of a person; an agent does not sign with a user's key."""
    return repository.caller.sign if author.kind == "human" else bytes


def append_as_operation(  # noqa: PLR0917 - where, what, and how it is recorded
    repository: Repository,
    conversation: ConversationId,
    branch: BranchName,
    message: Message,
    kind: str,
    summary: str,
    *,
    state_changes: Mapping[str, BlobChange] = NO_CHANGES,
    sign: Callable[[bytes], bytes] = bytes,
) -> Oid:
    """Append a message without files to a branch as an operation, and return its commit; call it under the lock.

    `state_changes` are made to the state of the tip before the claims of the message.

    Raises:
        NotFound: the branch was deleted.
        Invalid: the message is too large.
        Busy, Inaccessible: nothing was written.
    """
    ref = refs.branch_ref(conversation, branch)
    tip = repository.find_ref(ref)
    if tip is None:
        raise NotFound(f"branch {conversation}/{branch} was deleted", hint="restore it: scopes undo")
    blob = write_message_blob(repository, message)
    oid = write_message_commit(repository, Oid(tip), message, blob, state_changes=state_changes, sign=sign)
    tx = RefTransaction(repository)
    tx.move_ref(ref, tip, oid)
    tx.commit(kind, summary)
    return oid


def append_commit(  # noqa: PLR0917 - where, what, how
    repository: Repository,
    conversation: ConversationId,
    branch: BranchName,
    message: MessageId,
    write: Callable[[Oid], Oid],
    first: MessageId | None = None,
) -> Oid:
    """Append the commit of a message to a branch and return it; `write` writes it on top of a given tip.

    `first` is the first message of the same command, if this is not the first one.

    Raises:
        Busy, Inaccessible: nothing was written, unless the error text says otherwise.
    """
    return append(repository, refs.branch_ref(conversation, branch), write, f"append: {message}", first=first)


SHARED: Final = frozenset({
    refs.AGENTS, refs.FACTS, refs.PROPOSED_FACTS, refs.MEMORY, refs.COMMITS, refs.SECRETS, refs.SOURCE_PATHS,
})  # fmt: skip
AGENT_FILES, INBOX_FILES, ALLOWED_FILES = "agents/", "inbox/", "allowed/"
COUNTERS: Final = frozenset({"next", "sequence"})
"""Files of refs/scopes/agents with the number that comes next: no number is given twice, so undo leaves them."""


def tree_of(objects: Objects, commit: str | None) -> Oid | None:
    """Return the tree of a commit; None if there is no commit."""
    return None if commit is None else read_commit(objects, Oid(commit)).tree


def find_tree(objects: Objects, commit: str | None, directory: str) -> Oid | None:
    """Return a directory in the tree of a commit; None if there is none."""
    return find_subtree(objects, tree_of(objects, commit), directory.rstrip("/"))


def walk_path_changes(objects: Objects, change: RefChange) -> Iterator[tuple[str, Oid | None, Oid | None]]:
    """Yield the files of a shared ref that an operation changed with their blobs, without counters.

    Raises:
        NotFound, Corrupt: an object is missing or damaged.
    """
    changes = diff_blobs(objects, tree_of(objects, change.old), tree_of(objects, change.new))
    return (each for each in changes if change.ref != refs.AGENTS or each[0] not in COUNTERS)


def read_json(objects: Objects, blob: Oid | None) -> Mapping[str, Any]:
    """Return the JSON object of a blob; empty if there is none."""
    document: Any = {} if blob is None else canonical_json.load(read_blob(objects, blob))
    return document if isinstance(document, dict) else {}


APPEND, UNDO = "append", "undo"
_SECOND = 1_000_000_000


class Append(NamedTuple):
    """The messages that one command appended to one branch.

    Attributes:
        nanoseconds: the time of the last message, since 1970.
        id: the id of the first message.
        after: the start of the id of the operation log's tip at that time.
        ref: the branch.
        moves: the moves of the ref, newest first, each with the id of its message.
        contiguous: False if another command appended to the branch between them.
    """

    nanoseconds: int
    id: MessageId
    after: str
    ref: str
    moves: tuple[tuple[RefMove, str], ...]
    contiguous: bool


def walk_history(repository: Repository, conversation: ConversationId | None = None) -> Iterator[Operation]:
    """Yield operations and appends, newest first; of one conversation, if it is given.

    Raises:
        Corrupt, NotFound: an operation record is damaged or missing.
    """
    appends = _walk_appends(repository, conversation)
    append = next(appends, None)
    newer: set[str] = set()
    expired = False
    for commit, record in walk_operations(repository):
        newer.add(commit[:OPERATION_PREFIX_LENGTH])
        while append is not None and _is_newer(append, record, newer, expired=expired):
            yield from _as_operation(repository, append)
            append = next(appends, None)
        expired = expired or record.kind == EXPIRE
        if conversation is None or record.kind == EXPIRE or conversation in conversations_of(record):
            yield record
    while append is not None:
        yield from _as_operation(repository, append)
        append = next(appends, None)


def conversations_of(record: Operation) -> set[ConversationId]:
    """Return the conversations whose refs an operation moved."""
    found = (refs.conversation_of(change.ref) for change in record.changes)
    return {conversation for conversation in found if conversation is not None}


def _walk_appends(repository: Repository, conversation: ConversationId | None = None) -> Iterator[Append]:
    """Yield the appends to all branches, or to those of one conversation, the last one first.

    Reflogs are read in the order of their files' times, so that the first appends come without reading all of them.
    """
    files = list_logs(repository, refs.HEADS if conversation is None else f"{refs.HEADS}{conversation}/")
    number = count()
    heap: list[tuple[int, int, Append, Iterator[Append]]] = []

    def push(appends: Iterator[Append]) -> None:
        append = next(appends, None)
        if append is not None:
            heappush(heap, (-append.nanoseconds, next(number), append, appends))

    while files or heap:
        while files and (not heap or files[-1][0] >= heap[0][2].moves[0][0].time):
            push(_walk_branch(repository, files.pop()[1]))
        if heap:
            _, _, append, appends = heappop(heap)
            yield append
            push(appends)


def _walk_branch(repository: Repository, ref: str) -> Iterator[Append]:
    """Yield the appends to one branch, newest first; an append is complete at its first message."""
    commands: dict[str, list[tuple[int, RefMove, AppendNote]]] = {}
    for position, move in enumerate(_walk_made(repository, ref)):
        note = parse_append(move)
        if note is not None:
            commands.setdefault(note.first, []).append((position, move, note))
            if note.message == note.first:
                yield _append(ref, commands.pop(note.first))
    for lines in commands.values():  # the reflog was cut: git expires old lines
        yield _append(ref, lines)


def _walk_made(repository: Repository, ref: str) -> Iterator[RefMove]:
    """Yield the moves of a ref, newest first, but those of killed processes: the reflog is written before the ref."""
    value = repository.find_ref(ref)
    for move in walk_moves(repository, ref):
        if move.old != value:
            yield move
            value = move.old


def _append(ref: str, lines: list[tuple[int, RefMove, AppendNote]]) -> Append:
    (last_position, last, note), (first_position, _, first_note) = lines[0], lines[-1]
    return Append(
        nanoseconds=parse_time(note.time) or last.time * _SECOND,
        id=MessageId(first_note.message),
        after=note.after,
        ref=ref,
        moves=tuple((move, note.message) for _, move, note in lines),
        contiguous=first_position - last_position == len(lines) - 1,
    )


def _is_newer(append: Append, record: Operation, newer: set[str], *, expired: bool) -> bool:
    """Return True if an append came after an operation; `newer` marks this operation and those after it.

    An append names the tip of the operation log at its time. Expire writes the log anew, so that appends before an
    expire name commits that no longer exist: these are compared by time.
    """
    if append.after in newer or not expired:
        return append.after in newer
    return append.nanoseconds > (parse_time(record.time) or 0)


def _as_operation(repository: Repository, append: Append) -> Iterator[Operation]:
    """Yield an append as an operation; nothing if its messages were deleted since."""
    (last, _), (first, _) = append.moves[0], append.moves[-1]
    try:
        head = with_summary(repository, header_of(read_commit(repository, first.new)))
    except NotFound:
        return
    where = append.ref.removeprefix(refs.HEADS)
    conversation, _, branch = where.partition("/")
    actor = last.actor or head.author
    by = head.author if head.author == actor else f"{head.author}, appended by {actor}"
    number = len(append.moves)
    yield Operation(
        id=OperationId(append.id),
        kind=APPEND,
        summary=f"append to {where} by {by}: '{mark_cut(head.subject)}' ({number} {plural(number, 'message')})",
        command="",
        actor=actor,
        time=format_time(append.nanoseconds),
        changes=(RefChange(append.ref, first.old, last.new),),
        details={
            "conversation": conversation,
            "branch": branch,
            "messages": [message for _, message in reversed(append.moves)],
            "after": append.after,
            **({} if append.contiguous else {"contiguous": False}),
        },
    )


_Log: TypeAlias = list[tuple[Oid, Operation]]


def show_past(repository: Repository, text: str) -> Note | None:
    """Make a repository show its refs as they were at a point, and refuse to write.

    text: a unique prefix of the id of an operation; `@` for the newest one, `@-` or `@{2}` for those before it; or a
        time, such as '2 hours ago' or `@{yesterday}`.

    Return a note if it is a time before the first operation, when nothing was in the store.

    Raises:
        NotFound, Ambiguous: no operation or several match; or it was deleted by `gc --expire`.
        Corrupt: an operation record is damaged.
    """
    log = list(walk_operations(repository))
    number, nanoseconds = _find_point(log, text)
    last = log[number] if number < len(log) else None
    values: dict[str, str | None] = dict(repository.list_refs())
    names: dict[str, str] = {}  # of branches at that point, by the names that their reflogs have now
    deleted: set[str] = set()  # since then, and their reflogs with them
    for record in walk_history(repository):
        is_append = record.kind == APPEND
        if nanoseconds is None or not is_append:
            if last is not None and record.id == last[1].id:
                break
        elif (parse_time(record.time) or 0) <= nanoseconds:
            continue
        for change in record.changes:
            ref = names.get(change.ref, change.ref) if is_append else change.ref
            if not is_append or values.get(ref) == change.new:
                values[ref] = change.old
            if change.new is None and ref.startswith(refs.HEADS):
                deleted.add(ref)
        for new, old in renamed_branches(record.changes).items():
            names = {new: old} | {log_ref: old if name == new else name for log_ref, name in names.items()}
    known = {change.new for _, record in log[number:] for change in record.changes}
    for ref in deleted:
        tip = values[ref]
        if tip is not None and last is not None:
            values[ref] = _before_messages(repository, Oid(tip), known, nanoseconds or parse_time(last[1].time) or 0)
    values[refs.OPERATIONS] = None if last is None else last[0]
    repository.override_refs({ref: value for ref, value in sorted(values.items()) if value is not None})
    if last is not None or not log or any(record.kind == EXPIRE for _, record in log):
        return None
    first = log[-1][1].time
    return Note(f"nothing was in the store then: its first operation is from {first}", "see: scopes op -a")


def _before_messages(repository: Repository, tip: Oid, known: Container[str | None], nanoseconds: int) -> Oid:
    """Return the last commit whose message has no later time, or that an operation gave to a branch."""
    while tip not in known:
        commit, message = read_commit(repository, tip), read_message(repository, tip)
        if is_root(commit) or not commit.parents or (parse_time(message.time or "") or 0) <= nanoseconds:
            break
        tip = commit.parents[0]
    return tip


def find_recorded_operation(repository: Repository, text: str) -> tuple[Oid, Operation]:
    """Return an operation and its commit, given a unique prefix of its id, its place (`@`, `@-`), or `@{TIME}`.

    The operation of a time is the last one before it.

    Raises:
        NotFound, Ambiguous: no operation or several match.
        Invalid: the time between the braces cannot be parsed.
    """
    log = list(walk_operations(repository))
    if not text.startswith("@"):
        return log[_find_by_id(log, text)]
    number, _ = _find_point(log, text)
    if number == len(log):
        raise NotFound(f"there is no operation {text!a}", hint="list them: scopes op -a")
    return log[number]


def _find_by_id(log: _Log, text: str) -> int:
    found = find_operation((record for _, record in log), text)
    return next(number for number, (_, record) in enumerate(log) if record.id == found.id)


def _find_point(log: _Log, text: str) -> tuple[int, int | None]:
    """Return the place in the log of the last operation up to a point, and its time if it was named by one."""
    number = parse_latest(text)
    if number is not None:
        if number >= len(log):
            raise NotFound(f"there is no operation {text}", hint=f"there are {len(log)}; the newest is @")
        return number, None
    name, time = split_time(text)
    if time is not None and not name:
        nanoseconds = parse_date(time, now_nanoseconds())
    else:
        try:
            return _find_by_id(log, text), None
        except NotFound as error:
            try:
                nanoseconds = parse_date(text, now_nanoseconds())
            except Invalid:
                raise error from None
    times = (parse_time(record.time) or 0 for _, record in log)
    return next((place for place, each in enumerate(times) if each <= nanoseconds), len(log)), nanoseconds
