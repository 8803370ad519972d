"""`facts list`, `show`, `explain`, `log` and `eligible`: what is accepted, what waits, and how it came about."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from itertools import islice
from shlex import quote
from typing import Literal, NamedTuple, TypeAlias

from scopes.clock import format_seconds
from scopes.errors import Ambiguous, NotFound
from scopes.facts.context import FactContext
from scopes.facts.cycle import Applied, Cycle, DependencyIndex, FactAgent, find_unseen, reasons_of
from scopes.facts.decide import answer_hint, find_question, find_refinement, match_names, match_whole, require_name
from scopes.facts.fact import Fact, HumanDecision, ProposedFact, Question
from scopes.facts.propose import require_key
from scopes.facts.run import list_agents
from scopes.facts.run_notes import note_unknown_keys
from scopes.facts.store import FactStore
from scopes.facts.validation import find_problems, is_expired, is_same
from scopes.history.names import conversation_ids, resolve_conversation
from scopes.ids import ConversationId, Oid
from scopes.result import Note, Result, plural
from scopes.store.objects import read_commit
from scopes.store.refs import FACTS
from scopes.store.repository import Repository

ProposalState: TypeAlias = Literal["pending", "refine", "rejected", "expired"]


class FactRow(NamedTuple):
    """A fact of a conversation; `taken_back_by` is the id of the fact that takes it back."""

    conversation: ConversationId
    fact: Fact
    taken_back_by: str | None


class ProposedRow(NamedTuple):
    """A proposal of a conversation.

    A pending one that was not validated in time is expired (S2-20); `refine` is one that a person asked to refine.
    """

    conversation: ConversationId
    proposal: ProposedFact
    state: ProposalState


class QuestionRow(NamedTuple):
    """A question that waits for a person."""

    conversation: ConversationId
    question: Question


@dataclass(frozen=True, slots=True, kw_only=True)
class FactList(Result):
    """Facts by conversation, key and id."""

    rows: tuple[FactRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedFactList(Result):
    """Proposals by conversation, key and id, and the questions that wait for a person."""

    rows: tuple[ProposedRow, ...]
    questions: tuple[QuestionRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FactView(Result):
    """One fact, with the time at which it was added and how.

    Attributes:
        commit: The commit of refs/scopes/facts that added it; None if it is damaged.
        cycle, applied: The cycle that added it, and where in it; None if no run did.
        because: The dirty keys for which its agent ran in that cycle.
        read: The facts of these keys that the cycle before added, as `KEY/ID`.
        decision: What a person decided about the proposal.
    """

    row: FactRow
    commit: Oid | None
    added: str | None
    cycle: int | None
    applied: Applied | None
    because: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    decision: HumanDecision | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedFactView(Result):
    """One proposal, and why it cannot be promoted; empty if it can."""

    row: ProposedRow
    problems: tuple[str, ...]
    decision: HumanDecision | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FactLog(Result):
    """The cycles of a conversation, newest first, and the decisions of people, in the order of time."""

    conversation: ConversationId
    cycles: tuple[Cycle, ...]
    decisions: tuple[HumanDecision, ...]


class EligibleRow(NamedTuple):
    """An agent, and the dirty keys for which it would run."""

    agent: FactAgent
    because: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EligibleAgents(Result):
    """The agents that the next cycle would run, by number (S2-5), and the dirty keys."""

    conversation: ConversationId
    rows: tuple[EligibleRow, ...]
    dirty: tuple[str, ...]


def list_facts(
    repository: Repository, conversation: str | None = None, *, key: str | None = None, everything: bool = False
) -> FactList:
    """List facts of one conversation or of all; those that were taken back only with `everything`.

    Raises:
        NotFound, Ambiguous: there is no such conversation, or several match.
        Invalid: the key is unknown.
    """
    rows, stores = [], _stores(repository, conversation)
    for store in stores:
        context = store.read_context()
        keys = None if key is None else [require_key(context, key)]
        facts = list(context.walk(keys))
        later = {(fact.key, fact.invalidates): fact.id for fact in facts if fact.invalidates is not None}
        found = (FactRow(store.conversation, fact, later.get((fact.key, fact.id))) for fact in facts)
        rows += [row for row in found if everything or row.taken_back_by is None]
    waiting = () if rows else _note_waiting(stores, conversation)
    return FactList(rows=tuple(rows), notes=(*waiting, *_note_unreadable(stores)))


def list_proposed(
    repository: Repository, conversation: str | None = None, *, key: str | None = None, everything: bool = False
) -> ProposedFactList:
    """List proposals and questions that wait for a decision; rejected and expired ones only with `everything`.

    Raises:
        NotFound, Ambiguous: there is no such conversation, or several match.
        Invalid: the key is unknown.
    """
    rows, questions, stores = [], [], _stores(repository, conversation)
    for store in stores:
        context = store.read_context()
        wanted = None if key is None else require_key(context, key)
        found = (_proposed_row(store, each) for each in store.walk_proposals() if wanted in {None, each.key})
        rows += [row for row in found if everything or row.state in {"pending", "refine"}]
        questions += [
            QuestionRow(store.conversation, each) for each in context.questions.values() if wanted in {None, each.key}
        ]
    return ProposedFactList(rows=tuple(rows), questions=tuple(questions), notes=_note_unreadable(stores))


def show_fact(repository: Repository, conversation: str, name: str) -> FactView | ProposedFactView:
    """Show a fact or a proposal by its id, a unique prefix of it, or `KEY/ID`; a fact before a proposal.

    Raises:
        NotFound, Ambiguous: there is no such conversation, fact or proposal, or several match.
    """
    store = FactStore(repository, resolve_conversation(repository, conversation))
    context = store.read_context()
    require_name(name)
    decisions = {each.subject: each for each in store.walk_decisions()}
    facts, proposals = match_names(name, context.walk()), match_names(name, store.walk_proposals())
    is_proposal = match_whole(name, proposals) and not match_whole(name, facts)
    facts, proposals = ([], proposals) if is_proposal or not facts else (facts, [])
    found: list[Fact | ProposedFact] = [*facts, *proposals]
    names = [f"{each.key}/{each.id}" for each in found]
    if not names:
        raise _no_such_fact(store, context, name)
    if len(names) > 1:
        raise Ambiguous(f"{name!a} matches several facts: {', '.join(names[:8])}", hint="name one as KEY/ID")
    decision = decisions.get(names[0])
    if facts:
        return replace(_fact_view(store, context, facts[0], decision), notes=_note_other_text(store, facts[0]))
    problems = tuple(find_problems(proposals[0], context))
    return ProposedFactView(row=_proposed_row(store, proposals[0]), problems=problems, decision=decision)


def log_cycles(repository: Repository, conversation: str, *, limit: int | None = None) -> FactLog:
    """Return the newest cycles of a conversation, at most `limit`, and all decisions of people.

    Raises:
        NotFound, Ambiguous: there is no such conversation, or several match.
    """
    store = FactStore(repository, resolve_conversation(repository, conversation))
    cycles = tuple(islice(store.walk_cycles(), None if limit is None else min(limit, sys.maxsize)))
    decisions = tuple(store.walk_decisions())
    return FactLog(
        conversation=store.conversation,
        cycles=cycles,
        decisions=decisions,
        notes=_note_unreadable([store]),
    )


def list_eligible(repository: Repository, conversation: str) -> EligibleAgents:
    """Return the agents that the next cycle would run.

    Raises:
        NotFound, Ambiguous: there is no such conversation, or several match.
    """
    store = FactStore(repository, resolve_conversation(repository, conversation))
    context = store.read_context()
    agents, _, notes = list_agents(repository)
    context.retried = find_unseen(agents, context)
    found = DependencyIndex.of(agents).eligible(context.dirty, context.retried)
    rows = tuple(EligibleRow(agent, reasons_of(agent, context)) for agent in found)
    if not agents:
        hint = "scopes agents register NAME --depends-on KEY"
        notes = (*notes, Note("no available agent depends on a key", hint))
    notes = (*notes, *note_unknown_keys(agents, context))
    return EligibleAgents(conversation=store.conversation, rows=rows, dirty=tuple(sorted(context.dirty)), notes=notes)


def _stores(repository: Repository, conversation: str | None) -> list[FactStore]:
    names = conversation_ids(repository) if conversation is None else [resolve_conversation(repository, conversation)]
    return [FactStore(repository, name) for name in names]


def _note_waiting(stores: Iterable[FactStore], conversation: str | None) -> tuple[Note, ...]:
    """Return a note about the proposed facts that wait for a decision; a list of facts does not have them."""
    found = [_proposed_row(store, each) for store in stores for each in store.walk_proposals()]
    count = sum(row.state in {"pending", "refine"} for row in found)
    if not count:
        return ()
    hint = " ".join(filter(None, ("list what waits: scopes facts list", conversation, "--proposed")))
    return (Note(f"no facts yet; {count} proposed {plural(count, 'fact')} waiting for a decision", hint),)


def _note_unreadable(stores: Iterable[FactStore]) -> tuple[Note, ...]:
    """Return a note if something was left out because it cannot be read."""
    found = [f"{ref}:{path}" for store in stores for ref, path in store.unreadable]
    if not found:
        return ()
    text = f"{len(found)} stored {plural(len(found), 'file')} of facts cannot be read: {found[0]}"
    return (Note(text + (", ..." if len(found) > 1 else ""), "see: scopes verify"),)


def _proposed_row(store: FactStore, proposal: ProposedFact) -> ProposedRow:
    state: ProposalState = proposal.state
    if state == "pending" and is_expired(proposal):
        state = "expired"
    elif state == "pending" and find_refinement(store, proposal) is not None:
        state = "refine"
    return ProposedRow(store.conversation, proposal, state)


def _no_such_fact(store: FactStore, context: FactContext, name: str) -> NotFound:
    question = find_question(context, name)
    if question is not None:
        text = f"{question.id} is an open question of {question.agent}, no fact: {question.text}"
        return NotFound(text, hint=answer_hint(store, question))
    where = store.conversation
    command = f"scopes facts list {quote(where)}"
    hint = f"list them: {command}, or what waits for a decision: {command} --proposed"
    return NotFound(f"{where} has no fact {name!a} and no such proposal", hint=hint)


def _note_other_text(store: FactStore, fact: Fact) -> tuple[Note, ...]:
    """Return a note if a proposal of the id of a fact waits: it cannot become one."""
    proposal = store.find_proposal(fact.key, fact.id)
    if proposal is None or proposal.state != "pending" or is_same(proposal, fact):
        return ()
    text = f"a proposal of this id with other text waits, which cannot become a fact: {proposal.content[:80]!r}"
    hint = (
        f"reject it: scopes facts reject {quote(store.conversation)} {quote(fact.key)}/{quote(fact.id)} --reason TEXT"
    )
    return (Note(text, hint),)


def _fact_view(store: FactStore, context: FactContext, fact: Fact, decision: HumanDecision | None) -> FactView:
    later = {(each.key, each.invalidates): each.id for each in context.walk([fact.key])}
    commit, added = _find_commit(store, fact)
    cycle, applied = _find_cycle(store, fact)
    ran = None if cycle is None or applied is None else next(x for x in cycle.ran if x.agent == applied.agent)
    row = FactRow(store.conversation, fact, later.get((fact.key, fact.id)))
    return FactView(
        row=row,
        commit=commit,
        added=added,
        cycle=None if cycle is None else cycle.number,
        applied=applied,
        because=() if ran is None else ran.because,
        read=() if cycle is None or ran is None else _read_new(store, cycle, ran.because),
        decision=decision,
    )


def _find_cycle(store: FactStore, fact: Fact) -> tuple[Cycle, Applied] | tuple[None, None]:
    """Return the cycle that added a fact, and where in it."""
    for cycle in store.walk_cycles():
        for each in cycle.applied:
            if (each.key, each.id, each.outcome) == (fact.key, fact.id, "added"):
                return cycle, each
        if cycle.version < fact.version:
            break
    return None, None


def _read_new(store: FactStore, cycle: Cycle, because: Container[str]) -> tuple[str, ...]:
    """Return the facts, as `KEY/ID`, that the cycle before one added for some keys: what made its agents run."""
    before = next((each for each in store.walk_cycles() if each.number == cycle.number - 1), None)
    applied = () if before is None else before.applied
    return tuple(f"{each.key}/{each.id}" for each in applied if each.outcome == "added" and each.key in because)


def _find_commit(store: FactStore, fact: Fact) -> tuple[Oid | None, str | None]:
    """Return the commit of refs/scopes/facts that added a fact, and its time, by a binary search along the history."""
    history: list[Oid] = []
    commit = store.commits[FACTS]
    while commit is not None:
        history.append(commit)
        parents = read_commit(store.repository, commit).parents
        commit = parents[0] if parents else None
    low, high = 0, len(history) - 1  # history[low] has the fact
    while low < high:
        middle = (low + high + 1) // 2
        if FactStore(store.repository, store.conversation, {FACTS: history[middle]}).find(fact.key, fact.id) is None:
            high = middle - 1
        else:
            low = middle
    return history[low], format_seconds(read_commit(store.repository, history[low]).time)
