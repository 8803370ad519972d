"""Suppressions of a policy: accepted findings, each with a reason and the day on which it returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scopes.check.findings import Finding, Verdict
from scopes.check.policy import Suppression
from scopes.loading import load


class Suppressions:
    """Marks the findings that suppressions cover, and remembers which of these covered any."""

    def __init__(self, suppressions: Sequence[Suppression]) -> None:
        today = load("scopes.clock:now")()[:10] if suppressions else ""
        self._active = [each for each in suppressions if today <= each.until.isoformat()]
        self._used: set[int] = set()

    def apply(self, verdict: Verdict) -> Verdict:
        """Return the verdict with the reason in each finding that is covered; its status does not change."""
        return verdict._replace(findings=tuple(map(self._apply_to, verdict.findings)))

    def unused(self) -> Iterator[Suppression]:
        """Yield the active suppressions that covered no finding."""
        yield from (each for number, each in enumerate(self._active) if number not in self._used)

    def _apply_to(self, finding: Finding) -> Finding:
        texts = {finding.match, *(event.text for event in finding.events[:1])}
        for number, each in enumerate(self._active):
            if each.rule == finding.rule and (each.match is None or each.match in texts):
                self._used.add(number)
                return finding._replace(suppressed=each.reason)
        return finding
