"""What the reports have in common: findings without control characters, their order, one explanation of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from scopes import sanitize
from scopes.check.check import Checked, CheckedRun
from scopes.check.findings import LEVELS, Event, Finding, how_it_ended
from scopes.check.rules.base import FILE_NAME

_BACKQUOTES = re.compile(r"`+")


class Row(NamedTuple):
    """A finding of a run."""

    run: CheckedRun
    finding: Finding


def list_rows(checked: Checked, *, counting: bool = False) -> list[Row]:
    """Return all findings, the most severe first; with `counting` only those that are not accepted."""
    rows = [
        Row(run, clean(finding)) for run in checked.runs for finding in run.findings if finding.counts or not counting
    ]
    return sorted(rows, key=lambda row: LEVELS.index(row.finding.level))


def clean_text(text: str) -> str:
    """Return a text without control characters; line breaks stay."""
    return sanitize.clean(text)


def clean(finding: Finding) -> Finding:
    """Return a finding without control characters; secrets were redacted when it was found."""
    return finding._replace(
        message=clean_text(finding.message),
        match=None if finding.match is None else clean_text(finding.match),
        events=tuple(event._replace(text=clean_text(event.text)) for event in finding.events),
        cure=clean_text(finding.cure),
    )


def explain(row: Row) -> Iterator[str]:
    """Yield the lines that explain a finding: what, where, the events in order, and what to do about it."""
    finding = row.finding
    yield f"{finding.level}: {finding.rule}: {finding.message}"
    if finding.match is not None:
        yield f"matched: {finding.match}" + (f" (unwrapped from {finding.wrapper})" if finding.wrapper else "")
    for event in finding.events:
        yield f"{place_of(event)}: {event.text}"
    if not finding.events and row.run.name:
        yield f"run: {clean_text(row.run.name)}"
    if finding.directory is not None:
        yield f"directory: {finding.directory}"
    if finding.outcome in {"denied", "failed"}:
        yield f"the call {how_it_ended(finding)}" + (": one level lower" if finding.attempted else "")
    if finding.cure and finding.counts:
        yield f"what to do: {finding.cure}"


def place_of(event: Event) -> str:
    """Return the line of the transcript of an event, else its message."""
    return f"{event.path}:{event.line}" if event.path is not None else f"message {event.message[:8]}"


def place_in_repository(
    checked: Checked, rule: str, finding: Finding | None = None, *, default: str = FILE_NAME
) -> tuple[str, int]:
    """Return the file and the line at which a CI system shows a finding, or a verdict without one.

    An annotation of a file outside the repository is shown nowhere, so it is the file that the finding is about if that
    is in the repository, else the rule in the policy; without a policy the transcript if that is in the repository,
    else the file that defines the job, or `default` if that is unknown: SARIF and GitLab need a file.
    """
    return _find_place(checked, rule, finding) or (checked.job_file or default, 1)


def has_place(checked: Checked, finding: Finding) -> bool:
    """Return True if a finding has a place other than the definition of the job."""
    return _find_place(checked, finding.rule, finding) is not None


def _find_place(checked: Checked, rule: str, finding: Finding | None) -> tuple[str, int] | None:
    if finding is not None and finding.file is not None and _is_inside(finding.file):
        return finding.file, finding.file_line or 1
    if finding is not None and checked.policy is None:
        for event in finding.events:
            if event.path is not None and _is_inside(event.path):
                return event.path, event.line or 1
    policy = (checked.paths.get(rule) or checked.policy or "").rpartition(":")[2]
    return (policy, checked.lines.get(rule, 1)) if _is_inside(policy) else None


def _is_inside(path: str) -> bool:
    outside = path.startswith(("/", "~", "\\")) or ":" in path[:3] or ".." in path.replace("\\", "/").split("/")
    return bool(path) and not outside


def fenced(text: str) -> str:
    """Return a Markdown code block whose fence is longer than any in the text."""
    longest = max((len(found) for found in _BACKQUOTES.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text}\n{fence}"
