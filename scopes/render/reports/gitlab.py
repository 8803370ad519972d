"""A report as GitLab code quality JSON."""

from __future__ import annotations

import json
from hashlib import sha256

from scopes.check.check import Checked
from scopes.render.reports.common import clean_text, list_rows, place_in_repository

_JOB_FILE = ".gitlab-ci.yml"
_SEVERITIES = {"error": "critical", "warning": "major", "note": "info", "off": "info"}


def write_gitlab(checked: Checked) -> str:
    """Return the findings that count. Equal fingerprints would hide each other, so the run is part of them."""
    rows = []
    for row in list_rows(checked, counting=True):
        finding = row.finding
        path, line = place_in_repository(checked, finding.rule, finding, default=_JOB_FILE)
        rows.append(
            {
                "description": f"{finding.message} ({clean_text(row.run.name)})",
                "check_name": finding.rule,
                "fingerprint": sha256(f"{row.run.name}\n{finding.fingerprint}".encode("utf-8", "replace")).hexdigest(),
                "severity": _SEVERITIES[finding.level],
                "location": {"path": path, "lines": {"begin": line}},
            }
        )
    return json.dumps(rows, indent=1, ensure_ascii=True) + "\n"
