"""Suppressions of a policy: accepted findings, each with a reason and the day on which it returns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scopes.check.findings import Finding, Verdict
from scopes.check.policy import Suppression
from scopes.loading import load


class Suppressions:
    """Marks the findings that suppressions cover, and remembers which did, which would have, and what else stands."""

    def __init__(self, suppressions: Sequence[Suppression]) -> None:
        today = load("scopes.clock:now")()[:10] if suppressions else ""
        self._active = [each for each in suppressions if today <= each.until.isoformat()]
        self._ended = [each for each in suppressions if today > each.until.isoformat()]
        self._used: set[int] = set()
        self._missed: dict[int, Suppression] = {}
        self._open: dict[str, str] = {}  # what a finding that no suppression covers shows, by rule

    def apply(self, verdict: Verdict) -> Verdict:
        """Return the verdict with the reason in each finding that is covered; its status does not change."""
        return verdict._replace(findings=tuple(map(self._apply_to, verdict.findings)))

    def unused(self) -> Iterator[Suppression]:
        """Yield the active suppressions that covered no finding."""
        yield from (each for number, each in enumerate(self._active) if number not in self._used)

    def ended(self) -> Iterator[Suppression]:
        """Yield the suppressions whose last day is over and that would cover a finding that stands."""
        yield from (self._missed[number] for number in sorted(self._missed))

    def text_of_open(self, rule: str) -> str | None:
        """Return what the first finding of a rule that no suppression covers shows; None if there is none."""
        return self._open.get(rule)

    def _apply_to(self, finding: Finding) -> Finding:
        for number, each in enumerate(self._active):
            if _covers(each, finding):
                self._used.add(number)
                return finding._replace(suppressed=each.reason)
        self._missed.update((number, each) for number, each in enumerate(self._ended) if _covers(each, finding))
        text = finding.match or next((event.text for event in finding.events), "")
        if text:
            self._open.setdefault(finding.rule, text)
        return finding


def _covers(suppression: Suppression, finding: Finding) -> bool:
    texts = {finding.match, *(event.text for event in finding.events[:1])}
    return suppression.rule == finding.rule and (suppression.match is None or suppression.match in texts)
