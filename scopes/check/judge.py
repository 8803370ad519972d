"""Judge one run after the other by the rules of a policy, and note what never applied."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from scopes.check.calls import Call
from scopes.check.findings import Event, Finding, Level, Verdict, lower
from scopes.check.fingerprints import with_fingerprints
from scopes.check.globs import matches_path
from scopes.check.own_rule_forms import Breach, find_breaches
from scopes.check.policy import OwnRule, Policy, Suppression
from scopes.check.rules.base import TOP, Rule, Settings, Unknown, place_of
from scopes.check.rules.registry import RULES
from scopes.check.run import Run
from scopes.check.suppressions import Suppressions
from scopes.check.workspace import path_in_workspaces
from scopes.model.message import FILE_WRITES
from scopes.result import Note
from scopes.secret_scan.shown import hide_secrets

# Rules about what a call does: their findings have its outcome.
_ABOUT_CALLS = ("shell/", "files/", "net/", "secrets/read", "tools/undeclared", "order/push-after-tests")
_NEEDING = ("needs before", "needs after", "last after last")  # forms about an order of events
_LOSSY = "the event stream may lack calls, and there is no session file"


class Judge:
    """Judges runs by a policy; it remembers which own rules and suppressions ever applied."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._matched: Counter[str] = Counter()
        self._runs = 0
        self._suppressions = Suppressions(policy.suppressions)
        self._paths = {
            rule: tuple(given["paths"])
            for rule, given in policy.parameters.items()
            if rule.startswith("order/") and "paths" in given and policy.levels.get(rule) != "off"
        }
        self._edited: set[str] = set()  # files that a run wrote to, relative to its workspace

    def verdicts(self, run: Run, is_wanted: Callable[[str], bool] = lambda _: True) -> list[Verdict]:
        """Return the verdicts of the wanted rules about a run, in their order; those of the policy come last."""
        self._runs += 1
        if self._paths:
            self._edited.update(_walk_written(run))
        found = [
            _judge(rule, run, self._policy)
            for rule in RULES.values()
            if is_wanted(rule.id) and applies(rule, self._policy)
        ]
        found += [
            self._judge_own(rule, run) for rule in self._policy.own_rules if is_wanted(rule.id) and rule.level != "off"
        ]
        return [self._suppressions.apply(with_fingerprints(run, verdict)) for verdict in found]

    def apply_suppressions(self, verdict: Verdict) -> Verdict:
        """Return a verdict whose findings are marked as suppressed where a suppression of the policy covers them."""
        return self._suppressions.apply(verdict)

    def notes(self) -> Iterator[Note]:
        """Yield a note for each own rule, each suppression and the `paths` of each order rule that never applied.

        That nothing matched is what `never A` and `at most N A` ask for, and a finding of `some A`.
        """
        for rule in self._policy.own_rules if self._runs else ():
            if rule.level != "off" and not self._matched[rule.id] and rule.expectation.form in _NEEDING:
                yield Note(f"rule {rule.id} matched no event: {rule.expect}", "see whether its patterns have a mistake")
        for each in self._suppressions.ended():
            yield Note(f"the suppression of {each.rule} in {_place_of(each)} ended on {each.until.isoformat()}")
        for each in self._suppressions.unused() if self._runs else ():
            shown = self._suppressions.open_finding(each.rule)
            hint = "remove it if no other run needs it" if shown is None else _explain_difference(each, shown)
            yield Note(f"the suppression of {each.rule} in {_place_of(each)} covers no finding", hint)

        for name, patterns in self._paths.items() if self._edited else ():
            if not any(matches_path(pattern, path) for path in self._edited for pattern in patterns):
                hint = "see whether the patterns have a mistake"
                yield Note(f"`paths` of {name} matches no edited file: {', '.join(patterns)}", hint)

    def _judge_own(self, rule: OwnRule, run: Run) -> Verdict:
        settings = Settings(rule.level, {}, self._policy.tests, self._policy.tools_as_test, run.workspaces)
        lines = [run] if rule.scope == "run" else split_agents(run)
        calls = {call.number: call for call in run.calls}
        breaches: list[Breach] = []
        unknown = _LOSSY if run.is_stream_only else ""
        for line in lines:
            found, count = find_breaches(rule.expectation, line, settings)
            self._matched[rule.id] += count
            if isinstance(found, Unknown):
                unknown = unknown or found.reason
            else:
                breaches += found
        findings = _completed(
            run,
            (
                Finding(
                    rule.id,
                    rule.level,
                    rule.message or f"{breach.text}: {rule.expect}",
                    breach.events,
                    match=breach.events[0].text if breach.events else None,
                    file=_find_edited(run, calls, breach),
                    attempted=breach.attempted,
                    directory=breach.directory,
                    cure=f"see the rule in {rule.path or self._policy.path}, line {rule.line}",
                )
                for breach in breaches
            ),
        )
        if not findings and unknown:
            return Verdict(rule.id, rule.level, "unknown", unknown)
        return Verdict(rule.id, rule.level, "fail" if findings else "pass", findings=findings)


