"""`scopes facts` as scripts use it: a run of programs, every form of output, mistakes and their exit codes."""

from __future__ import annotations

import json
import sys

import pytest

from scopes.cli.schemas import read_schemas

jsonschema = pytest.importorskip("jsonschema")

ANALYST = """
import json, sys
given = json.load(sys.stdin)
facts = [{"key": "Hypotheses", "content": "since " + f["content"], "confidence": 0.6} for f in given["facts"]]
print(json.dumps({"facts": facts}))
"""


def named(fact_id):
    return "--data", json.dumps({"id": fact_id})


@pytest.fixture
def seeded(conversation, tmp_path):
    """A conversation with one fact, an analyst in Python, a critic in shell, and an agent that crashes."""
    (tmp_path / "analyst.py").write_text(ANALYST)
    (tmp_path / "critic.sh").write_text("""echo '{"facts": [{"key": "Constraints", "content": "must be fast"}]}'\n""")
    for name, key in (("analyst", "Seeds"), ("critic", "Hypotheses"), ("broken", "Seeds")):
        conversation.run("agents", "register", name, "--depends-on", key)
    conversation.run("facts", "propose", conversation.id, "Seeds", "images are slow", *named("slow"), "--as", "carol")
    conversation.run("facts", "accept", conversation.id, "slow")
    conversation.programs = (
        "--agent", f"analyst={sys.executable} {tmp_path}/analyst.py", "--agent", f"critic=sh {tmp_path}/critic.sh",
        "--agent", "broken=exit 3",
    )  # fmt: skip
    return conversation


def test_agents_in_python_and_shell_converge_though_one_crashes(seeded):
    """The user story as a script: S2-16, S2-19."""
    done = seeded.run("facts", "run", seeded.id, *seeded.programs, "--json", code=1)
    assert (done["kind"], done["ending"], done["added"], done["version"]) == ("fact-run", "converged", 2, 3)
    assert done["failed"] == ["broken"]
    rows = [row.split("\t")[:3] for row in seeded.run("facts", "list", seeded.id).splitlines()]
    assert [key for _, key, _ in rows] == ["Constraints", "Hypotheses", "Seeds"]
    order = seeded.run("facts", "log", seeded.id, "--explain-order", "--json")
    assert [cycle["ran"][0]["name"] for cycle in order["cycles"] if cycle["ran"]] == ["critic", "analyst"]
    assert seeded.run("facts", "run", seeded.id, "--dry-run", "--json")["dirty"] == []
    seeded.run("undo")
    assert len(seeded.run("facts", "list", seeded.id).splitlines()) == 1


def test_a_limit_is_exit_code_9_with_what_was_added(seeded):
    """S2-18."""
    done = seeded.run("facts", "run", seeded.id, *seeded.programs, "--max-cycles", "1", "--json", code=9)
    assert (done["ending"], done["added"]) == ("cycles", 1)
    assert len(seeded.run("facts", "list", seeded.id).splitlines()) == 2


def test_a_person_decides_and_the_run_goes_on(seeded):
    """S2-17."""
    done = seeded.run("facts", "run", seeded.id, *seeded.programs, "--min-confidence", "0.8", "--json", code=1)
    assert (done["ending"], done["waiting"], done["failed"]) == ("waiting", 1, ["broken"])
    (row,) = seeded.run("facts", "list", seeded.id, "--proposed", "--json")["proposals"]
    refined = seeded.run("facts", "decide", seeded.id, row["id"][:6], "refine", "--reason", "why?", "--json")
    assert refined["decision"] == "refine"
    seeded.run("facts", "accept", seeded.id, row["id"], "--as", "carol", "--reason", "measured")
    assert seeded.run("facts", "show", seeded.id, row["id"], "--json")["decision"]["actor"] == "carol"
    assert seeded.run("facts", "run", seeded.id, *seeded.programs, "--json", code=1)["ending"] == "converged"


