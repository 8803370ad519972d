"""`check`: judge runs by the rules of a policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scopes.check.baseline import mark_known
from scopes.check.findings import Finding, Verdict, is_at_least, redacted
from scopes.check.judge import Judge
from scopes.check.locate import locate_events
from scopes.check.policy import Policy
from scopes.check.run import Run, RunSource
from scopes.check.run_reader import read_run
from scopes.history.conversations import Scope
from scopes.ids import ConversationId
from scopes.importers.formats.events import RunEnd
from scopes.result import Result
from scopes.store.repository import Repository

MISSING = "run/missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRun:
    """The verdicts about one run, in the order of the rules; `sources` are the transcripts that it was read from."""

    name: str
    conversation: ConversationId | None
    title: str | None
    calls: int
    verdicts: tuple[Verdict, ...]
    sources: tuple[RunSource, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings of the run."""
        return tuple(finding for verdict in self.verdicts for finding in verdict.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Result):
    """The verdicts about all runs. It fails if a finding that counts is at least as severe as `fail_on`.

    policy, lines: the file of the policy, and the line of each rule in it
    own_rules: the text of each rule that the policy defines, by id
    unknown_fails: a rule at such a level that cannot be judged fails too
    """

    runs: tuple[CheckedRun, ...]
    fail_on: str = "error"
    unknown_fails: bool = False
    policy: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict)
    own_rules: Mapping[str, str] = field(default_factory=dict)

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
    scopes: Sequence[tuple[str | None, Scope]],
    policy: Policy,
    *,
    missing: Sequence[tuple[str, str]] = (),
    baseline: frozenset[str] = frozenset(),
    agent_exit: int | None = None,
    unknown_fails: bool = False,
    on_progress: Callable[[int], None] | None = None,
) -> Checked:
    """Judge runs one after the other, given as names and scopes; one without a name is called like its transcript.

    `baseline` holds the fingerprints of findings that do not count. `agent_exit` is the exit code of the agent: a run
    fails if it is not 0, whatever its transcript says. `missing` are names and reasons of runs that are not there or
    cannot be read. Each is a finding of `run/missing`, and so is the absence of any run: nothing examined is never
    clean.
    """
    judge = Judge(policy)
    checked = [_missing(name, reason, policy) for name, reason in missing]
    for number, (name, scope) in enumerate(scopes, 1):
        run = _with_exit_code(_named(read_run(repository, scope, name), name), agent_exit)
        verdicts = [
            each._replace(findings=tuple(map(redacted, mark_known(each.findings, baseline))))
            for each in judge.verdicts(run)
        ]
        checked.append(_checked(run, locate_events(repository, scope, verdicts)))
        if on_progress is not None:
            on_progress(number)
    if not checked:
        checked.append(_missing("", "there is no run to check", policy))
    return Checked(
        runs=tuple(checked),
        fail_on=policy.fail_on,
        unknown_fails=unknown_fails,
        policy=policy.path,
        lines={**policy.lines, **{rule.id: rule.line for rule in policy.own_rules}},
        own_rules={rule.id: rule.expect for rule in policy.own_rules},
        notes=(*policy.notes, *judge.notes()),
    )


def _named(run: Run, name: str | None) -> Run:
    """Return a run without a name with the path of its transcript as name, a session file before a stream."""
    if name is not None or not run.sources:
        return run
    source = min(run.sources, key=lambda source: source.kind)
    return replace(run, name=source.path)


def _with_exit_code(run: Run, code: int | None) -> Run:
    """Return the run with an end that says that the agent failed, if its exit code is not 0."""
    if not code:
        return run
    detail = f"the agent's exit code is {code}"
    if run.end is None:
        return replace(run, end=RunEnd("error", detail))
    return replace(run, end=run.end._replace(status="error", detail=f"{run.end.detail}; {detail}".lstrip("; ")))


def _checked(run: Run, verdicts: list[Verdict]) -> CheckedRun:
    return CheckedRun(
        name=run.name,
        conversation=run.conversation,
        title=run.title,
        calls=len(run.calls),
        verdicts=tuple(verdicts),
        sources=run.sources,
    )


def _missing(name: str, reason: str, policy: Policy) -> CheckedRun:
    level = policy.levels.get(MISSING, "error")
    finding = Finding(MISSING, level, reason, cure="see whether the agent ran, and where it left its transcript")
    verdict = Verdict(MISSING, level, "fail", findings=(finding,))
    return CheckedRun(name=name, conversation=None, title=None, calls=0, verdicts=(verdict,))
