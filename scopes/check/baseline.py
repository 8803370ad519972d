"""A baseline: the findings of an earlier check, which do not make a later one fail."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from scopes.check.findings import Finding
from scopes.errors import Invalid

SARIF_FINGERPRINT = "scopes/v1"


def read_baseline(data: bytes, path: str) -> frozenset[str]:
    """Return the fingerprints of a report of `check`, as SARIF or as JSON.

    Raises:
        Invalid: it is neither.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise Invalid(
            f"{path} is not a report of scopes check: {_explain(error)}", hint="give a SARIF or JSON report"
        ) from error
    found = set(_walk_fingerprints(document))
    if not found and not _is_report(document):
        raise Invalid(f"{path} is not a report of scopes check", hint="give a SARIF or JSON report")
    return frozenset(found)


def mark_known(findings: tuple[Finding, ...], known: frozenset[str]) -> tuple[Finding, ...]:
    """Return the findings, those of the baseline marked."""
    return tuple(finding._replace(known=finding.fingerprint in known) for finding in findings)


def _explain(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return str(error)
    if isinstance(error, UnicodeDecodeError):
        return "it is not valid UTF-8"
    return "it is nested too deeply" if isinstance(error, RecursionError) else "a number has too many digits"


def _is_report(document: Any) -> bool:
    return isinstance(document, dict) and (document.get("kind") == "check" or isinstance(document.get("runs"), list))


def _walk_fingerprints(document: Any) -> Iterator[str]:
    """Yield the fingerprints of a document: those of `findings`, and the partial fingerprints of SARIF results."""
    if not isinstance(document, dict):
        return
    for finding in _list(document.get("findings")):
        if isinstance(finding, dict) and isinstance(finding.get("fingerprint"), str):
            yield finding["fingerprint"]
    for run in _list(document.get("runs")):
        for result in _list(run.get("results")) if isinstance(run, dict) else ():
            prints = result.get("partialFingerprints") if isinstance(result, dict) else None
            value = prints.get(SARIF_FINGERPRINT) if isinstance(prints, dict) else None
            if isinstance(value, str):
                yield value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
