"""`new`: create a conversation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from scopes.clock import new_uuid, now
from scopes.history.conversations import next_conversation_id, refuse_taken
from scopes.history.messages import write_root_commit
from scopes.history.new_names import parse_new_conversation_id
from scopes.history.revisions import MAIN
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, OperationId, parse_agent_name
from scopes.model.conversation import BranchEntry, Root
from scopes.result import Note, Result
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationCreated(Result):
    """A new conversation, which has no messages yet (S4-1)."""

    id: ConversationId
    uuid: str
    branch: BranchName
    title: str | None
    participants: tuple[str, ...]
    operation: OperationId


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
    notes: tuple[Note, ...] = ()
    if stripped_title:
        from scopes.secrets.count import title_note

        notes = title_note(repository, stripped_title)
    return ConversationCreated(
        id=new_id,
        uuid=root.uuid,
        branch=MAIN,
        title=stripped_title,
        participants=tuple(kinds),
        operation=operation.id,
        notes=notes,
    )
