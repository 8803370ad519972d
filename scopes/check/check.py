"""`check`: judge runs by the rules of a policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from scopes.check.baseline import mark_known
from scopes.check.findings import Finding, Level, Verdict, is_at_least, redacted
from scopes.check.fingerprints import fingerprint_of_missing, guess_directories, with_fingerprints
from scopes.check.judge import Judge, level_of
from scopes.check.locate import locate_events
from scopes.check.policy import Policy
from scopes.check.rules.missing import CURE, MISSING
from scopes.check.rules.run import AGENT_EXIT
from scopes.check.run import Run, RunSource
from scopes.check.run_reader import read_run
from scopes.check.transcripts import Sources
from scopes.history.handles import Scope
from scopes.ids import ConversationId
from scopes.importers.formats.events import RunEnd
from scopes.result import HIDDEN, Note, Result, shown
from scopes.secret_scan.clearance import without_store
from scopes.secret_scan.shown import hide_secrets
from scopes.store.repository import Repository


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedRun:
    """The verdicts about one run, in the order of the rules; `sources` are the transcripts that it was read from."""

    name: str
    conversation: ConversationId | None
    title: str | None
    calls: int
    verdicts: tuple[Verdict, ...]
    sources: tuple[RunSource, ...] = field(default=(), metadata=HIDDEN)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings of the run."""
        return tuple(finding for verdict in self.verdicts for finding in verdict.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked(Result):
    """The verdicts about all runs. It fails if a finding that counts is at least as severe as `fail_on`.

    policy, lines: the file of the policy, and the line of each rule
    paths: the file of each rule that is in a file that the policy extends
    own_rules: the text of each rule that the policy defines, by id
    job_file: the file of the repository that defines the CI job; None if it is unknown
    unknown_fails: a rule at such a level that cannot be judged fails too
    """

    kind = "check"

    runs: tuple[CheckedRun, ...]
    fail_on: str = "error"
    unknown_fails: bool = field(default=False, metadata=HIDDEN)
    policy: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict, metadata=HIDDEN)
    paths: Mapping[str, str] = field(default_factory=dict, metadata=HIDDEN)
    own_rules: Mapping[str, str] = field(default_factory=dict, metadata=HIDDEN)
    job_file: str | None = field(default=None, metadata=HIDDEN)

    @property
    @shown
    def result(self) -> str:
        """`fail` or `pass`."""
        return "fail" if self.failed else "pass"

    @property
    @shown
    def findings(self) -> list[dict[str, object]]:
        """The findings of all runs, each with the name of its run."""
        return [{"run": run.name, **finding.document()} for run in self.runs for finding in run.findings]

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
    left_out: str = "",
    empty: Sequence[Run] = (),
    baseline: frozenset[str] = frozenset(),
    agent_exit: int | None = None,
    unknown_fails: bool = False,
    checkout: str | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Checked:
    """Judge runs one after the other, given as names and scopes; one without a name is called like its transcript.

    `baseline` holds the fingerprints of findings that do not count. `agent_exit` is the exit code of the agent: a run
    fails if it is not 0, whatever its transcript says. `missing` are names and reasons of runs that are not there or
    cannot be read. Each is a finding of `run/missing`, and so is the absence of any run: nothing examined is never
    clean. `left_out` tells what filters left out. `empty` are runs that no conversation has, because their transcripts
    have no message. `checkout` is the directory of the checkout, if the CI system of this job states it. `on_progress`
    is called with 1 for each run that was judged.
    """
    judge = Judge(policy)
    nothing = f"there is no run to check: {left_out}" if left_out else "there is no run to check"
    missing = missing if missing or scopes or empty else [("", nothing)]
    checked = [_missing_run(name, reason, judge, level_of(MISSING, policy)) for name, reason in missing]

    def verdicts_of(run: Run) -> list[Verdict]:
        verdicts = judge.verdicts(_with_exit_code(run, agent_exit))
        verdicts = _with_known(run, verdicts, baseline)
        return [each._replace(findings=tuple(map(redacted, each.findings))) for each in verdicts]

    checked += [_checked(run, verdicts_of(run)) for run in empty]
    seen: Counter[str] = Counter(run.name for run in empty)
    imported = Sources(repository)
    for name, scope in scopes:
        run = _named(replace(read_run(repository, scope, name, imported), checkout=checkout), name)
        seen[run.name] += 1
        run = run if seen[run.name] == 1 else replace(run, name=f"{run.name} (run {seen[run.name]})")
        checked.append(_checked(run, locate_events(repository, scope, verdicts_of(run), imported)))
        if on_progress is not None:
            on_progress(1)
    return Checked(
        runs=tuple(checked),
        fail_on=policy.fail_on,
        unknown_fails=unknown_fails,
        policy=policy.path,
        lines={**policy.lines, **{rule.id: rule.line for rule in policy.own_rules}},
        paths={**policy.paths, **{rule.id: rule.path for rule in policy.own_rules if rule.path is not None}},
        own_rules={rule.id: rule.expect for rule in policy.own_rules},
        notes=(*policy.notes, *_notes_on_missing(missing, policy), *judge.notes()),
    )


def _with_known(run: Run, verdicts: list[Verdict], baseline: frozenset[str]) -> list[Verdict]:
    """Return the verdicts with the findings of the baseline marked.

    A stream of Codex does not state its directory, as its session file does. The directory around its files that makes
    most findings known then counts as that of the whole run.
    """
    marked = [each._replace(findings=mark_known(each.findings, baseline)) for each in verdicts]
    for directory in guess_directories(run) if baseline else ():
        moved = replace(run, directory=directory)
        again = [with_fingerprints(moved, each) for each in verdicts]
        other = [each._replace(findings=mark_known(each.findings, baseline)) for each in again]
        if _count_known(other) > _count_known(marked):
            marked = other
    return marked


def _count_known(verdicts: Sequence[Verdict]) -> int:
    return sum(finding.known for verdict in verdicts for finding in verdict.findings)


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
    detail = f"{AGENT_EXIT} {code}"
    if run.end is None:
        return replace(run, end=RunEnd("error", detail))
    return replace(run, end=run.end._replace(status="error", detail=f"{run.end.detail}; {detail}".lstrip("; ")))


def _checked(run: Run, verdicts: list[Verdict]) -> CheckedRun:
    return CheckedRun(
        name=hide_secrets(run.name),
        conversation=run.conversation,
        title=None if run.title is None else without_store().clear_name(hide_secrets(run.title), "the title"),
        calls=len(run.calls),
        verdicts=tuple(verdicts),
        sources=tuple(source._replace(path=hide_secrets(source.path)) for source in run.sources),
    )


def _missing_run(name: str, reason: str, judge: Judge, level: Level) -> CheckedRun:
    """Return a run that is not there, with the verdict of `run/missing` unless that is off."""
    verdicts: tuple[Verdict, ...] = ()
    if level != "off":
        finding = Finding(MISSING.id, level, reason, cure=CURE, fingerprint=fingerprint_of_missing(MISSING.id, name))
        verdicts = (judge.apply_suppressions(Verdict(MISSING.id, level, "fail", findings=(finding,))),)
    return CheckedRun(name=name, conversation=None, title=None, calls=0, verdicts=verdicts)


def _notes_on_missing(missing: Sequence[tuple[str, str]], policy: Policy) -> Iterator[Note]:
    """Yield a note for each missing run if no rule reports it: nothing examined is never silent."""
    if level_of(MISSING, policy) == "off":
        for name, reason in missing:
            yield Note(f"{name}: {reason}" if name else reason, f"the policy has {MISSING.id} off")
