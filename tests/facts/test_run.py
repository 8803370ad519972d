"""`facts run` with real programs: it converges, waits, stops at limits, and survives what programs do."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time

import pytest

from scopes import clock
from scopes.agents.register import register
from scopes.conversation.new_rename_delete import new
from scopes.conversation.undo import undo
from scopes.errors import Invalid, NotFound
from scopes.facts.cycle import Acceptance, Effects, FactAgent
from scopes.facts.decide import decide, promote, reject
from scopes.facts.list import list_eligible, list_facts, list_proposed, log_cycles, show_fact
from scopes.facts.programs import UnreadableEffects, read_effects
from scopes.facts.propose import Proposal, propose
from scopes.facts.run import RunLimits, Runner, run_programs
from scopes.facts.store import FactStore
from scopes.ids import ConversationId
from scopes.store.objects import read_commit, read_tree
from scopes.store.refs import FACTS
from scopes.store.repository import create_store, open_repository
from tests.facts.statements import effects, proposed
from tests.support.random_ids import hashed_counter

CONV = "conv-001"
ANALYST = """
import json, sys
given = json.load(sys.stdin)
facts = [
    {"key": "Hypotheses", "id": "because-" + f["id"], "content": "since " + f["content"], "confidence": 0.6}
    for f in given["facts"]
]
print(json.dumps({"facts": facts, "traces": ["read %d facts" % len(given["facts"])]}))
"""
CRITIC = """read -r line
echo '{"facts": [{"key": "Constraints", "content": "must be fast"}]}'
"""


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    """Operations have different ids, as everywhere else."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture
def store(repository):
    """A conversation with one fact, and three agents."""
    new(repository)
    register(repository, "analyst", dependencies=["Seeds"])
    register(repository, "critic", dependencies=["hypotheses"])
    register(repository, "broken", dependencies=["Seeds"])
    seed(repository)
    return repository


def seed(repository, content="the cache is slow", fact_id="slow"):
    propose(repository, CONV, Proposal(key="Seeds", content=content, agent="carol", id=fact_id))
    promote(repository, CONV, fact_id)


@pytest.fixture
def programs(tmp_path):
    """The commands of the agents by name."""
    (tmp_path / "analyst.py").write_text(ANALYST)
    (tmp_path / "critic.sh").write_text(CRITIC)
    return {
        "analyst": f"{sys.executable} {tmp_path}/analyst.py",
        "critic": f"sh {tmp_path}/critic.sh",
        "broken": "echo oops >&2; exit 3",
    }


def run(repository, commands, **limits):
    return run_programs(repository, CONV, commands, RunLimits(**limits))


def facts(repository):
    return [(row.fact.key, row.fact.id, row.fact.provenance.agent) for row in list_facts(repository, CONV).facts]


def tree(repository):
    """The tree of the only conversation, which is below its random uuid."""
    (entry,) = read_tree(repository, read_commit(repository, repository.find_ref(FACTS)).tree).values()
    return entry.oid


def test_programs_in_python_and_shell_converge_though_one_crashes(store, programs):
    """The user story: S2-5 to S2-8, S2-19."""
    done = run(store, programs)
    assert (done.ending, len(done.cycles), done.added, done.version) == ("converged", 3, 2, 3)
    assert [[each.name for each in cycle.ran] for cycle in done.cycles] == [["analyst", "broken"], ["critic"], []]
    assert [key for key, _, _ in facts(store)] == ["Constraints", "Hypotheses", "Seeds"]
    assert done.cycles[0].ran[1].problem == "failed with exit code 3: oops"
    assert done.cycles[0].ran[0].traces == ("read 1 facts",)
    assert [note.text for note in done.notes] == ["1 agent failed: broken"]
    assert (done.failed, done.exit_code) == (("broken",), 1), "a script sees that something is missing"
    again = run(store, {**programs, "broken": "true"})
    assert [[each.name for each in cycle.ran] for cycle in again.cycles] == [["broken"]], "the others have seen all"
    again = run(store, programs)
    assert (again.ending, again.cycles, again.operations) == ("converged", (), ())


def test_only_what_is_new_is_run_again(store, programs):
    """S2-5: an agent only runs if something it depends on changed."""
    run(store, programs)
    seed(store, "the index is old", "old")
    assert [(row.agent.name, row.because) for row in list_eligible(store, CONV).agents] == [
        ("analyst", ("Seeds",)), ("broken", ("Seeds",)),
    ]  # fmt: skip
    done = run(store, programs)
    assert [each.outcome for each in done.cycles[0].applied] == ["added", "known"]
    assert done.cycles[0].dirty == {"Hypotheses"}


