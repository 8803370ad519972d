"""Suppressions of a policy: accepted findings, each with a reason and the day on which it returns."""

from __future__ import annotations

from scopes.check.findings import Verdict
from scopes.check.policy import Policy
from scopes.clock import now


def suppress(verdict: Verdict, policy: Policy) -> Verdict:
    """Mark the findings that a suppression covers; a verdict whose findings are all suppressed stays `fail`."""
    today = now()[:10]
    rules = [each for each in policy.suppressions if each.rule == verdict.rule and today <= each.until.isoformat()]
    if not rules:
        return verdict
    findings = []
    for finding in verdict.findings:
        texts = [finding.match or "", *(event.text for event in finding.events[:1])]
        found = next((each for each in rules if each.match is None or each.match in texts), None)
        findings.append(finding if found is None else finding._replace(suppressed=found.reason))
    return verdict._replace(findings=tuple(findings))
