"""Reports are valid: by a schema of the part that we write, and by the published schemas if they are at hand.

Set SCOPES_TEST_SARIF to the JSON Schema of SARIF 2.1.0 (in the npm package `@microsoft/jest-sarif`), and SCOPES_TEST_JUNIT
to the XML Schema `junit-10.xsd` (in the source distribution of pytest; it needs the package `xmlschema`).
"""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from scopes.check.check import CheckedRun
from scopes.check.policy import parse_policy
from scopes.check.run import RunSource
from scopes.render.reports import MAX_RESULTS, write_gitlab, write_junit, write_sarif
from tests.check.runs import edit, judge, run_of, shell
from tests.support.examples import amount

pytestmark = pytest.mark.cases(16)  # each is another way through a rule, and takes little time

jsonschema = pytest.importorskip("jsonschema")
SARIF = os.environ.get("SCOPES_TEST_SARIF", "")  # read before the environment of a test is sealed
JUNIT = os.environ.get("SCOPES_TEST_JUNIT", "")
HOSTILE = (
    "pytest # [x](https://evil.example) \x00\x1b[31m]]></system-out>\ufffe\ud800 ::error::x ##[add-mask]y\n```"
    + "`" * 200
)
OWN = """
[[rule]]
id = "ours/no-make"
level = "warning"
expect = "never run(make **)"
[[suppress]]
rule = "order/tests-passed"
reason = "a <known> gap\\u001b[0m"
until = 2099-01-01
"""


def record(properties, *, required=None, closed=True):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": not closed,
    }


def items(schema):
    return {"type": "array", "items": schema}


TEXT, NUMBER = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}
URI = {"type": "string", "pattern": r"^(file:///)?(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+$"}
MESSAGE, LEVEL = record({"text": TEXT}), {"enum": ["none", "note", "warning", "error"]}
REGION = record({"startLine": {"type": "integer", "minimum": 1}})
PHYSICAL = record(
    {
        "artifactLocation": record({"uri": URI, "uriBaseId": TEXT, "index": NUMBER}, required=["uri"]),
        "region": REGION,
    }
)
PRIMARY = record(
    {"physicalLocation": PHYSICAL, "logicalLocations": items(record({"name": TEXT, "kind": TEXT}))},
    required=["physicalLocation"],
)
RELATED = record({"id": NUMBER, "message": MESSAGE, "physicalLocation": PHYSICAL})
STEP = record({"location": RELATED, "executionOrder": NUMBER})
RESULT = record(
    {
        "ruleId": TEXT,
        "ruleIndex": NUMBER,
        "level": LEVEL,
        "kind": {"enum": ["fail", "open"]},
        "message": MESSAGE,
        "locations": {**items(PRIMARY), "minItems": 1, "maxItems": 1},
        "partialFingerprints": record({"scopes/v1": TEXT}),
        "relatedLocations": {**items(RELATED), "uniqueItems": True, "maxItems": 100},
        "codeFlows": items(record({"threadFlows": items(record({"locations": items(STEP)}))})),
        "suppressions": items(record({"kind": {"const": "external"}, "justification": {"type": "string"}})),
    },
    required=["ruleId", "ruleIndex", "level", "kind", "message", "locations"],
)
RULE = record(
    {
        "id": TEXT,
        "shortDescription": MESSAGE,
        "fullDescription": MESSAGE,
        "help": MESSAGE,
        "defaultConfiguration": record({"level": LEVEL}),
    }
)
DRIVER = record({"name": TEXT, "semanticVersion": TEXT, "rules": items(RULE)})
INVOCATION = record(
    {
        "executionSuccessful": {"const": True},
        "exitCode": NUMBER,
        "toolExecutionNotifications": items(record({"level": LEVEL, "message": MESSAGE})),
    },
    required=["executionSuccessful", "exitCode"],
)
DIGEST = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
ARTIFACT = record({"location": record({"uri": URI}), "hashes": record({"sha-256": DIGEST})}, required=["location"])
SARIF_RUN = record(
    {
        "tool": record({"driver": DRIVER}),
        "invocations": items(INVOCATION),
        "columnKind": {"const": "unicodeCodePoints"},
        "artifacts": {**items(ARTIFACT), "uniqueItems": True},
        "results": items(RESULT),
    }
)
SARIF_SCHEMA = record({"$schema": TEXT, "version": {"const": "2.1.0"}, "runs": {**items(SARIF_RUN), "maxItems": 20}})
GITLAB_ROW = record(
    {
        "description": TEXT,
        "check_name": TEXT,
        "fingerprint": DIGEST,
        "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
        "location": record({"path": TEXT, "lines": record({"begin": {"type": "integer", "minimum": 1}})}),
    }
)


@pytest.fixture(params=["findings", "hostile", "missing", "elsewhere"])
def checked(request, repository):
    """Checks whose reports differ in shape."""
    policy = parse_policy(OWN, "scopes-check.toml", {})
    steps = [shell("make x"), shell("pytest -q", 1), edit("src/app.py")]
    if request.param == "hostile":
        steps = [shell(HOSTILE, 1), edit("a b%c[1]:#?é\ud800.py"), ("Bash", {"command": "make \x00 ::x"}, HOSTILE)]
    if request.param == "elsewhere":
        steps = [edit("/etc/passwd"), edit("../other.py"), edit("~/x.py"), edit("C:\\x.py"), edit("")]
        policy = replace(policy, path="/home/dev/rules/scopes-check.toml")
    run = judge(repository, run_of(repository, *steps, cwd="/home/dev/shop"), policy)
    if request.param == "missing":
        return replace(run, runs=(CheckedRun(name="", conversation=None, title=None, calls=0, verdicts=()), *run.runs))
    (only,) = run.runs
    source = RunSource("logs/run [1].jsonl", "codex", "stream", "ab" * 32)
    return replace(run, runs=(replace(only, name="logs/run\x01\udcff.jsonl", sources=(source, source)),))