def test_all_keys_count_as_new_again_on_request(store, programs):
    """For an agent that was registered after a run."""
    programs["broken"] = "true"
    run(store, programs)
    register(store, "late", dependencies=["Constraints"])
    late = {**programs, "late": "echo '{}'"}
    assert run(store, late).cycles == ()
    assert [each.name for each in run(store, late, all_keys=True).cycles[0].ran] == [
        "analyst", "critic", "broken", "late",
    ]  # fmt: skip


def test_the_tree_depends_on_the_inputs_alone(tmp_path, programs, monkeypatch):
    """S2-3: two stores, other times, the slow agent first or last: equal trees."""
    trees = set()
    for number, delay in enumerate(("sleep 0.3;", "")):
        monkeypatch.setattr(clock, "wall_nanoseconds", lambda number=number: 1_700_000_000 * 10**9 + number * 10**15)
        path = str(tmp_path / str(number))
        create_store(path)
        repository = open_repository(path)
        new(repository)
        for name, key in (("analyst", "Seeds"), ("critic", "Seeds"), ("broken", "Hypotheses")):
            register(repository, name, dependencies=[key])
        seed(repository)
        other = "" if delay else "sleep 0.3;"
        commands = {**programs, "analyst": delay + programs["analyst"], "critic": other + programs["critic"]}
        run(repository, commands)
        trees.add(tree(repository))
    assert len(trees) == 1


def test_undo_takes_the_whole_run_back(store, programs):
    before = store.list_refs("refs/scopes/facts")
    done = run(store, programs)
    assert len(done.operations) == 3
    undo(store)
    assert store.list_refs("refs/scopes/facts") == before


def test_a_run_stops_at_its_limits_with_what_it_has(store, programs, tmp_path):
    """S2-18: exit code 9, and partial results."""
    counter = tmp_path / "count.py"
    counter.write_text(
        "import json,sys\nn=len(json.load(sys.stdin)['facts'])\n"
        "print(json.dumps({'facts':[{'key':'Seeds','content':str(n)}]}))\n"
    )
    endless = {"analyst": f"{sys.executable} {counter}", "critic": "true", "broken": "true"}
    done = run(store, endless, cycles=4)
    assert (done.ending, len(done.cycles), done.exit_code, len(facts(store))) == ("cycles", 4, 9, 5)
    done = run(store, endless, acceptance=Acceptance(max_facts=7))
    assert (done.ending, done.exit_code, len(facts(store))) == ("facts", 9, 7)


def test_a_program_that_hangs_is_killed_and_stops_no_one(store, programs):
    """S2-19."""
    started = time.monotonic()
    done = run(store, {**programs, "broken": "sleep 60 & sleep 60"}, seconds=1)
    assert time.monotonic() - started < 30
    assert done.cycles[0].ran[1].problem == "took longer than 1 second"
    assert done.ending == "converged"


def test_a_question_waits_until_a_person_decides_and_the_agent_reads_it(store, programs, tmp_path):
    """S2-17: the waiting state survives the end of the process."""
    asker = tmp_path / "asker.py"
    asker.write_text(
        "import json,sys\ngiven=json.load(sys.stdin)\n"
        "answers={d['subject']: d for d in given['decisions']}\n"
        "facts=[{'key':'Strategies','content':'drop it: '+answers['drop']['rationale']}] if 'drop' in answers else []\n"
        "print(json.dumps({'facts':facts,'questions':[{'key':'Seeds','id':'drop','text':'Drop IE 11?'}]}))\n"
    )
    commands = {**programs, "broken": f"{sys.executable} {asker}"}
    done = run(store, commands)
    assert (done.ending, done.waiting, done.exit_code) == ("waiting", 1, 0)
    reopened = open_repository(store.path)
    waiting = list_proposed(reopened, CONV).questions
    assert [(row.question.id, row.question.text, row.question.agent) for row in waiting] == [
        ("drop", "Drop IE 11?", "broken")
    ]
    decide(reopened, CONV, "drop", "approved", actor="carol", rationale="0.1 % of users")
    done = run(reopened, commands)
    assert (done.ending, done.waiting) == ("converged", 0)
    assert "drop it: 0.1 % of users" in [row.fact.content for row in list_facts(reopened, CONV).facts]


