"""`facts accept`, `reject` and `decide`: proposals become facts, and people decide (S2-10, S2-17)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from shlex import quote
from typing import TypeVar

from scopes.clock import now, parse_time
from scopes.errors import Ambiguous, Corrupt, Invalid, NotFound, Refused, ScopesError
from scopes.facts.context import FactContext
from scopes.facts.fact import DECISIONS, Decision, Fact, HumanDecision, ProposedFact, Question
from scopes.facts.store import FactChanges, FactStore
from scopes.facts.validation import ValidationError, is_expired
from scopes.facts.validation import promote as promote_fact
from scopes.history.names import resolve_conversation
from scopes.ids import ConversationId, OperationId
from scopes.model.canonical_json import decode_component
from scopes.result import HIDDEN, INLINE, Note, Result
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

AnyFact = TypeVar("AnyFact", Fact, ProposedFact)


@dataclass(frozen=True, slots=True, kw_only=True)
class FactPromoted(Result):
    """A proposal that became a fact, by its validation alone or after a decision."""

    kind = "fact"

    conversation: ConversationId
    fact: Fact = field(metadata=INLINE)
    decision: HumanDecision | None
    operation: OperationId

    @property
    def sentence(self) -> str:
        """What has become a fact."""
        verb = "promoted" if self.decision is None else "accepted"
        return f"{verb} {self.answer}: it is a fact of {self.conversation}"

    @property
    def answer(self) -> str:
        """The key and the id."""
        return f"{self.fact.key}/{self.fact.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class FactDecided(Result):
    """What a person decided about a proposal or a question; `proposal` is the one that was rejected."""

    kind = "fact-decision"

    conversation: ConversationId
    decision: HumanDecision = field(metadata=INLINE)
    proposal: ProposedFact | None = field(metadata=HIDDEN)
    operation: OperationId

    @property
    def sentence(self) -> str:
        """What was decided about what."""
        return f"{self.decision.decision}: {self.decision.subject}"

    @property
    def answer(self) -> str:
        """What was decided about."""
        return self.decision.subject

    @property
    def next_step(self) -> str:
        """How agents get to know the answer to a question."""
        return "" if self.proposal is not None else f"let agents read it: scopes facts run {quote(self.conversation)}"


def promote(repository: Repository, conversation: str, name: str) -> FactPromoted:
    """Validate a proposal and make a fact of it; nobody decides.

    Raises:
        NotFound, Ambiguous: there is no such conversation or proposal, or several match.
        ValidationError: it is not valid; the proposal stays (S2-10).
        Refused: it was rejected, is a fact already, or has expired (S2-20).
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        store = FactStore(repository, conversation_id)
        return _promote(store, choose_proposal(store, name), None)


def accept(repository: Repository, conversation: str, name: str, *, actor: str, rationale: str = "") -> FactPromoted:
    """Approve a proposal as a person: the decision is recorded and the proposal becomes a fact.

    Raises: as `promote`.
    """
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        store = FactStore(repository, conversation_id)
        proposal = choose_proposal(store, name)
        done = _promote(store, proposal, _decision(f"{proposal.key}/{proposal.id}", "approved", rationale, actor))
        is_own = actor == proposal.provenance.agent
        return (
            replace(done, notes=(*done.notes, Note(f"{actor} accepted a proposed fact of its own"))) if is_own else done
        )


