"""Annotations of GitHub Actions. Text of an agent could begin with `::`, which is a command to the runner."""

from __future__ import annotations

from scopes.check.check import Checked
from scopes.render.reports.common import clean_text, has_place, list_rows, place_in_repository
from scopes.sanitize import escape_runner_commands

_MAX_OF_A_KIND = 10  # the runner shows ten annotations of a kind in a step
_KINDS = {"error": "error", "warning": "warning", "note": "notice"}


def write_github(checked: Checked) -> str:
    """Return an annotation for each finding that counts: nine of a kind and the number of others, the worst first."""
    lines: list[str] = []
    for level, kind in _KINDS.items():
        rows = [row for row in list_rows(checked, counting=True) if row.finding.level == level]
        shown = rows if len(rows) <= _MAX_OF_A_KIND else rows[: _MAX_OF_A_KIND - 1]
        for row in shown:
            finding = row.finding
            path, line = place_in_repository(checked, finding.rule, finding)
            place = f"file={_property(path)},line={line}," if has_place(checked, finding) else ""
            lines.append(
                f"::{kind} {place}title={_property(finding.rule)}::{_data(f'{finding.message} ({row.run.name})')}"
            )
        if len(shown) < len(rows):
            lines.append(f"::{kind} title=scopes check::{len(rows) - len(shown)} more of this level")
    return "".join(f"{line}\n" for line in lines)


def annotate_failure(message: str) -> str:
    """Return the annotation of a check that stopped before it judged anything."""
    return f"::error title=scopes check::{_data(message)}\n"


def stop_commands(text: str, token: str) -> str:
    """Return a text in lines between which the runner executes no commands; the token must be random."""
    end = "" if text.endswith("\n") else "\n"
    return f"::stop-commands::{token}\n{text}{end}::{token}::\n"


def _data(text: str) -> str:
    return escape_runner_commands(clean_text(text)).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
