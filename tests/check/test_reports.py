"""Reports: the same findings in the formats of CI systems, whatever agents wrote into their transcripts."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import pytest

from scopes.check.policy import Policy
from scopes.render.reports import stop_commands, write_github, write_gitlab, write_junit, write_markdown, write_sarif
from tests.check.runs import edit, judge, run_of, shell

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAcDfG"
HOSTILE = f"pytest -q # {TOKEN} ::set-output name=x::y\n```\n</system-out>]]>\x1b[31m\u202e"


@pytest.fixture
def checked(repository):
    """A check with two findings, a note on hostile text that is no shell, and one rule that cannot be judged."""
    return judge(repository, run_of(repository, shell(HOSTILE, 1), edit("src/app.py"), cwd="/home/dev/shop"))


def writers():
    return {
        "sarif": lambda checked: write_sarif(checked, "1.0"),
        "junit": write_junit,
        "gitlab": write_gitlab,
        "markdown": write_markdown,
        "github": write_github,
    }


@pytest.mark.parametrize("name", list(writers()))
def test_no_report_has_a_secret_or_a_control_character(checked, name):
    text = writers()[name](checked)
    assert TOKEN not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("before", range(440, 500, 6))
def test_a_secret_is_redacted_before_a_cut_halves_it(repository, before):
    """The text of an event has 500 characters, and half a token is no token to a pattern."""
    line = f"pytest {'x' * before} {TOKEN} y"
    checked = judge(repository, run_of(repository, shell(line, 1), cwd="/home/dev/shop"))
    assert TOKEN[:8] not in write_sarif(checked, "1.0")


def test_sarif_points_into_the_repository_and_names_the_transcript_too(checked):
    (run,) = json.loads(write_sarif(checked, "1.0"))["runs"]
    rules = [result["ruleId"] for result in run["results"]]
    assert rules == ["order/tests-after-last-edit", "order/tests-passed", "secrets/in-transcript", "shell/opaque"]
    first = run["results"][0]
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "src/app.py"
    assert len(first["relatedLocations"]) == 2
    assert first["partialFingerprints"]["scopes/v1"] == checked.failures[0].fingerprint
    assert all(rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"])


def test_an_unknown_verdict_is_open_in_sarif_and_skipped_in_junit(repository):
    checked = judge(repository, run_of(repository, "Done.", cwd="/home/dev/shop"))
    (result,) = json.loads(write_sarif(checked, "1.0"))["runs"][0]["results"]
    assert (result["kind"], result["ruleId"]) == ("open", "order/tests-passed")
    (suite,) = ET.fromstring(write_junit(checked))
    assert (suite.get("failures"), suite.get("skipped")) == ("0", "1")


def test_junit_has_a_suite_for_each_run_and_a_case_for_each_rule(checked):
    (suite,) = ET.fromstring(write_junit(checked))
    cases = {case.get("name"): case for case in suite}
    assert suite.get("failures") == "3"
    message = "the command line with the last test run failed with exit code 1"
    assert cases["order/tests-passed"].find("failure").get("message") == message
    assert cases["run/empty"].find("failure") is None


def test_annotations_are_nine_of_a_kind_and_the_number_of_the_others(repository):
    policy = Policy(parameters={"tools/undeclared": {"allow": ["Read"]}})
    checked = judge(repository, run_of(repository, *[shell(f"make {n}") for n in range(15)]), policy)
    lines = write_github(checked).splitlines()
    assert len(lines) == 10
    assert lines[-1] == "::error title=scopes check::6 more of this level"


def test_an_annotation_is_one_line_with_escaped_properties(repository):
    checked = judge(repository, run_of(repository, edit("a,b:c%\n.py")))
    (line,) = write_github(checked).splitlines()
    assert line.startswith("::error file=a%2Cb%3Ac%25%0A.py,line=1,title=order/tests-after-last-edit::")


def test_text_of_an_agent_is_printed_between_lines_that_stop_commands():
    assert stop_commands("::set-output x", "f00") == "::stop-commands::f00\n::set-output x\n::f00::\n"


def test_equal_findings_of_two_runs_have_different_fingerprints_in_gitlab(repository):
    first, second = (judge(repository, run_of(repository, edit("a.py"))) for _ in range(2))
    assert first.failures[0].fingerprint == second.failures[0].fingerprint
    prints = [json.loads(write_gitlab(each))[0]["fingerprint"] for each in (first, second)]
    assert len(set(prints)) == 2


def test_a_fence_is_longer_than_any_in_the_text(repository):
    checked = judge(repository, run_of(repository, shell("pytest # " + "`" * 200, 1)))
    assert "`" * 201 + "text" in write_markdown(checked)


def test_a_summary_leaves_out_findings_until_it_fits(repository):
    policy = Policy(parameters={"tools/undeclared": {"allow": ["Read"]}})
    checked = judge(repository, run_of(repository, *[shell(f"make {n}") for n in range(20)]), policy)
    assert len(write_markdown(checked, 2000).encode()) <= 2000
    assert " more." in write_markdown(checked, 2000)
