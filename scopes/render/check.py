"""Render the verdicts of `check`."""

from __future__ import annotations

import json
from collections import Counter
from shlex import quote
from typing import TYPE_CHECKING

from scopes.check.findings import LEVELS, how_it_ended
from scopes.render.phrases import SHORT_ID_LENGTH, format_duration, write_hint
from scopes.render.view import Cell, Column, Span, View
from scopes.result import counted
from scopes.usage.prices import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from scopes.check.check import Checked, CheckedRun
    from scopes.check.compare import Amount, RunComparison
    from scopes.check.explain import RuleExplained
    from scopes.check.findings import Finding
    from scopes.check.rule_tests import RuleTests
    from scopes.render.view import Style

_TESTS = "order/tests-passed"
_LEVEL = len("unknown")
_MAX_SAME = 3  # rules that are unknown for the same reason and have a line each
_ORDER: dict[str, int] = {level: number for number, level in enumerate(LEVELS)}
_RESULTS: dict[str, Style] = {"fail": "bad", "todo": "warn", "pass": "good"}
_BETTER_IF_LESS = frozenset({"seconds", "cost in USD"})
_COMPARED = tuple(map(Column, ("Table", "Name", "Old", "New")))
_TEST_SIGNS: dict[str, tuple[str, Style]] = {
    "passed": ("✓", "good"), "failed": ("✗", "bad"), "unknown": ("?", "warn")
}  # fmt: skip
_SIGNS: dict[str, Style] = {"-": "bad", "+": "good", "@": "dim"}
_STYLES: dict[str, Style] = {"error": "bad", "warning": "warn", "note": "dim"}


def render_checked(result: Checked, view: View) -> None:
    """Write the findings of each run, then what could not be judged, and a summary."""
    if view.terminal:
        _write_report(result, view)
        return
    for run in result.runs:
        if run.findings:
            _write_run(run, view)
    _write_unknown(result, view)
    found = sum(len(run.findings) for run in result.runs)
    passed = sum(verdict.status == "pass" for run in result.runs for verdict in run.verdicts)
    unknown = len(result.unknown)
    word = Span("failed", "bad") if result.failed else Span("passed", "good")
    causes = " (with --strict, unknown rules fail)" if result.failed and not result.failures else ""
    accepted = sum(not finding.counts for run in result.runs for finding in run.findings)
    of_these = f" ({accepted} accepted)" if accepted else ""
    counts = f"{counted(found, 'finding')}{of_these}, {passed} passed, {unknown} unknown"
    policy = "" if result.policy is None else f"; policy: {result.policy}"
    view.line(word, f": {counted(len(result.runs), 'run')}, {counts}{causes}{policy}")


def _write_report(result: Checked, view: View) -> None:
    """Write a report for people: each finding with its place and what to do, what is not known, and the verdict."""
    named = (verdict for run in result.runs for verdict in run.verdicts if verdict.status != "pass")
    width = max((len(verdict.rule) for verdict in named), default=0)
    for run in result.runs:
        if len(result.runs) > 1 and (run.findings or any(verdict.status == "unknown" for verdict in run.verdicts)):
            view.line(Span(run.name or "no run", "heading"))
        for finding in sorted(run.findings, key=lambda finding: _ORDER.get(finding.level, 0)):
            _report_finding(finding, view, width)
    _report_unknown(result, view, width)
    _report_verdict(result, view)


def _report_finding(finding: Finding, view: View, width: int) -> None:
    sign = Span(f"{'✗' if finding.counts else '-'} ", _STYLES.get(finding.level, "dim"))
    level = Span(f"{finding.level:<{_LEVEL}} ", _STYLES.get(finding.level, "dim"))
    view.hanging(finding.message, _remark(finding), start=(sign, level, Span(f"{finding.rule:<{width}}  ", "key")))
    for event in finding.events:
        place = event.message[:SHORT_ID_LENGTH] if event.path is None else f"{event.path}:{event.line}"
        if len(place) > width:
            view.line(Span(place, "dim"), indent=_LEVEL + 3)
            place = ""
        view.hanging(event.text, start=(Span(f"{place:<{width}}  ", "dim"),), indent=_LEVEL + 3)
    if finding.cure and finding.counts:
        view.hanging(finding.cure, start=(" " * (_LEVEL + 3), Span(f"{'do':<{width}}  ", "key")))


