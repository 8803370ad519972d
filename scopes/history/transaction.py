"""Build and commit an operation: ref changes, metadata edits, and the record that `undo` reads.

A verb opens a transaction inside `exclusive_write`, adds its changes, and commits once. How refs move atomically is
decided below, in `store.transactions`.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scopes.clock import new_id, now
from scopes.errors import Corrupt, Invalid, NotFound
from scopes.history.handles import read_uuid
from scopes.history.messages import NO_CHANGES, write_message_blob, write_message_commit
from scopes.history.metadata import (
    branch_change,
    clocks_of_edit,
    directory_change,
    dismissal_change,
    has_branch,
    request_change,
    tag_change,
    title_change,
    write_metadata,
)
from scopes.history.names import MAIN, conversation_ids
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.model import encoding
from scopes.model.conversation import BranchEntry, branch_id, random_branch_id
from scopes.model.encoding import decode_component
from scopes.model.message import Author, Message
from scopes.model.operation import SAME_COMMAND, Operation, RefChange
from scopes.store import refs
from scopes.store.maintenance import pack_refs_when_needed
from scopes.store.objects import BlobChange, Objects, diff_blobs, find_entry, read_blob, read_commit
from scopes.store.repository import Repository
from scopes.store.transactions import append, commit_operation

if TYPE_CHECKING:
    from scopes.model.conversation import MergeRequest


_MAX_COMMAND_LENGTH = 2000


@contextmanager
def same_command(repository: Repository, *operations: OperationId) -> Iterator[None]:
    """Link the operations that are committed meanwhile to earlier ones: `undo` takes them back in one step."""
    repository.command_operations = [*operations]
    try:
        yield
    finally:
        repository.command_operations = []


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
        caller, earlier = self.repository.caller, self.repository.command_operations
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
        pack_refs_when_needed(self.repository)
        if earlier:
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

    def delete_branch(self, branch: BranchName, tip: Oid) -> None:
        """Delete a branch without a copy in the trash."""
        self.move_branch(branch, tip, None)

    def rename_branch(self, branch: BranchName, new: BranchName, tip: Oid) -> None:
        """Give a branch another name; its metadata entry is left alone."""
        conversation = self.conversation
        self.rename_ref(refs.branch_ref(conversation, branch), refs.branch_ref(conversation, new), tip)

    def trash_branch(self, branch: BranchName) -> None:
        """Move a branch to the trash."""
        self._trash(refs.branch_ref(self.conversation, branch))

    def trash_metadata(self) -> None:
        """Move the metadata to the trash."""
        self._trash(refs.meta_ref(self.conversation))

    def _trash(self, ref: str) -> None:
        value = self.repository.find_ref(ref)
        if value is not None:
            self.rename_ref(ref, refs.trash_ref(self.conversation, self.operation_id, ref), value)

    def activate(self, branch: BranchName) -> None:
        """Make a branch the active one."""
        active = refs.active_ref(self.conversation)
        target = refs.SYMBOLIC + refs.branch_ref(self.conversation, branch)
        self.move_ref(active, self.repository.find_ref(active), target)

    def deactivate(self) -> None:
        """Delete the ref that names the active branch."""
        active = refs.active_ref(self.conversation)
        self.move_ref(active, self.repository.find_ref(active), None)

    def set_branch_entry(self, branch: BranchName, entry: BranchEntry | None) -> None:
        """Set or remove the metadata entry of a branch; that of a branch which is created gets an id."""
        self._edit(branch_change(branch, entry))
        self._entries.pop(branch, None)
        if entry is not None:
            self._entries[branch] = entry

    def set_title(self, title: str | None) -> None:
        """Set or remove the title."""
        self._edit(title_change(title))

    def set_directory(self, directory: str) -> None:
        """Set the directory where the conversation was started."""
        self._edit(directory_change(directory))

    def set_tag(self, tag: str, oid: Oid | None) -> None:
        """Set or remove a tag."""
        self._edit(tag_change(tag, oid))

    def set_request(self, request: MergeRequest) -> None:
        """Set a merge request."""
        self._edit(request_change(request))

    def dismiss(self, candidate: str, document: Mapping[str, str]) -> None:
        """Dismiss a decision candidate."""
        self._edit(dismissal_change(candidate, document))

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
        clocks = clocks_of_edit(objects, tree, self._edits, self._find_machine, original=original or ())
        commit = write_metadata(objects, previous, {**self._edits, **clocks}, message, time=time)
        self.move_ref(meta, before, commit)
        self._edits = {}

    def _find_machine(self) -> str:
        from scopes.store.config import machine_id

        machine: str = machine_id(self.repository.config, self.operation_id)
        return machine

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


def append_message(
    repository: Repository,
    conversation: ConversationId,
    branch: BranchName,
    message: Message,
    *,
    state_changes: Callable[[Oid], Mapping[str, BlobChange]] = lambda _: NO_CHANGES,
    sign: Callable[[bytes], bytes] = bytes,
) -> Oid:
    """Append a message without files to a branch and return its commit; no operation is recorded.

    `state_changes` returns changes to the state of a tip that are made before the claims of the message. It is called
    under the lock, and again if another process moved the branch; if it raises, the branch is not moved.

    Raises:
        Invalid: the message is too large.
        Busy, Inaccessible: nothing was written, unless the error text says otherwise.
    """
    repository.require_writable()

    def write(tip: Oid) -> Oid:
        changes = state_changes(tip)
        blob = write_message_blob(repository, message)
        return write_message_commit(repository, tip, message, blob, state_changes=changes, sign=sign)

    return append_commit(repository, conversation, branch, message.id, write)


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


class PathChange(NamedTuple):
    """What an operation did to one file; None if there is no file."""

    path: str
    before: Oid | None
    after: Oid | None


def tree_of(objects: Objects, commit: str | None) -> Oid | None:
    """Return the tree of a commit; None if there is no commit."""
    return None if commit is None else read_commit(objects, Oid(commit)).tree


def find_tree(objects: Objects, commit: str | None, directory: str) -> Oid | None:
    """Return a directory in the tree of a commit; None if there is none."""
    tree = tree_of(objects, commit)
    entry = None if tree is None else find_entry(objects, tree, directory.rstrip("/"))
    return entry.oid if entry is not None and entry.is_tree else None


def walk_path_changes(objects: Objects, change: RefChange) -> Iterator[PathChange]:
    """Yield the files of a shared ref that an operation changed, without counters.

    Raises:
        NotFound, Corrupt: an object is missing or damaged.
    """
    for path, before, after in diff_blobs(objects, tree_of(objects, change.old), tree_of(objects, change.new)):
        if change.ref != refs.AGENTS or path not in COUNTERS:
            yield PathChange(path, before, after)


def walk_changes_below(objects: Objects, change: RefChange, directory: str) -> Iterator[PathChange]:
    """Yield the files below a directory of a shared ref that an operation changed, by path, which begins below it.

    Raises:
        NotFound, Corrupt: an object is missing or damaged.
    """
    before, after = (find_tree(objects, value, directory) for value in (change.old, change.new))
    if before != after:
        yield from (PathChange(*each) for each in sorted(diff_blobs(objects, before, after), key=itemgetter(0)))


class NamesOfUuids:
    """Finds the present id of a conversation by its uuid."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._names: dict[str, ConversationId] | None = None

    def find(self, uuid: str) -> ConversationId | None:
        """Return the id of a conversation; None if there is none of this uuid."""
        if self._names is None:
            self._names = {}
            for name in conversation_ids(self._repository):
                with suppress(NotFound, Corrupt):
                    self._names[read_uuid(self._repository, name)] = name
        return self._names.get(uuid)


def read_json(objects: Objects, blob: Oid | None) -> Mapping[str, Any]:
    """Return the JSON object of a blob; empty if there is none, or it is damaged."""
    if blob is None:
        return {}
    with suppress(Corrupt):
        document = encoding.load(read_blob(objects, blob))
        return document if isinstance(document, dict) else {}
    return {}


def decode_leaf(name: str) -> str:
    """Return the name that a file is called after, for a message; the file name itself if it is none."""
    with suppress(Invalid):
        return decode_component(name.removesuffix("="))
    return name
