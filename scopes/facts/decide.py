"""`facts promote`, `accept`, `reject` and `decide`: proposals become facts, and people decide (S2-10, S2-17)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scopes.clock import now
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.facts.context import FactContext
from scopes.facts.fact import Decision, Fact, HumanDecision, ProposedFact
from scopes.facts.store import FactChanges, FactStore
from scopes.facts.validation import is_expired
from scopes.facts.validation import promote as promote_fact
from scopes.history.revisions import resolve_conversation
from scopes.ids import ConversationId, OperationId
from scopes.result import Result
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPromoted(Result):
    """A proposal that became a fact, by its validation alone or after a decision."""

    conversation: ConversationId
    fact: Fact
    decision: HumanDecision | None
    operation: OperationId


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDecided(Result):
    """What a person decided about a proposal or a question; `proposal` is the one that was rejected."""

    conversation: ConversationId
    decision: HumanDecision
    proposal: ProposedFact | None
    operation: OperationId


def promote(repository: Repository, conversation: str, name: str) -> FactPromoted:
    """Validate a proposal and make a fact of it; nobody decides.

    Raises:
        NotFound, Ambiguous: the conversation, or the proposal.
        ValidationError: it is not valid; the proposal stays (S2-10).
        Refused: it has expired (S2-20).
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        return _promote(FactStore(repository, conversation_id), name, None)


def accept(repository: Repository, conversation: str, name: str, *, actor: str, rationale: str = "") -> FactPromoted:
    """Approve a proposal as a person: the decision is recorded and the proposal becomes a fact.

    Raises: as `promote`.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        store = FactStore(repository, conversation_id)
        proposal = choose_proposal(store, name)
        return _promote(store, name, _decision(f"{proposal.key}/{proposal.id}", "approved", rationale, actor))


def reject(repository: Repository, conversation: str, name: str, *, actor: str, reason: str) -> FactDecided:
    """Reject a proposal as a person; it stays with the reason.

    Raises:
        NotFound, Ambiguous: the conversation, or the proposal.
        Invalid: there is no reason.
    """
    if not reason.strip():
        raise Invalid("a rejection needs a reason", hint='for example: --reason "contradicts the measurement"')
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        store = FactStore(repository, conversation_id)
        proposal = choose_proposal(store, name)
        rejected = replace(proposal, state="rejected", reason=reason)
        decision = _decision(f"{proposal.key}/{proposal.id}", "rejected", reason, actor)
        changes = FactChanges(store, f"reject {decision.subject} of {conversation_id}")
        changes.propose(store.proposal_change(proposal.key, proposal.id, rejected))
        _record(store, store.read_context(), decision, changes)
        operation = changes.commit("facts-reject")
    return FactDecided(conversation=conversation_id, decision=decision, proposal=rejected, operation=operation)


def decide(
    repository: Repository, conversation: str, subject: str, decision: Decision, *, actor: str, rationale: str
) -> FactDecided:
    """Record what a person decided about a question of an agent, or that a proposal is to be refined.

    The key of the question or proposal is dirty then: agents that depend on it run again and read the decision.

    Raises:
        NotFound, Ambiguous: the conversation; or there is no such question or proposal.
        Invalid: a proposal is approved or rejected this way.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        store = FactStore(repository, conversation_id)
        context = store.read_context()
        require_name(subject)
        found = [each for each in context.questions if each.startswith(subject)]
        if len(found) > 1 and subject not in found:
            raise Ambiguous(f"{subject!a} matches several questions: {', '.join(found)}")
        if found:
            name = subject if subject in found else found[0]
        else:
            proposal = choose_proposal(store, subject)
            name = f"{proposal.key}/{proposal.id}"
            if decision != "refine":
                hint = f"use: scopes facts accept {conversation_id} {name}"
                if decision == "rejected":
                    hint = f"use: scopes facts reject {conversation_id} {name} --reason TEXT"
                raise Invalid(f"{name} is a proposal", hint=hint)
        record = _decision(name, decision, rationale, actor)
        changes = FactChanges(store, f"decide about {name} of {conversation_id}: {decision}")
        _record(store, context, record, changes)
        operation = changes.commit("facts-decide")
    return FactDecided(conversation=conversation_id, decision=record, proposal=None, operation=operation)


def choose_proposal(store: FactStore, name: str) -> ProposedFact:
    """Return the pending proposal of an id, a unique prefix of one, or `KEY/ID`.

    Raises:
        NotFound, Ambiguous: there is none, or several.
    """
    require_name(name)
    pending = [each for each in store.walk_proposals() if each.state == "pending"]
    exact = [each for each in pending if name in {each.id, f"{each.key}/{each.id}"}]
    found = exact or [each for each in pending if f"{each.key}/{each.id}".startswith(name) or each.id.startswith(name)]
    if not found:
        hint = f"list them: scopes facts list {store.conversation} --proposed"
        raise NotFound(f"no question or proposed fact {name!a} waits in {store.conversation}", hint=hint)
    if len(found) > 1:
        listed = ", ".join(f"{each.key}/{each.id}" for each in found[:8])
        raise Ambiguous(f"{name!a} matches several proposed facts: {listed}", hint="name one as KEY/ID")
    return found[0]


def require_name(name: str) -> None:
    """Refuse an empty name, which is a prefix of every id.

    Raises:
        Invalid: it is empty.
    """
    if not name.strip():
        raise Invalid("the id is empty", hint="list them: scopes facts list CONV --proposed")


def _promote(store: FactStore, name: str, decision: HumanDecision | None) -> FactPromoted:
    proposal = choose_proposal(store, name)
    if is_expired(proposal):
        hint = "propose it again"
        raise Refused(f"the proposed fact {proposal.key}/{proposal.id} expired at {proposal.expires}", hint=hint)
    context = store.read_context()
    fact = promote_fact(proposal, context, approved_by=None if decision is None else decision.actor)
    verb = "promote" if decision is None else "accept"
    changes = FactChanges(store, f"{verb} {fact.key}/{fact.id} of {store.conversation}")
    if context.find(fact.key, fact.id) is None:
        context.add(fact)
        context.version += 1
        context.dirty |= {fact.key}
        changes.add(store.fact_change(fact))
    changes.propose(store.proposal_change(proposal.key, proposal.id, None))
    _record(store, context, decision, changes)
    operation = changes.commit(f"facts-{verb}")
    return FactPromoted(conversation=store.conversation, fact=fact, decision=decision, operation=operation)


def _record(store: FactStore, context: FactContext, decision: HumanDecision | None, changes: FactChanges) -> None:
    """Add a decision and the state of the context to the changes; an answered question is open no more."""
    if decision is not None:
        question = context.questions.pop(decision.subject, None)
        key = decision.subject.partition("/")[0] if question is None else question.key
        context.dirty |= {key}
        changes.add(store.decision_change(decision))
    changes.add(store.context_change(context))


def _decision(subject: str, decision: Decision, rationale: str, actor: str) -> HumanDecision:
    return HumanDecision(subject=subject, decision=decision, rationale=rationale, actor=actor, timestamp=now())
