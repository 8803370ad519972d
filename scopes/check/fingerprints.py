"""Fingerprints of findings: equal in every run that breaks a rule in the same way, for baselines and reports."""

from __future__ import annotations

import posixpath
from collections import Counter

from scopes.check.findings import Verdict
from scopes.check.run import Run


def with_fingerprints(run: Run, verdict: Verdict) -> Verdict:
    """Return the verdict with a fingerprint for each finding: no times, ids or line numbers go into it.

    The directory of a command does: `rm -rf build` is another breach elsewhere.
    """
    edits = {call.number for call in run.calls if call.shell is None}
    seen: Counter[str] = Counter()
    findings = []
    for finding in verdict.findings:
        event = finding.match or (finding.events[0].text if finding.events else "")
        shown = _normalized(event, run.directory)
        if finding.match is None and finding.events and finding.events[0].number in edits:
            shown = shown.removeprefix("./")  # a path, which a session file has relative and its stream absolute
        text = f"{finding.rule}\n{shown}\n{_normalized(finding.file or '', run.directory).removeprefix('./')}"
        if finding.directory is not None:  # a command outside of the top of the workspace
            text += f"\n{_normalized(finding.directory, None)}"
        seen[text] += 1
        findings.append(finding._replace(fingerprint=_digest(f"{text}\n{seen[text]}")))
    return verdict._replace(findings=tuple(findings))


def fingerprint_of_missing(rule: str, name: str) -> str:
    """Return the fingerprint of the finding that a run is missing, by its name: the reason does not go into it."""
    return _digest(f"{rule}\n{name}")


def _digest(text: str) -> str:
    from hashlib import sha256

    return str(sha256(text.encode("utf-8", "surrogatepass")).hexdigest())


def guess_directories(run: Run) -> list[str]:
    """Return the directories in which a run without a recorded one can have worked, from the files that it wrote."""
    paths = [edit.path for call in run.calls for edit in call.edits if edit.path.startswith("/")]
    if run.directory is not None or not paths:
        return []
    folder = posixpath.commonpath([posixpath.dirname(posixpath.normpath(path)) for path in paths])
    found = []
    while folder not in {"/", "//"}:
        found.append(folder)
        folder = posixpath.dirname(folder)
    return found


def _normalized(text: str, directory: str | None) -> str:
    text = text.replace(directory, ".") if directory and directory != "/" else text
    return " ".join(text.split())
