"""Format the verdicts of `check` as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.check.check import Checked, CheckedRun
    from scopes.check.explain import RuleExplained, RuleList, RuleRow
    from scopes.check.findings import Finding, Verdict
    from scopes.check.rule_tests import RuleTests


@to_wire.register
def format_checked(result: Checked) -> dict[str, object]:
    """Return all findings as rows, and the verdict of every rule for every run."""
    return without_none(
        kind="check",
        result="fail" if result.failed else "pass",
        fail_on=result.fail_on,
        policy=result.policy,
        findings=[_format_finding(run, finding) for run in result.runs for finding in run.findings],
        runs=[_format_run(run) for run in result.runs],
    )


def _format_run(run: CheckedRun) -> dict[str, object]:
    return without_none(
        name=run.name,
        conversation=run.conversation,
        title=run.title,
        calls=run.calls,
        verdicts=[_format_verdict(verdict) for verdict in run.verdicts],
    )


def _format_verdict(verdict: Verdict) -> dict[str, object]:
    return without_none(rule=verdict.rule, level=verdict.level, status=verdict.status, reason=verdict.reason or None)


def _format_finding(run: CheckedRun, finding: Finding) -> dict[str, object]:
    return without_none(
        run=run.name,
        rule=finding.rule,
        level=finding.level,
        message=finding.message,
        file=finding.file,
        file_line=finding.file_line,
        match=finding.match,
        wrapper=finding.wrapper,
        attempted=finding.attempted,
        outcome=finding.outcome,
        exit_code=finding.exit_code,
        directory=finding.directory,
        suppressed=finding.suppressed,
        known=finding.known,
        fingerprint=finding.fingerprint,
        cure=finding.cure or None,
        events=[without_none(**event._asdict()) for event in finding.events],
    )


@to_wire.register
def format_rule_list(result: RuleList) -> dict[str, object]:
    """Return a row for each rule."""
    return {"kind": "rule-list", "rules": [_format_rule(rule) for rule in result.rules]}


@to_wire.register
def format_rule_explained(result: RuleExplained) -> dict[str, object]:
    """Return one rule."""
    return {"kind": "rule-explained", **_format_rule(result.rule)}


def _format_rule(rule: RuleRow) -> dict[str, object]:
    return without_none(
        id=rule.id,
        level=rule.level,
        summary=rule.summary,
        explanation=rule.explanation,
        own=rule.own,
        place=rule.place,
        attempts=rule.attempts,
        parameters=[without_none(name=each.name, value=each.value, summary=each.summary) for each in rule.parameters],
    )


@to_wire.register
def format_rule_tests(result: RuleTests) -> dict[str, object]:
    """Return a row for each expectation and each unexpected finding."""
    return {
        "kind": "rule-tests",
        "result": "fail" if result.failed else "pass",
        "tests": list(result.tests),
        "cases": [without_none(**case._asdict()) for case in result.cases],
        "uncovered": [{"rule": each.rule, "missing": list(each.missing)} for each in result.uncovered],
    }
