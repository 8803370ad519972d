"""`new`: create a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scopes.clock import new_uuid, now
from scopes.errors import Refused
from scopes.history.messages import write_root_commit
from scopes.history.revisions import MAIN
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, OperationId, parse_agent_name, parse_conversation_id
from scopes.model.conversation import BranchEntry, Root
from scopes.result import Result
from scopes.store import refs
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

_NUMBERED = re.compile(r"conv-([0-9]{3,9})")


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
) -> ConversationCreated:
    """Create a conversation with the branch main and no messages; its default id has the next number.

    Raises:
        Refused: the id is taken.
        Invalid: the id or the name of a participant is not valid.
    """
    stripped_title = (title or "").strip() or None
    kinds: dict[str, str] = {parse_agent_name(name): "agent" for name in participants}
    given_id = None if conversation_id is None else parse_conversation_id(conversation_id)
    root = Root(uuid=new_uuid(), created=now())
    commit = write_root_commit(repository, root, kinds)
    with exclusive_write(repository):
        new_id = given_id or next_conversation_id(repository)
        refuse_taken(repository, new_id)
        tx = Transaction(repository, new_id)
        tx.create_branch(MAIN, commit)
        tx.describe_branch(MAIN, BranchEntry(fork=commit, created=root.created))
        if stripped_title:
            tx.set_title(stripped_title)
        tx.activate(MAIN)
        operation = tx.commit("new", f"create {new_id}")
    return ConversationCreated(
        id=new_id,
        uuid=root.uuid,
        branch=MAIN,
        title=stripped_title,
        participants=tuple(kinds),
        operation=operation.id,
    )


def refuse_taken(repository: Repository, conversation: ConversationId) -> None:
    """Raise Refused if a conversation with this id exists; the id of a deleted one may be used again."""
    if repository.list_refs(f"{refs.HEADS}{conversation}/", refs.meta_ref(conversation)):
        raise Refused(f"there is a conversation {conversation} already", hint="choose another name")


def next_conversation_id(repository: Repository) -> ConversationId:
    """Return `conv-` and the highest number ever used plus one; includes deleted conversations, ignores case."""
    highest = 0
    for ref in repository.list_refs(refs.HEADS, refs.META, refs.TRASH):
        tail = ref.removeprefix(refs.HEADS).removeprefix(refs.META).removeprefix(refs.TRASH)
        match = _NUMBERED.fullmatch(tail.partition("/")[0].lower())
        highest = max(highest, int(match[1]) if match else 0)
    return ConversationId(f"conv-{highest + 1:03d}")
