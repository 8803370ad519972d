"""Tests of rules: transcripts with the findings that they are expected to have, in `NAME.expect.toml`."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NamedTuple

from scopes.check.check import Checked
from scopes.check.policy import Policy, show_value
from scopes.check.rules.registry import RULES
from scopes.errors import Invalid
from scopes.result import Result, shown

SUFFIX = ".expect.toml"
_MISSING = "expected, and not found"
_EXAMPLE = '[[expect]]\nrule = "order/tests-passed"\nat = 3\nstatus = "ruleid"'
STATUSES = ("ruleid", "ok", "todoruleid", "todook")  # the words of semgrep's rule tests


class Expected(NamedTuple):
    """What a rule is expected to find at a line of a transcript; without `at`, a finding that has no line.

    status: `ruleid` and `ok` are required; `todoruleid` is missing and `todook` is reported by mistake, so far
    """

    rule: str
    at: int | None
    status: str


class RuleTest(NamedTuple):
    """One test: its name, the file with the expectations, and the paths of its transcripts."""

    name: str
    path: str
    transcripts: tuple[str, ...]


class Case(NamedTuple):
    """The outcome of one expectation, or of a finding that no expectation covers; `result` is pass, fail or todo."""

    test: str
    rule: str
    at: int | None
    status: str | None
    result: str
    text: str


class Uncovered(NamedTuple):
    """A rule of the policy without a test case that fails it, or without one that passes it."""

    rule: str
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTests(Result):
    """The outcomes of all tests of a directory."""

    tests: tuple[str, ...]
    cases: tuple[Case, ...]
    uncovered: tuple[Uncovered, ...] = ()

    @property
    @shown
    def result(self) -> str:
        """`fail` or `pass`."""
        return "fail" if self.failed else "pass"

    @property
    def failed(self) -> bool:
        """True if a test fails."""
        return any(case.result == "fail" for case in self.cases)

    @property
    def exit_code(self) -> int:
        """Two if a test fails: the policy has a mistake."""
        return 2 if self.failed else 0


def find_rule_tests(directory: str) -> list[RuleTest]:
    """Return the tests of a directory and its subdirectories, by name.

    The transcripts of `NAME.expect.toml` are `NAME` and the entries that begin with `NAME.`, next to it.

    Raises:
        Invalid: there is no folder or no test, a test has no transcript, or a transcript has no expectations.
    """
    if not os.path.isdir(directory):
        raise Invalid(f"there is no folder {directory!a}", hint="give a folder of transcripts: --test tests/rules")
    tests = []
    for folder, folders, files in os.walk(directory):
        folders.sort()
        names = sorted(name.removesuffix(SUFFIX) for name in files if name.endswith(SUFFIX))
        used: set[str] = set()
        for name in names:
            entries = [
                entry
                for entry in sorted((*folders, *files))
                if not entry.endswith(SUFFIX) and (entry == name or entry.startswith(f"{name}."))
            ]
            path = os.path.join(folder, name + SUFFIX)
            if not entries:
                raise Invalid(f"{path} has no transcript", hint=f"put it next to the file, as {name}.jsonl")
            used.update(entries)
            shown = os.path.relpath(os.path.join(folder, name), directory)
            tests.append(RuleTest(shown, path, tuple(os.path.join(folder, entry) for entry in entries)))
        folders[:] = [entry for entry in folders if entry not in used]
        for entry in files:
            if entry.endswith((".json", ".jsonl")) and entry not in used:
                raise Invalid(
                    f"{os.path.join(folder, entry)} has no expectations",
                    hint=f"write them into {entry.rsplit('.', 1)[0]}{SUFFIX}; an empty file expects no finding",
                )
    if not tests:
        raise Invalid(f"there is no rule test in {directory}", hint=f"a test is a transcript with a NAME{SUFFIX}")
    return sorted(tests)


def parse_expected(text: str, path: str, policy: Policy) -> tuple[Expected, ...]:
    """Parse a file of expectations.

    Raises:
        Invalid: it has a mistake, or names a rule that does not exist.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Invalid(f"{path}: {error}") from error
    except RecursionError as error:
        raise Invalid(f"{path}: tables or lists are nested too deeply") from error
    except ValueError as error:  # the limit of Python on the digits of an integer
        raise Invalid(f"{path}: a number has too many digits") from error
    rows = document.get("expect", [])
    unknown = next((key for key in document if key != "expect"), None)
    if unknown is not None or not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        near = [] if unknown is None else get_close_matches(unknown, ["expect"], 1)
        found = "" if unknown is None else f", and has {unknown!r}"
        raise Invalid(
            f"{path}: it must have [[expect]] tables only{found}",
            hint=_hint(near, f"a table is, for example:\n{_EXAMPLE}"),
        )
    known = [*RULES, *(rule.id for rule in policy.own_rules)]
    lines = [number for number, line in enumerate(text.splitlines(), 1) if line.lstrip().startswith("[[expect")]
    places = [f"{path}:{line}" for line in lines] if len(lines) == len(rows) else [path] * len(rows)
    numbered = enumerate(zip(places, rows, strict=True), 1)
    return tuple(_read_expected(row, f"{place}: expectation {number}", known) for number, (place, row) in numbered)