def _remark(finding: Finding) -> Span:
    """Return why a finding does not count, or where the command ran and how it ended."""
    if finding.suppressed is not None:
        return Span(f" (accepted: {finding.suppressed})", "dim")
    if finding.known:
        return Span(" (in the baseline)", "dim")
    where = f" (in {finding.directory})" if finding.directory is not None else ""
    return Span(where + (f" ({how_it_ended(finding)})" if finding.outcome in {"denied", "failed"} else ""), "dim")


def _report_unknown(result: Checked, view: View, width: int) -> None:
    """Write one line for each rule that could not be judged, and one for many rules with the same reason."""
    found: dict[str, dict[str, list[str]]] = {}
    for run in result.runs:
        for verdict in run.verdicts:
            if verdict.status == "unknown":
                found.setdefault(verdict.reason, {}).setdefault(verdict.rule, []).append(run.name)
    for reason, rules in found.items():
        names = {f"{len(rules)} rules": [name for of_rule in rules.values() for name in of_rule]}
        for rule, runs in (names if len(rules) > _MAX_SAME else rules).items():
            number = len(dict.fromkeys(runs))
            where = Span(f" ({counted(number, 'run')})" if len(result.runs) > 1 else "", "dim")
            start = (Span(f"? {'unknown':<{_LEVEL}} ", "warn"), Span(f"{rule:<{width}}  ", "key"))
            view.hanging(reason, where, start=start)


def _report_verdict(result: Checked, view: View) -> None:
    """Write the last line: what failed, or how many rules passed, and that nobody knows whether the tests did."""
    verdicts = [verdict for run in result.runs for verdict in run.verdicts]
    passed = sum(verdict.status == "pass" for verdict in verdicts)
    levels = Counter(finding.level for run in result.runs for finding in run.findings if finding.counts)
    parts = [counted(levels[level], level) for level in LEVELS if levels[level]]
    accepted = sum(not finding.counts for run in result.runs for finding in run.findings)
    parts += [f"{accepted} accepted"] if accepted else []
    unknown = len(result.unknown)
    counts = " (counts with --unknown fail)" if result.unknown_fails else ""
    parts += [f"{unknown} unknown{counts}"] if unknown else []
    runs = f" in {counted(len(result.runs), 'run')}" if len(result.runs) > 1 else ""
    if result.failed:
        view.sentence(Span("FAILED", "bad"), f": {', '.join([*parts, f'{passed} passed'])}{runs}")
    elif any(verdict.rule == _TESTS and verdict.status == "unknown" for verdict in verdicts):
        of_all = Span(f" ({passed} of {len(verdicts)} rules{runs})", "dim")
        view.sentence(Span("passed", "good"), ", but nobody knows whether the tests passed", of_all)
    else:
        rest = f" · {', '.join(parts)}" if parts else ""
        view.sentence(Span("passed", "good"), f": {passed} of {len(verdicts)} rules{runs}{rest}")
    if result.policy is not None:
        view.sentence(Span(f"policy: {result.policy}", "dim"))


def _write_run(run: CheckedRun, view: View) -> None:
    """Write the name of the run and its transcript, if it has one, and the findings with lines of that."""
    paths = {event.path for finding in run.findings for event in finding.events if event.path is not None}
    path = paths.pop() if len(paths) == 1 else None
    is_named = path is None or run.name == path or run.name.startswith(f"{path} (run ")
    other = "" if is_named else Span(f"  {path}", "dim")
    view.line(Span(run.name or "no run", "heading"), other)
    for finding in sorted(run.findings, key=lambda finding: _ORDER.get(finding.level, 0)):
        _write_finding(finding, path, view)


def _write_finding(finding: Finding, path: str | None, view: View) -> None:
    level = Span(f"{finding.level:<8}", _STYLES.get(finding.level, "dim"))
    where = f" (in {finding.directory})" if finding.directory is not None else ""
    tail = where + (f" ({how_it_ended(finding)})" if finding.outcome in {"denied", "failed"} else "")
    if finding.suppressed is not None:
        tail = f" (accepted: {finding.suppressed})"
    elif finding.known:
        tail = " (in the baseline)"
    view.hanging(Span(finding.rule, "key"), f"  {finding.message}{tail}", start=(level, " "), indent=2)
    for event in finding.events:
        place = f"line {event.line}" if event.path == path else f"{event.path}:{event.line}"
        view.hanging(f"  {event.text}", start=(Span(place if event.path else event.message, "dim"),), hang=2, indent=6)
    if finding.cure and finding.counts:
        view.hanging(Span(f"what to do: {finding.cure}", "dim"), hang=2, indent=6)