def reject(repository: Repository, conversation: str, name: str, *, actor: str, reason: str) -> FactDecided:
    """Reject a proposal as a person; it stays with the reason.

    Raises:
        NotFound, Ambiguous: there is no such conversation or proposal, or several match.
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
        operation = changes.commit("facts-reject", repository.caller.sign)
    return FactDecided(conversation=conversation_id, decision=decision, proposal=rejected, operation=operation)


def decide(
    repository: Repository, conversation: str, subject: str, decision: str, *, actor: str, rationale: str
) -> FactDecided:
    """Record what a person decided about a question of an agent, or that a proposal is to be refined.

    The key of the question or proposal is dirty then: agents that depend on it run again and read the decision.

    Raises:
        NotFound, Ambiguous: there is no such conversation, question or proposal, or several match.
        Refused: the question was answered already.
        Invalid: there is no such decision, or a proposal is approved or rejected this way.
    """
    if decision not in DECISIONS:
        raise Invalid(f"{decision!a} is not a decision", hint=f"decisions: {', '.join(DECISIONS)}")
    conversation_id = resolve_conversation(repository, conversation)
    with exclusive_write(repository):
        store = FactStore(repository, conversation_id)
        context = store.read_context()
        require_name(subject)
        question = _choose_question(store, context, subject)
        proposal = None if question is not None else choose_proposal(store, subject)
        name = subject if question is None else question.id
        if proposal is not None:
            name = f"{proposal.key}/{proposal.id}"
            if decision != "refine":
                hint = f"use: scopes facts accept {quote(conversation_id)} {quote(name)}"
                if decision == "rejected":
                    hint = f"use: scopes facts reject {quote(conversation_id)} {quote(name)} --reason TEXT"
                raise Invalid(f"{name} is a proposal", hint=hint)
        record = _decision(name, decision, rationale, actor)
        if proposal is not None:
            record = _not_before(record, proposal)
        changes = FactChanges(store, f"decide about {name} of {conversation_id}: {decision}")
        _record(store, context, record, changes)
        operation = changes.commit("facts-decide", repository.caller.sign)
    return FactDecided(conversation=conversation_id, decision=record, proposal=None, operation=operation)


def choose_proposal(store: FactStore, name: str) -> ProposedFact:
    """Return the pending proposal of an id, a unique prefix of one, or `KEY/ID`.

    What has exactly this name is never passed over for a proposal whose id begins so, whatever became of it.

    Raises:
        NotFound, Ambiguous: there is none, or several.
        Refused, Invalid: it was rejected, is a fact already, or is a question.
    """
    require_name(name)
    pending = [each for each in store.walk_proposals() if each.state == "pending"]
    found = match_names(name, pending)
    if not found or (not match_whole(name, found) and _is_taken(store, name)):
        raise _why_none_waits(store, name)
    if len(found) > 1:
        listed = ", ".join(f"{each.key}/{each.id}" for each in found[:8])
        raise Ambiguous(f"{name!a} matches several proposed facts: {listed}", hint="name one as KEY/ID")
    return found[0]


def _choose_question(store: FactStore, context: FactContext, name: str) -> Question | None:
    """Return the open question that a name means; None if it is to mean a proposal.

    Raises:
        Ambiguous: several open questions match.
        Refused: it names a question that was answered.
    """
    require_name(name)
    found = [each for each in context.questions if each.startswith(name)]
    if name in found:
        return context.questions[name]
    if _is_fact_or_proposal(store, context, name):
        return None
    answer = store.find_decision(name)
    if answer is not None:
        hint = f"see: scopes facts log {quote(store.conversation)}; to take it back: scopes undo"
        raise Refused(f"{name} was answered already by {answer.actor}: {answer.decision}", hint=hint)
    pending = match_names(name, (each for each in store.walk_proposals() if each.state == "pending"))
    names = [*found, *(f"{each.key}/{each.id}" for each in pending)]
    if found and len(names) > 1:
        raise Ambiguous(f"{name!a} matches several questions: {', '.join(names[:8])}", hint="give the whole id")
    return context.questions[found[0]] if found else None


def _is_taken(store: FactStore, name: str) -> bool:
    """Return True if a fact, a rejected proposal or a question has exactly this name."""
    context = store.read_context()
    is_known = name in context.questions or store.find_decision(name) is not None
    return is_known or _is_fact_or_proposal(store, context, name)


def _is_fact_or_proposal(store: FactStore, context: FactContext, name: str) -> bool:
    return bool(match_whole(name, store.walk_proposals())) or bool(match_whole(name, context.walk()))


def match_whole(name: str, candidates: Iterable[AnyFact]) -> list[AnyFact]:
    """Return the facts of exactly an id or `KEY/ID`."""
    return [each for each in match_names(name, candidates) if each.id == name.rpartition("/")[2]]


def match_names(name: str, candidates: Iterable[AnyFact]) -> list[AnyFact]:
    """Return the facts of exactly an id or `KEY/ID`, else those of which the id begins so."""
    key, slash, start = name.rpartition("/")
    known = [each for each in candidates if not slash or each.key.casefold() == key.casefold()]
    return [each for each in known if each.id == start] or [each for each in known if each.id.startswith(start)]


def find_refinement(store: FactStore, proposal: ProposedFact) -> HumanDecision | None:
    """Return the decision by which a person asked to refine a proposal; None if that is not the newest one about it."""
    decision = store.find_decision(f"{proposal.key}/{proposal.id}")
    is_about_it = decision is not None and decision.decision == "refine" and decision.timestamp >= proposal.proposed
    return decision if is_about_it else None


def _not_before(decision: HumanDecision, proposal: ProposedFact) -> HumanDecision:
    """Return a decision with a time that is not before its proposal: a clock may have gone back in between."""
    is_time = parse_time(proposal.proposed) is not None
    return replace(decision, timestamp=max(decision.timestamp, proposal.proposed)) if is_time else decision


def require_name(name: str) -> None:
    """Refuse an empty id, which is a prefix of every one: nobody decides about what was not named.

    Raises:
        Invalid: the name is empty, or `KEY/`.
    """
    if not name.rpartition("/")[2].strip():
        text = f"{name!a} names no fact: the id is missing" if name.strip() else "the id is empty"
        raise Invalid(text, hint="list them: scopes facts list CONV --proposed")


def _why_none_waits(store: FactStore, name: str) -> ScopesError:
    """Return the error for a name that no pending proposal has: what it is instead, and what can be done."""
    conversation = store.conversation
    rejected = [each for each in store.walk_proposals() if each.state == "rejected"]
    facts = list(store.read_context().walk())
    is_fact = not match_whole(name, rejected) and match_whole(name, facts)
    rejected, facts = [] if is_fact else match_names(name, rejected), match_names(name, facts)
    if len(rejected) == 1:
        each = rejected[0]
        subject = f"{each.key}/{each.id}"
        actor = next((f" by {one.actor}" for one in store.walk_decisions() if one.subject == subject), "")
        again = f"scopes facts propose {quote(conversation)} {quote(each.key)} TEXT"
        hint = f"to have it decided again, with its id in --data: {again}"
        return Refused(f"the proposed fact {subject} was rejected{actor}: {each.reason}", hint=hint)
    if len(facts) == 1:
        subject = f"{facts[0].key}/{facts[0].id}"
        return Refused(
            f"{subject} is a fact already", hint=f"see: scopes facts show {quote(conversation)} {quote(subject)}"
        )
    answer = store.find_decision(name)
    if answer is not None and name not in store.read_context().questions:
        return Refused(
            f"{name} is a question that {answer.actor} answered: {answer.decision}",
            hint=f"see: scopes facts log {quote(conversation)}",
        )
    question = find_question(store.read_context(), name)
    if question is not None:
        return Invalid(
            f"{question.id} is a question of {question.agent}, no proposed fact", hint=answer_hint(store, question)
        )
    unreadable = find_unreadable(store, name)
    if unreadable is not None:
        return unreadable
    hint = f"list them: scopes facts list {quote(conversation)} --proposed"
    return NotFound(f"no question or proposed fact {name!a} waits in {conversation}", hint=hint)


def find_question(context: FactContext, name: str) -> Question | None:
    """Return the open question of an id or the unique prefix of one; None if there is none, or several."""
    found = [each for each in context.questions if each.startswith(name)]
    return context.questions.get(name) or (context.questions[found[0]] if len(found) == 1 else None)


def find_unreadable(store: FactStore, name: str) -> Corrupt | None:
    """Return the error of a stored file of a name that was found and cannot be read; None if there is none."""
    wanted = name.rpartition("/")[2]
    for (_, path), error in store.unreadable.items():
        with suppress(Invalid):
            found = decode_component(path.rpartition("/")[2].removesuffix("="))
            if found.startswith(wanted):
                return type(error)(f"{found} of {store.conversation} cannot be read: {error.message}", hint=error.hint)
    return None


def answer_hint(store: FactStore, question: Question) -> str:
    """Return the hint that says how a question is answered."""
    return f"answer it: scopes facts decide {quote(store.conversation)} {quote(question.id)} approved --reason TEXT"


def _promote(store: FactStore, proposal: ProposedFact, decision: HumanDecision | None) -> FactPromoted:
    if is_expired(proposal):
        again = f"scopes facts propose {quote(store.conversation)} {quote(proposal.key)} TEXT"
        text = f"the proposed fact {proposal.key}/{proposal.id} expired at {proposal.expires}"
        raise Refused(text, hint=f"propose it again: {again}")
    name = f"{proposal.key}/{proposal.id}"
    refinement = find_refinement(store, proposal)
    if refinement is not None and decision is None:
        hint = f"a person can accept it as it is: scopes facts accept {quote(store.conversation)} {quote(name)}"
        raise Refused(
            f"{refinement.actor} asked to refine {name}: {refinement.rationale or 'no reason given'}", hint=hint
        )
    context = store.read_context()
    try:
        fact = promote_fact(proposal, context, approved_by=None if decision is None else decision.actor)
    except ValidationError as error:
        reject = f"scopes facts reject {quote(store.conversation)} {quote(name)} --reason TEXT"
        error.hint = f"it stays a proposal; reject it: {reject}"
        raise
    verb = "promote" if decision is None else "accept"
    changes = FactChanges(store, f"{verb} {fact.key}/{fact.id} of {store.conversation}")
    if context.find(fact.key, fact.id) is None:
        context.add(fact)
        context.version += 1
        context.dirty |= {fact.key}
        changes.add(store.fact_change(fact))
    changes.propose(store.proposal_change(proposal.key, proposal.id, None))
    _record(store, context, decision, changes)
    operation = changes.commit(f"facts-{verb}", bytes if decision is None else store.repository.caller.sign)
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
