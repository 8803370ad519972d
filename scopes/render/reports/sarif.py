"""A report as SARIF 2.1.0, for code scanning of GitHub and others.

The primary location of a result is in the repository; the transcript is a related location. GitHub refuses a whole file
if one result has no location, so a verdict without a finding has one too: its rule in the policy.
"""

from __future__ import annotations

import json
import re
import string
import zlib
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

from scopes.check.baseline import SARIF_FINGERPRINT
from scopes.check.check import Checked, CheckedRun
from scopes.check.findings import Finding, Verdict
from scopes.check.rules.base import Rule
from scopes.check.rules.registry import RULES
from scopes.render.reports.common import Row, clean_text, explain, list_rows, place_in_repository, place_of

MAX_RESULTS = 5000  # GitHub keeps the first 5,000 and refuses a file with more than 25,000
MAX_COMPRESSED = 10_000_000  # bytes; GitHub refuses a file that is larger after gzip
_MAX_STEPS = 100  # GitHub keeps the first 100 locations of a result
_LEVELS = {"error": "error", "warning": "warning", "note": "note", "off": "none"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_IN_URI = frozenset(f"{string.ascii_letters}{string.digits}-._~/".encode())
_LINK = re.compile(r"\[(?=[^\[\]]*\]\()")  # `[text](target)` in a message is a link


def write_sarif(checked: Checked, version: str) -> str:
    """Return the report; findings that do not count are suppressed results, unknown verdicts are of kind `open`.

    Of more than MAX_RESULTS the least severe are left out, and also if the report would be too large for GitHub. A
    notification states how many.
    """
    rows = list_rows(checked)
    unknown = [(run, each) for run in checked.runs for each in run.verdicts if each.status == "unknown"]
    limit = min(MAX_RESULTS, len(rows) + len(unknown))
    while True:
        text = _write(checked, version, rows[:limit], unknown[: max(limit - len(rows), 0)], len(rows) + len(unknown))
        if len(text) <= MAX_COMPRESSED or len(zlib.compress(text.encode("ascii"))) <= MAX_COMPRESSED or not limit:
            return text
        limit //= 2


def _write(
    checked: Checked, version: str, rows: Sequence[Row], unknown: Sequence[tuple[CheckedRun, Verdict]], total: int
) -> str:
    levels = {verdict.rule: verdict.level for _, verdict in unknown} | {
        row.finding.rule: row.finding.level for row in rows
    }
    ids = list(dict.fromkeys([*(row.finding.rule for row in rows), *levels]))
    sources = dict.fromkeys((source.path, source.digest) for run in checked.runs for source in run.sources)
    artifacts = {path: index for index, (path, _) in reversed(list(enumerate(sources)))}
    invocation: dict[str, Any] = {"executionSuccessful": True, "exitCode": checked.exit_code}
    left_out = total - len(rows) - len(unknown)
    if left_out:
        text = f"{left_out} more results were left out, the least severe ones"
        invocation["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text}}]
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "scopes check",
                "semanticVersion": version,
                "rules": [_rule(name, levels[name], checked) for name in ids],
            }
        },
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "artifacts": [_artifact(path, digest) for path, digest in sources],
        "results": [
            *(_result(row, ids, checked, artifacts) for row in rows),
            *(_open_result(run, verdict, ids, checked) for run, verdict in unknown),
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=True) + "\n"


def _rule(name: str, level: str, checked: Checked) -> dict[str, Any]:
    """Return the description of a rule: GitHub shows `help` next to an alert."""
    rule = RULES.get(name)
    if rule is None:
        text = checked.own_rules.get(name, name)
        summary, explanation = f"A rule of the policy: {text}", f"The policy has this rule: {text}"
        shown, default = explanation, level
    else:
        summary, explanation, default = rule.summary, rule.explanation, rule.level
        shown = _help(rule)
    return {
        "id": name,
        "shortDescription": {"text": clean_text(summary)},
        "fullDescription": {"text": clean_text(explanation)},
        "help": {"text": clean_text(f"{shown}\n\nSee: scopes check --list {quote(name)}")},
        "defaultConfiguration": {"level": _LEVELS[default]},
    }


def _help(rule: Rule) -> str:
    parameters = [f"{each.name}: {each.summary}" for each in rule.parameters]
    return "\n".join([rule.explanation, *(["", "Parameters:", *parameters] if parameters else [])])


def _artifact(path: str, digest: str) -> dict[str, Any]:
    artifact: dict[str, Any] = {"location": {"uri": _uri(path)}}
    return artifact | ({"hashes": {"sha-256": digest}} if digest else {})


def _result(row: Row, ids: list[str], checked: Checked, artifacts: dict[str, int]) -> dict[str, Any]:
    finding = row.finding
    place = _place(checked, finding.rule, finding)
    location: dict[str, Any] = {"physicalLocation": place}
    if finding.events:
        location["logicalLocations"] = [{"name": finding.events[0].message, "kind": "message"}]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": ids.index(finding.rule),
        "level": _LEVELS[finding.level],
        "kind": "fail",
        "message": {"text": _LINK.sub(r"\\[", "\n".join(explain(row)))},
        "locations": [location],
        "partialFingerprints": {SARIF_FINGERPRINT: finding.fingerprint},
    }
    related = list(_related(finding, place, artifacts))
    if related:
        result["relatedLocations"] = related
    if len(related) > 1:
        in_order = sorted(related, key=lambda each: finding.events[each["id"]].number)
        steps = [{"location": each, "executionOrder": order} for order, each in enumerate(in_order)]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.suppressed is not None:
        result["suppressions"] = [{"kind": "external", "justification": clean_text(finding.suppressed)}]
    elif finding.known:
        result["suppressions"] = [{"kind": "external", "justification": "in the baseline"}]
    return result


def _place(checked: Checked, rule: str, finding: Finding | None = None) -> dict[str, Any]:
    path, line = place_in_repository(checked, rule, finding)
    return {"artifactLocation": {"uri": _uri(path), "uriBaseId": "%SRCROOT%"}, "region": {"startLine": line}}


def _related(finding: Finding, place: dict[str, Any], artifacts: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Yield the records of the transcript that decided a finding; GitHub wants a file for each, so `place` if none."""
    for number, event in enumerate(finding.events[:_MAX_STEPS]):
        text = _LINK.sub(r"\\[", f"{place_of(event)}: {event.text}")
        location: dict[str, Any] = {"id": number, "message": {"text": text}, "physicalLocation": place}
        if event.path is not None and event.line is not None:
            artifact: dict[str, Any] = {"uri": _uri(event.path)}
            if event.path in artifacts:
                artifact["index"] = artifacts[event.path]
            location["physicalLocation"] = {"artifactLocation": artifact, "region": {"startLine": event.line}}
        yield location


def _open_result(run: CheckedRun, verdict: Verdict, ids: list[str], checked: Checked) -> dict[str, Any]:
    """Return a result of kind `open` for a verdict that is unknown."""
    return {
        "ruleId": verdict.rule,
        "ruleIndex": ids.index(verdict.rule),
        "level": "none",
        "kind": "open",
        "message": {"text": clean_text(f"{run.name}: cannot be judged: {verdict.reason}")},
        "locations": [{"physicalLocation": _place(checked, verdict.rule)}],
    }


def _uri(path: str) -> str:
    """Return a path as a URI: relative, or of the scheme `file`."""
    quoted = "".join(chr(byte) if byte in _IN_URI else f"%{byte:02X}" for byte in path.encode("utf-8", "replace"))
    return f"file://{quoted}" if path.startswith("/") else quoted
