"""What programs write that nobody wants: huge numbers, ids that cannot be typed, keys that do not exist."""

from __future__ import annotations

import json

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.new_rename_delete import new
from scopes.conversation.verify import verify
from scopes.errors import Invalid
from scopes.facts.cycle import FactAgent
from scopes.facts.cycle_record import encode_cycle
from scopes.facts.decide import decide, promote
from scopes.facts.list import list_facts, list_proposed
from scopes.facts.programs import UnreadableEffects, read_effects
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, run_programs
from tests.support.random_ids import hashed_counter

CONV = "conv-001"
ANN = FactAgent(1, "ann", ())


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def run(repository, tmp_path):
    """Run an agent that answers with one document, in a conversation with one fact."""
    new(repository)
    register(repository, "ann", dependencies=["Seeds"])
    propose(repository, CONV, Proposal(key="Seeds", content="slow", agent="carol", id="slow"))
    promote(repository, CONV, "slow")

    def run_once(answer, command="cat {}", **limits):
        path = tmp_path / "answer.json"
        path.write_text(answer if isinstance(answer, str) else json.dumps(answer))
        return run_programs(repository, CONV, {"ann": command.format(path)}, RunLimits(all_keys=True, **limits))

    run_once.repository = repository
    return run_once


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "1e999", "NaN", "-0.1"])
def test_a_confidence_that_is_none_is_left_out_and_the_others_stay(run, number):
    """An integer of 400 digits ended the run with a crash."""
    good = '{"key": "Signals", "content": "kept"}'
    done = run(f'{{"facts": [{{"key": "Signals", "content": "x", "confidence": {number}}}, {good}]}}')
    assert [each.outcome for each in done.cycles[0].applied] == ["invalid", "added"]
    assert "is not between 0 and 1" in done.cycles[0].applied[0].reason
    assert [row.fact.content for row in list_facts(run.repository, CONV).facts] == ["slow", "kept"]


@pytest.mark.parametrize(
    ("long", "reason"),
    [
        ({"id": "a" * 5000}, "is not an id"),
        ({"id": "\N{SNOWMAN}" * 5000}, "is not an id"),
        ({"invalidates": "b" * 6000}, "which is not a fact of Signals"),
        ({"key": "k" * 5000}, "is unknown"),
        ({"key": "k" * 5000, "id": "a" * 5000}, "is unknown"),
    ],
)
def test_a_name_that_is_too_long_for_a_path_is_left_out_and_the_others_stay(run, long, reason):
    """It ended the run with an error, and what other agents had returned in the cycle was lost."""
    done = run({"facts": [{"key": "Signals", "content": "x", **long}, {"key": "Signals", "content": "kept"}]})
    assert [each.outcome for each in done.cycles[0].applied] == ["invalid", "added"]
    assert reason in done.cycles[0].applied[0].reason
    assert len(done.cycles[0].applied[0].reason) < 1000
    assert [row.fact.content for row in list_facts(run.repository, CONV).facts] == ["slow", "kept"]
    assert verify(run.repository).findings == ()


@pytest.mark.parametrize(
    ("huge", "reason"),
    [
        ({"key": "k" * 2_000_000}, "is unknown"),
        ({"key": "\N{SNOWMAN}" * 200_000}, "is unknown"),
        ({"id": "i" * 2_000_000}, "is not an id"),
        ({"model": "m" * 2_000_000}, "the model has over 1,000 characters"),
        ({"prompt_hash": "p" * 2_000_000}, "the prompt hash has over 1,000 characters"),
        ({"sources": ["a" * 40] * 1001}, "it has over 1,000 sources"),
        ({"invalidates": "b" * 2_000_000}, "which is not a fact of Signals"),
    ],
)
def test_what_is_huge_is_not_stored_nor_repeated_in_the_record(run, huge, reason):
    """A key of 8 MB was in the record of the cycle several times, and a model of 3 MB in a fact."""
    done = run({"facts": [{"key": "Signals", "content": "x", **huge}]})
    assert [each.outcome for each in done.cycles[0].applied] == ["invalid"]
    assert reason in done.cycles[0].applied[0].reason
    assert len(encode_cycle(done.cycles[0])) < 4000


def test_a_huge_unknown_field_is_cut_in_the_problem():
    """It was compared with the known ones as a whole, which took 21 seconds for 8 MB."""
    with pytest.raises(UnreadableEffects) as caught:
        read_effects(json.dumps({"q" * 2_000_000: []}).encode(), ANN)
    assert str(caught.value) == f"wrote the unknown field '{'q' * 80}' in output; fields are facts, questions, traces"


def test_a_proposal_of_a_person_has_the_same_limits(run):
    with pytest.raises(Invalid, match="the model has over 1,000 characters"):
        propose(run.repository, CONV, Proposal(key="Seeds", content="x", agent="ann", model="m" * 1001))
    with pytest.raises(Invalid, match="is not an id: letters, digits"):
        propose(run.repository, CONV, Proposal(key="Seeds", content="x", agent="ann", id="i" * 5000))