def _write_unknown(result: Checked, view: View) -> None:
    """Write one line for each rule and reason, with the number of its runs; many rules with one reason share a line."""
    groups: dict[tuple[str, str], list[str]] = {}
    for run in result.runs:
        for verdict in run.verdicts:
            if verdict.status == "unknown":
                groups.setdefault((verdict.rule, verdict.reason), []).append(run.name)
    several = {reason: [rule for rule, other in groups if other == reason] for _, reason in groups}
    for reason, rules in several.items():
        if len(rules) > _MAX_SAME:
            names = list(dict.fromkeys(name for rule in rules for name in groups[rule, reason]))
            tail = f" ({counted(len(names), 'run')})" if len(names) > 1 else f" ({names[0]})"
            view.sentence(
                Span("unknown  ", "dim"),
                Span(f"{len(rules)} rules"),
                f"  {reason}{tail if len(result.runs) > 1 else ''}",
            )
            groups = {key: value for key, value in groups.items() if key[1] != reason}
    for (rule, reason), names in groups.items():
        where = names[0] if len(names) == 1 else counted(len(names), "run")
        tail = f" ({where})" if len(result.runs) > 1 else ""
        view.sentence(Span("unknown  ", "dim"), Span(rule), f"  {reason}{tail}")


def render_rule_explained(result: RuleExplained, view: View) -> None:
    """Write what a rule means, decides from and can be told."""
    rule = result.rule
    view.line(Span(rule.id, "key"), "  ", Span(rule.level, _STYLES.get(rule.level, "dim")))
    view.line(rule.summary)
    view.line()
    view.sentence(rule.explanation)
    if rule.attempts is not None:
        view.line()
        view.sentence(rule.attempts)
    if rule.parameters:
        view.line()
        for parameter in rule.parameters:
            value = "not set" if parameter.value is None else json.dumps(parameter.value)
            view.sentence(Span(parameter.name, "key"), f" = {value}: {parameter.summary}", indent=2)
    if rule.place is not None:
        view.line()
        view.line(f"set in {rule.place}")


def render_rule_tests(result: RuleTests, view: View) -> None:
    """Write a row for each expectation and each unexpected finding, the rules without tests, and a summary."""
    columns = (
        Column("Result"),
        Column("Rule", "key"),
        Column("At"),
        Column("Status", "dim"),
        Column("Why", flexible=True),
    )
    rows = [
        (
            Span(case.result, _RESULTS.get(case.result, "dim")),
            case.rule,
            case.test if case.at is None else f"{case.test}:{case.at}",
            case.status or "",
            case.text,
        )
        for case in result.cases
    ]
    if rows:
        view.rows(columns, rows)
    for each in result.uncovered:
        view.line(
            Span("untested ", "warn"), Span(each.rule, "key"), f"  it has no {' and no '.join(each.missing)} case"
        )
    word = Span("failed", "bad") if result.failed else Span("passed", "good")
    counts = [f"{sum(case.result == name for case in result.cases)} {name}" for name in ("pass", "fail", "todo")]
    view.line(word, f": {counted(len(result.tests), 'test')}, {', '.join(counts)}")


def render_run_comparison(result: RunComparison, view: View) -> None:
    """Write both runs side by side; in a pipe their numbers, and their calls as a diff."""
    if not view.terminal:
        _write_comparison(result, view)
        return
    columns = (Column("", "key"), Column(result.old, flexible=True), Column(result.new, flexible=True),
               Column("", "dim", align="right"))  # fmt: skip
    rows = [row for row in _side_by_side(result) if any(cell not in {"", "?"} for cell in row[1:])]
    view.rows(columns, rows)
    for fault, name in (*((each, result.old) for each in result.faults_old),
                        *((each, result.new) for each in result.faults_new)):  # fmt: skip
        view.sentence(Span(f"✗ {name} has no good end: ", "bad"), fault)
    view.line()
    calls = f"{counted(len(result.only_old), 'call')} only in the first, {len(result.only_new)} only in the second"
    word = Span("They differ", "warn") if result.differs else Span("They do not differ", "good")
    view.sentence(word, f" ({result.mode}): {calls}")
    view.sentence(Span(f"not compared: {result.not_compared}", "dim"))
    one, two = result.about_old.conversation, result.about_new.conversation
    if one and two:
        write_hint(view, f"step by step: scopes diff {quote(one)} {quote(two)} --steps")
    else:
        for line in result.order:
            view.sentence(Span(line, _SIGNS.get(line[:1], "")))


