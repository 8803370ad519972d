"""`scopes check`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.check.explain import explain_rule, list_rules
from scopes.check.hook import AGENTS
from scopes.check.policy import FAIL_ON, PRESETS
from scopes.check.rules.base import FILE_NAME
from scopes.cli.arguments import OfProjects, Since, find_named_project
from scopes.cli.check_hook import run_hook
from scopes.cli.check_reports import FORMATS, parse_reports, show_checked
from scopes.cli.check_rule_tests import run_rule_tests
from scopes.cli.check_runner import CheckOptions, check_runs, read_policy
from scopes.cli.invocation import Invocation
from scopes.clock import now_nanoseconds, parse_date
from scopes.conversation.list_filter import ListFilter
from scopes.errors import Invalid


def check(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH|CONV", help="Transcripts, folders or stored conversations (default: all stored)"),
    ] = None,
    rules: Annotated[
        str | None, typer.Option("--rules", metavar="FILE", help=f"The policy (default: {FILE_NAME} here)")
    ] = None,
    rules_from: Annotated[
        str | None,
        typer.Option("--rules-from", metavar="REV", help="The commit from which the policy is read"),
    ] = None,
    preset: Annotated[
        str | None, typer.Option("--preset", metavar="NAME", help=f"Levels of the rules: {', '.join(PRESETS)}")
    ] = None,
    fail_on: Annotated[
        str | None, typer.Option("--fail-on", metavar="LEVEL", help=f"Fail from this level on: {', '.join(FAIL_ON)}")
    ] = None,
    unknown: Annotated[
        str | None, typer.Option("--unknown", metavar="fail", help="Fail also on rules that cannot be judged")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", metavar="FILE", help="An earlier report; its findings do not count")
    ] = None,
    agent_exit: Annotated[
        int | None, typer.Option("--agent-exit", metavar="CODE", help="The exit code of the agent; not 0 is a finding")
    ] = None,
    report: Annotated[
        list[str] | None,
        typer.Option("--report", metavar="FORMAT[=PATH]", help=f"Also write a report: {', '.join(FORMATS)}"),
    ] = None,
    test: Annotated[
        str | None,
        typer.Option("--test", metavar="DIR", help="Test the rules instead, on transcripts with expectations"),
    ] = None,
    hook: Annotated[
        str | None,
        typer.Option("--hook", metavar="AGENT", help=f"Answer the hook of an agent: {', '.join(AGENTS)}"),
    ] = None,
    since: Since = None,
    project: OfProjects = None,
    listed: Annotated[bool, typer.Option("--list", help="List the rules with their levels instead")] = False,
    explain: Annotated[
        str | None, typer.Option("--explain", metavar="RULE", help="Explain one rule and its parameters instead")
    ] = None,
) -> int:
    """Check what agents did against rules.

    Every rule answers pass, fail or unknown for every run. A run that is missing, empty, cut off or failed never
    passes. Transcripts are read into a temporary store; nothing that they contain is executed.

    The policy is scopes-check.toml: levels, parameters, rules of your own, and suppressions with a reason and a last
    day. In a CI job for a change it is read from the commit that the change is based on, so that an agent cannot change
    its own rules; --rules-from names another commit.

    A rule of your own says what a run must have or must not have, for example: expect = "never run(git push **) until
    test.ok". Forms: never A, never A until B, never A after B, some A, A needs B before, A needs B after, last A after
    last B, at most N A. Events: run(WORDS), edit(GLOB), read(GLOB), tool(NAME, key=GLOB), fetch(HOST), text(/REGEX/),
    agent(TYPE) and test, each with .ok, .failed or .denied if wanted, and | between alternatives. The manual page of
    scopes-check explains them, and has jobs for GitHub, GitLab, Jenkins and pre-commit.

    --report writes further reports, whatever the verdict. In GitHub Actions annotations and the summary of the step are
    written by themselves. Secrets are redacted in all of them.

    --test compares the findings in each transcript of DIR with its NAME.expect.toml, which has [[expect]] tables with
    `rule`, `at` (line of the transcript) and `status`: ruleid, ok, todoruleid or todook. A failed test exits with 2.

    --hook is the command for an agent's hook before a tool call: PreToolUse of Claude Code and Codex, BeforeTool of
    Gemini CLI. It judges the call by the rules that one call decides: level error denies it with the reason, warning
    asks the user (Codex shows a message), and all else is left to the agent's own permissions. A hook that fails
    denies the call, unless scopes.check.hookFailure is open. The policy is that of the project; --rules-from, or
    --rules with a path outside of it, if the agent can write there.

    The exit code is 0 if nothing was found, 1 if there is a finding at the level of --fail-on (default: error), and 2
    if the policy has a mistake.

    Examples:
      scopes check agent.jsonl ~/.codex/sessions
      scopes check conv-042
      scopes check agent.jsonl --report github --report sarif=s.sarif
      scopes check agent.jsonl --baseline last.sarif --agent-exit 0
      scopes check --since yesterday --project .
      scopes check --explain order/tests-after-last-edit
      scopes check --test tests/rules
      scopes check --hook claude-code --rules-from HEAD
      scopes check agent.jsonl --json
    """
    invocation: Invocation = context.obj
    if hook is not None:
        return run_hook(invocation.environ, hook, rules, rules_from, preset)
    if unknown not in {None, "fail"}:
        raise Invalid(f"--unknown {unknown!a} is not possible: use --unknown fail")
    reports = parse_reports(report or [])
    policy = read_policy(invocation, rules, rules_from, fail_on, preset)
    if listed:
        return invocation.show(list_rules(policy))
    if explain is not None:
        return invocation.show(explain_rule(policy, explain))
    if test is not None:
        return invocation.show(run_rule_tests(invocation, test, policy))
    wanted = ListFilter(
        since=None if since is None else parse_date(since, now_nanoseconds()),
        projects=tuple(find_named_project(invocation, path) for path in project or ()),
    )
    options = CheckOptions(baseline, agent_exit, unknown_fails=unknown is not None)
    return show_checked(invocation, check_runs(invocation, targets or [], wanted, policy, options), reports)