def _find_edited(run: Run, calls: Mapping[int, Call], breach: Breach) -> str | None:
    """Return the file that the first event of a breach writes, relative to the workspace; None if it writes none."""
    event = breach.events[0] if breach.events else None
    call = None if event is None else calls.get(event.number)
    if event is None or call is None or call.shell is not None:
        return None
    is_written = any(edit.path == event.text and edit.op in FILE_WRITES for edit in call.edits)
    return path_in_workspaces(event.text, call.directory, run.workspaces) if is_written else None


def _judge(rule: Rule, run: Run, policy: Policy) -> Verdict:
    level = level_of(rule, policy)
    given = policy.parameters.get(rule.id, {})
    parameters = {each.name: given.get(each.name, each.default) for each in rule.parameters}
    answer = rule.judge(run, Settings(level, parameters, policy.tests, policy.tools_as_test, run.workspaces))
    if isinstance(answer, Unknown):
        return Verdict(rule.id, level, "unknown", answer.reason)
    findings = _completed(run, answer)
    if not findings and rule.needs_calls and run.is_stream_only:
        return Verdict(rule.id, level, "unknown", _LOSSY)
    return Verdict(rule.id, level, "fail" if findings else "pass", findings=findings)


def applies(rule: Rule, policy: Policy) -> bool:
    """Return True if a rule is not off, and the parameter is set without which it has no meaning."""
    given = rule.requires is None or policy.parameters.get(rule.id, {}).get(rule.requires)
    return bool(given) and level_of(rule, policy) != "off"


def level_of(rule: Rule, policy: Policy) -> Level:
    """Return the level of a rule in a policy: its own setting, else that of the preset."""
    if rule.id in policy.levels:
        return policy.levels[rule.id]
    own = {"strict": rule.strict, "read-only": rule.read_only}.get(policy.preset)
    return rule.level if own is None else own


def is_about_calls(rule: str) -> bool:
    """Return True if the findings of a rule are about single calls: such as were refused are one level lower."""
    return rule not in RULES or rule.startswith(_ABOUT_CALLS)


def _completed(run: Run, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings with the outcome of their calls, a lower level for attempts, and the directories of commands."""
    calls = {call.number: call for call in run.calls}
    return tuple(_complete(run, finding, calls) for finding in findings)


def _complete(run: Run, finding: Finding, calls: Mapping[int, Call]) -> Finding:
    events = tuple(_with_place(run, event, calls.get(event.number)) for event in finding.events)
    call = calls.get(events[0].number) if events else None
    directory = finding.directory or (events[0].directory if events and finding.file is None else None)
    finding = finding._replace(events=events, directory=None if directory == TOP else directory)
    if call is not None and is_about_calls(finding.rule):
        finding = finding._replace(outcome=call.outcome, exit_code=call.exit_code)
    return finding._replace(level=lower(finding.level)) if finding.attempted else finding


def _with_place(run: Run, event: Event, call: Call | None) -> Event:
    place = TOP if call is None or call.shell is None else place_of(run, call)
    return event if place == TOP else event._replace(directory=place)


def _explain_difference(suppression: Suppression, finding: Finding) -> str:
    """Return how a suppression differs from a finding of its rule."""
    text = finding.match or next((event.text for event in finding.events), "")
    if suppression.match == text:
        return f"the finding is in another directory: add directory = {json.dumps(finding.directory or TOP)}"
    return f"its `match` is another than the finding shows: {hide_secrets(text)!r}"


def _place_of(suppression: Suppression) -> str:
    place = f"line {suppression.line}"
    return place if suppression.path is None else f"{suppression.path}, {place},"


def _walk_written(run: Run) -> Iterator[str]:
    """Yield the files that a run wrote to or tried to, relative to its workspace; those outside are left out."""
    for call in run.calls:
        for edit in call.edits:
            path = path_in_workspaces(edit.path, call.directory, run.workspaces)
            if edit.op in FILE_WRITES and path is not None:
                yield path


def split_agents(run: Run) -> list[Run]:
    """Return one run for each agent: the main one and each sub-agent by name."""
    lines = dict.fromkeys((call.sub_agent, call.agent) for call in run.calls)
    return [replace(run, calls=tuple(c for c in run.calls if (c.sub_agent, c.agent) == line)) for line in lines]
