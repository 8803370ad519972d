"""What facts, proposals and questions are named by; a name of something else is refused with what that is."""

from __future__ import annotations

import json

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.errors import Ambiguous, Invalid, NotFound, Refused
from scopes.facts.decide import accept, decide, promote, reject
from scopes.facts.list import list_facts, list_proposed, show_fact
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, run_programs
from scopes.facts.validation import ValidationError
from scopes.history.messages import plain_message
from tests.support.random_ids import hashed_counter

CONV = "conv-001"
VERBS = {
    "accept": lambda store, name: accept(store, CONV, name, actor="ann"),
    "reject": lambda store, name: reject(store, CONV, name, actor="ann", reason="no"),
    "promote": lambda store, name: promote(store, CONV, name),
    "decide": lambda store, name: decide(store, CONV, name, "refine", actor="ann", rationale=""),
}


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations and messages have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    """A conversation with one proposal."""
    new(repository)
    suggest(repository, "it is slow", "slow")
    return repository


def suggest(repository, content, fact_id=None, key="Seeds", **fields):
    return propose(repository, CONV, Proposal(key=key, content=content, agent="ann", id=fact_id, **fields))


@pytest.mark.parametrize("name", ["Seeds/", "seeds/", "/", "Seeds/ "])
@pytest.mark.parametrize("verb", VERBS)
def test_nobody_decides_about_what_was_not_named(store, verb, name):
    """`facts accept conv-001 Seeds/` accepted the only proposal: an empty id is a prefix of every one."""
    refs = store.list_refs("refs/")
    with pytest.raises(Invalid, match="the id is missing"):
        VERBS[verb](store, name)
    assert store.list_refs("refs/") == refs


@pytest.mark.parametrize("name", ["Seeds", "Se", "Seed/slow"])
def test_a_key_alone_names_no_proposal(store, name):
    with pytest.raises(NotFound, match="no question or proposed fact"):
        accept(store, CONV, name, actor="ann")


@pytest.mark.parametrize("name", ["s", "slow", "Seeds/s", "seeds/slow", "SEEDS/slow"])
def test_a_proposal_is_named_by_the_beginning_of_its_id_and_by_its_key_in_any_case(store, name):
    assert accept(store, CONV, name, actor="ann").fact.id == "slow"


def test_what_was_rejected_or_is_a_fact_says_so(store):
    """It was `no question or proposed fact waits`, with a list that does not have it."""
    reject(store, CONV, "slow", actor="dora", reason="random")
    with pytest.raises(Refused, match="the proposed fact Seeds/slow was rejected by dora: random") as refused:
        accept(store, CONV, "slow", actor="ann")
    assert refused.value.hint.endswith("scopes facts propose conv-001 Seeds TEXT")
    suggest(store, "it is old", "old")
    promote(store, CONV, "old")
    with pytest.raises(Refused, match="Seeds/old is a fact already") as refused:
        promote(store, CONV, "old")
    assert refused.value.hint == "see: scopes facts show conv-001 Seeds/old"


def test_an_open_question_is_no_fact_and_no_proposal(store):
    """`facts show` of one said that it does not exist, with a list that has no questions."""
    register(store, "ann", dependencies=["Seeds"])
    promote(store, CONV, "slow")
    asks = json.dumps({"questions": [{"key": "Seeds", "id": "fish", "text": "Which fish?"}]})
    run_programs(store, CONV, {"ann": f"echo '{asks}'"}, RunLimits())
    with pytest.raises(NotFound, match=r"fish is an open question of ann, no fact: Which fish\?") as missing:
        show_fact(store, CONV, "fish")
    assert missing.value.hint == "answer it: scopes facts decide conv-001 fish approved --reason TEXT"
    with pytest.raises(Invalid, match="fish is a question of ann, no proposed fact"):
        accept(store, CONV, "fish", actor="ann")
    with pytest.raises(NotFound) as missing:
        show_fact(store, CONV, "other")
    assert missing.value.hint.endswith("scopes facts list conv-001 --proposed")


def test_a_fact_shows_that_a_proposal_of_its_id_has_other_text(store):
    """`facts explain` of that id, which the hint named, showed the fact and not the problem."""
    promote(store, CONV, "slow")
    suggest(store, "it is fast", "slow")
    (note,) = show_fact(store, CONV, "slow").notes
    assert note.text.endswith("which cannot become a fact: 'it is fast'")
    assert note.hint == "reject it: scopes facts reject conv-001 Seeds/slow --reason TEXT"
    with pytest.raises(ValidationError) as refused:
        promote(store, CONV, "slow")
    assert refused.value.hint.endswith("reject it: scopes facts reject conv-001 Seeds/slow --reason TEXT")
    reject(store, CONV, "slow", actor="dora", reason="no")
    assert show_fact(store, CONV, "slow").notes == ()


def test_a_source_is_a_revision_of_the_conversation(store):
    """`--source main~1` was no conversation or message; the hint was to make a conversation."""
    append(store, CONV, plain_message("ann", "one"))
    append(store, CONV, plain_message("ann", "two"))
    near = suggest(store, "x", "near", sources=["main~1"]).fact.provenance.sources
    assert near == suggest(store, "x", "far", sources=[f"{CONV}/main~1"]).fact.provenance.sources
    for name in ("main~9", "zzzz"):
        with pytest.raises(NotFound, match=f"there is no message '{name}'") as missing:
            suggest(store, "x", sources=[name])
        assert "conv-001/main~2; see: scopes log conv-001" in missing.value.hint


