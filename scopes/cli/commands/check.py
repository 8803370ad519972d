"""`scopes check`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from scopes.check.policy import Policy
from scopes.cli.check_hook import run_hook, split_rules
from scopes.cli.check_policy import read_policy
from scopes.cli.check_reports import Report, parse_reports, refuse_overwriting, reported_failures, show_checked
from scopes.cli.check_runs import check_runs, run_rule_tests
from scopes.cli.input import count_waiting_input
from scopes.cli.invocation import Invocation
from scopes.cli.options import OfProjects, Since, Text, Texts, argument, choose_projects, option
from scopes.clock import now_nanoseconds, parse_date
from scopes.conversation.list import ListFilter
from scopes.errors import Invalid

# What the tasks beside a check take: the names of arguments.
_TASKS = {"--hook": {"--rules", "--preset"}, "--list": {"RUN"}, "--test": set[str]()}


def check(
    invocation: Invocation,
    runs: Annotated[
        Texts, argument("[RUN...]", "Transcripts, directories, - or conversations (default: all stored)")
    ] = None,
    since: Since = None,
    projects: OfProjects = None,
    rules: Annotated[Text, option("--rules [REV:]FILE", "The policy (default: scopes-check.toml)")] = None,
    preset: Annotated[Text, option("--preset NAME", "Levels of rules: recommended, strict, read-only")] = None,
    fail_on: Annotated[Text, option("--fail-on LEVEL", "Fail from here on: error, warning, note, none")] = None,
    strict: Annotated[bool, option("--strict", "Fail also where nobody knows")] = False,
    baseline: Annotated[Text, option("--baseline FILE|CONV", "What was found there does not count")] = None,
    agent_exit: Annotated[int | None, option("--agent-exit CODE", "How the agent ended; not 0 is a finding")] = None,
    reports: Annotated[Texts, option("--report FORM[=FILE]", "Also write json, sarif, junit, github, ...")] = None,
    hook: Annotated[Text, option("--hook AGENT", "Answer the hook of an agent before a call")] = None,
    listed: Annotated[bool, option("--list [RULE]", "List the rules, or explain one")] = False,
    test: Annotated[Text, option("--test DIR", "Test the rules on transcripts with results")] = None,
) -> int:
    """Check what agents did against rules.

    Every rule answers pass, fail or unknown for every run; one that is missing, empty, cut off or failed never passes.
    The exit code is 1 for a finding at the level of --fail-on, and 2 for a mistake in the policy. It is a report, not a
    sandbox: an agent that wants to deceive it can. All of it: scopes help -a check.

    Examples:
      scopes check --strict run.jsonl --report junit=check.xml
      scopes check --since yesterday
      scopes check --list shell/force-push
    """
    given = {
        "RUN": runs, "--since": since, "--project": projects, "--rules": rules, "--preset": preset,
        "--fail-on": fail_on, "--strict": strict, "--baseline": baseline, "--agent-exit": agent_exit,
        "--report": reports, "--hook": hook, "--list": listed, "--test": test,
    }  # fmt: skip
    names = [name for name, value in given.items() if not (value is None or value is False or value == [])]
    task = next((name for name in _TASKS if name in names), None)
    if task is not None:
        _refuse_without_effect(task, names, runs or ())
    path, revision = split_rules(rules)
    if hook is not None:
        return run_hook(invocation.environ, hook, path, revision, preset, overrides=invocation.overrides)
    with reported_failures(invocation):
        policy = read_policy(invocation, path, revision, fail_on, preset, only_shown=listed)
        wanted = parse_reports(reports or ())
        _refuse_two_outputs(invocation, wanted)
        refuse_overwriting(wanted, (*(runs or ()), baseline, policy.path, *policy.paths.values()), invocation.cwd)
        if listed:
            return _show_rules(invocation, policy, runs or ())
        if test is not None:
            return invocation.show(run_rule_tests(invocation, test, policy))
        if not runs and count_waiting_input(invocation):
            raise Invalid("standard input has data, and no run is named", hint="to check it: scopes check -")
        narrowed = ListFilter(
            since=None if since is None else parse_date(since, now_nanoseconds()),
            projects=choose_projects(invocation, projects, stored=not runs),
        )
        checked = check_runs(
            invocation, runs or (), narrowed, policy, baseline=baseline, agent_exit=agent_exit, unknown_fails=strict
        )
        return show_checked(invocation, checked, wanted)


def _refuse_without_effect(task: str, names: Sequence[str], runs: Sequence[str]) -> None:
    """Raise Invalid if something is given that has no effect with a task: it would be ignored without a word."""
    allowed = {task, "--rules", "--preset", *_TASKS[task]}
    other = next((name for name in names if name not in allowed), None)
    if other == "RUN":
        hint = "leave it out; the call is read from standard input" if task == "--hook" else "leave it out"
        raise Invalid(f"{task} takes no run: {runs[0]}", hint=hint)
    if other is not None:
        hint = "set `fail_on` in the policy" if other == "--fail-on" else "leave it out, or use two commands"
        raise Invalid(f"{other} has no effect with {task}", hint=hint)


def _show_rules(invocation: Invocation, policy: Policy, rules: Sequence[str]) -> int:
    """List the rules with their levels, or explain one."""
    from scopes.check.explain import explain_rule, list_rules

    if len(rules) > 1:
        raise Invalid("name one rule", hint="list them: scopes check --list")
    return invocation.show(explain_rule(policy, rules[0]) if rules else list_rules(policy))


def _refuse_two_outputs(invocation: Invocation, reports: Sequence[Report]) -> None:
    """Raise Invalid if the result as data and a report without a path would both be on standard output."""
    printed = next((report.format for report in reports if report.path is None), None)
    if printed is None or not invocation.wants_data or (printed == "json" and invocation.json):
        return
    given = "--json" if invocation.json else "--format"
    hint = f"give the report a path: --report {printed}=report.{printed}"
    raise Invalid(f"{given} and --report {printed} would both write to standard output", hint=hint)
