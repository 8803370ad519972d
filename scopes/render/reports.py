"""The verdicts of `check` in the formats of CI systems: SARIF, GitLab, GitHub, JUnit, and Markdown."""

from __future__ import annotations

import json
import re
import string
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from shlex import quote
from typing import Any, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from scopes import sanitize
from scopes.check.baseline import SARIF_FINGERPRINT
from scopes.check.check import Checked, CheckedRun
from scopes.check.findings import LEVELS, Event, Finding, Verdict, how_it_ended, is_at_least
from scopes.check.rules.base import FILE_NAME, Rule
from scopes.check.rules.registry import RULES
from scopes.result import plural
from scopes.sanitize import escape_runner_commands

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
        lines += [
            "",
            f"### {row.finding.level}: {escape_markup(row.finding.message)}",
            "",
            fenced("\n".join(explain(row))),
        ]
    if len(every) > len(rows):
        lines += ["", f"{len(every) - len(rows)} more."]
    if checked.unknown:
        lines += ["", "### Cannot be judged", ""]
        for run in checked.runs:
            unknown = [each for each in run.verdicts if each.status == "unknown"]
            lines += [
                f"- {escape_markup(run.name)}: {escape_markup(each.rule)}: {escape_markup(each.reason)}"
                for each in unknown
            ]
    return "\n".join(lines) + "\n"


def escape_markup(text: str) -> str:
    """Return a text as one line of Markdown in which nothing is markup."""
    return _SPECIAL.sub(r"\\\1", " ".join(clean_text(text).split()))


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


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(checked: Checked) -> str:
    """Return the report; a rule fails if a finding fails the check, and is skipped if it cannot be judged."""
    suites = [_suite(run, checked.fail_on, unknown_fails=checked.unknown_fails) for run in checked.runs]
    return '<?xml version="1.0" encoding="utf-8"?>\n<testsuites>\n' + "".join(suites) + "</testsuites>\n"


def _suite(run: CheckedRun, fail_on: str, *, unknown_fails: bool) -> str:
    cases = [_case(run, verdict, fail_on, unknown_fails=unknown_fails) for verdict in run.verdicts]
    failures = sum("<failure " in case for case in cases)
    skipped = sum("<skipped " in case for case in cases)
    counts = f'tests="{len(cases)}" failures="{failures}" errors="0" skipped="{skipped}" time="0"'
    return f"<testsuite name={_attribute(run.name or 'scopes check')} {counts}>\n{''.join(cases)}</testsuite>\n"


def _case(run: CheckedRun, verdict: Verdict, fail_on: str, *, unknown_fails: bool) -> str:
    rows = [Row(run, clean(finding)) for finding in verdict.findings]
    failing = [row for row in rows if row.finding.counts and is_at_least(row.finding.level, fail_on)]
    others = [row for row in rows if row not in failing]
    content = ""
    if failing:
        text = "\n\n".join("\n".join(explain(row)) for row in failing)
        content = f"<failure message={_attribute(failing[0].finding.message)}>{_text(text)}</failure>"
    elif verdict.status == "unknown" and unknown_fails and is_at_least(verdict.level, fail_on):
        content = f"<failure message={_attribute(verdict.reason)}>cannot be judged</failure>"
    elif verdict.status == "unknown":
        content = f"<skipped message={_attribute(verdict.reason)} />"
    if others:
        text = "\n\n".join("\n".join(explain(row)) for row in others)
        content += f"<system-out>{_text(text)}</system-out>"
    name = f'name={_attribute(verdict.rule)} classname={_attribute(run.name or "scopes check")} time="0"'
    return f"<testcase {name}>{content}</testcase>\n"


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("\ufffd", clean_text(text)).replace("\n", " "))


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("\ufffd", text))


MAX_RESULTS = 5000  # GitHub keeps the first 5,000 and refuses a file with more than 25,000
MAX_COMPRESSED = 10_000_000  # bytes; GitHub refuses a file that is larger after gzip
_MAX_STEPS = 100  # GitHub keeps the first 100 locations of a result
_LEVELS = {"error": "error", "warning": "warning", "note": "note", "off": "none"}
_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_IN_URI = frozenset(f"{string.ascii_letters}{string.digits}-._~/".encode())
_LINK = re.compile(r"\[(?=[^\[\]]*\]\()")  # `[text](target)` in a message is a link


def write_sarif(checked: Checked, version: str) -> str:
    """Return the report; findings that do not count are suppressed results, unknown verdicts are of kind `open`.

    Of more than MAX_RESULTS the least severe are left out, and also if the report would be too large for GitHub. A
    notification states how many.
    """
    rows = list_rows(checked)
    unknown = [(run, each) for run in checked.runs for each in run.verdicts if each.status == "unknown"]
    limit = min(MAX_RESULTS, len(rows) + len(unknown))
    while True:
        text = _write(checked, version, rows[:limit], unknown[: max(limit - len(rows), 0)], len(rows) + len(unknown))
        if len(text) <= MAX_COMPRESSED or len(zlib.compress(text.encode("ascii"))) <= MAX_COMPRESSED or not limit:
            return text
        limit //= 2


