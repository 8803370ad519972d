"""`check --test`: transcripts with expected findings, exact both ways."""

from __future__ import annotations

import json

import pytest

from tests.check.runs import edit, shell
from tests.check.sessions import run_check, write_session

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

PUSH = [shell("pytest -q"), shell("git push --force origin main")]  # the push is in line 4
FOUND = '[[expect]]\nrule = "shell/force-push"\nat = 4\nstatus = "ruleid"\n'


@pytest.fixture
def rules(tmp_path, monkeypatch):
    """A directory for rule tests, and no policy in the current directory."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "rules"
    folder.mkdir()
    return folder


def add(rules, name, expected, *steps):
    """Write one test."""
    write_session(rules / f"{name}.jsonl", *steps)
    (rules / f"{name}.expect.toml").write_text(expected)


def cases(capsys, rules, *words):
    """Return the exit code, the rows about `shell/force-push`, and the document."""
    code, out = run_check(capsys, "--test", rules, *words, "--json")
    shown = json.loads(out)
    rows = [(row.get("at"), row.get("status"), row["result"]) for row in shown["cases"]]
    return code, rows, shown


def test_an_expected_finding_passes(rules, capsys):
    add(rules, "push", FOUND, *PUSH)
    code, rows, shown = cases(capsys, rules)
    assert (code, rows, shown["result"]) == (0, [(4, "ruleid", "pass")], "pass")


def test_a_finding_that_is_not_expected_fails_with_2(rules, capsys):
    add(rules, "push", "", *PUSH)
    code, rows, _ = cases(capsys, rules)
    assert (code, rows) == (2, [(4, None, "fail")])


def test_an_expected_finding_that_is_missing_fails(rules, capsys):
    add(rules, "push", FOUND, shell("pytest -q"), shell("git push"))
    code, rows, _ = cases(capsys, rules)
    assert (code, rows) == (2, [(4, "ruleid", "fail")])


def test_a_finding_on_another_line_is_both_missing_and_not_expected(rules, capsys):
    add(rules, "push", FOUND.replace("4", "2"), *PUSH)
    assert cases(capsys, rules)[:2] == (2, [(2, "ruleid", "fail"), (4, None, "fail")])


def test_ok_without_a_line_is_about_the_whole_transcript(rules, capsys):
    expected = FOUND.replace("ruleid", "ok").replace("at = 4\n", "")
    add(rules, "good", expected, shell("git push"))
    assert cases(capsys, rules)[:2] == (0, [(None, "ok", "pass")])
    add(rules, "good", expected, *PUSH)
    assert cases(capsys, rules)[:2] == (2, [(None, "ok", "fail")])


@pytest.mark.parametrize("status", ["todoruleid", "todook"])
def test_what_is_still_to_be_done_is_reported_only(rules, capsys, status):
    for steps in (PUSH, PUSH[:1]):
        add(rules, "push", FOUND.replace("ruleid", status), *steps)
        assert cases(capsys, rules)[:2] == (0, [(4, status, "todo")])


def test_rules_without_a_failing_and_a_passing_case_are_named(rules, capsys, tmp_path):
    rule = '[[rule]]\nid = "ours/{0}"\nexpect = "never run(make {0} **)"\n'
    policy = tmp_path / "p.toml"
    policy.write_text(rule.format("a") + rule.format("b"))
    add(rules, "one", '[[expect]]\nrule = "ours/a"\nat = 2\n', shell("make a"))
    code, _, shown = cases(capsys, rules, "--rules", policy)
    assert (code, shown["uncovered"]) == (
        0,
        [{"rule": "ours/a", "missing": ["passing"]}, {"rule": "ours/b", "missing": ["failing", "passing"]}],
    )
    assert "ours/a  it has no passing case" in run_check(capsys, "--test", rules, "--rules", policy)[1]


def test_a_transcript_that_cannot_be_read_is_a_finding_of_run_missing(rules, capsys):
    (rules / "bad.jsonl").write_text("no transcript")
    (rules / "bad.expect.toml").write_text('[[expect]]\nrule = "run/missing"\n')
    assert cases(capsys, rules)[:2] == (0, [(None, "ruleid", "pass")])


def test_a_suppressed_finding_is_none(rules, capsys, tmp_path):
    policy = tmp_path / "p.toml"
    policy.write_text('[[suppress]]\nrule = "order/tests-after-last-edit"\nreason = "x"\nuntil = 2099-01-01\n')
    add(rules, "edit", "", edit("a.py"))
    assert cases(capsys, rules, "--rules", policy)[:2] == (0, [])
    assert cases(capsys, rules)[:2] == (2, [(2, None, "fail")])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[expect]]\nrule = 'shell/force-psuh'\n", "there is no rule 'shell/force-psuh'"),
        ("[[expect]]\nrule = 'run/empty'\nat = 0\n", "`at` is a line number of the transcript from 1"),
        ("[[expect]]\nrule = 'run/empty'\nline = 1\n", "has no key 'line'"),
        ("[[expect]]\nrule = 'run/empty'\nstatus = 'bad'\n", "is not one of ruleid, ok, todoruleid, todook"),
        ("[[expected]]\n", "[[expect]] tables only"),
        ("[[expect", "push.expect.toml"),
    ],
)
def test_a_mistake_in_the_expectations_exits_with_2(rules, capsys, text, message):
    add(rules, "push", text, *PUSH)
    code, out = run_check(capsys, "--test", rules)
    assert code == 2
    assert message in out


@pytest.mark.parametrize(("at", "place"), [("", "at = 4"), ("at = 2\n", "at = 4")])
def test_an_expectation_at_another_place_names_the_lines_of_the_findings(rules, capsys, at, place):
    add(rules, "push", FOUND.replace("at = 4\n", at), *PUSH)
    assert f"expected, and not found there; the rule has {place}" in run_check(capsys, "--test", rules)[1]


def test_a_folder_of_tests_that_does_not_exist_is_named_as_that(rules, capsys):
    for path in (rules / "nope", rules / "a.jsonl"):
        code, out = run_check(capsys, "--test", path)
        assert (code, "error: there is no folder" in out) == (2, True)


def test_nothing_to_test_is_no_success(rules, capsys):
    assert run_check(capsys, "--test", rules)[0] == 2
    write_session(rules / "lost.jsonl", "Done.")
    assert "lost.jsonl has no expectations" in run_check(capsys, "--test", rules)[1]
    (rules / "lost.jsonl").rename(rules / "other.txt")
    (rules / "lost.expect.toml").write_text("")
    assert "lost.expect.toml has no transcript" in run_check(capsys, "--test", rules)[1]
