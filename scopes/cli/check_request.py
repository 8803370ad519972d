"""Which of its tasks `scopes check` does: check runs, list or explain the rules, test them, or compare two runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, NamedTuple

import typer

from scopes.check.compare import MODES
from scopes.check.hook import AGENTS
from scopes.check.policy import FAIL_ON, PRESETS, Policy
from scopes.check.rules.base import FILE_NAME
from scopes.cli.arguments import choose_projects
from scopes.cli.check_reports import FORMATS, Report, parse_reports, refuse_overwriting, show_checked
from scopes.cli.check_runner import CheckOptions, check_runs
from scopes.cli.input import count_waiting_input
from scopes.cli.invocation import Invocation
from scopes.clock import now_nanoseconds, parse_date
from scopes.conversation.list import ListFilter
from scopes.errors import Invalid

Targets = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="PATH|CONV",
        help="Transcripts (-: standard input), folders or stored conversations (default: all stored)",
    ),
]
Rules = Annotated[str | None, typer.Option("--rules", metavar="FILE", help=f"The policy (default: {FILE_NAME} here)")]
RulesFrom = Annotated[
    str | None, typer.Option("--rules-from", metavar="REV", help="The commit from which the policy is read")
]
Preset = Annotated[
    str | None, typer.Option("--preset", metavar="NAME", help=f"Levels of the rules: {', '.join(PRESETS)}")
]
FailOn = Annotated[
    str | None, typer.Option("--fail-on", metavar="LEVEL", help=f"Fail from this level on: {', '.join(FAIL_ON)}")
]
UnknownFails = Annotated[
    str | None, typer.Option("--unknown", metavar="fail", help="Fail also on rules that cannot be judged")
]
Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline", metavar="FILE|CONV", help="An earlier report, or a stored conversation; its findings do not count"
    ),
]
AgentExit = Annotated[
    int | None, typer.Option("--agent-exit", metavar="CODE", help="The exit code of the agent; not 0 is a finding")
]
Reports = Annotated[
    list[str] | None,
    typer.Option("--report", metavar="FORMAT[=PATH]", help=f"Also write a report: {', '.join(FORMATS)}"),
]
Test = Annotated[
    str | None,
    typer.Option("--test", metavar="DIR", help="Test the rules instead, on transcripts with expectations"),
]
Hook = Annotated[
    str | None, typer.Option("--hook", metavar="AGENT", help=f"Answer the hook of an agent: {', '.join(AGENTS)}")
]
Compare = Annotated[
    str | None, typer.Option("--compare", metavar="PATH|CONV", help="Compare a run with this earlier one instead")
]
CompareMode = Annotated[
    str | None, typer.Option("--compare-mode", metavar="MODE", help=f"When two runs differ: {', '.join(MODES)}")
]
Listed = Annotated[bool, typer.Option("--list", help="List the rules with their levels instead")]
Explain = Annotated[
    str | None, typer.Option("--explain", metavar="RULE", help="Explain one rule and its parameters instead")
]


class CheckRequest(NamedTuple):
    """The arguments of `scopes check`, except those about the policy."""

    targets: Sequence[str]
    unknown: str | None
    baseline: str | None
    agent_exit: int | None
    reports: Sequence[str]
    since: str | None
    projects: Sequence[str]
    listed: bool
    explain: str | None
    test: str | None
    compare: str | None
    compare_mode: str | None
    fail_on: str | None = None

    @property
    def given(self) -> list[str]:
        """The arguments that have a value, as they are written on the command line."""
        return [
            _WRITTEN.get(name, f"--{name.replace('_', '-')}")
            for name, value in self._asdict().items()
            if value is not None and value is not False and value != ()
        ]


_WRITTEN = {"reports": "--report", "projects": "--project", "listed": "--list", "targets": "PATH|CONV"}
_OTHER_TASKS = ("--list", "--explain", "--test", "--compare")


def refuse_others(request: CheckRequest) -> None:
    """Raise Invalid if `--hook` is given with what belongs to a check: it would have no effect."""
    if request.given:
        hint = "set `fail_on` in the policy" if request.given == ["--fail-on"] else "leave out the others"
        if request.targets:
            hint = f"leave out {request.targets[0]}: the call is read from standard input"
        raise Invalid("--hook takes --rules, --rules-from and --preset only", hint=hint)


def _refuse_without_effect(request: CheckRequest) -> None:
    """Raise Invalid if an option is given that belongs to another task: it would be ignored without a word."""
    given = request.given
    task = next((name for name in _OTHER_TASKS if name in given), None)
    if task is None:
        if "--compare-mode" in given:
            raise Invalid("--compare-mode has no effect without --compare", hint="for example: --compare old.jsonl")
        return
    if task != "--compare" and request.targets:
        raise Invalid(f"{task} takes no run: {request.targets[0]}", hint="leave it out; for one rule: --explain RULE")
    taken = {task, "--compare-mode", "PATH|CONV"} if task == "--compare" else {task}
    other = next((name for name in given if name not in taken), None)
    if other is not None:
        raise Invalid(f"{other} has no effect with {task}", hint="leave it out, or use two commands")


def answer_request(invocation: Invocation, policy: Policy, request: CheckRequest) -> int:
    """Do what was asked for, show the result, and return the exit code.

    Raises:
        Invalid: an option has an unknown value or no effect, or a report would overwrite a file that the check reads.
        NotFound, Ambiguous: a target or a rule does not exist.
    """
    if request.unknown not in {None, "fail"}:
        raise Invalid(f"--unknown {request.unknown!a} is not possible: use --unknown fail")
    _refuse_without_effect(request)
    reports = parse_reports(request.reports)
    _refuse_two_outputs(invocation, reports)
    refuse_overwriting(
        reports, (*request.targets, request.baseline, policy.path, *policy.paths.values()), invocation.cwd
    )
    if request.listed:
        from scopes.check.explain import list_rules

        return invocation.show(list_rules(policy))
    if request.explain is not None:
        from scopes.check.explain import explain_rule

        return invocation.show(explain_rule(policy, request.explain))
    if request.test is not None:
        from scopes.cli.check_rule_tests import run_rule_tests

        return invocation.show(run_rule_tests(invocation, request.test, policy))
    if request.compare is not None:
        from scopes.cli.check_compare import compare_targets

        compared = compare_targets(invocation, request.compare, request.targets, request.compare_mode, policy)
        return invocation.show(compared)
    if not request.targets and count_waiting_input(invocation):
        raise Invalid("standard input has data, and no run is named", hint="to check it: scopes check -")
    wanted = ListFilter(
        since=None if request.since is None else parse_date(request.since, now_nanoseconds()),
        projects=choose_projects(invocation, request.projects, stored=not request.targets),
    )
    options = CheckOptions(request.baseline, request.agent_exit, unknown_fails=request.unknown is not None)
    return show_checked(invocation, check_runs(invocation, request.targets, wanted, policy, options), reports)


def _refuse_two_outputs(invocation: Invocation, reports: Sequence[Report]) -> None:
    """Raise Invalid if --json, --format or --fields and a report without a path would both be on standard output."""
    printed = next((report.format for report in reports if report.path is None), None)
    if printed is None or not invocation.wants_data or (printed == "json" and invocation.json):
        return
    given = "--json" if invocation.json else "--format" if invocation.template is not None else "--fields"
    hint = f"give the report a path: --report {printed}=report.{printed}"
    raise Invalid(f"{given} and --report {printed} would both write to standard output", hint=hint)