@pytest.mark.parametrize("name", ["a\0b", "a\nb", "\ud800", "q" * 101, "Seeds/slow", "\x1b[31m", "../..", "  "])
def test_a_question_has_an_id_that_a_person_can_type(run, name):
    """Otherwise nobody could answer it, and the conversation would wait for ever."""
    done = run({"questions": [{"key": "Seeds", "id": name, "text": "drop?"}], "facts": []})
    assert "which is not the id of a question" in done.cycles[0].ran[0].problem
    assert (done.ending, list_proposed(run.repository, CONV).questions) == ("failed", ())


def test_a_question_about_a_key_in_another_case_is_answered_for_that_key(run):
    run({"questions": [{"key": "SEEDS", "id": "drop", "text": "drop?"}]})
    (row,) = list_proposed(run.repository, CONV).questions
    assert row.question.key == "Seeds"
    decide(run.repository, CONV, "drop", "approved", actor="carol", rationale="")
    assert [each.name for each in run({}).cycles[0].ran] == ["ann"]


def test_a_question_about_no_key_is_refused(run):
    """No agent would run again when it was answered."""
    done = run({"questions": [{"key": "Sedes", "text": "drop?"}], "facts": [{"key": "Signals", "content": "x"}]})
    assert done.cycles[0].ran[0].problem.startswith("asked about the unknown key 'Sedes', known are Seeds, Hypoth")
    assert (done.added, done.waiting) == (0, 0)


def test_a_question_is_no_longer_than_a_fact():
    with pytest.raises(UnreadableEffects, match="wrote a question of over 100,000 characters"):
        read_effects(json.dumps({"questions": [{"key": "Seeds", "text": "x" * 100_001}]}).encode(), ANN)


@pytest.mark.parametrize("name", ["facts", "questions"])
def test_an_agent_writes_a_limited_number_of_effects(name):
    with pytest.raises(UnreadableEffects, match=f"wrote 10,001 {name}; at most 10,000 are allowed in a cycle"):
        read_effects(json.dumps({name: [{}] * 10_001}).encode(), ANN)


def test_traces_are_limited_and_of_any_type():
    traces = read_effects(json.dumps({"traces": ["x" * 1000, 5, None, *range(30)]}).encode(), ANN).traces
    assert (len(traces), len(traces[0]), traces[1:3]) == (20, 500, ("5", "None"))


def test_text_with_control_characters_and_lone_surrogates_is_stored_as_it_is(run):
    """Views make it harmless; the store keeps what was said."""
    content = "\ud800 \0 \x1b]0;x\x07 \u202e"
    run({"facts": [{"key": "Signals", "id": "odd", "content": content, "model": "m\ud800\0"}], "traces": ["\ud800\0"]})
    (fact,) = [row.fact for row in list_facts(run.repository, CONV, key="Signals").facts]
    assert (fact.content, fact.provenance.model) == (content, "m\ud800\0")
    assert verify(run.repository).findings == ()


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("exit 7", "failed with exit code 7: it wrote nothing to standard error"),
        ("kill -9 $$", "was killed by signal 9"),
        ("/no/such/program", "failed with exit code 127"),
        ("yes '{{\"facts\":[' | head -c 11000000", "wrote more than 10,000,000 bytes"),
        ("printf '\\377\\376'", "wrote no JSON object"),
    ],
)
def test_a_program_that_fails_in_any_way_contributes_nothing_and_is_named(run, command, problem):
    """S2-19."""
    done = run("", command)
    assert problem in done.cycles[0].ran[0].problem
    assert (done.ending, done.added, done.notes[-1].text) == ("failed", 0, "1 agent failed: ann")


def test_a_decision_that_is_made_during_a_run_is_read_in_it(run, tmp_path):
    """The decisions were read once, at the start of a run: this one was lost, and its key no longer dirty."""
    run({"questions": [{"key": "Seeds", "id": "drop", "text": "drop?"}]})
    first = """test -e done && echo '{}' || { touch done; echo '{"facts": [{"key": "Seeds", "content": "n"}]}'; }"""
    command = f"cat > {tmp_path}/input; cd {tmp_path}; {first}"
    seen = []

    def on_cycle(cycle):
        seen.append([each["subject"] for each in json.loads((tmp_path / "input").read_text())["decisions"]])
        if len(seen) == 1:
            decide(run.repository, CONV, "drop", "approved", actor="carol", rationale="0.1 %")

    done = run_programs(run.repository, CONV, {"ann": command}, RunLimits(all_keys=True), on_cycle=on_cycle)
    assert seen == [[], [], ["drop"]]
    assert done.ending == "converged"