def _write(
    checked: Checked, version: str, rows: Sequence[Row], unknown: Sequence[tuple[CheckedRun, Verdict]], total: int
) -> str:
    levels = {verdict.rule: verdict.level for _, verdict in unknown} | {
        row.finding.rule: row.finding.level for row in rows
    }
    ids = list(dict.fromkeys([*(row.finding.rule for row in rows), *levels]))
    sources = dict.fromkeys((source.path, source.digest) for run in checked.runs for source in run.sources)
    artifacts = {path: index for index, (path, _) in reversed(list(enumerate(sources)))}
    invocation: dict[str, Any] = {"executionSuccessful": True, "exitCode": checked.exit_code}
    left_out = total - len(rows) - len(unknown)
    if left_out:
        text = f"{left_out} more results were left out, the least severe ones"
        invocation["toolExecutionNotifications"] = [{"level": "warning", "message": {"text": text}}]
    run: dict[str, Any] = {
        "tool": {
            "driver": {
                "name": "scopes check",
                "semanticVersion": version,
                "rules": [_rule(name, levels[name], checked) for name in ids],
            }
        },
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "artifacts": [_artifact(path, digest) for path, digest in sources],
        "results": [
            *(_result(row, ids, checked, artifacts) for row in rows),
            *(_open_result(run, verdict, ids, checked) for run, verdict in unknown),
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=True) + "\n"


def _rule(name: str, level: str, checked: Checked) -> dict[str, Any]:
    """Return the description of a rule: GitHub shows `help` next to an alert."""
    rule = RULES.get(name)
    if rule is None:
        text = checked.own_rules.get(name, name)
        summary, explanation = f"A rule of the policy: {text}", f"The policy has this rule: {text}"
        shown, default = explanation, level
    else:
        summary, explanation, default = rule.summary, rule.explanation, rule.level
        shown = _help(rule)
    return {
        "id": name,
        "shortDescription": {"text": clean_text(summary)},
        "fullDescription": {"text": clean_text(explanation)},
        "help": {"text": clean_text(f"{shown}\n\nSee: scopes check --list {quote(name)}")},
        "defaultConfiguration": {"level": _LEVELS[default]},
    }


def _help(rule: Rule) -> str:
    parameters = [f"{each.name}: {each.summary}" for each in rule.parameters]
    return "\n".join([rule.explanation, *(["", "Parameters:", *parameters] if parameters else [])])


def _artifact(path: str, digest: str) -> dict[str, Any]:
    artifact: dict[str, Any] = {"location": {"uri": _uri(path)}}
    return artifact | ({"hashes": {"sha-256": digest}} if digest else {})


def _result(row: Row, ids: list[str], checked: Checked, artifacts: dict[str, int]) -> dict[str, Any]:
    finding = row.finding
    place = _place(checked, finding.rule, finding)
    location: dict[str, Any] = {"physicalLocation": place}
    if finding.events:
        location["logicalLocations"] = [{"name": finding.events[0].message, "kind": "message"}]
    result: dict[str, Any] = {
        "ruleId": finding.rule,
        "ruleIndex": ids.index(finding.rule),
        "level": _LEVELS[finding.level],
        "kind": "fail",
        "message": {"text": _LINK.sub(r"\\[", "\n".join(explain(row)))},
        "locations": [location],
        "partialFingerprints": {SARIF_FINGERPRINT: finding.fingerprint},
    }
    related = list(_related(finding, place, artifacts))
    if related:
        result["relatedLocations"] = related
    if len(related) > 1:
        in_order = sorted(related, key=lambda each: finding.events[each["id"]].number)
        steps = [{"location": each, "executionOrder": order} for order, each in enumerate(in_order)]
        result["codeFlows"] = [{"threadFlows": [{"locations": steps}]}]
    if finding.suppressed is not None:
        result["suppressions"] = [{"kind": "external", "justification": clean_text(finding.suppressed)}]
    elif finding.known:
        result["suppressions"] = [{"kind": "external", "justification": "in the baseline"}]
    return result


def _place(checked: Checked, rule: str, finding: Finding | None = None) -> dict[str, Any]:
    path, line = place_in_repository(checked, rule, finding)
    return {"artifactLocation": {"uri": _uri(path), "uriBaseId": "%SRCROOT%"}, "region": {"startLine": line}}


def _related(finding: Finding, place: dict[str, Any], artifacts: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Yield the records of the transcript that decided a finding; GitHub wants a file for each, so `place` if none."""
    for number, event in enumerate(finding.events[:_MAX_STEPS]):
        text = _LINK.sub(r"\\[", f"{place_of(event)}: {event.text}")
        location: dict[str, Any] = {"id": number, "message": {"text": text}, "physicalLocation": place}
        if event.path is not None and event.line is not None:
            artifact: dict[str, Any] = {"uri": _uri(event.path)}
            if event.path in artifacts:
                artifact["index"] = artifacts[event.path]
            location["physicalLocation"] = {"artifactLocation": artifact, "region": {"startLine": event.line}}
        yield location


def _open_result(run: CheckedRun, verdict: Verdict, ids: list[str], checked: Checked) -> dict[str, Any]:
    """Return a result of kind `open` for a verdict that is unknown."""
    return {
        "ruleId": verdict.rule,
        "ruleIndex": ids.index(verdict.rule),
        "level": "none",
        "kind": "open",
        "message": {"text": clean_text(f"{run.name}: cannot be judged: {verdict.reason}")},
        "locations": [{"physicalLocation": _place(checked, verdict.rule)}],
    }


def _uri(path: str) -> str:
    """Return a path as a URI: relative, or of the scheme `file`."""
    quoted = "".join(chr(byte) if byte in _IN_URI else f"%{byte:02X}" for byte in path.encode("utf-8", "replace"))
    return f"file://{quoted}" if path.startswith("/") else quoted
