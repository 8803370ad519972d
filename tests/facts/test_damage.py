"""Stored facts, cycles, decisions and questions that are damaged, or of a newer version: the others stay readable."""

from __future__ import annotations

import json

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.new_rename_delete import new
from scopes.conversation.verify import verify
from scopes.errors import Ambiguous, Corrupt, Invalid, NotFound
from scopes.facts.cycle_record import decode_cycle, encode_cycle
from scopes.facts.decide import accept, decide, promote
from scopes.facts.fact import decode_decision, decode_fact, decode_proposed
from scopes.facts.list import list_eligible, list_facts, list_proposed, log_cycles, show_fact
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, run_programs
from scopes.facts.store import FactStore
from scopes.ids import ConversationId
from scopes.store.refs import FACTS
from tests.support.random_ids import hashed_counter
from tests.support.shared_files import change_file

CONV = ConversationId("conv-001")
FACT = {
    "v": 1, "key": "Seeds", "id": "a", "content": "x", "confidence": 1.0,
    "provenance": {"agent": "ann", "sources": []}, "validation": "rules", "version": 1,
}  # fmt: skip


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    """A conversation with two facts, a decision and a cycle."""
    new(repository)
    register(repository, "ann", dependencies=["Seeds"])
    for name in ("one", "two"):
        propose(repository, CONV, Proposal(key="Seeds", content=name, agent="ann", id=name))
        accept(repository, CONV, name, actor="carol")
    run_programs(repository, CONV, {"ann": "true"}, RunLimits())
    return repository


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"\xff", b'{"key": 1}', json.dumps(FACT).encode()[:40]])
def test_a_damaged_fact_is_left_out_and_the_others_are_listed(store, data):
    change_file(store, FACTS, "/one=", data)
    assert [row.fact.id for row in list_facts(store, CONV).facts] == ["two"]
    with pytest.raises(NotFound):
        show_fact(store, CONV, "one")


def test_a_damaged_context_is_an_error_that_names_the_conversation(store):
    change_file(store, FACTS, "context.json", b"[]")
    with pytest.raises(Corrupt, match="the facts of conv-001 are damaged") as caught:
        list_facts(store, CONV)
    assert caught.value.hint == "see: scopes verify"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("version", "9"),
        ("count", -1),
        ("cycles", None),
        ("dirty", "Seeds"),
        ("questions", {"a": 1}),
        ("questions", [1]),
    ],
)
def test_odd_fields_of_a_context_have_their_defaults(store, field, value):
    read = FactStore(store, CONV)
    document = json.loads(read.context_change(read.read_context()).popitem()[1])
    change_file(store, FACTS, "context.json", {**document, field: value, "later": {}})
    context = FactStore(store, CONV).read_context()
    assert [row.fact.id for row in list_facts(store, CONV).facts] == ["one", "two"]
    assert (context.questions, context.version >= 0, context.cycles >= 0) == ({}, True, True)
    assert context.dirty == (frozenset({"Seeds"}) if field in {"cycles", "dirty"} else frozenset())


def test_a_damaged_cycle_or_decision_is_left_out_of_the_log(store):
    read = FactStore(store, CONV)
    decision = next(each for each in read.walk_decisions() if each.subject == "Seeds/one")
    for path in ("cycles/000001.json", read.decision_change(decision).popitem()[0]):
        change_file(store, FACTS, path, b"damage")
    log = log_cycles(store, CONV)
    assert (log.cycles, [each.subject for each in log.decisions]) == ((), ["Seeds/two"])


@pytest.mark.parametrize(
    "data", [b"", b"{}", b'{"cycle": "1"}', b'{"cycle": 1, "version": 1, "ran": 5, "applied": []}']
)
def test_a_cycle_without_its_fields_is_damaged(data):
    with pytest.raises(Corrupt, match=r"a cycle of a run is damaged|invalid JSON"):
        decode_cycle(data)


def test_items_of_a_cycle_that_a_newer_version_wrote_are_left_out():
    ran = [{"agent": 1, "name": "ann", "because": ["Seeds"], "problem": 5, "traces": "x"}, {"agent": "1"}, 7]
    applied = [
        {"agent": 1, "name": "ann", "position": 1, "key": "Seeds", "id": "a", "outcome": outcome, "reason": 5}
        for outcome in ("added", "weighed")
    ] + [None]
    document = {"v": 2, "cycle": 3, "version": 2, "dirty": 5, "ran": ran, "applied": applied, "is_full": "yes"}
    cycle = decode_cycle(json.dumps(document).encode())
    assert [(each.name, each.problem, each.traces) for each in cycle.ran] == [("ann", None, ())]
    assert [(each.outcome, each.reason) for each in cycle.applied] == [("added", "")]
    assert (cycle.dirty, cycle.is_full) == (frozenset(), False)
    assert decode_cycle(encode_cycle(cycle)) == cycle


