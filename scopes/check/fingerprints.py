"""Fingerprints of findings: equal in every run that breaks a rule in the same way, for baselines and reports."""

from __future__ import annotations

from collections import Counter

from scopes.check.findings import Verdict
from scopes.check.run import Run
from scopes.loading import load


def with_fingerprints(run: Run, verdict: Verdict) -> Verdict:
    """Return the verdict with a fingerprint for each finding: no times, ids or line numbers go into it.

    The directory of a command does: `rm -rf build` is another breach elsewhere.
    """
    seen: Counter[str] = Counter()
    findings = []
    for finding in verdict.findings:
        event = finding.match or (finding.events[0].text if finding.events else "")
        text = f"{finding.rule}\n{_normalized(event, run.directory)}\n{_normalized(finding.file or '', run.directory)}"
        if finding.directory is not None:  # a command outside of the top of the workspace
            text += f"\n{_normalized(finding.directory, None)}"
        seen[text] += 1
        digest = load("hashlib:sha256")(f"{text}\n{seen[text]}".encode("utf-8", "surrogatepass")).hexdigest()
        findings.append(finding._replace(fingerprint=digest))
    return verdict._replace(findings=tuple(findings))


def _normalized(text: str, directory: str | None) -> str:
    text = text.replace(directory, ".") if directory and directory != "/" else text
    return " ".join(text.split())
