"""`check`: judge runs by the rules of a policy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scopes.check.findings import Finding, Level, Verdict, is_at_least, lower
from scopes.check.fingerprints import with_fingerprints
from scopes.check.locate import locate_events
from scopes.check.policy import Policy
from scopes.check.rules.base import Rule, Settings, Unknown
from scopes.check.rules.registry import RULES
from scopes.check.run import Run
from scopes.check.run_reader import read_run
from scopes.check.suppressions import suppress
from scopes.history.conversations import Scope
from scopes.ids import ConversationId
from scopes.result import Result
from scopes.store.repository import Repository

MISSING = "run/missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRun:
    """The verdicts about one run, in the order of the rules."""

    name: str
    conversation: ConversationId | None
    title: str | None
    calls: int
    verdicts: tuple[Verdict, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings of the run."""
        return tuple(finding for verdict in self.verdicts for finding in verdict.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Result):
    """The verdicts about all runs. It fails if a finding that counts is at least as severe as `fail_on`.

    unknown_fails: a rule at such a level that cannot be judged fails too
    """

    runs: tuple[CheckedRun, ...]
    fail_on: str = "error"
    unknown_fails: bool = False
    policy: str | None = None

    @property
    def failures(self) -> tuple[Finding, ...]:
        """The findings that make the check fail."""
        return tuple(
            finding
            for run in self.runs
            for finding in run.findings
            if finding.counts and is_at_least(finding.level, self.fail_on)
        )

    @property
    def unknown(self) -> tuple[Verdict, ...]:
        """The verdicts that are unknown."""
        return tuple(verdict for run in self.runs for verdict in run.verdicts if verdict.status == "unknown")

    @property
    def failed(self) -> bool:
        """True if the check fails."""
        unknown = self.unknown_fails and any(is_at_least(verdict.level, self.fail_on) for verdict in self.unknown)
        return bool(self.failures) or unknown

    @property
    def exit_code(self) -> int:
        """One if the check fails."""
        return int(self.failed)


def check(
    repository: Repository,
    scopes: Sequence[tuple[str, Scope]],
    policy: Policy,
    *,
    missing: Sequence[tuple[str, str]] = (),
    unknown_fails: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> Checked:
    """Judge runs, given as names and scopes, one after the other; only one run is in memory at a time.

    `missing` are names and reasons of runs that are not there or cannot be read. Each is a finding of `run/missing`,
    and so is the absence of any run: nothing examined is never clean.
    """
    checked = [_missing(name, reason, policy) for name, reason in missing]
    for number, (name, scope) in enumerate(scopes, 1):
        checked.append(_check_run(repository, scope, read_run(repository, scope, name), policy))
        if on_progress is not None:
            on_progress(number)
    if not checked:
        checked.append(_missing("", "there is no run to check", policy))
    return Checked(runs=tuple(checked), fail_on=policy.fail_on, unknown_fails=unknown_fails, policy=policy.path)


def _check_run(repository: Repository, scope: Scope, run: Run, policy: Policy) -> CheckedRun:
    verdicts = [_judge(rule, run, policy) for rule in RULES.values() if level_of(rule, policy) != "off"]
    verdicts = [with_fingerprints(run, verdict) for verdict in verdicts]
    verdicts = [suppress(verdict, policy) for verdict in verdicts]
    verdicts = locate_events(repository, scope, verdicts)
    return CheckedRun(
        name=run.name,
        conversation=run.conversation,
        title=run.title,
        calls=len(run.calls),
        verdicts=tuple(verdicts),
    )


def _judge(rule: Rule, run: Run, policy: Policy) -> Verdict:
    level = level_of(rule, policy)
    given = policy.parameters.get(rule.id, {})
    parameters = {each.name: given.get(each.name, each.default) for each in rule.parameters}
    answer = rule.judge(run, Settings(level, parameters, policy.tests, policy.tools_as_test))
    if isinstance(answer, Unknown):
        return Verdict(rule.id, level, "unknown", answer.reason)
    findings = tuple(_with_level(finding) for finding in answer)
    if not findings and rule.needs_calls and run.is_stream_only:
        return Verdict(rule.id, level, "unknown", "the event stream may lack calls, and there is no session file")
    return Verdict(rule.id, level, "fail" if findings else "pass", findings=findings)


def level_of(rule: Rule, policy: Policy) -> Level:
    """Return the level of a rule in a policy: its own setting, else that of the preset."""
    if rule.id in policy.levels:
        return policy.levels[rule.id]
    return rule.strict if policy.preset == "strict" and rule.strict is not None else rule.level


def _with_level(finding: Finding) -> Finding:
    return finding._replace(level=lower(finding.level)) if finding.attempted else finding


def _missing(name: str, reason: str, policy: Policy) -> CheckedRun:
    level = policy.levels.get(MISSING, "error")
    finding = Finding(MISSING, level, reason, cure="see whether the agent ran, and where it left its transcript")
    verdict = Verdict(MISSING, level, "fail", findings=(finding,))
    return CheckedRun(name=name, conversation=None, title=None, calls=0, verdicts=(verdict,))
