"""Suppressions of a policy: accepted findings, each with a reason and the day on which it returns."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence

from scopes.check.findings import Finding, Verdict
from scopes.check.policy import Suppression


class Suppressions:
    """Marks the findings that suppressions cover; remembers which did, which would have, and what none covers."""

    def __init__(self, suppressions: Sequence[Suppression]) -> None:
        today = ""
        if suppressions:
            from scopes.clock import now

            today = now()[:10]
        self._active = [each for each in suppressions if today <= each.until.isoformat()]
        self._ended = [each for each in suppressions if today > each.until.isoformat()]
        self._used: set[int] = set()
        self._missed: dict[int, Suppression] = {}
        self._open: dict[str, Finding] = {}  # the first finding with a text that no suppression covers, by rule

    def apply(self, verdict: Verdict) -> Verdict:
        """Return the verdict with the reason in each finding that is covered; its status does not change."""
        return verdict._replace(findings=tuple(map(self._apply_to, verdict.findings)))

    def unused(self) -> Iterator[Suppression]:
        """Yield the active suppressions that covered no finding."""
        yield from (each for number, each in enumerate(self._active) if number not in self._used)

    def ended(self) -> Iterator[Suppression]:
        """Yield the suppressions whose last day is over and that would cover a finding that no other one covers."""
        yield from (self._missed[number] for number in sorted(self._missed))

    def open_finding(self, rule: str) -> Finding | None:
        """Return the first finding of a rule that shows a text and that no suppression covers; None without one."""
        return self._open.get(rule)

    def _apply_to(self, finding: Finding) -> Finding:
        for number, each in enumerate(self._active):
            if _covers(each, finding):
                self._used.add(number)
                return finding._replace(suppressed=each.reason)
        self._missed.update((number, each) for number, each in enumerate(self._ended) if _covers(each, finding))
        if finding.match or any(event.text for event in finding.events[:1]):
            self._open.setdefault(finding.rule, finding)
        return finding


def _covers(suppression: Suppression, finding: Finding) -> bool:
    """Return True if a suppression covers a finding: its matched part, or its whole first event, where that ran."""
    if suppression.rule != finding.rule:
        return False
    wanted, directory = suppression.match, _normalized(suppression.directory)
    event = finding.events[0] if finding.events else None
    if wanted is None:
        return True
    if wanted == finding.match or (finding.match is None and event is not None and wanted == event.text):
        return directory == finding.directory
    return event is not None and wanted == event.text and directory == event.directory


def _normalized(directory: str | None) -> str | None:
    """Return a directory as findings have it; None for the workspace."""
    normal = None if directory is None else posixpath.normpath(directory)
    return None if normal == "." else normal