def test_with_review_nothing_becomes_a_fact_without_a_person(store, programs):
    done = run(store, programs, acceptance=Acceptance(review=True))
    assert (done.ending, done.added, done.waiting) == ("waiting", 0, 1)
    assert [(row.proposal.id, row.proposal.provenance.number) for row in list_proposed(store, CONV).proposals] == [
        ("because-slow", 1)
    ]
    promote(store, CONV, "because-slow")
    assert run(store, programs).cycles[0].ran[0].name == "critic"


def test_proposals_of_a_run_expire_and_are_proposed_again(store, programs, monkeypatch):
    """S2-20."""
    review = Acceptance(review=True)
    programs["broken"] = "true"
    run(store, programs, acceptance=review, expires_seconds=60)
    (row,) = list_proposed(store, CONV).proposals
    assert row.proposal.expires is not None
    later = clock.now_nanoseconds() + 61 * 10**9
    monkeypatch.setattr("scopes.facts.validation.now_nanoseconds", lambda: later)
    assert list_proposed(store, CONV).proposals == ()
    assert run(store, programs).ending == "converged", "nobody has to decide about what has expired"
    done = run(store, programs, acceptance=review, all_keys=True)
    assert [each.outcome for each in done.cycles[0].applied] == ["proposed"]
    assert [row.proposal.expires for row in list_proposed(store, CONV).proposals] == [None]


def test_the_cure_for_an_agent_that_never_runs_quotes_its_name(store, programs):
    register(store, "ann of ops")
    with pytest.raises(Invalid, match="ann of ops depends on no key or is away") as refused:
        run(store, {**programs, "ann of ops": "true"})
    assert refused.value.hint == (
        "scopes agents register 'ann of ops' --depends-on KEY, or scopes agents register 'ann of ops' --available"
    )


@pytest.mark.parametrize("seconds", [0, -60])
def test_a_run_whose_proposals_would_expire_at_once_is_refused_before_an_agent_runs(store, programs, seconds):
    before = store.list_refs("refs/")
    with pytest.raises(Invalid, match="a proposal cannot expire at once"):
        run(store, programs, acceptance=Acceptance(review=True), expires_seconds=seconds)
    assert store.list_refs("refs/") == before


def test_a_rejected_statement_is_not_accepted_from_an_agent(store, programs):
    run(store, programs, acceptance=Acceptance(review=True))
    reject(store, CONV, "because-slow", actor="carol", reason="not measured")
    done = run(store, programs, all_keys=True)
    assert [(each.outcome, each.reason) for each in done.cycles[0].applied] == [("rejected", "not measured")]
    assert done.added == 0


def test_what_another_command_adds_while_agents_run_is_read_in_the_next_cycle(store, programs):
    """Two writers: nothing is lost, and nothing new stays unread."""
    seen = []

    def ask(agents, context):
        seen.append(sorted(context.dirty))
        if len(seen) == 1:
            seed(store, "another", "other")
        return {each.number: effects(proposed("h", "Hypotheses", id="h")) for each in agents}

    runner = Runner(store, ConversationId(CONV), [FactAgent(1, "a", ("Seeds",))], ask, RunLimits())
    cycles = list(runner.walk_cycles())
    assert seen == [["Seeds"], ["Hypotheses", "Seeds"], []] or seen[:2] == [["Seeds"], ["Hypotheses", "Seeds"]]
    assert [fact_id for _, fact_id, _ in facts(store)] == ["h", "other", "slow"]
    assert cycles[-1].dirty == frozenset()


def test_a_fact_explains_the_cycle_and_the_facts_that_made_its_agent_run(store, programs):
    """S2-15, S2-23."""
    run(store, programs)
    view = show_fact(store, CONV, facts(store)[0][1])
    assert (view.cycle, view.applied.agent, view.because, view.read) == (
        2, 2, ("Hypotheses",), ("Hypotheses/because-slow",),
    )  # fmt: skip
    log = log_cycles(store, CONV, limit=2)
    assert [cycle.number for cycle in log.cycles] == [3, 2]


def test_the_log_can_be_limited_to_any_number_of_cycles(store, programs):
    run(store, programs)
    assert [len(log_cycles(store, CONV, limit=limit).cycles) for limit in (None, 0, 1, 10**20)] == [3, 0, 1, 3]


def test_a_run_needs_an_agent_with_a_command(store, programs):
    with pytest.raises(Invalid, match="no registered agent depends on a key and has a command"):
        run(store, {})
    with pytest.raises(NotFound):
        run(store, {"nobody": "true"})
    register(store, "idle")
    with pytest.raises(Invalid, match="idle depends on no key"):
        run(store, {"idle": "true"})


