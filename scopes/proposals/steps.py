"""The messages that change the state of a proposal, and how they are written: all of one command in one operation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from shlex import quote
from typing import Any, NamedTuple, TypeAlias

from scopes.history.messages import check_author, plain_message, write_message_blob, write_message_commit
from scopes.history.transaction import Transaction, signs_as
from scopes.ids import BranchName, ConversationId, MessageId, Oid, OperationId
from scopes.merge.compare import state_of
from scopes.model import encoding
from scopes.model.encoding import leaf
from scopes.model.message import REVIEWS, Author, Message
from scopes.proposals.proposal import (
    ACCEPTED,
    APPLIED,
    EXPIRED,
    PENDING,
    REJECTED,
    SUPERSEDED,
    WITHDRAWN,
    Proposal,
    show_value,
)
from scopes.proposals.refusals import refusal
from scopes.proposals.state import REVIEW, Located
from scopes.result import Result, short_id, spread
from scopes.store.objects import BlobChange, Objects, find_blob

Signs: TypeAlias = Callable[[Author], Callable[[bytes], bytes]]

TRANSITIONS: Mapping[str, frozenset[str]] = {
    PENDING: frozenset({ACCEPTED, REJECTED, SUPERSEDED, EXPIRED, WITHDRAWN}),
    ACCEPTED: frozenset({APPLIED, WITHDRAWN}),
}
"""The states that follow a state (S4-58); the others are final. A proposal that was rolled back stays applied."""


class ValueChange(NamedTuple):
    """The accepted value of a field: what a proposal expects, what there is, and what would be instead."""

    field: str
    before: Any
    current: Any
    after: Any
    conflict: bool

    def document(self) -> dict[str, object]:
        """Return the change as JSON; a value is null if there is none."""
        return self._asdict()

    @property
    def texts(self) -> dict[str, str]:
        """The values as text."""
        return {name: show_value(getattr(self, name)) for name in ("before", "current", "after")}


class Step(NamedTuple):
    """A message and the changes to the state that come with it."""

    message: Message
    changes: Mapping[str, BlobChange]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalReviewed(Result):
    """A proposal whose state was changed on a branch.

    Attributes:
        proposal: The proposal with its new state.
        decision: `accept`, `approve`, `reject`, `modify`, `apply`, `rollback`, or `outcome`, which is feedback.
        messages: The new messages; a proposal that is applied when it is accepted has two.
        values: The accepted values that were changed.
        expired: Other proposals that this makes expire.
        waiting_for: Who has to approve it too.
    """

    conversation: ConversationId
    branch: BranchName
    proposal: Proposal = field(
        metadata=spread(
            id="id", state="state", rolled_back="rolled_back", entity_type="entity_type", entity_id="entity_id"
        )
    )
    decision: str
    messages: tuple[MessageId, ...]
    operation: OperationId
    values: tuple[ValueChange, ...] = ()
    expired: tuple[MessageId, ...] = ()
    waiting_for: tuple[str, ...] = ()

    @property
    def sentence(self) -> list[str]:
        """The new state and the values that were changed."""
        proposal = self.proposal
        verb = "is still" if self.waiting_for or self.decision == "outcome" else "is now"
        state = "rolled back" if self.decision == "rollback" else proposal.shown_state
        lines = [f"proposal {short_id(proposal.id)} for {proposal.entity} {verb} {state}"]
        lines += [f"    {each.field}: {each.texts['current']} -> {each.texts['after']}" for each in self.values]
        return [*lines, *self.remark]

    @property
    def answer(self) -> str:
        """The id of the proposal."""
        return self.proposal.id

    @property
    def remark(self) -> list[str]:
        """Who has to approve it too, and what has expired."""
        lines = [f"waiting for the approval of {', '.join(self.waiting_for)}"] if self.waiting_for else []
        lines += [f"expired: {', '.join(map(short_id, self.expired))}"] if self.expired else []
        return lines

    @property
    def next_step(self) -> str:
        """How to apply an accepted one."""
        name = quote(short_id(self.proposal.id))
        return f"apply it: scopes proposals apply {name}" if self.proposal.state == ACCEPTED else ""


def review_message(
    proposal: Proposal, author: Author, decision: str, state: str, details: Mapping[str, Any]
) -> Message:
    """Return the message of a review; `state` is the state of the proposal after it."""
    text = f"{decision} the proposal for {proposal.entity} by {proposal.agent}"
    words = [str(details[name]) for name in ("reason", "feedback") if details.get(name)]
    message = plain_message(check_author(author), f"{text}: {': '.join(words)}" if words else text, kind="notice")
    document = {"proposal": proposal.id, "decision": decision, "state": state, **details}
    return replace(message, reply_to=proposal.id, extra={REVIEW: document})


def review_claim(proposal: Proposal, state: str, **fields: Any) -> dict[str, BlobChange]:
    """Return the change to the state that records the state of a proposal; claims alone, without author and reason."""
    modified = {"after": dict(proposal.modified)} if proposal.modified else {}
    return {leaf(REVIEWS, proposal.id): encoding.dump({"status": state, **modified, **fields})}


def removed_claims(objects: Objects, tip: Oid, proposal: Proposal) -> dict[str, BlobChange]:
    """Return the changes to the state of a tip that remove what a proposal claims; not what a newer one does."""
    state = state_of(objects, tip)
    return {
        path: None
        for path, claim in proposal.claims.items()
        if state is not None and find_blob(objects, state, path) == claim
    }


def write_steps(objects: Objects, tip: Oid, steps: Sequence[Step], signs: Signs = lambda _: bytes) -> Oid:
    """Write the commits of steps on top of a tip and return the last one; no ref is moved.

    `signs` returns what signs the commit of an author.
    """
    for step in steps:
        blob, sign = write_message_blob(objects, step.message), signs(step.message.author)
        tip = write_message_commit(objects, tip, step.message, blob, state_changes=step.changes, sign=sign)
    return tip


def commit_steps(found: Located, proposal: Proposal, steps: Sequence[Step], decision: str) -> ProposalReviewed:
    """Write steps on the branch of a proposal, as one operation; requires `exclusive_write`.

    proposal: with its new state

    Raises:
        Busy, Inaccessible: nothing was written.
    """
    branch = found.branch
    tx = Transaction(branch.repository, branch.conversation.id)
    tip = write_steps(branch.repository, found.tip, steps, partial(signs_as, branch.repository))
    tx.move_branch(branch.name, found.tip, tip)
    operation = tx.commit("review", f"{decision} proposal {proposal.id[:8]} of {branch}")
    return ProposalReviewed(
        conversation=branch.conversation.id,
        branch=branch.name,
        proposal=proposal,
        decision=decision,
        messages=tuple(each.message.id for each in steps),
        operation=operation.id,
    )


def require_transition(found: Located, state: str) -> None:
    """Refuse a change that does not follow from the state of a proposal.

    Raises:
        Refused: the new state does not follow from it.
    """
    if state not in TRANSITIONS.get(found.proposal.state, ()):
        raise refusal(found, state, f"cannot be {state}")
