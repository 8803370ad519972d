"""Which calls count as test runs: those in the workspace that found a test."""

from __future__ import annotations

import pytest

from scopes.check.runner_summaries import ran_none
from scopes.model.message import Part
from tests.check.made_runs import WORKSPACE, edit, judge, make_run, parse, shell

AFTER, PASSED = "order/tests-after-last-edit", "order/tests-passed"
EMPTY_RUNS = [
    ("pytest", "collected 0 items\n\n============ no tests ran in 0.01s ============\n"),
    ("pytest -q", "\nno tests ran in 0.01s\n"),
    ("pytest -k typo", "collected 5 items / 5 deselected / 0 selected\n\n======= 5 deselected in 0.02s =======\n"),
    ("python -m unittest", "\n" + "-" * 70 + "\nRan 0 tests in 0.000s\n\nOK\n"),
    ("python3.12 -m unittest", "\nRan 0 tests in 0.000s\n\nNO TESTS RAN\n"),
    ("npx jest --passWithNoTests", "No tests found, exiting with code 0\n"),
    ("npx vitest run", "No test files found, exiting with code 0\n"),
    ("go test ./...", "?   \tshop/a\t[no test files]\nok  \tshop/b\t0.002s [no tests to run]\n"),
    ("cargo test", "running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 7 filtered out\n"),
    ("rspec", "0 examples, 0 failures\n"),
]
OTHER_OUTPUTS = [
    "collected 0 items / 1 error\n\n===== 1 error in 0.10s =====",
    "no tests ran in 0.01s\n5 passed in 0.10s",
    "collected 3 items\n\n===== 3 passed in 0.10s =====",
    "collected 3 items\n\n===== 2 passed, 1 deselected, 2 warnings in 0.10s =====",
    "collected 3 items\n\n===== 3 skipped in 0.10s =====",
    "Ran 0 tests in 0.000s\n\nOK\nRan 3 tests in 0.001s\n\nOK",
    "?   \tshop/a\t[no test files]\nok  \tshop/b\t0.002s\n",
    "?   \tshop/a\t[no test files]\nFAIL\tshop/b\t0.002s\n",
    "running 2 tests\ntest result: ok. 2 passed; 0 failed; 0 ignored\nrunning 0 tests\ntest result: ok. 0 passed; 0 failed",
    "the log says: no tests ran in 0.01s",
    "",
]


def printed(command, output, code=0):
    """Return a step that runs a command line with an output and an exit code."""
    return "Bash", {"command": command}, code, {"result": Part("tool_result", {"call_id": "c", "output": output})}


@pytest.mark.parametrize("code", [0, 5])
@pytest.mark.parametrize(("command", "output"), EMPTY_RUNS)
def test_a_test_run_that_finds_no_test_is_none(command, output, code):
    run = make_run(edit("a.py"), printed(command, output, code))
    assert judge(AFTER, run).status == "fail"
    assert judge(PASSED, run).status == "unknown"


def test_a_test_run_that_finds_no_test_does_not_hide_the_one_before_it():
    run = make_run(edit("a.py"), shell("pytest", 1), printed("pytest -k typo", "no tests ran in 0.01s", 5))
    assert (judge(AFTER, run).status, judge(PASSED, run).status) == ("pass", "fail")


@pytest.mark.parametrize("output", OTHER_OUTPUTS)
def test_an_output_with_the_summary_of_tests_is_of_a_test_run(output):
    assert not ran_none(output)
    assert judge(PASSED, make_run(printed("pytest", output))).status == "pass"


@pytest.mark.parametrize(
    ("command", "counts"),
    [
        ("pytest", True),
        ("cd app && pytest", True),
        ("cd .. && pytest", True),  # around the workspace: a session can begin in a directory of its project
        ("cd $HERE && pytest", True),
        ("git worktree add ../fix && cd ../fix && pytest", True),
        ("cd /elsewhere && pytest", False),
        ("cd ../other-shop && pytest", False),
        ("(cd /elsewhere && pytest); ls", False),
        ("cd /elsewhere && pytest; cd /home/dev/shop && pytest", True),
    ],
)
def test_tests_of_another_directory_are_not_those_of_the_project(command, counts):
    run = make_run(edit("a.py"), shell(command))
    assert judge(AFTER, run).status == ("pass" if counts else "fail")


def test_tests_of_another_directory_are_no_event_of_an_own_rule():
    policy = parse('[[rule]]\nid = "ours/tests"\nexpect = "some test.ok"\n')
    assert judge("ours/tests", make_run(shell("cd /elsewhere && pytest")), policy).status == "fail"
    assert judge("ours/tests", make_run(shell(f"cd {WORKSPACE} && pytest")), policy).status == "pass"


def test_without_a_known_workspace_tests_count_anywhere():
    assert judge(PASSED, make_run(shell("cd /elsewhere && pytest"), directory=None)).status == "pass"