def test_a_store_names_no_command(store, programs):
    """A store may come from another person: its configuration is not asked for commands to run."""
    subprocess.run(["git", "-C", store.path, "config", "scopes.agent.analyst.command", "touch hacked"], check=True)
    with pytest.raises(Invalid, match="has a command"):
        run(open_repository(store.path), {})


@pytest.mark.parametrize(
    ("output", "problem"),
    [
        ("no json", "wrote no JSON object: 'no json'"),
        ("[1]", "wrote JSON that is not an object"),
        ('{"fact": []}', "wrote the unknown field 'fact' in output, did you mean 'facts'?"),
        ('{"facts": {}}', "wrote 'facts' that is not a list"),
        ('{"facts": [1]}', "wrote a fact that is not an object"),
        ('{"facts": [{"key": "Seeds"}]}', "wrote a fact without key or content"),
        ('{"facts": [{"key": "Seeds", "content": "x", "confidence": "high"}]}', "wrote the confidence 'high'"),
        ('{"facts": [{"key": "Seeds", "content": "x", "confidence": true}]}', "wrote the confidence 'True'"),
        ('{"facts": [{"key": "Seeds", "content": "x", "sources": ["k3x9"]}]}', "wrote sources that are not commits"),
        ('{"facts": [{"key": "Seeds", "content": "x", "confidense": 1}]}', "wrote the unknown field 'confidense'"),
        ('{"facts": [{"key": 5, "content": "x"}]}', "wrote 'key' that is not text"),
        ('{"questions": ["drop?"]}', "wrote a question that is not an object"),
        ('{"questions": [{"key": "Seeds", "text": " "}]}', "wrote a question without key or text"),
        ("[" * 100_000, "wrote no JSON object"),
    ],
)
def test_output_that_cannot_be_read_contributes_nothing(output, problem):
    with pytest.raises(UnreadableEffects) as caught:
        read_effects(output.encode(), FactAgent(1, "ann", ()))
    assert str(caught.value).startswith(problem)


def test_output_has_all_that_a_fact_has(monkeypatch):
    document = {
        "facts": [{
            "key": "Seeds", "content": "x", "id": "i", "confidence": 1, "model": "m", "prompt_hash": "p",
            "sources": ["a" * 40], "invalidates": "h",
        }],
    }  # fmt: skip
    fact = read_effects(json.dumps(document).encode(), FactAgent(7, "ann", ())).facts[0]
    assert (fact.id, fact.confidence, fact.invalidates) == ("i", 1.0, "h")
    source = fact.provenance
    assert (source.agent, source.number, source.model, source.prompt_hash, source.sources) == (
        "ann", 7, "m", "p", ("a" * 40,),
    )  # fmt: skip
    assert read_effects(b" \n", FactAgent(7, "ann", ())) == Effects()


def test_a_cycle_is_stored_as_it_ends(store, programs):
    run(store, programs)
    stored = list(FactStore(store, ConversationId(CONV)).walk_cycles())
    assert [(cycle.number, cycle.version) for cycle in stored] == [(3, 3), (2, 3), (1, 2)]
    assert stored[2].ran[1].problem == "failed with exit code 3: oops"


@pytest.mark.skipif(not (shutil.which("llm") and shutil.which("jq")), reason="needs llm with llm-echo, and jq")
def test_a_model_takes_part_through_llm(store, programs):
    """The pipeline of the README with the echo model: what it returns is what it was asked."""
    ask = "jq -r '.facts[].content' | llm -m echo -s 'Name one likely cause'"
    model = f'{ask} | jq -Rs \'{{facts: [{{key: "Hypotheses", content: ., confidence: 0.5, model: "echo"}}]}}\''
    done = run(store, {**programs, "analyst": model})
    (view,) = [row.fact for row in list_facts(store, CONV, key="Hypotheses").facts]
    assert (done.ending, view.provenance.model) == ("converged", "echo")
    assert "the cache is slow" in view.content


def test_a_run_notes_what_it_left_out_and_keys_that_do_not_exist(store, programs):
    register(store, "lost", dependencies=["Sedes"])
    same = """echo '{"facts": [{"key": "Seeds", "id": "slow", "content": "it is fast"}]}'"""
    notes = [note.text for note in run(store, {**programs, "broken": same, "lost": "true"}).notes]
    assert notes == [
        "agents depend on keys that do not exist: Sedes",
        "1 proposed fact in conflict with a fact or not valid: left out",
    ]
    assert [note.text for note in list_eligible(store, CONV).notes] == [
        "agents depend on keys that do not exist: Sedes"
    ]
