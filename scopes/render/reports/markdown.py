"""A report as Markdown, for a comment or the summary of a job."""

from __future__ import annotations

import re
from collections.abc import Sequence

from scopes.check.check import Checked
from scopes.render.reports.common import Row, clean_text, explain, fenced, list_rows
from scopes.result import plural
from scopes.sanitize import escape_runner_commands

_MAX_FINDINGS = 200
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~@-])")


def write_markdown(checked: Checked, limit: int | None = None) -> str:
    """Return the report, which a runner may read; with a limit in bytes the least severe findings are left out."""
    rows = list_rows(checked, counting=True)[:_MAX_FINDINGS]
    while True:
        text = escape_runner_commands(_page(checked, rows))
        if limit is None or len(text.encode("utf-8", "replace")) <= limit or not rows:
            return text
        rows = rows[: len(rows) // 2]


def write_failure(message: str, hint: str | None) -> str:
    """Return the report of a check that stopped before it judged anything."""
    text = fenced("\n".join(clean_text(each) for each in (message, hint) if each))
    return escape_runner_commands(f"## scopes check stopped\n\nNothing was judged.\n\n{text}\n")


def _page(checked: Checked, rows: Sequence[Row]) -> str:
    every = list_rows(checked, counting=True)
    lines = [f"## scopes check {'failed' if checked.failed else 'passed'}", ""]
    found = len(list_rows(checked))
    accepted = f" ({found - len(every)} accepted)" if found > len(every) else ""
    lines.append(
        f"{len(checked.runs)} {plural(len(checked.runs), 'run')}, {found} {plural(found, 'finding')}{accepted}, "
        f"{len(checked.unknown)} unknown."
    )
    for row in rows:
        lines += ["", f"### {row.finding.level}: {escape(row.finding.message)}", "", fenced("\n".join(explain(row)))]
    if len(every) > len(rows):
        lines += ["", f"{len(every) - len(rows)} more."]
    if checked.unknown:
        lines += ["", "### Cannot be judged", ""]
        for run in checked.runs:
            unknown = [each for each in run.verdicts if each.status == "unknown"]
            lines += [f"- {escape(run.name)}: {escape(each.rule)}: {escape(each.reason)}" for each in unknown]
    return "\n".join(lines) + "\n"


def escape(text: str) -> str:
    """Return a text as one line in which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(clean_text(text).split()))
