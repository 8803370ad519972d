"""`new`: begin a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from scopes.clock import new_uuid, now
from scopes.errors import Refused
from scopes.history.messages import write_root_commit
from scopes.history.revparse import MAIN
from scopes.history.transaction import Transaction
from scopes.ids import BranchName, ConversationId, OperationId, parse_agent_name, parse_conversation_id
from scopes.model.conversation import BranchEntry, Root
from scopes.result import Result
from scopes.store import refs as names
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write

_NUMBERED = re.compile(r"conv-([0-9]{3,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationCreated(Result):
    """A conversation without messages (S4-1)."""

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
    """Create a conversation with the branch main and no messages; without a name it gets the next number.

    Raises:
        Refused: the name is taken.
        Invalid: the name cannot be used.
    """
    heading = (title or "").strip() or None
    people: dict[str, str] = {parse_agent_name(name): "agent" for name in participants}
    wanted = None if conversation_id is None else parse_conversation_id(conversation_id)
    root = Root(uuid=new_uuid(), created=now())
    commit = write_root_commit(repository, root, people)
    with exclusive_write(repository):
        chosen = wanted or next_conversation_id(repository)
        refuse_taken(repository, chosen)
        tx = Transaction(repository, chosen)
        tx.create_branch(MAIN, commit)
        tx.describe_branch(MAIN, BranchEntry(fork=commit, created=root.created))
        if heading:
            tx.set_title(heading)
        tx.activate(MAIN)
        operation = tx.commit("new", f"create {chosen}")
    return ConversationCreated(
        id=chosen, uuid=root.uuid, branch=MAIN, title=heading, participants=tuple(people), operation=operation.id
    )


def refuse_taken(repository: Repository, conversation: ConversationId) -> None:
    """Refuse the id of a conversation that exists; one that was deleted may be used again."""
    if repository.list_refs(f"{names.HEADS}{conversation}/", names.meta_ref(conversation)):
        raise Refused(f"there is a conversation {conversation} already", hint="choose another name")


def next_conversation_id(repository: Repository) -> ConversationId:
    """Return `conv-` and the highest number ever used, in any case, plus one; deleted conversations count."""
    highest = 0
    for ref in repository.list_refs(names.HEADS, names.META, names.TRASH):
        tail = ref.removeprefix(names.HEADS).removeprefix(names.META).removeprefix(names.TRASH)
        match = _NUMBERED.fullmatch(tail.partition("/")[0].lower())
        highest = max(highest, int(match[1]) if match else 0)
    return ConversationId(f"conv-{highest + 1:03d}")
