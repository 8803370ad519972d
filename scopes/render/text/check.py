"""Render the verdicts of `check`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted
from scopes.render.view import Span, View

if TYPE_CHECKING:
    from scopes.check.check import Checked, CheckedRun
    from scopes.check.findings import Finding
    from scopes.render.color import Style

_STYLES: dict[str, Style] = {"error": "bad", "warning": "warn", "note": "dim"}


@render_text.register
def render_checked(result: Checked, view: View) -> None:
    """Write each finding with the events that decided it, then what could not be judged, and a summary."""
    for run in result.runs:
        for finding in run.findings:
            _write_finding(run, finding, view)
    for run in result.runs:
        for verdict in run.verdicts:
            if verdict.status == "unknown":
                view.line(Span("unknown  ", "dim"), Span(verdict.rule), f"  {run.name}: {verdict.reason}")
    found = sum(len(run.findings) for run in result.runs)
    passed = sum(verdict.status == "pass" for run in result.runs for verdict in run.verdicts)
    unknown = len(result.unknown)
    word = Span("failed", "bad") if result.failed else Span("passed", "good")
    view.line(
        word, f": {counted(len(result.runs), 'run')}, {counted(found, 'finding')}, {passed} passed, {unknown} unknown"
    )


def _write_finding(run: CheckedRun, finding: Finding, view: View) -> None:
    level = Span(f"{finding.level:<8}", _STYLES.get(finding.level, "dim"))
    tail = " (suppressed)" if finding.suppressed else " (attempted)" if finding.attempted else ""
    view.line(level, " ", Span(finding.rule, "key"), f"  {run.name}: {finding.message}{tail}")
    for event in finding.events:
        place = f"{event.path}:{event.line}" if event.path else event.message
        view.line("    ", Span(place, "dim"), f"  {event.text}")
    if finding.cure:
        view.line("    ", Span(f"to allow it: {finding.cure}", "dim"))