def test_an_empty_key_is_refused_as_such(store):
    """The hint was `scopes facts key add ` with nothing behind it."""
    with pytest.raises(Invalid, match="the context key is empty") as refused:
        suggest(store, "x", key="")
    assert refused.value.hint.startswith("keys: Seeds, ")


def test_a_program_spells_keys_in_any_case(store):
    """As `facts propose` does; the fact of a key `hypotheses` was left out as not valid."""
    register(store, "ann", dependencies=["Seeds"])
    promote(store, CONV, "slow")
    written = {"facts": [{"key": key, "content": "because"} for key in ("hypotheses", "Hypotheses", "nothing")]}
    done = run_programs(store, CONV, {"ann": f"echo '{json.dumps(written)}'"}, RunLimits())
    assert [each.outcome for each in done.cycles[0].applied] == ["added", "known", "invalid"]
    assert [row.fact.key for row in list_facts(store, CONV).facts] == ["Hypotheses", "Seeds"]
    assert list_proposed(store, CONV).proposals == ()


@pytest.mark.parametrize("verb", ["accept", "reject", "promote"])
def test_a_decided_name_is_never_taken_for_a_longer_one_that_waits(store, verb):
    """`facts accept conv-001 a1` twice accepted a10 as well."""
    for name in ("a1", "a10"):
        suggest(store, f"text of {name}", name)
    VERBS[verb](store, "a1")
    for call in VERBS.values():
        for name in ("a1", "Seeds/a1"):
            with pytest.raises(Refused, match=r"Seeds/a1 was rejected|Seeds/a1 is a fact already"):
                call(store, name)
    assert {row.proposal.id for row in list_proposed(store, CONV).proposals} == {"slow", "a10"}


def test_the_error_is_about_the_exact_name_and_not_about_a_longer_one(store):
    for name in ("a1", "a10", "a100"):
        suggest(store, f"text of {name}", name)
    reject(store, CONV, "a10", actor="ann", reason="no")
    promote(store, CONV, "a1")
    with pytest.raises(Refused, match="Seeds/a1 is a fact already"):
        promote(store, CONV, "a1")
    with pytest.raises(Refused, match="Seeds/a10 was rejected"):
        promote(store, CONV, "a10")
    assert promote(store, CONV, "a100").fact.id == "a100"


def test_an_exact_name_shows_the_proposal_and_not_a_fact_whose_name_is_longer(store):
    for name in ("a10", "a1"):
        suggest(store, f"text of {name}", name)
    promote(store, CONV, "a10")
    assert show_fact(store, CONV, "a1").row.proposal.id == "a1"
    assert show_fact(store, CONV, "a10").row.fact.id == "a10"


@pytest.fixture
def asked(store):
    """The open questions `q1` and `q10` of ann."""
    register(store, "ann", dependencies=["Seeds"])
    promote(store, CONV, "slow")
    asks = [{"key": "Seeds", "id": name, "text": f"Which {name}?"} for name in ("q1", "q10")]
    run_programs(store, CONV, {"ann": f"echo '{json.dumps({'questions': asks})}'"}, RunLimits())
    return store


def test_an_answered_question_says_who_answered_it_and_how(asked):
    """The second answer to q1 answered q10; alone it was `no question waits`."""
    decide(asked, CONV, "q1", "approved", actor="carol", rationale="")
    for decision in ("approved", "refine"):
        with pytest.raises(Refused, match="q1 was answered already by carol: approved"):
            decide(asked, CONV, "q1", decision, actor="dora", rationale="")
    assert [row.question.id for row in list_proposed(asked, CONV).questions] == ["q10"]
    with pytest.raises(Refused, match="q1 is a question that carol answered: approved"):
        accept(asked, CONV, "q1", actor="dora")
    decide(asked, CONV, "q10", "rejected", actor="dora", rationale="")
    with pytest.raises(Refused, match="q10 was answered already by dora: rejected"):
        decide(asked, CONV, "q10", "approved", actor="carol", rationale="")


def test_a_beginning_of_a_question_and_of_a_proposal_decides_about_neither(asked):
    decide(asked, CONV, "q1", "approved", actor="carol", rationale="")
    suggest(asked, "another one", "q100")
    with pytest.raises(Ambiguous, match="q10, Seeds/q100"):
        decide(asked, CONV, "q", "refine", actor="ann", rationale="")
    assert decide(asked, CONV, "q10", "approved", actor="ann", rationale="").decision.subject == "q10"


def test_an_empty_list_of_facts_notes_what_waits_for_a_decision(store):
    """In a pipe it was empty, while three proposed facts waited."""
    suggest(store, "it is old", "old")
    (note,) = list_facts(store, CONV).notes
    assert note.text == "no facts yet; 2 proposed facts waiting for a decision"
    assert note.hint == "list what waits: scopes facts list conv-001 --proposed"
    reject(store, CONV, "old", actor="ann", reason="no")
    assert list_facts(store).notes[0].text.startswith("no facts yet; 1 proposed fact waiting")
    promote(store, CONV, "slow")
    assert list_facts(store, CONV).notes == ()


def test_who_accepts_a_proposed_fact_of_its_own_is_noted(store):
    suggest(store, "it is old", "old")
    assert accept(store, CONV, "old", actor="carol").notes == ()
    assert [note.text for note in accept(store, CONV, "slow", actor="ann").notes] == [
        "ann accepted a proposed fact of its own"
    ]
