"""`branch`: create a branch at any message, or list the branches."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace
from unicodedata import combining, normalize

from scopes.clock import now
from scopes.conversation.append import MessageAppended, message_writers
from scopes.conversation.show import BranchRow, show
from scopes.errors import Refused
from scopes.history.ambiguous_names import HEADS_FORM
from scopes.history.handles import StoreHandle
from scopes.history.messages import message_id_of
from scopes.history.new_names import parse_new_branch_name
from scopes.history.transaction import Transaction
from scopes.ids import (
    AgentName,
    BranchName,
    ConversationId,
    MessageId,
    Oid,
    OperationId,
    free_name,
    is_name,
    parse_agent_name,
    parse_branch_name,
    slug,
)
from scopes.model.conversation import BranchEntry, parse_purpose
from scopes.model.message import Message
from scopes.result import Result
from scopes.store.repository import Repository, read_commit
from scopes.store.transactions import exclusive_write

_MAX_SLUG_LENGTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCreated(Result):
    """A new branch; it has no messages of its own yet, unless one was given (S4-2, S4-6).

    `start` is the message at which it begins, unless that is the tip of `parent`.
    """

    conversation: ConversationId
    name: BranchName
    tip: Oid
    parent: BranchName
    purpose: str | None
    agent: AgentName | None
    active: bool
    operation: OperationId
    start: MessageId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchList(Result):
    """The branches of a conversation, main first, then by name."""

    conversation: ConversationId
    branches: tuple[BranchRow, ...]


def list_branches(repository: Repository, conversation: str, *, include_hidden: bool = False) -> BranchList:
    """List the branches of a conversation; abandoned ones, and those of ended conflicts, only with `include_hidden`."""
    view = show(repository, conversation, recent=0, include_hidden=include_hidden)
    return BranchList(conversation=view.id, branches=view.branches)


def branch(
    repository: Repository,
    conversation: str,
    *,
    purpose: str | None = None,
    agent: str | None = None,
    start: str | None = None,
    name: str | None = None,
    switch: bool = True,
    message: Message | None = None,
) -> BranchCreated:
    """Create a branch at `start` (default: the tip of the active branch) and, with `switch`, make it active.

    The default name is `<purpose>/<slug of the agent>`, followed by `-2` and so on if that is taken (S4-4). With
    `message` the branch has this message, and both are one operation.

    Raises:
        Invalid: the purpose or the name is not valid.
        Refused: a branch of that name exists.
        NotFound, Ambiguous: the conversation or the message cannot be resolved.
    """
    handle = StoreHandle(repository).conversation(conversation)
    given = BranchEntry(
        purpose=None if purpose is None else parse_purpose(purpose),
        agent=None if agent is None else parse_agent_name(agent),
        status="active",
    )
    writers = message_writers(repository, handle.id, () if message is None else (message,))
    with exclusive_write(repository):
        active = handle.active_branch.name
        revision = handle.revision(HEADS_FORM + active if start is None else start)
        new_name = _choose_name(repository, handle.id, handle.tips, name, given)
        entry = replace(given, parent=revision.branch or active, fork=revision.oid, created=now())
        at_tip = handle.tips.get(entry.parent or active) == revision.oid
        tip = revision.oid
        for write in writers:
            tip = write(tip)
        tx = Transaction(repository, handle.id)
        tx.create_branch(new_name, tip)
        tx.set_branch_entry(new_name, entry)
        if switch:
            tx.activate(new_name)
        operation = tx.commit("branch", f"create {handle.id}/{new_name}", metadata_message=f"create {new_name}")
    return BranchCreated(
        conversation=handle.id,
        name=new_name,
        tip=tip,
        parent=entry.parent or active,
        purpose=entry.purpose,
        agent=entry.agent,
        active=switch,
        operation=operation.id,
        start=None if at_tip else message_id_of(read_commit(repository, revision.oid)),
    )


def append_to_new_branch(
    repository: Repository, conversation: str, message: Message, *, start: str | None, name: str, switch: bool = True
) -> MessageAppended:
    """Create a branch at `start`, as `branch` does, and append a message to it, as one operation.

    Raises:
        Invalid: the name is not valid, or the message is too large.
        Refused: a branch of that name exists.
        NotFound, Ambiguous: the conversation or the message cannot be resolved.
        Busy, Inaccessible: nothing was written.
    """
    created = branch(repository, conversation, start=start, name=name, message=message, switch=switch)
    return MessageAppended(
        id=message.id,
        oid=created.tip,
        conversation=created.conversation,
        branch=created.name,
        parent=created.parent,
        start=created.start,
        active=created.active,
        operation=created.operation,
    )


def default_branch_name(taken: Container[str], purpose: str | None, agent: AgentName | None) -> BranchName:
    """Return the first free name of `<purpose>/<slug>`, `<purpose>/<slug>-2`, ...; the default purpose is `branch`.

    Accents are removed: `Zoë X` becomes `zoe-x`. A slug that is not valid in a ref, such as `con` or `build.lock`, is
    replaced by `agent`.
    """
    plain = "".join(character for character in normalize("NFKD", agent or "agent") if not combining(character))
    stem = f"{purpose or 'branch'}/{slug(plain)[:_MAX_SLUG_LENGTH]}"
    if not is_name(stem):
        stem = f"{purpose or 'branch'}/agent"
    return parse_branch_name(free_name(stem, taken))


def _choose_name(
    repository: Repository, conversation: ConversationId, taken: Container[str], name: str | None, entry: BranchEntry
) -> BranchName:
    """Return the given name, or the default one; raise Refused if it is taken."""
    if name is None:
        return default_branch_name(taken, entry.purpose, entry.agent)
    parsed = parse_new_branch_name(repository, name)
    if parsed in taken:
        raise Refused(f"branch {parsed!a} already exists in {conversation}", hint="choose another name")
    return parsed