def _read_expected(row: dict[str, Any], where: str, known: Sequence[str]) -> Expected:
    rule, at, status = row.get("rule"), row.get("at"), row.get("status", "ruleid")
    if unknown := [key for key in row if key not in Expected._fields]:
        near = get_close_matches(unknown[0], Expected._fields, 1)
        raise Invalid(f"{where} has no key {unknown[0]!r}", hint=_hint(near, f"keys: {', '.join(Expected._fields)}"))
    if rule not in known:
        if rule is None:
            raise Invalid(f"{where} needs `rule`", hint=f"for example:\n{_EXAMPLE}")
        near = get_close_matches(rule, known, 1) if isinstance(rule, str) else []
        raise Invalid(
            f"{where}: there is no rule {show_value(rule)}", hint=_hint(near, "list them: scopes check --list")
        )
    if at is not None and (not isinstance(at, int) or isinstance(at, bool) or at < 1):
        hint = "leave it out for a finding about the whole run"
        raise Invalid(f"{where}: `at` is a line number of the transcript from 1, not {show_value(at)}", hint=hint)
    if status not in STATUSES:
        near = get_close_matches(status, STATUSES, 1) if isinstance(status, str) else []
        raise Invalid(
            f"{where}: status = {show_value(status)} is not one of {', '.join(STATUSES)}",
            hint=_hint(near, "ruleid: the rule finds something there; ok: it finds nothing there"),
        )
    return Expected(str(rule), at, str(status))


def _hint(near: Sequence[str], text: str) -> str:
    return f"did you mean {near[0]!r}?" if near else text


def compare_expected(name: str, expected: Sequence[Expected], checked: Checked) -> Iterator[Case]:
    """Yield the outcome of each expectation, then a failure for each finding that none of them covers."""
    found: dict[tuple[str, int | None], str] = {}
    for finding in (each for run in checked.runs for each in run.findings if each.counts):
        line = finding.events[0].line if finding.events else None
        found.setdefault((finding.rule, line), finding.message)
    covered = set()
    for each in expected:
        places = [key for key in found if key[0] == each.rule and (key[1] == each.at or _is_anywhere(each))]
        covered.update(places)
        result, text = _judge(each, found[places[0]] if places else None)
        if text == _MISSING:
            text += _list_lines(line for rule, line in found if rule == each.rule)
        yield Case(name, each.rule, each.at, each.status, result, text)
    for (rule, line), message in found.items():
        if (rule, line) not in covered:
            yield Case(name, rule, line, None, "fail", f"not expected: {message}")


def _is_anywhere(expected: Expected) -> bool:
    """Return True for an `ok` without a line: the rule must find nothing in the whole transcript."""
    return expected.at is None and expected.status == "ok"


def _judge(expected: Expected, message: str | None) -> tuple[str, str]:
    """Return the result of an expectation and its explanation, given the message of the finding there."""
    if expected.status == "todoruleid":
        return "todo", "still missing" if message is None else f"found now, write ruleid: {message}"
    if expected.status == "todook":
        return "todo", "no longer found, write ok" if message is None else f"still found: {message}"
    if expected.status == "ok":
        return ("pass", "nothing found") if message is None else ("fail", f"must not be found: {message}")
    return ("pass", message) if message is not None else ("fail", _MISSING)


def _list_lines(found: Iterable[int | None]) -> str:
    """Return where a rule has findings instead, as the end of a sentence; empty if it has none."""
    places = ", ".join("one without `at`" if line is None else f"at = {line}" for line in found)
    return f" there; the rule has {places}" if places else ""


def find_uncovered(policy: Policy, expected: Sequence[Expected]) -> tuple[Uncovered, ...]:
    """Return the rules of the policy that lack a failing or a passing case."""
    cases = {(each.rule, each.status) for each in expected}
    rows = []
    for rule in policy.own_rules:
        wanted = (("failing", "ruleid"), ("passing", "ok"))
        missing = tuple(word for word, status in wanted if (rule.id, status) not in cases)
        if missing and rule.level != "off":
            rows.append(Uncovered(rule.id, missing))
    return tuple(rows)