def _side_by_side(result: RunComparison) -> Iterator[tuple[Cell, ...]]:
    """Yield the rows of a terminal: a name, a cell for each run, and how much more the second has."""
    one, two = result.about_old, result.about_new
    amounts = {each.name: each for each in result.amounts}
    yield "prompt", one.prompt or "", two.prompt or "", ""
    yield "agent, model", *(", ".join(filter(None, (each.agent, *each.models))) for each in (one, two)), ""
    for name, title, write in (
        ("seconds", "time", format_duration), ("cost in USD", "cost", "${:,.2f}".format),
        ("input tokens", "input tokens", _tokens), ("output tokens", "output tokens", _tokens),
        ("calls", "calls", "{:,}".format), ("failed calls", "failed", "{:,}".format),
        ("denied calls", "refused", "{:,}".format),
    ):  # fmt: skip
        amount = amounts.get(name)
        if amount is not None and (amount.old or amount.new):
            yield title, *("?" if each is None else write(each) for each in amount[1:]), _more(amount, write)
    yield "tests", _last_test(result.tests_old), _last_test(result.tests_new), ""
    files = [use for use in result.files if use.old or use.new]
    yield "files", *(str(sum(bool(use[side]) for use in files)) for side in (1, 2)), ""
    both = ", ".join(use.name for use in files if use.old and use.new)
    yield "  both", both, both, ""
    only = [", ".join(use.name for use in files if use[side] and not use[3 - side]) for side in (1, 2)]
    yield "  one side", *only, ""
    yield "last answer", one.last_answer or "", two.last_answer or "", ""


def _tokens(number: float) -> str:
    return shorten(int(number))


def _more(amount: Amount, write: Callable[[float], str]) -> Span:
    """Return how much more the second run has; less time and less cost are green."""
    if amount.old is None or amount.new is None or amount.old == amount.new:
        return Span("")
    more = amount.new - amount.old
    return Span(
        f"{'+' if more > 0 else '-'}{write(abs(more))}",
        "good" if more < 0 and amount.name in _BETTER_IF_LESS else "dim",
    )


def _last_test(results: Sequence[str]) -> Span:
    """Return how the last test run ended, and how many there were."""
    if not results:
        return Span("none ran", "dim")
    sign, style = _TEST_SIGNS[results[-1]]
    return Span(f"{sign} {results[-1]}" + (f", the last of {len(results)}" if len(results) > 1 else ""), style)


def _write_comparison(result: RunComparison, view: View) -> None:
    """Write the numbers of both runs, what they used differently, and the calls as a diff, for a pipe."""
    view.line("- ", result.old)
    view.line("+ ", result.new)
    rows = [("number", each.name, _amount(each.old), _amount(each.new)) for each in result.amounts]
    view.rows(_COMPARED, rows)
    for name, tests in (("old run", result.tests_old), ("new run", result.tests_new)):
        view.line(f"tests of the {name}: ", ", ".join(tests) or "none ran")
    for name, faults in (("old run", result.faults_old), ("new run", result.faults_new)):
        for fault in faults:
            view.line(f"the {name} has no good end: ", fault)
    for name, uses in (("tool", result.tools), ("file written", result.files), ("command", result.commands)):
        view.rows(_COMPARED, [(name, use.name, str(use.old), str(use.new)) for use in uses if use.old != use.new])
    for line in result.order:
        view.line(line)
    calls = f"{counted(len(result.only_old), 'call')} only in the old run, {len(result.only_new)} only in the new one"
    broken = "; the new run has no good end" if result.is_broken else ""
    view.line(f"{'different' if result.differs else 'equal'} ({result.mode}): {calls}{broken}")
    view.line(f"not compared: {result.not_compared}")


def _amount(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.4f}".rstrip("0").rstrip(".")
