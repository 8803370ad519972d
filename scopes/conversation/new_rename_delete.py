"""`new`, `rename` and `delete`: conversations and branches are created, named and moved to the trash."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import NamedTuple

from scopes.clock import new_uuid, now
from scopes.errors import Refused
from scopes.history.handles import BranchHandle, StoreHandle, heading_of, next_conversation_id, refuse_taken, walk_main
from scopes.history.messages import write_root_commit
from scopes.history.metadata import read_metadata, read_metadata_at, read_remote_branches
from scopes.history.names import MAIN, find_root_commit, parse_new_branch_name, parse_new_conversation_id
from scopes.history.transaction import RefTransaction, Transaction
from scopes.ids import BranchName, ConversationId, Oid, OperationId, parse_agent_name
from scopes.merge.in_progress import follow_rename
from scopes.model.conversation import OPEN, BranchEntry, Root, branch_id
from scopes.result import OMIT_EMPTY, Column, Note, Result, counted, named, short_id
from scopes.store import refs
from scopes.store.config import BUNDLE
from scopes.store.graph import is_ancestor
from scopes.store.operations import walk_operations
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationCreated(Result):
    """A new conversation, which has no messages yet (S4-1)."""

    kind = "conversation"

    id: ConversationId
    uuid: str
    title: str | None
    participants: tuple[str, ...]
    branch: BranchName = field(metadata=named("active_branch"))
    operation: OperationId

    @property
    def sentence(self) -> str:
        """The id and the title."""
        return f"created {self.id}" + ("" if self.title is None else f": {self.title}")

    @property
    def answer(self) -> str:
        """The id: id=$(scopes new)."""
        return self.id


def new(
    repository: Repository,
    *,
    conversation_id: str | None = None,
    title: str | None = None,
    participants: Iterable[str] = (),
    directory: str | None = None,
) -> ConversationCreated:
    """Create a conversation with the branch main and no messages; its default id has the next number.

    `directory` is where it is started; it decides which project it belongs to.

    Raises:
        Refused: the id is taken.
        Invalid: the id or the name of a participant is not valid.
    """
    stripped_title = (title or "").strip() or None
    kinds: dict[str, str] = {parse_agent_name(name): "agent" for name in participants}
    given_id = None if conversation_id is None else parse_new_conversation_id(conversation_id)
    repository.require_writable()
    root = Root(uuid=new_uuid(), created=now())
    with exclusive_write(repository):
        new_id = given_id or next_conversation_id(repository)
        refuse_taken(repository, new_id)
        commit = write_root_commit(repository, root, kinds)
        tx = Transaction(repository, new_id)
        tx.create_branch(MAIN, commit)
        tx.set_branch_entry(MAIN, BranchEntry(fork=commit, created=root.created))
        if stripped_title:
            tx.set_title(stripped_title)
        if directory is not None:
            tx.set_directory(directory)
        tx.activate(MAIN)
        operation = tx.commit("new", f"create {new_id}")
    return ConversationCreated(
        id=new_id,
        uuid=root.uuid,
        branch=MAIN,
        title=stripped_title,
        participants=tuple(kinds),
        operation=operation.id,
        notes=_note_secrets(repository, stripped_title),
    )


def _note_secrets(repository: Repository, title: str | None) -> tuple[Note, ...]:
    """Return a note about possible secrets in a new title."""
    if title is None:
        return ()
    from scopes.secrets.count import title_note

    return title_note(repository, title)


@dataclass(frozen=True, slots=True, kw_only=True)
class Renamed(Result):
    """An old and a new name; `what` is `title`, `conversation` or `branch`."""

    kind = "rename"

    conversation: ConversationId
    what: str
    old: str | None
    new: str | None
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """The old and the new name."""
        as_before = "" if self.operation is not None else " (as before)"
        if self.what == "title":
            return f"{self.conversation}{f': {self.new}' if self.new else ' has no title now'}{as_before}"
        old = f"{self.conversation}/{self.old}" if self.what == "branch" else self.old
        return f"renamed {old} to {self.new}{as_before}"

    @property
    def answer(self) -> str:
        """The name of what was changed."""
        return self.conversation if self.what == "title" else self.new or ""


def rename_title(repository: Repository, conversation: str, title: str) -> Renamed:
    """Set the title of a conversation; an empty title removes it."""
    with exclusive_write(repository):
        handle = StoreHandle(repository).conversation(conversation)  # under the lock
        before, after = handle.metadata.title, title.strip() or None
        operation = None
        notes: tuple[Note, ...] = ()
        if after != before:
            notes = _note_secrets(repository, after)
            tx = Transaction(repository, handle.id)
            tx.set_title(after)
            operation = tx.commit("rename", f"set the title of {handle.id}", metadata_message="set the title").id
    return Renamed(conversation=handle.id, what="title", old=before, new=after, operation=operation, notes=notes)


def rename_conversation(repository: Repository, conversation: str, new: str) -> Renamed:
    """Change the id of a conversation; its root commit, which identifies it on other machines, stays the same.

    Raises:
        Refused: the id is taken.
    """
    handle, new_id = StoreHandle(repository).conversation(conversation), parse_new_conversation_id(new)
    old_id = handle.id
    with exclusive_write(repository):
        refuse_taken(repository, new_id)
        active = handle.active_branch.name
        tx = RefTransaction(repository)
        for branch, tip in handle.tips.items():
            tx.rename_ref(refs.branch_ref(old_id, branch), refs.branch_ref(new_id, branch), tip)
        meta, old_active = refs.meta_ref(old_id), refs.active_ref(old_id)
        tx.rename_ref(meta, refs.meta_ref(new_id), repository.find_ref(meta))
        tx.move_ref(old_active, repository.find_ref(old_active), None)
        tx.move_ref(refs.active_ref(new_id), None, refs.SYMBOLIC + refs.branch_ref(new_id, active))
        operation = tx.commit("rename", f"rename {old_id} to {new_id}")
    return Renamed(conversation=new_id, what="conversation", old=old_id, new=new_id, operation=operation.id)


def rename_branch(repository: Repository, conversation: str, branch: str, new: str) -> Renamed:
    """Rename a branch, also in its metadata, as the parent of another branch, in merge requests and in what is in
    progress.

    Raises:
        Refused: the name is taken, or the branch is main.
    """
    handle, new_name = StoreHandle(repository).conversation(conversation), parse_new_branch_name(repository, new)
    with exclusive_write(repository):
        name, tips = handle.branch(branch).name, handle.tips
        if name == "main":
            raise Refused("the branch main cannot be renamed", hint="create another branch from it: scopes branch")
        if new_name in tips:
            raise Refused(f"branch {new_name!a} already exists in {handle.id}", hint="choose another name")
        entries = handle.metadata.branches
        tx = Transaction(repository, handle.id)
        tx.rename_ref(refs.branch_ref(handle.id, name), refs.branch_ref(handle.id, new_name), tips[name])
        tx.set_branch_entry(name, None)
        renamed = entries.get(name, BranchEntry())
        tx.set_branch_entry(new_name, replace(renamed, id=branch_id(name, renamed), name=None))
        for child, entry in entries.items():
            if child != name and (followed := follow_rename(entry, name, new_name)) != entry:
                tx.set_branch_entry(child, followed)
        for request in handle.metadata.requests.values():
            if request.state == OPEN and name in {request.source, request.target}:
                source, target = (new_name if each == name else each for each in (request.source, request.target))
                tx.set_request(replace(request, source=source, target=target))
        active = repository.find_ref(refs.active_ref(handle.id))
        if active == refs.SYMBOLIC + refs.branch_ref(handle.id, name):
            tx.activate(new_name)
        operation = tx.commit(
            "rename", f"rename {handle.id}/{name} to {new_name}", metadata_message=f"rename {name} to {new_name}"
        )
    return Renamed(conversation=handle.id, what="branch", old=name, new=new_name, operation=operation.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationDeleted(Result):
    """A conversation that was moved to the trash; with `dry_run` it would be, and `branch_names` are its branches."""

    kind = "delete"

    conversation: ConversationId
    branches: int
    operation: OperationId | None
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)
    branch_names: tuple[BranchName, ...] = field(default=(), metadata=OMIT_EMPTY)

    @property
    def sentence(self) -> str:
        """Which conversation was deleted."""
        what = f"{self.conversation} with {counted(self.branches, 'branch')}"
        return f"would delete {what}: {', '.join(self.branch_names)}" if self.dry_run else f"deleted {what}"

    @property
    def answer(self) -> str:
        """The id; after a dry run the branches."""
        names = [f"{self.conversation}/{branch}" for branch in self.branch_names]
        return "\n".join(names) if self.dry_run else self.conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchDeleted(Result):
    """A branch that was moved to the trash, or with `dry_run` would be, and its last tip."""

    kind = "delete-branch"

    conversation: ConversationId
    branch: BranchName
    tip: Oid
    operation: OperationId | None
    dry_run: bool = field(default=False, metadata=OMIT_EMPTY)

    @property
    def sentence(self) -> str:
        """Which branch was deleted, and its last tip."""
        place, tip = f"{self.conversation}/{self.branch}", short_id(self.tip)
        return f"would delete {place} (it is at {tip})" if self.dry_run else f"deleted {place} (it was at {tip})"

    @property
    def answer(self) -> str:
        """The name."""
        return f"{self.conversation}/{self.branch}" if self.dry_run else self.branch


class DeletedRow(NamedTuple):
    """A conversation in the trash; `undo` with `operation` restores it. `title` may be its first prompt."""

    id: ConversationId
    title: str | None
    branches: int
    deleted_at: str
    operation: OperationId


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedList(Result):
    """The conversations in the trash, the one deleted last first."""

    rows_in = "deleted"
    columns = (
        Column("id", "ID"),
        Column("title"),
        Column("branches", form="count"),
        Column("deleted_at", form="time"),
        Column("operation", form="id"),
    )
    empty = "The trash is empty."

    deleted: tuple[DeletedRow, ...]

    @property
    def next_step(self) -> str:
        """How to restore one."""
        return "restore one: scopes undo OPERATION" if self.deleted else ""


def list_deleted(repository: Repository) -> DeletedList:
    """List the conversations in the trash, the one deleted last first."""
    trash = repository.list_refs(refs.TRASH)
    rows = []
    for _, operation in walk_operations(repository):
        for change in operation.changes if operation.kind == "delete" else ():
            conversation, _, meta = change.ref.removeprefix(refs.TRASH).partition(f"/{operation.id}/")
            if meta == "meta" and change.ref in trash:
                top = change.ref.removesuffix("meta") + "heads/"
                heads = {ref.removeprefix(top): oid for ref, oid in trash.items() if ref.startswith(top)}
                tips = {BranchName(name): Oid(oid) for name, oid in heads.items()}
                title = read_metadata_at(repository, Oid(trash[change.ref])).title
                heading = heading_of(repository, title, walk_main(repository, tips))
                text, name = heading and heading.text, ConversationId(conversation)
                rows.append(DeletedRow(name, text, len(tips), operation.time, operation.id))
    return DeletedList(deleted=tuple(rows))


def delete(repository: Repository, conversation: str, *, dry_run: bool = False) -> ConversationDeleted:
    """Move a conversation with all its branches and metadata to the trash; with `dry_run` change nothing."""
    with nullcontext() if dry_run else exclusive_write(repository):
        handle = StoreHandle(repository).conversation(conversation)  # under the lock
        tips = handle.tips
        if dry_run:
            return ConversationDeleted(
                conversation=handle.id, branches=len(tips), operation=None, dry_run=True, branch_names=tuple(tips)
            )
        there = read_remote_branches(repository, find_root_commit(repository, handle.id))
        tx = Transaction(repository, handle.id)
        for branch in tips:
            tx.trash(branch)
        tx.trash(None)
        active = refs.active_ref(handle.id)
        tx.move_ref(active, repository.find_ref(active), None)
        operation = tx.commit("delete", f"delete {handle.id}")
    notes = _notes_on_remotes(there, handle.id)
    return ConversationDeleted(conversation=handle.id, branches=len(tips), operation=operation.id, notes=notes)


def _notes_on_remotes(known: Iterable[str], name: str) -> tuple[Note, ...]:
    """Return a note for each remote that still has something; what came from a bundle is on none."""
    return tuple(
        Note(
            f"{remote} still has {name}",
            f"delete it there, too: scopes push {quote(remote)} --delete {quote(name)}",
        )
        for remote in known
        if remote != BUNDLE
    )


def delete_branch(
    repository: Repository, conversation: str, branch: str, *, force: bool = False, dry_run: bool = False
) -> BranchDeleted:
    """Move a branch to the trash; with `dry_run` change nothing.

    Raises:
        Refused: it is main or the active branch, or has messages of its own and `force` is not given (S4-7).
    """
    handle = StoreHandle(repository).conversation(conversation)
    with nullcontext() if dry_run else exclusive_write(repository):
        target = handle.branch(branch)
        tip = _check_deletable(target, force=force)
        if dry_run:
            return BranchDeleted(conversation=handle.id, branch=target.name, tip=tip, operation=None, dry_run=True)
        key = branch_id(target.name, read_metadata(repository, handle.id).branches.get(target.name))
        known = read_remote_branches(repository, find_root_commit(repository, handle.id))
        there = [remote for remote, branches in known.items() if key in branches]
        tx = Transaction(repository, handle.id)
        tx.trash(target.name)
        tx.set_branch_entry(target.name, None)
        operation = tx.commit("delete-branch", f"delete {target}", metadata_message=f"delete {target.name}")
    notes = _notes_on_remotes(there, f"{handle.id}/{target.name}")
    return BranchDeleted(conversation=handle.id, branch=target.name, tip=tip, operation=operation.id, notes=notes)


def _check_deletable(branch: BranchHandle, *, force: bool) -> Oid:
    """Return the tip of a branch that may be deleted."""
    conversation, name = branch.conversation, branch.name
    if name == MAIN:
        raise Refused(
            "the branch main cannot be deleted", hint=f"delete the conversation: scopes delete {quote(conversation.id)}"
        )
    if name == conversation.active_branch.name:
        raise Refused(f"{name} is the active branch", hint=f"first: scopes switch {quote(conversation.id)} main")
    tips = conversation.tips
    tip = tips.pop(name)
    if not force and not any(is_ancestor(branch.repository, tip, other) for other in tips.values()):
        raise Refused(
            f"{name} has messages that no other branch has",
            hint=f"delete it anyway: scopes branch -D {quote(conversation.id)} {quote(name)}; undo restores it",
        )
    return tip
