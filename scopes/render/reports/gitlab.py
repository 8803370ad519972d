"""A report as GitLab code quality JSON."""

from __future__ import annotations

import json
from hashlib import sha256

from scopes.check.check import Checked
from scopes.check.rules.base import FILE_NAME
from scopes.render.reports.common import list_rows

_SEVERITIES = {"error": "critical", "warning": "major", "note": "info", "off": "info"}


def write_gitlab(checked: Checked) -> str:
    """Return the findings that count. Equal fingerprints would hide each other, so the run is part of them."""
    rows = []
    for row in list_rows(checked, counting=True):
        finding = row.finding
        inside = finding.file is not None and not finding.file.startswith(("/", "~", ".."))
        path = finding.file if inside and finding.file else (checked.policy or FILE_NAME).rpartition(":")[2]
        line = finding.file_line if inside else checked.lines.get(finding.rule)
        rows.append(
            {
                "description": f"{finding.message} ({row.run.name})",
                "check_name": finding.rule,
                "fingerprint": sha256(f"{row.run.name}\n{finding.fingerprint}".encode("utf-8", "replace")).hexdigest(),
                "severity": _SEVERITIES[finding.level],
                "location": {"path": path, "lines": {"begin": line or 1}},
            }
        )
    return json.dumps(rows, indent=1, ensure_ascii=True) + "\n"
