"""`proposals list` and `proposals show`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from shlex import quote
from typing import Any, NamedTuple

from scopes.clock import in_seconds
from scopes.errors import Invalid
from scopes.history.handles import Scope, resolve_scope
from scopes.history.messages import MessageHeader, display_time, read_body, walk_headers_oldest_first
from scopes.ids import AgentName, BranchName, ConversationId, MessageId, Oid
from scopes.merge.compare import state_of
from scopes.model.canonical_json import leaf, without_none
from scopes.model.message import APPROVALS, REVIEWS
from scopes.proposals.proposal import (
    APPLIED,
    KIND,
    OPEN,
    OUTCOME,
    PENDING,
    REVIEW,
    STATES,
    Proposal,
    is_same,
    locate,
    path_of,
    read_proposals,
    read_value,
    walk_branches,
)
from scopes.result import HIDDEN, INLINE, Column, Note, Result, counted, few, shown
from scopes.store.objects import Objects, find_entry
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True)
class ProposalRow:
    """A proposal, and the branch that its state is about: the active one, if that has it."""

    proposal: Proposal = field(metadata=INLINE)
    branch: BranchName

    @property
    def changed(self) -> str:
        """The changes as one line."""
        return "; ".join(self.proposal.story)


class ProposalEvent(NamedTuple):
    """A message that created a proposal or reviewed it.

    Attributes:
        parent: The commit before it; None for the message that created the proposal.
        decision: `create`, or as in `ProposalReviewed`.
        state: The state after it.
        details: What else the review says: reason, feedback, rating, values, changes.
    """

    message: MessageId
    parent: Oid | None
    decision: str
    state: str
    author: AgentName
    time: str | None
    details: Mapping[str, Any]

    def document(self) -> dict[str, object]:
        """Return the review with its details as JSON."""
        names = {"message": self.message, "decision": self.decision, "state": self.state, "author": self.author}
        return {**self.details, **names, **without_none(time=self.time)}

    @property
    def story(self) -> str:
        """Who did what when, as one line."""
        words = [f"{self.decision}: {self.state}"]
        words += [str(self.details[name]) for name in ("reason", "feedback") if self.details.get(name)]
        words += [] if self.details.get("rating") is None else [f"rating {self.details['rating']}"]
        time = "-" if self.time is None else in_seconds(self.time)
        return f"{time} {self.author} {', '.join(words)} ({self.message})"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalList(Result):
    """Proposals: first the open ones, each part newest first; `branch` is the only one, if it was named."""

    rows_in = "proposals"
    columns = (
        Column("id", "ID", "id"),
        Column("entity"),
        Column("proposal.fields", "Field", on="pipe"),
        Column("changed", "Change", on="terminal"),
        Column("agent"),
        Column("state", on="pipe"),
        Column("proposal.shown_state", "State", "state", "terminal"),
        Column("proposal.certainty", "Confidence", on="pipe"),
        Column("confidence", form="share", on="terminal"),
        Column("created", form="time"),
        Column("branch", on="pipe"),
        Column("changed", "Changes", on="pipe"),
    )
    empty = "no such proposals"

    conversation: ConversationId
    proposals: tuple[ProposalRow, ...]
    branch: BranchName | None = field(default=None, metadata=HIDDEN)

    @property
    def next_step(self) -> str:
        """How to propose a change, if there is none."""
        create = f"scopes proposals create {quote(self.conversation)} TYPE/ID FIELD=VALUE"
        return "" if self.proposals else f"propose a change: {create}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalView(Result):
    """One proposal with the messages that led to its state, oldest first.

    `rollback_version` is the commit before it was applied, if it can be rolled back: its values are still accepted.
    """

    kind = "proposal"
    columns = (
        Column("id", "ID"),
        Column("proposal.shown_state", "State", "state"),
        Column("entity"),
        Column("where", "Branch"),
        Column("agent"),
        Column("created", form="time"),
        Column("proposal.certainty", "Confidence"),
        Column("rationale"),
        Column("category"),
        Column("request_type", "Request"),
        Column("context"),
        Column("alternative_options", "Alternatives"),
        Column("required_approvals", "Needs approval of"),
        Column("impact_assessment.risk_level", "Risk"),
        Column("impact_assessment.estimated_time"),
        Column("impact_assessment.affected_entities", "Affects"),
        Column("impact_assessment.reversible"),
        Column("impact_assessment.dependencies", "Depends on"),
        Column("impact_assessment.potential_side_effects", "Side effects"),
        Column("expires_at", "Expires", "time"),
        Column("approvals", "Approved by"),
        Column("withdrawal", "Message"),
        Column("superseded_by", form="id"),
        Column("rollback_version", "Rollback to", "id"),
        Column("proposal.story", "Changes", "lines"),
        Column("stories", "History", "lines"),
    )

    proposal: Proposal = field(metadata=INLINE)
    conversation: ConversationId
    branch: BranchName
    history: tuple[ProposalEvent, ...]
    rollback_version: Oid | None = field(default=None, metadata=HIDDEN)

    @property
    @shown
    def reviewed_at(self) -> str | None:
        """When it was accepted, modified or rejected."""
        return self._time_of("accept", "modify", "reject")

    @property
    @shown
    def applied_at(self) -> str | None:
        """When it was applied."""
        return self._time_of("apply")

    @property
    @shown
    def rollback(self) -> dict[str, object] | None:
        """How it can be rolled back; None if it cannot."""
        if self.rollback_version is None:
            return None
        changes = [without_none(field=c.field, before=c.result, after=c.before) for c in self.proposal.changes]
        return {"can_rollback": True, "version": self.rollback_version, "changes": changes}

    @property
    def where(self) -> str:
        """The branch with its conversation."""
        return f"{self.conversation}/{self.branch}"

    @property
    def withdrawal(self) -> str:
        """What has happened to its message since."""
        done = self.proposal.withdrawal
        return f"{done} since: scopes changes {quote(self.conversation)}" if done else ""

    @property
    def stories(self) -> list[str]:
        """The history, a line for each event."""
        return [event.story for event in self.history]

    def _time_of(self, *decisions: str) -> str | None:
        """Return the time of the last of some decisions; None if there is none."""
        return next((event.time for event in reversed(self.history) if event.decision in decisions), None)


def list_proposals(
    repository: Repository,
    where: str,
    *,
    state: str | None = None,
    agent: str | None = None,
    include_closed: bool = False,
) -> ProposalList:
    """List the proposals of a conversation, or of one branch of it given as `CONV/BRANCH`.

    Without `state` and `include_closed` only the open ones, which are pending or accepted.

    Raises:
        NotFound, Ambiguous: there is no such conversation or branch.
        Invalid: there is no such state.
    """
    wanted = None if state is None else state.strip().lower()
    if wanted is not None and wanted not in STATES:
        raise Invalid(f"{state!a} is not a state of a proposal", hint="states: " + ", ".join(STATES))
    scope = resolve_scope(repository, where)
    every = list(_walk_rows(repository, scope))
    rows = [row for row in every if agent is None or row.proposal.agent == agent]
    if wanted is not None:
        kept = [row for row in rows if row.proposal.state == wanted]
    else:
        kept = [row for row in rows if include_closed or row.proposal.state in OPEN]
    kept.reverse()
    kept.sort(key=lambda row: row.proposal.state not in OPEN)
    notes: tuple[Note, ...] = ()
    if agent is not None and not rows:
        proposing = few("agents with proposals", (row.proposal.agent for row in every))
        notes = (Note(f"{agent} has proposed nothing here", proposing or None),)
    elif wanted is None and len(kept) < len(rows):
        hidden = counted(len(rows) - len(kept), "closed proposal")
        notes = (Note(f"{hidden} not listed", "list them too: --all"),)
    return ProposalList(conversation=scope.conversation, proposals=tuple(kept), branch=scope.branch, notes=notes)


def _walk_rows(repository: Repository, scope: Scope) -> Iterator[ProposalRow]:
    """Yield each proposal once, oldest first; other branches than the active one are read if they have further ones."""
    heads = [head for head in walk_headers_oldest_first(repository, scope.tips.values()) if head.kind == KIND]
    missing = {head.id for head in heads}
    found: dict[MessageId, ProposalRow] = {}
    for branch in walk_branches(repository, scope):
        if not missing:
            break
        for proposal in read_proposals(repository, branch.tip):
            found.setdefault(proposal.id, ProposalRow(proposal, branch.name))
            missing.discard(proposal.id)
    yield from (found[head.id] for head in heads if head.id in found)


def show_proposal(repository: Repository, where: str | None, name: str) -> ProposalView:
    """Return one proposal and its history; raises as `locate` does."""
    branch, tip, _, proposal = locate(repository, where, name)
    history = tuple(_walk_history(repository, tip, proposal))
    version = None
    if proposal.state == APPLIED and not proposal.rolled_back:
        state = state_of(repository, tip)
        if all(is_same(read_value(repository, state, path_of(proposal, c.field)), c.result) for c in proposal.changes):
            version = next((each.parent for each in reversed(history) if each.decision == "apply"), None)
    return ProposalView(
        conversation=branch.conversation.id,
        branch=branch.name,
        proposal=proposal,
        history=history,
        rollback_version=version,
    )


def _walk_history(repository: Repository, tip: Oid, proposal: Proposal) -> Iterator[ProposalEvent]:
    """Yield the message of a proposal, those that changed its state, and feedback about the outcome; oldest first.

    A message that only says that it reviews the proposal is left out: its commit must change what the state tree has
    about it. Feedback changes no state, so everybody who can append a message can give it.
    """
    for head in walk_headers_oldest_first(repository, [tip]):
        if head.id == proposal.id:
            yield ProposalEvent(head.id, None, "create", PENDING, head.author, display_time(head), {})
        elif head.kind == "notice" and head.parents:
            match read_body(repository, head).extra.get(REVIEW):
                case {"proposal": proposal.id, "decision": str(decision), "state": str(state), **rest}:
                    if (decision, state) == (OUTCOME, APPLIED) or _changes_state(repository, head, proposal):
                        details = {str(name): value for name, value in rest.items()}
                        when = display_time(head)
                        yield ProposalEvent(head.id, head.parents[0], decision, state, head.author, when, details)


def _changes_state(objects: Objects, head: MessageHeader, proposal: Proposal) -> bool:
    """Return True if a message came with a change of what the state has about the reviews of a proposal."""
    paths = leaf(REVIEWS, proposal.id), leaf(APPROVALS, proposal.id).removesuffix("=")
    after, before = (state_of(objects, commit) for commit in (head.oid, head.parents[0]))
    return [after and find_entry(objects, after, path) for path in paths] != [
        before and find_entry(objects, before, path) for path in paths
    ]
