"""A report as JUnit XML: a suite for each run, a case for each rule."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from scopes.check.check import Checked, CheckedRun
from scopes.check.findings import Verdict, is_at_least
from scopes.render.reports.common import Row, clean, clean_text, explain

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(checked: Checked) -> str:
    """Return the report; a rule fails if a finding fails the check, and is skipped if it cannot be judged."""
    suites = [_suite(run, checked.fail_on, unknown_fails=checked.unknown_fails) for run in checked.runs]
    return '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n' + "".join(suites) + "</testsuites>\n"


def _suite(run: CheckedRun, fail_on: str, *, unknown_fails: bool) -> str:
    cases = [_case(run, verdict, fail_on, unknown_fails=unknown_fails) for verdict in run.verdicts]
    failures = sum("<failure " in case for case in cases)
    skipped = sum("<skipped " in case for case in cases)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}" time="0"'
    return f"<testsuite name={_attribute(run.name or 'scopes check')} {counts}>\n{''.join(cases)}</testsuite>\n"


def _case(run: CheckedRun, verdict: Verdict, fail_on: str, *, unknown_fails: bool) -> str:
    rows = [Row(run, clean(finding)) for finding in verdict.findings]
    failing = [row for row in rows if row.finding.counts and is_at_least(row.finding.level, fail_on)]
    others = [row for row in rows if row not in failing]
    content = ""
    if failing:
        text = "\n\n".join("\n".join(explain(row)) for row in failing)
        content = f"<failure message={_attribute(failing[0].finding.message)}>{_text(text)}</failure>"
    elif verdict.status == "unknown" and unknown_fails and is_at_least(verdict.level, fail_on):
        content = f"<failure message={_attribute(verdict.reason)}>cannot be judged</failure>"
    elif verdict.status == "unknown":
        content = f"<skipped message={_attribute(verdict.reason)} />"
    if others:
        text = "\n\n".join("\n".join(explain(row)) for row in others)
        content += f"<system-out>{_text(text)}</system-out>"
    name = f'name={_attribute(verdict.rule)} classname={_attribute(run.name or "scopes check")} time="0"'
    return f"<testcase {name}>{content}</testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", clean_text(text)).replace("\n", " "))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))