def test_sarif_is_valid_and_every_result_has_a_location_in_the_repository(checked):
    """GitHub refuses a whole file if one result has no location."""
    report = json.loads(write_sarif(checked, "1.0"))
    jsonschema.Draft202012Validator(SARIF_SCHEMA).validate(report)
    (run,) = report["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(set(rules)) == len(rules)
    assert {result["kind"] for result in run["results"]} == {"fail", "open"} or checked.unknown == ()
    for result in run["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        (location,) = result["locations"]
        assert not location["physicalLocation"]["artifactLocation"]["uri"].startswith(("file:", "..", "~"))


def test_gitlab_code_quality_is_valid_and_no_two_fingerprints_are_equal(checked):
    rows = json.loads(write_gitlab(checked))
    jsonschema.Draft202012Validator(items(GITLAB_ROW)).validate(rows)
    assert len({row["fingerprint"] for row in rows}) == len(rows)
    assert not any(row["location"]["path"].startswith(("/", "..", "~")) for row in rows)


def test_junit_counts_its_cases_and_has_the_elements_that_readers_know(checked):
    root = ET.fromstring(write_junit(checked).encode("utf-8"))
    assert root.tag == "testsuites"
    for suite in root:
        assert suite.tag == "testsuite"
        assert int(suite.get("tests")) == len(suite)
        assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
        assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))
        for case in suite:
            assert case.get("name")
            assert case.get("classname")
            assert {child.tag for child in case} <= {"failure", "skipped", "system-out"}


@pytest.mark.skipif(not SARIF, reason="SCOPES_TEST_SARIF names no schema")
def test_sarif_is_valid_by_the_published_schema(checked):
    with open(SARIF, encoding="utf-8") as file:
        schema = json.load(file)
    validator = jsonschema.validators.validator_for(schema)(schema)
    validator.validate(json.loads(write_sarif(checked, "1.0")))


@pytest.mark.skipif(not JUNIT, reason="SCOPES_TEST_JUNIT names no schema")
def test_junit_is_valid_by_the_published_schema(checked):
    xmlschema = pytest.importorskip("xmlschema")
    xmlschema.XMLSchema(JUNIT).validate(ET.ElementTree(ET.fromstring(write_junit(checked).encode("utf-8"))))


def test_sarif_names_the_transcript_with_its_hash_once(checked):
    (run,) = json.loads(write_sarif(checked, "1.0"))["runs"]
    known = [{"location": {"uri": "logs/run%20%5B1%5D.jsonl"}, "hashes": {"sha-256": "ab" * 32}}]
    assert run["artifacts"] == ([] if not checked.runs[-1].sources else known)


def test_the_rules_of_a_policy_have_help_too(repository):
    policy = parse_policy(OWN, "scopes-check.toml", {})
    (run,) = json.loads(write_sarif(judge(repository, run_of(repository, shell("make x")), policy), "1.0"))["runs"]
    (rule,) = (each for each in run["tool"]["driver"]["rules"] if each["id"] == "ours/no-make")
    assert "never run(make **)" in rule["help"]["text"]
    assert rule["defaultConfiguration"]["level"] == "warning"


def test_text_of_an_agent_is_no_link_in_a_sarif_message(repository):
    checked = judge(repository, run_of(repository, shell("pytest # [x](https://evil.example)", 1)))
    (run,) = json.loads(write_sarif(checked, "1.0"))["runs"]
    text = next(each["message"]["text"] for each in run["results"] if each["ruleId"] == "order/tests-passed")
    assert r"\[x](https" in text


def test_code_flows_are_in_the_order_of_the_run(repository):
    checked = judge(repository, run_of(repository, shell("pytest"), edit("a.py")))
    (run,) = json.loads(write_sarif(checked, "1.0"))["runs"]
    (flow,) = run["results"][0]["codeFlows"][0]["threadFlows"]
    texts = [step["location"]["message"]["text"] for step in flow["locations"]]
    assert [text.rpartition(": ")[2] for text in texts] == ["pytest", "a.py"]


def test_sarif_keeps_the_most_severe_results_and_states_how_many_were_left_out(repository, monkeypatch):
    monkeypatch.setattr("scopes.render.reports.MAX_RESULTS", kept := amount(MAX_RESULTS, 50))
    checked = judge(repository, run_of(repository, shell("pytest", 1), edit("a.py")))
    (only,) = checked.runs
    verdict = next(each for each in only.verdicts if each.findings)
    notes = tuple(verdict.findings[0]._replace(level="note", fingerprint=f"{n}") for n in range(kept + 1_000))
    many = replace(checked, runs=(replace(only, verdicts=(verdict._replace(findings=notes), *only.verdicts)),))
    (run,) = json.loads(write_sarif(many, "1.0"))["runs"]
    assert len(run["results"]) == kept
    assert run["results"][0]["level"] == "error"
    ((notification,),) = (each["toolExecutionNotifications"] for each in run["invocations"])
    total = sum(len(each.findings) for each in many.runs[0].verdicts) + len(many.unknown)
    assert notification["message"]["text"].startswith(f"{total - kept} more results")


def test_sarif_is_never_larger_than_the_limit_of_an_upload(repository, monkeypatch):
    monkeypatch.setattr("scopes.render.reports.MAX_COMPRESSED", 1000)
    checked = judge(
        repository, run_of(repository, *[edit(f"f{n}.py") for n in range(3)], shell("sudo x"), shell("pytest", 1))
    )
    (run,) = json.loads(write_sarif(checked, "1.0"))["runs"]
    assert "toolExecutionNotifications" in run["invocations"][0]
