"""`branch`: begin a branch at any message, or list the branches there are."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from scopes.clock import now
from scopes.conversation.show import BranchSummary, show
from scopes.errors import Refused
from scopes.history.revparse import find_active_branch, find_conversation, list_branch_tips, resolve_revision
from scopes.history.transaction import Transaction
from scopes.ids import (
    AgentName,
    BranchName,
    ConversationId,
    Oid,
    OperationId,
    is_name,
    parse_agent_name,
    parse_branch_name,
    slug,
)
from scopes.model.conversation import BranchEntry, parse_purpose
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write

_LONGEST_SLUG = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchCreated(Result):
    """A branch without messages of its own (S4-2, S4-6)."""

    conversation: ConversationId
    name: BranchName
    tip: Oid
    parent: BranchName
    purpose: str | None
    agent: AgentName | None
    active: bool
    operation: OperationId


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchList(Result):
    """The branches of a conversation, main first, then by name."""

    conversation: ConversationId
    branches: tuple[BranchSummary, ...]


def list_branches(repository: Repository, conversation: str, *, abandoned: bool = False) -> BranchList:
    """List a conversation's branches; abandoned ones only when asked for."""
    view = show(repository, conversation, recent=0, abandoned=abandoned)
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
) -> BranchCreated:
    """Create a branch at `start` (the active branch's tip when not given) and make it the active one.

    Without a name it is called `<purpose>/<slug of the agent>`, with `-2` and so on when that is taken (S4-4).

    Raises:
        Invalid: the purpose or the name cannot be used, or neither is given.
        Refused: there is a branch of that name.
        NotFound, Ambiguous: there is no such conversation or message.
    """
    chosen = find_conversation(repository, conversation)
    aim = None if purpose is None else parse_purpose(purpose)
    who = None if agent is None else parse_agent_name(agent)
    with exclusive_write(repository):
        tips = list_branch_tips(repository, chosen)
        active = find_active_branch(repository, chosen)
        place = resolve_revision(repository, start if start is not None else active, chosen)
        branch_name = parse_branch_name(name) if name is not None else default_branch_name(tips, aim, who)
        if branch_name in tips:
            raise Refused(f"there is a branch {branch_name!a} in {chosen} already", hint="choose another with --name")
        entry = BranchEntry(
            purpose=aim, agent=who, parent=place.branch or active, fork=place.oid, created=now(), status="active"
        )
        tx = Transaction(repository, chosen)
        tx.create_branch(branch_name, place.oid)
        tx.describe_branch(branch_name, entry)
        if switch:
            tx.activate(branch_name)
        operation = tx.commit("branch", f"create {chosen}/{branch_name}", metadata_message=f"create {branch_name}")
    return BranchCreated(
        conversation=chosen,
        name=branch_name,
        tip=place.oid,
        parent=entry.parent or active,
        purpose=aim,
        agent=who,
        active=switch,
        operation=operation.id,
    )


def default_branch_name(taken: Container[str], purpose: str | None, agent: AgentName | None) -> BranchName:
    """Return the first free of `<purpose>/<slug>`, `<purpose>/<slug>-2`, ...; `branch` stands in for no purpose.

    `agent` stands in for a slug that no ref may have, such as `con` or `build.lock`.
    """
    stem = f"{purpose or 'branch'}/{slug(agent or 'agent')[:_LONGEST_SLUG]}"
    if not is_name(stem):
        stem = f"{purpose or 'branch'}/agent"
    count, name = 1, stem
    while name in taken:
        count += 1
        name = f"{stem}-{count}"
    return parse_branch_name(name)
