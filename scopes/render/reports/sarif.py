"""A report as SARIF 2.1.0, for code scanning of GitHub and others.

An alert in a file outside the repository is shown nowhere, so the primary location is the file of the repository that
the finding is about, else the rule's line in the policy. The transcript is a related location.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scopes.check.baseline import SARIF_FINGERPRINT
from scopes.check.check import Checked
from scopes.check.rules.base import FILE_NAME
from scopes.check.rules.registry import RULES
from scopes.render.reports.common import Row, explain, list_rows, place_of

MAX_RESULTS = 5000  # GitHub keeps the first 5,000 of at most 25,000
_LEVELS = {"error": "error", "warning": "warning", "note": "note", "off": "none"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_sarif(checked: Checked, version: str) -> str:
    """Return the report; findings that do not count are suppressed results, unknown verdicts are of kind `open`."""
    rows = list_rows(checked)[:MAX_RESULTS]
    ids = list(dict.fromkeys([*(row.finding.rule for row in rows), *(verdict.rule for verdict in checked.unknown)]))
    results = [*(_result(row, ids, checked) for row in rows), *_open_results(checked, ids, MAX_RESULTS - len(rows))]
    document = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "scopes check",
                        "semanticVersion": version,
                        "rules": [_rule(name) for name in ids],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=True) + "\n"


def _rule(name: str) -> dict[str, Any]:
    rule = RULES.get(name)
    if rule is None:
        return {"id": name}
    return {
        "id": name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.explanation},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
    }


def _result(row: Row, ids: list[str], checked: Checked) -> dict[str, Any]:
    finding = row.finding
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": ids.index(finding.rule),
        "level": _LEVELS[finding.level],
        "kind": "fail",
        "message": {"text": "\n".join(explain(row))},
        "locations": [_location(row, checked)],
        "partialFingerprints": {SARIF_FINGERPRINT: finding.fingerprint},
    }
    related = list(_related(row))
    if related:
        result["relatedLocations"] = related
    if len(related) > 1:
        steps = [{"location": location, "executionOrder": order} for order, location in enumerate(related)]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.suppressed is not None:
        result["suppressions"] = [{"kind": "external", "justification": finding.suppressed}]
    elif finding.known:
        result["suppressions"] = [{"kind": "external", "justification": "in the baseline"}]
    return result


def _location(row: Row, checked: Checked) -> dict[str, Any]:
    finding = row.finding
    path, line = finding.file, finding.file_line
    if path is None or path.startswith(("/", "~", "..")) or ":" in path[:3]:
        path, line = (checked.policy or FILE_NAME).rpartition(":")[2], checked.lines.get(finding.rule)
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": path.replace(" ", "%20"), "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": line or 1},
        }
    }
    if finding.events:
        location["logicalLocations"] = [{"name": finding.events[0].message, "kind": "message"}]
    return location


def _related(row: Row) -> Iterator[dict[str, Any]]:
    for number, event in enumerate(row.finding.events):
        location: dict[str, Any] = {"id": number, "message": {"text": f"{place_of(event)}: {event.text}"}}
        if event.path is not None and event.line is not None:
            uri = ("file://" if event.path.startswith("/") else "") + event.path.replace(" ", "%20")
            location["physicalLocation"] = {"artifactLocation": {"uri": uri}, "region": {"startLine": event.line}}
        yield location


def _open_results(checked: Checked, ids: list[str], limit: int) -> Iterator[dict[str, Any]]:
    """Yield a result of kind `open` for each verdict that is unknown."""
    verdicts = [(run, verdict) for run in checked.runs for verdict in run.verdicts if verdict.status == "unknown"]
    for run, verdict in verdicts[: max(limit, 0)]:
        yield {
            "ruleId": verdict.rule,
            "ruleIndex": ids.index(verdict.rule),
            "level": "none",
            "kind": "open",
            "message": {"text": f"{run.name}: cannot be judged: {verdict.reason}"},
        }
