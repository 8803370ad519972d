"""Expectations of rule tests against findings, and the values of --report: what passes, what fails, what is missing."""

from __future__ import annotations

import pytest

from scopes.check.check import Checked, CheckedRun
from scopes.check.findings import Event, Finding, Verdict
from scopes.check.rule_tests import Expected, compare_expected, find_uncovered, parse_expected
from scopes.cli.check_reports import FORMATS, Report, parse_reports
from scopes.errors import Invalid
from tests.check.made_runs import parse

POLICY = parse('[[rule]]\nid = "ours/x"\nexpect = "never run(a)"\n[[rule]]\nid = "ours/y"\nexpect = "never run(b)"\n')


def checked(*places, **fields):
    """Return a check with findings at (rule, line)."""
    findings = tuple(
        Finding(rule, "error", f"{rule} broken", (Event(1, "m", "a", "t.jsonl", line),) if line else (), **fields)
        for rule, line in places
    )
    run = CheckedRun(
        name="t",
        conversation=None,
        title=None,
        calls=1,
        verdicts=(Verdict("ours/x", "error", "fail", findings=findings),),
    )
    return Checked(runs=(run,))


@pytest.mark.parametrize(
    ("expected", "found", "results"),
    [
        ([("x", 3, "ruleid")], [("x", 3)], ["pass"]),
        ([("x", 3, "ruleid")], [("x", 4)], ["fail", "fail"]),
        ([("x", 3, "ruleid")], [], ["fail"]),
        ([("x", 3, "ruleid")], [("x", 3), ("y", 3)], ["pass", "fail"]),
        ([("x", None, "ruleid")], [("x", None)], ["pass"]),
        ([("x", None, "ruleid")], [("x", 3)], ["fail", "fail"]),
        ([("x", 3, "ok")], [], ["pass"]),
        ([("x", 3, "ok")], [("x", 3)], ["fail"]),
        ([("x", 3, "ok")], [("x", 4)], ["pass", "fail"]),
        ([("x", None, "ok")], [("x", 4), ("x", 9)], ["fail"]),
        ([("x", None, "ok")], [("y", 4)], ["pass", "fail"]),
        ([("x", 3, "todoruleid")], [], ["todo"]),
        ([("x", 3, "todoruleid")], [("x", 3)], ["todo"]),
        ([("x", 3, "todook")], [("x", 3)], ["todo"]),
        ([("x", 3, "ruleid"), ("x", 4, "ok")], [("x", 3)], ["pass", "pass"]),
        ([("x", 3, "ruleid")], [("x", 3), ("x", 3)], ["pass"]),
        ([], [], []),
        ([], [("x", 3)], ["fail"]),
    ],
)
def test_expectations_and_findings_must_agree_in_both_directions(expected, found, results):
    wanted = [Expected(f"ours/{rule}", line, status) for rule, line, status in expected]
    cases = list(compare_expected("t", wanted, checked(*((f"ours/{rule}", line) for rule, line in found))))
    assert [case.result for case in cases] == results
    assert [case.status for case in cases[: len(wanted)]] == [each.status for each in wanted]


@pytest.mark.parametrize("fields", [{"suppressed": "why"}, {"known": True}])
def test_an_accepted_finding_is_not_found(fields):
    (case,) = compare_expected("t", [Expected("ours/x", 3, "ruleid")], checked(("ours/x", 3), **fields))
    assert (case.result, case.text) == ("fail", "expected, and not found")


@pytest.mark.parametrize(
    ("statuses", "missing"),
    [
        ([], {"ours/x": ("failing", "passing"), "ours/y": ("failing", "passing")}),
        ([("x", "ruleid"), ("x", "ok")], {"ours/y": ("failing", "passing")}),
        ([("x", "ok"), ("y", "ruleid")], {"ours/x": ("failing",), "ours/y": ("passing",)}),
        ([("x", "todoruleid"), ("x", "todook")], {"ours/x": ("failing", "passing"), "ours/y": ("failing", "passing")}),
    ],
)
def test_each_rule_of_a_policy_needs_a_failing_and_a_passing_case(statuses, missing):
    expected = [Expected(f"ours/{rule}", 1, status) for rule, status in statuses]
    assert {row.rule: row.missing for row in find_uncovered(POLICY, expected)} == missing


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ()),
        ('[[expect]]\nrule = "ours/x"\nat = 3\n', (Expected("ours/x", 3, "ruleid"),)),
        ('[[expect]]\nrule = "run/missing"\nstatus = "ok"\n', (Expected("run/missing", None, "ok"),)),
    ],
)
def test_expectations_are_read_from_tables(text, expected):
    assert parse_expected(text, "t.toml", POLICY) == expected