@pytest.mark.parametrize(
    ("words", "code", "message", "hint"),
    [
        (("propose", "CONV", "Sedes", "x"), 2, "unknown context key 'Sedes'", "did you mean Seeds?"),
        (("propose", "CONV", "Seeds", " "), 2, "the content is empty", "scopes help facts propose"),
        (("propose", "CONV", "Seeds", "x", "--data", '{"confidence": 1.5}'), 2, "1.5 is not between 0 and 1", "0.8"),
        (("propose", "CONV", "Seeds", "x", "--expires", "soon"), 2, "'soon' is not a time span", "30m, 12h, 7d"),
        (("run", "CONV", "--agent", "analyst=true", "--expires", "0d"), 2, "cannot expire at once", "--expires 7d"),
        (("propose", "CONV", "Seeds", "x", "--source", "zzzz"), 4, "zzzz", ""),
        (("propose", "conv-9", "Seeds", "x"), 4, "conv-9", ""),
        (("promote", "CONV", "nothing"), 4, "no question or proposed fact 'nothing' waits", "facts list conv-001 --pro"),
        (("reject", "CONV", "slow"), 2, "a rejection needs a reason", "--reason"),
        (("decide", "CONV", "slow", "maybe"), 2, "'maybe' is not a decision", "approved, rejected, refine"),
        (("show", "CONV", "nothing"), 4, "has no fact 'nothing'", "facts list conv-001"),
        (("list", "CONV", "--key", "Sedes"), 2, "unknown context key", "did you mean Seeds?"),
        (("run", "CONV"), 2, "no registered agent depends on a key and has a command", "--agent NAME="),
        (("run", "CONV", "--agent", "analyst"), 2, "names no agent and command", "bot='./bot.py'"),
        (("run", "CONV", "--agent", "nobody=true"), 4, "nobody", ""),
        (("run", "CONV", "--agent", "analyst=true", "--min-confidence", "7"), 2, "7 is not between 0 and 1", "0.8"),
        (("run", "CONV", "--agent", "analyst=true", "--min-confidence", "nan"), 2, "nan is not between", "0.8"),
        (("run", "CONV", "--agent", "analyst=true", "--max-cycles", "0"), 2, "0 is not in the range x>=1", ""),
        (("log", "CONV", "-n", "-1"), 2, "-1 is not in the range x>=0", ""),
        (("propose", "CONV", "two words", "x", "--new-key"), 2, "cannot be a context key", "Requirements"),
        (("propose", "CONV", "Seeds", "x", "--data", '{"key": "y"}'), 2, "unknown field 'key'", "prompt_hash"),
        (("propose", "CONV", "Seeds", "x", "--data", "[]"), 2, "not a JSON object", "@FILE"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_error_that_names_it_and_its_cure(seeded, words, code, message, hint):
    error = seeded.run_refused("facts", *(seeded.id if word == "CONV" else word for word in words), code=code)
    assert message in error["message"]
    assert hint in (error.get("hint") or "")


def test_a_log_of_no_cycles_is_empty(seeded):
    """`-n 0` listed all of them."""
    seeded.run("facts", "run", seeded.id, *seeded.programs, code=1)
    assert seeded.run("facts", "log", seeded.id, "-n", "0") == ""
    assert len(seeded.run("facts", "log", seeded.id, "-n", "1", "--json")["cycles"]) == 1


def test_a_fact_is_read_from_standard_input(seeded):
    seeded.run("facts", "propose", seeded.id, "Signals", "-", *named("piped"), "--as", "ann", given="two\nlines\n")
    assert seeded.run("facts", "show", seeded.id, "piped", "--json")["content"] == "two\nlines"


def test_an_expiry_in_the_far_future_is_the_last_year(seeded):
    done = seeded.run("facts", "propose", seeded.id, "Signals", "x", "--expires", "999999w", "--as", "ann", "--json")
    assert done["expires"].startswith("9999-12-31")


@pytest.mark.parametrize(
    "words",
    [("list", "CONV"), ("list", "CONV", "--proposed"), ("show", "CONV", "slow"),
     ("log", "CONV"), ("run", "CONV", "--agent", "analyst=true"), ("decide", "CONV", "drop", "approved")],
)  # fmt: skip
def test_what_is_printed_is_valid_by_its_schema(seeded, words):
    asks = """analyst=echo '{"questions": [{"key": "Seeds", "id": "drop", "text": "drop?"}]}'"""
    seeded.run("facts", "run", seeded.id, "--review", *seeded.programs[2:], "--agent", asks, code=1)
    words = [seeded.id if word == "CONV" else word for word in words]
    printed = seeded.run("facts", *words, "--json")
    jsonschema.Draft202012Validator(read_schemas()["documents"][printed["kind"]]).validate(printed)


def test_a_run_in_which_every_agent_failed_is_exit_code_1(seeded):
    """A script had to read the notes."""
    only = ("facts", "run", seeded.id, "--agent", "broken=exit 3")
    done = seeded.run_main(*only)
    assert (done.returncode, done.stdout.count("broken failed with exit code 3")) == (1, 1)
    assert done.stderr.splitlines()[0] == "note: failed: 1 cycle, 0 new facts, version 1"
    assert "hint: see: scopes facts log conv-001; in the next run they are tried again" in done.stderr
    assert seeded.run(*only, "--json", code=1)["ending"] == "failed"


def test_what_exists_already_is_noted_in_a_pipe_too(seeded):
    """The second proposal of a fact was silent."""
    again = ("facts", "propose", seeded.id, "Seeds", "images are slow", *named("slow"), "--as", "carol")
    done = seeded.run_main(*again)
    assert (done.stdout, done.stderr) == (
        "Seeds/slow\n",
        "note: is a fact already, so nothing was stored: Seeds/slow\n",
    )
    assert seeded.run(*again, "--json")["state"] == "accepted"


def test_a_new_key_comes_and_goes_with_its_first_fact(seeded):
    """S2-11."""
    words = ("facts", "propose", seeded.id, "Needs", "SSO")
    assert seeded.run_refused(*words, code=2)["hint"].endswith("--new-key")
    assert seeded.run(*words, "--new-key").startswith("Needs/")
    assert seeded.run("facts", "propose", seeded.id, "needs", "LDAP").startswith("Needs/")
    seeded.run("undo")
    seeded.run("undo")
    assert seeded.run_refused(*words, code=2)


def test_a_run_that_waits_says_in_a_pipe_what_to_do(seeded):
    """A stranger's script ended with `waiting for a person` and no way to go on."""
    asks = """analyst=echo '{"questions": [{"key": "Seeds", "id": "drop", "text": "drop?"}]}'"""
    done = seeded.run_main("facts", "run", seeded.id, "--agent", asks)
    assert done.returncode == 0
    assert "note: waiting for a person: 1 cycle, 0 new facts" in done.stderr
    assert "note: 1 decision waits: scopes facts list conv-001 --proposed" in done.stderr


def test_an_agent_that_succeeds_when_it_is_tried_again_has_not_failed(seeded, tmp_path):
    """Only the last run of an agent counts for the exit code."""
    once = f"broken=test -e {tmp_path}/tried || {{ touch {tmp_path}/tried; exit 3; }}"
    given = """analyst=test -e TRIED2 || { touch TRIED2; echo '{"facts": [{"key": "Seeds", "content": "more"}]}'; }"""
    words = ("--agent", once, "--agent", given.replace("TRIED2", f"{tmp_path}/tried2"))
    done = seeded.run("facts", "run", seeded.id, *words, "--json")
    assert [[each["name"] for each in cycle["ran"]] for cycle in done["cycles"]][:2] == [["analyst", "broken"]] * 2
    assert (done["ending"], done["failed"]) == ("converged", [])


def test_a_confidence_may_be_a_percentage(seeded):
    words = ("facts", "propose", seeded.id, "Seeds", "more", "--data", '{"confidence": "70%"}')
    assert seeded.run(*words, "--json")["confidence"] == 0.7
    seeded.run("undo")
    done = seeded.run("facts", "run", seeded.id, *seeded.programs[:2], "--min-confidence", "61%", "--json")
    assert (done["added"], done["waiting"]) == (0, 1), "the analyst is sure to 0.6"


def test_another_confidence_is_a_mistake_with_an_example(seeded):
    error = seeded.run_refused("facts", "run", seeded.id, "--min-confidence", "high", code=2)
    assert error["message"].endswith("is not between 0 and 1")
    assert error["hint"].endswith("confidence 80%")
