"""What each report format makes of one finding: its place, its level, its text, whatever an agent wrote into it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scopes.check.findings import Event, Finding, redacted
from scopes.check.run import RunSource
from scopes.cli.check_reports import _find_job_file
from scopes.render.document import result_line
from scopes.render.reports import (
    Row,
    clean,
    escape_markup,
    explain,
    fenced,
    list_rows,
    place_in_repository,
    stop_commands,
    write_github,
    write_gitlab,
    write_junit,
    write_markdown,
    write_sarif,
)
from tests.check.made_runs import checked

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAcDfG"
EVENTS = (Event(4, "k3x9q2mf5a7b", "git push", "a b.jsonl", 15), Event(2, "sd7mnkyn5a7b", "pytest"))
FINDING = Finding(
    "ours/x", "error", "pushed too soon", EVENTS, match="git push", wrapper="sudo", cure="wait", fingerprint="f1"
)  # fmt: skip
HOSTILE = st.text(st.sampled_from("a`:%\n\r,;<>&\"']#[(|*_\\\x1b\x00\u202e\ud800\ufffe\u2028")) | st.text(max_size=12)


def sarif(*args, **fields):
    (run,) = json.loads(write_sarif(checked(*args, **fields), "1.0"))["runs"]
    return run


def test_an_explanation_names_rule_match_wrapper_events_and_cure_in_this_order():
    refused = FINDING._replace(attempted=True, outcome="denied", directory="web")
    assert list(explain(Row(checked().runs[0], refused))) == [
        "error: ours/x: pushed too soon",
        "matched: git push (unwrapped from sudo)",
        "a b.jsonl:15: git push",
        "message sd7mnkyn: pytest",
        "directory: web",
        "the call was refused: one level lower",
        "what to do: wait",
    ]
    assert list(explain(Row(checked().runs[0], Finding("ours/x", "note", "m")))) == ["note: ours/x: m", "run: run"]
    failed = Finding("ours/x", "error", "m", outcome="failed", exit_code=2)
    assert list(explain(Row(checked().runs[0], failed)))[-1] == "the call ran and failed with exit 2"


@pytest.mark.parametrize(
    ("file", "line", "policy", "place"),
    [
        ("src/a.py", 7, "rules.toml", ("src/a.py", 7)),
        ("src/a.py", None, "rules.toml", ("src/a.py", 1)),
        ("/etc/hosts", 7, "rules.toml", ("rules.toml", 12)),
        ("../a.py", None, "rules.toml", ("rules.toml", 12)),
        ("a/../../b", None, "rules.toml", ("rules.toml", 12)),
        ("~/a", None, "rules.toml", ("rules.toml", 12)),
        ("C:\\a", None, "rules.toml", ("rules.toml", 12)),
        ("..\\a", None, "rules.toml", ("rules.toml", 12)),
        ("", None, "rules.toml", ("rules.toml", 12)),
        (None, None, "ab12cd:ci/rules.toml", ("ci/rules.toml", 12)),
        (None, None, "/home/dev/rules.toml", ("scopes-check.toml", 1)),
        (None, None, None, ("a b.jsonl", 15)),
    ],
)
def test_a_finding_is_shown_in_the_repository_or_at_its_rule(file, line, policy, place):
    result = checked(policy=policy, lines={"ours/x": 12})
    assert place_in_repository(result, "ours/x", FINDING._replace(file=file, file_line=line)) == place


def test_without_a_policy_the_file_of_the_job_is_named():
    nowhere = FINDING._replace(events=())
    result = checked(nowhere, policy=None)
    assert json.loads(write_gitlab(result))[0]["location"]["path"] == ".gitlab-ci.yml"
    named = replace(result, job_file="ci/check.yml")
    assert json.loads(write_gitlab(named))[0]["location"]["path"] == "ci/check.yml"
    (place,) = json.loads(write_sarif(named, "1"))["runs"][0]["results"][0]["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "ci/check.yml"
    assert "file=" not in write_github(named)


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({}, None),
        ({"GITHUB_WORKFLOW_REF": "o/r/.github/workflows/ci.yml@refs/heads/main"}, ".github/workflows/ci.yml"),
        ({"GITHUB_WORKFLOW_REF": "o/x/.github/workflows/ci.yml@v1", "GITHUB_REPOSITORY": "o/r"}, None),
        ({"CI_CONFIG_PATH": "ci/main.yml"}, "ci/main.yml"),
        ({"CI_CONFIG_PATH": "ci.yml@group/other"}, None),
        ({"CI_CONFIG_PATH": "https://example.com/ci.yml"}, None),
    ],
)
def test_the_file_of_the_job_is_known_from_its_environment(environ, path):
    assert _find_job_file(environ) == path


@pytest.mark.parametrize(
    ("level", "sarif_level", "annotation", "severity"),
    [
        ("error", "error", "error", "critical"),
        ("warning", "warning", "warning", "major"),
        ("note", "note", "notice", "info"),
    ],
)
def test_each_format_has_its_own_word_for_a_level(level, sarif_level, annotation, severity):
    result = checked(FINDING._replace(level=level), policy="scopes-check.toml")
    assert sarif(FINDING._replace(level=level))["results"][0]["level"] == sarif_level
    assert write_github(result).startswith(
        f"::{annotation} file=scopes-check.toml,line=1,title=ours/x::pushed too soon"
    )
    assert json.loads(write_gitlab(result))[0]["severity"] == severity
    assert f"### {level}: pushed too soon" in write_markdown(result)


@pytest.mark.parametrize("accepted", [{"suppressed": "we know"}, {"known": True}])
def test_an_accepted_finding_stays_in_the_records_and_out_of_annotations(accepted):
    result = checked(FINDING._replace(**accepted))
    assert (write_github(result), json.loads(write_gitlab(result)), result.exit_code) == ("", [], 0)
    assert "pushed" not in write_markdown(result)
    (entry,) = sarif(FINDING._replace(**accepted))["results"]
    assert entry["suppressions"] == [
        {"kind": "external", "justification": accepted.get("suppressed", "in the baseline")}
    ]
    (case,) = ET.fromstring(write_junit(result)).iter("testcase")
    assert (case.find("failure"), "pushed" in case.find("system-out").text) == (None, True)


@pytest.mark.parametrize(
    ("level", "fail_on", "tags"),
    [
        ("error", "error", ["failure"]),
        ("warning", "error", ["system-out"]),
        ("warning", "warning", ["failure"]),
        ("error", "none", ["system-out"]),
    ],
)
def test_a_case_of_junit_fails_as_the_check_does(level, fail_on, tags):
    result = checked(FINDING._replace(level=level), fail_on=fail_on)
    (case,) = ET.fromstring(write_junit(result)).iter("testcase")
    assert [child.tag for child in case] == tags
    assert result.failed == (tags == ["failure"])


@pytest.mark.parametrize(("unknown_fails", "tag"), [(False, "skipped"), (True, "failure")])
def test_what_cannot_be_judged_is_skipped_unless_that_fails(unknown_fails, tag):
    result = checked(status="unknown", unknown_fails=unknown_fails)
    (case,) = ET.fromstring(write_junit(result)).iter("testcase")
    assert [(child.tag, child.get("message")) for child in case] == [(tag, "why")]
    assert result.failed == unknown_fails
    assert "- run: ours/x: why" in write_markdown(result).replace("\\", "")
    (entry,) = sarif(status="unknown")["results"]
    assert (entry["kind"], entry["level"], entry["message"]["text"]) == ("open", "none", "run: cannot be judged: why")


def test_sarif_puts_the_events_in_the_order_of_the_run_and_keeps_their_records():
    (entry,) = sarif(FINDING, sources=(RunSource("a b.jsonl", "codex", "session", "d1"),))["results"]
    first, second = entry["relatedLocations"]
    assert first["physicalLocation"] == {
        "artifactLocation": {"uri": "a%20b.jsonl", "index": 0}, "region": {"startLine": 15},
    }  # fmt: skip
    assert second["physicalLocation"] == entry["locations"][0]["physicalLocation"]
    (flow,) = entry["codeFlows"][0]["threadFlows"]
    assert [step["location"]["id"] for step in flow["locations"]] == [1, 0]
    assert entry["locations"][0]["logicalLocations"] == [{"name": "k3x9q2mf5a7b", "kind": "message"}]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a.jsonl", "a.jsonl"),
        ("/x/a b.jsonl", "file:///x/a%20b.jsonl"),
        ("ü#?%.jsonl", "%C3%BC%23%3F%25.jsonl"),
        ("c:\\a.jsonl", "c%3A%5Ca.jsonl"),
    ],
)
def test_a_path_in_sarif_is_a_uri(path, uri):
    run = sarif(FINDING, sources=(RunSource(path, "codex", "session"),))
    assert run["artifacts"] == [{"location": {"uri": uri}}]


@given(HOSTILE, HOSTILE)
@example("\x1b[31m", "\x00")
def test_no_text_breaks_the_form_of_a_report(message, name):
    finding = FINDING._replace(message=message, events=(Event(1, "m", message, name or None, 1),), match=message)
    result = checked(finding, name=name)
    assert json.loads(write_sarif(result, "1.0"))["runs"][0]["results"][0]["level"] == "error"
    assert len(json.loads(write_gitlab(result))) == 1
    assert ET.fromstring(write_junit(result).encode("utf-8")).find("testsuite/testcase/failure") is not None
    assert json.loads(result_line(result))["kind"] == "check"
    text = write_github(result)
    assert text.count("\n") == 1
    assert not re.search(r"[\r\x00\x1b]", text)


@given(HOSTILE)
def test_text_of_an_agent_is_no_markup_in_a_summary(text):
    """A heading, a link or a fence in it would end what it stands in."""
    lines = write_markdown(checked(FINDING._replace(message=text, match=text))).split("\n")
    fences = [number for number, line in enumerate(lines) if re.fullmatch(r"`{3,}(text)?", line)]
    outside = [*lines[: fences[0]], *lines[fences[-1] + 1 :]]
    assert lines[fences[0]] == f"{lines[fences[-1]]}text"
    assert [line.partition(" ")[0] for line in outside if line and not line.startswith("1 run")] == ["##", "###"]
    assert not re.search(r"(?<!\\)[`*_\[\]<>#|]", escape_markup(text).replace("\\\\", ""))
    assert "\n" not in escape_markup(text)


def test_a_finding_about_a_whole_run_names_the_run():
    """Of several runs, one may be over its budget: there is no event that shows which."""
    whole = FINDING._replace(events=())
    assert f"\nrun: {checked(whole).runs[0].name}\n" in write_markdown(checked(whole))
    assert "\nrun: " not in write_markdown(checked(FINDING))


@given(st.text(st.sampled_from("`a\n"), max_size=30))
def test_a_fence_is_not_ended_by_the_text_in_it(text):
    opening, *body, closing = fenced(text).split("\n")
    assert opening == f"{closing}text"
    assert "\n".join(body) == text
    assert not any(line.startswith(closing) for line in body)


@given(HOSTILE)
def test_the_lines_that_stop_commands_surround_the_text(text):
    first, *_, last, end = stop_commands(text, "f00").split("\n")
    assert (first, last, end) == ("::stop-commands::f00", "::f00::", "")


def test_a_cleaned_finding_has_no_control_characters_and_its_line_breaks():
    cleaned = clean(FINDING._replace(message="a\x1b[31m\nb\u202e", match="\x00", cure="\x07x"))
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", f"{cleaned.message}{cleaned.match}{cleaned.cure}")
    assert "\n" in cleaned.message


def test_each_text_of_a_finding_is_redacted():
    texts = {"message": f"m {TOKEN}", "match": f"x {TOKEN}", "cure": f"c {TOKEN}"}
    finding = redacted(FINDING._replace(**texts, events=(Event(1, "m", f"e {TOKEN}"),)))
    assert TOKEN not in repr(finding)
    assert finding.match == "x [redacted github-token]"
    assert redacted(finding) == finding


def test_rows_are_sorted_by_level_and_keep_the_order_of_the_runs():
    levels = ["note", "error", "warning", "error"]
    findings = [FINDING._replace(level=level, message=str(number)) for number, level in enumerate(levels)]
    rows = list_rows(checked(*findings, FINDING._replace(known=True, message="4")))
    assert [row.finding.message for row in rows] == ["1", "3", "4", "2", "0"]
    assert [row.finding.message for row in list_rows(checked(*findings), counting=True)] == ["1", "3", "2", "0"]


@pytest.mark.parametrize(("count", "shown", "more"), [(9, 9, None), (10, 10, None), (11, 9, 2), (30, 9, 21)])
def test_ten_annotations_of_a_kind_are_all_that_a_runner_shows(count, shown, more):
    lines = write_github(checked(*[FINDING] * count)).splitlines()
    assert sum("pushed" in line for line in lines) == shown
    assert lines[shown:] == ([] if more is None else [f"::error title=scopes check::{more} more of this level"])


@pytest.mark.parametrize("limit", [400, 1000, 5000, 20_000])
def test_a_summary_within_a_limit_keeps_the_worst_and_states_how_many_are_missing(limit):
    findings = [FINDING._replace(message=f"finding {n}", level="warning" if n % 2 else "error") for n in range(60)]
    page = write_markdown(checked(*findings), limit)
    levels = re.findall(r"^### (\w+):", page, re.MULTILINE)
    assert len(page.encode()) <= limit
    assert levels == sorted(levels)
    assert (f"{60 - len(levels)} more." in page) == (len(levels) < 60)
    assert "1 run, 60 findings, 0 unknown." in page