@pytest.mark.parametrize(
    "text",
    [
        f"[[expect]]\nrule = {'[' * 3000}{']' * 3000}",
        f"[[expect]]\nrule = {'9' * 5000}",
        f"[[expect]]\nrule = 0x{'f' * 5000}",
        f"[[expect]]\nrule = 'ours/x'\nstatus = 0x{'f' * 5000}",
    ],
)
def test_a_value_that_python_does_not_read_or_show_is_a_mistake(text):
    with pytest.raises(Invalid, match=r"t\.toml:.* (nested too deeply|too many digits)"):
        parse_expected(text, "t.toml", POLICY)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("expect = 1", "t.toml: it must have [[expect]] tables only"),
        ("[[expected]]", "t.toml: it must have [[expect]] tables only"),
        ("[[expect]]\n[[expect]]", "t.toml:1: expectation 1 needs `rule`"),
        ('[[expect]]\nrule = "ours/z"', "t.toml:1: expectation 1: there is no rule 'ours/z'"),
        ('[[expect]]\nrule = "ours/x"\nline = 3', "t.toml:1: expectation 1 has no key 'line'"),
        (
            '[[expect]]\nrule = "ours/x"\nat = 0',
            "t.toml:1: expectation 1: `at` is a line number of the transcript from 1",
        ),
        (
            '[[expect]]\nrule = "ours/x"\nat = true',
            "t.toml:1: expectation 1: `at` is a line number of the transcript from 1",
        ),
        (
            '[[expect]]\nrule = "ours/x"\nstatus = "bad"',
            "t.toml:1: expectation 1: status = 'bad' is not one of ruleid, ok, todoruleid, todook",
        ),
        (
            '[[expect]]\nrule = "ours/x"\n\n[[expect]]\nrule = "ours/z"',
            "t.toml:4: expectation 2: there is no rule 'ours/z'",
        ),
        ('expect = [{rule = "ours/z"}]', "t.toml: expectation 1: there is no rule 'ours/z'"),
        ("[[expect", "t.toml: "),
    ],
)
def test_a_mistake_in_an_expectation_names_its_file_its_line_and_its_number(text, message):
    with pytest.raises(Invalid) as caught:
        parse_expected(text, "t.toml", POLICY)
    assert caught.value.message.startswith(message)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("expect = 1", 'a table is, for example:\n[[expect]]\nrule = "order/tests-passed"\nat = 3\nstatus = "ruleid"'),
        ("[[expected]]", "did you mean 'expect'?"),
        ("[[expect]]\nat = 3", 'for example:\n[[expect]]\nrule = "order/tests-passed"\nat = 3\nstatus = "ruleid"'),
        ('[[expect]]\nrule = "ours/yy"', "did you mean 'ours/y'?"),
        ('[[expect]]\nrule = "?"', "list them: scopes check --list"),
        ('[[expect]]\nrule = "ours/x"\nstate = 3', "did you mean 'status'?"),
        ('[[expect]]\nrule = "ours/x"\nline = 3', "keys: rule, at, status"),
        ('[[expect]]\nrule = "ours/x"\nat = 0', "leave it out for a finding about the whole run"),
        ('[[expect]]\nrule = "ours/x"\nstatus = "ruleID"', "did you mean 'ruleid'?"),
        (
            '[[expect]]\nrule = "ours/x"\nstatus = 5',
            "ruleid: the rule finds something there; ok: it finds nothing there",
        ),
    ],
)
def test_a_mistake_in_an_expectation_comes_with_the_nearest_word_or_the_form(text, hint):
    with pytest.raises(Invalid) as caught:
        parse_expected(text, "t.toml", POLICY)
    assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("texts", "reports"),
    [
        ([], []),
        (["json"], [Report("json", None)]),
        (["sarif=a.sarif", "junit=b.xml"], [Report("sarif", "a.sarif"), Report("junit", "b.xml")]),
        (["sarif=a=b"], [Report("sarif", "a=b")]),
        (["sarif=-", "json=x"], [Report("sarif", None), Report("json", "x")]),
        (["text", "json=x"], [Report("text", None), Report("json", "x")]),
        ([f"{name}={name}.out" for name in FORMATS], [Report(name, f"{name}.out") for name in FORMATS]),
    ],
)
def test_a_report_is_a_format_with_or_without_a_path(texts, reports):
    assert parse_reports(texts) == reports


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["xml"], "there is no report 'xml'"),
        (["JSON"], "there is no report 'JSON'"),
        ([""], "there is no report ''"),
        (["=x"], "there is no report ''"),
        (["json="], "--report 'json=' has no path"),
        (["json", "text"], "two reports have the same target"),
        (["json", "text=-"], "two reports have the same target"),
        (["json=x", "sarif=x"], "two reports have the same target"),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_the_check(texts, message):
    with pytest.raises(Invalid) as caught:
        parse_reports(texts)
    assert caught.value.message == message