@pytest.mark.parametrize(
    "change",
    [{"key": 1}, {"content": None}, {"confidence": "1"}, {"provenance": "ann"}, {"provenance": {}}, {"version": "1"},
     {"validation": None}],
)  # fmt: skip
def test_a_fact_without_a_field_is_damaged(change):
    with pytest.raises(Corrupt, match="a fact is damaged"):
        decode_fact(json.dumps({**FACT, **change}).encode())


def test_fields_of_a_fact_of_another_type_have_their_defaults():
    source = {"agent": "ann", "number": "7", "model": 5, "prompt_hash": [], "sources": ["x", 5, "a" * 40], "later": 1}
    fact = decode_fact(json.dumps({**FACT, "provenance": source, "invalidates": 5, "confidence": 10**400}).encode())
    assert (fact.provenance.number, fact.provenance.model, fact.provenance.sources) == (None, None, ("a" * 40,))
    assert (fact.invalidates, fact.confidence) == (None, float("inf"))


def test_neither_form_is_read_as_the_other():
    """S2-9."""
    with pytest.raises(Corrupt):
        decode_proposed(json.dumps(FACT).encode())
    with pytest.raises(Corrupt):
        decode_fact(json.dumps({**FACT, "validation": None, "proposed": "t", "state": "pending"}).encode())
    with pytest.raises(Corrupt):
        decode_proposed(json.dumps({**FACT, "proposed": "t", "state": "accepted"}).encode())


@pytest.mark.parametrize("change", [{"decision": "maybe"}, {"actor": 5}, {"timestamp": None}])
def test_a_decision_of_an_unknown_kind_is_damaged(change):
    document = {"subject": "s", "decision": "approved", "rationale": "", "actor": "carol", "timestamp": "t", **change}
    with pytest.raises(Corrupt, match="a decision about a fact is damaged"):
        decode_decision(json.dumps(document).encode())


def test_a_name_that_fits_several_questions_or_facts_is_ambiguous(store):
    asks = [{"key": "Seeds", "id": f"drop-{number}", "text": "drop?"} for number in (1, 2)]
    program = f"echo '{json.dumps({'questions': asks})}'"
    run_programs(store, CONV, {"ann": program}, RunLimits(all_keys=True))
    with pytest.raises(Ambiguous, match="'drop' matches several questions: drop-1, drop-2") as caught:
        decide(store, CONV, "drop", "approved", actor="carol", rationale="")
    assert caught.value.hint == "give the whole id"
    decide(store, CONV, "drop-1", "approved", actor="carol", rationale="")
    assert [row.question.id for row in list_proposed(store, CONV).questions] == ["drop-2"]
    propose(store, CONV, Proposal(key="Seeds", content="x", agent="ann", id="only"))
    promote(store, CONV, "only")
    with pytest.raises(Ambiguous, match="'seeds/on' matches several facts: Seeds/one, Seeds/only"):
        show_fact(store, CONV, "seeds/on")


def test_a_rejection_of_a_proposal_by_decide_names_the_command(store):
    propose(store, CONV, Proposal(key="Seeds", content="x", agent="ann", id="wait"))
    with pytest.raises(Invalid) as caught:
        decide(store, CONV, "wait", "rejected", actor="carol", rationale="no")
    assert caught.value.hint == "use: scopes facts reject conv-001 Seeds/wait --reason TEXT"


def test_without_an_agent_the_eligible_ones_say_how_to_register_one(repository):
    new(repository)
    (note,) = list_eligible(repository, CONV).notes
    assert (note.text, note.hint) == (
        "no available agent depends on a key", "scopes agents register NAME --depends-on KEY"
    )  # fmt: skip


def test_fifty_facts_of_a_cycle_are_one_pack_and_read_as_single_ones(store):
    facts = [{"key": "Signals", "content": f"n{number}"} for number in range(60)]
    done = run_programs(store, CONV, {"ann": f"echo '{json.dumps({'facts': facts})}'"}, RunLimits(all_keys=True))
    assert (done.added, len(list_facts(store, CONV, key="Signals").facts)) == (60, 60)
    assert verify(store).findings == ()


def test_a_proposal_is_promoted_whatever_else_waits(store):
    propose(store, CONV, Proposal(key="Signals", content="x", agent="ann", id="s"))
    promote(store, CONV, "Signals/s")
    assert show_fact(store, CONV, "s").row.fact.version == 3
