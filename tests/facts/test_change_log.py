"""The change log has facts, proposals and decisions, with who caused them (S4-49 to S4-52)."""

from __future__ import annotations

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.changes import changes
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.facts.cycle import FactAgent
from scopes.facts.decide import accept, reject
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, Runner
from scopes.ids import ConversationId
from tests.facts.statements import effects, proposed
from tests.support.random_ids import hashed_counter

CONV = "conv-001"


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    """Two conversations, with a proposal in each."""
    for _ in range(2):
        new(repository)
    for conversation in (CONV, "conv-002"):
        propose(repository, conversation, Proposal(key="Seeds", content="slow", agent="ann", id="slow"))
    return repository


def rows(repository, field="facts", conversation=CONV):
    return [
        (each.operation, each.field_path, each.cause) for each in changes(repository, conversation, field=field).items
    ]


def test_a_proposal_is_caused_by_the_agent_and_its_promotion_by_the_user(store):
    accept(store, CONV, "slow", actor="carol", rationale="measured")
    assert rows(store, "proposed_facts") == [
        ("CREATE", "proposed_facts.Seeds.slow", "agent:ann"), ("DELETE", "proposed_facts.Seeds.slow", "user:carol"),
    ]  # fmt: skip
    assert rows(store) == [("CREATE", "facts.Seeds.slow", "user:carol")]
    (decision,) = changes(store, CONV, field="fact_decisions").items
    assert (decision.field_path, decision.after) == (
        "fact_decisions.Seeds/slow", {"decision": "approved", "rationale": "measured"},
    )  # fmt: skip


def test_what_a_run_adds_is_caused_by_the_agents_and_is_one_batch(store):
    register(store, "ann", dependencies=["Seeds"])
    accept(store, CONV, "slow", actor="carol")

    def ask(agents, _):
        return {
            each.number: effects(proposed("h", "Hypotheses", id="h"), proposed("s", "Signals", id="s"))
            for each in agents
        }

    list(Runner(store, ConversationId(CONV), [FactAgent(1, "ann", ("Seeds",))], ask, RunLimits()).walk_cycles())
    added = [each for each in changes(store, CONV, field="facts").items if each.cause == "agent:ann"]
    assert sorted(each.field_path for each in added) == ["facts.Hypotheses.h", "facts.Signals.s"]
    assert len({(each.time, each.source) for each in added}) == 1
    assert added[0].after["confidence"] == 1.0


def test_a_rejection_is_an_update_and_undo_a_deletion(store):
    reject(store, CONV, "slow", actor="carol", reason="old")
    (_, rejected) = changes(store, CONV, field="proposed_facts").items
    assert (rejected.operation, rejected.before["state"], rejected.after["state"]) == ("UPDATE", "pending", "rejected")
    undo(store)
    assert [row[0] for row in rows(store, "proposed_facts")] == ["CREATE", "UPDATE", "UPDATE"]


def test_the_facts_of_another_conversation_are_not_in_the_log(store):
    accept(store, "conv-002", "slow", actor="carol")
    assert rows(store) == []
    assert [row[0] for row in rows(store, conversation="conv-002")] == ["CREATE"]


def later(monkeypatch, seconds):
    read = clock.read_clock
    monkeypatch.setattr(clock, "read_clock", lambda: read() + seconds * 10**9)


def states(repository):
    """Return what became of the proposal `quick`."""
    found = changes(repository, CONV, field="proposed_facts.Seeds.quick").items
    return [((each.before or {}).get("state"), (each.after or {}).get("state"), each.cause) for each in found]
