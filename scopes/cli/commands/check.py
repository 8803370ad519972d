"""`scopes check`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import OfProjects, Since
from scopes.cli.check_hook import run_hook
from scopes.cli.check_reports import reported_failures
from scopes.cli.check_request import (  # fmt: skip
    AgentExit,
    Baseline,
    CheckRequest,
    Compare,
    CompareMode,
    Explain,
    FailOn,
    Hook,
    Listed,
    Preset,
    Reports,
    Rules,
    RulesFrom,
    Targets,
    Test,
    UnknownFails,
    answer_request,
    refuse_others,
)
from scopes.cli.check_runner import read_policy
from scopes.cli.invocation import Invocation


def check(
    context: typer.Context,
    targets: Targets = None,
    rules: Rules = None,
    rules_from: RulesFrom = None,
    preset: Preset = None,
    fail_on: FailOn = None,
    unknown: UnknownFails = None,
    baseline: Baseline = None,
    agent_exit: AgentExit = None,
    report: Reports = None,
    test: Test = None,
    hook: Hook = None,
    compare: Compare = None,
    compare_mode: CompareMode = None,
    since: Since = None,
    project: OfProjects = None,
    listed: Listed = False,
    explain: Explain = None,
) -> int:
    """Check what agents did against rules.

    Paths are transcripts, or folders with some: --since and --project narrow folders and the stored conversations; what
    is named is always checked. Without a path a word without a slash is the name of a project: --project shop.

    Every rule answers pass, fail or unknown for every run. A run that is missing, empty, cut off or failed never
    passes. Transcripts are read into a temporary store; nothing that they contain is executed. Rules about commands
    read the recorded command lines. What cannot be read is shell/opaque.

    check is not a sandbox: it reports what it reads in the transcript. That finds mistakes and carelessness, but an
    agent that wants to deceive it can hide what a program of its own does. To make something impossible, use the
    sandbox of the agent and the permissions of the job.

    The policy is scopes-check.toml: levels, parameters, rules of your own, and suppressions with a reason and a last
    day. In a CI job for a change it is read from the commit that the change is based on, so that an agent cannot change
    its own rules; --rules-from names another commit.

    A rule of your own says what a run must have or must not have, for example: expect = "never run(git push **) until
    test.ok". The manual page of scopes-check has the forms and events, and jobs for GitHub, GitLab, Jenkins and
    pre-commit.

    --report writes further reports, whatever the verdict, with secrets redacted. In GitHub Actions annotations and the
    summary of the step are written by themselves.

    --test compares the findings in each transcript of DIR with its NAME.expect.toml, which has [[expect]] tables with
    `rule`, `at` (line of the transcript; a finding about the whole run has none) and `status`: ruleid, ok, todoruleid
    or todook. A failed test exits with 2.

    --compare OLD NEW compares two runs of one task: tools, calls and their order, files, commands, tests, tokens, cost
    and time. They differ (exit code 1) if the calls are not the same in the same order, or as --compare-mode says.

    --hook is the command for an agent's hook before a tool call: PreToolUse of Claude Code and Codex, BeforeTool of
    Gemini CLI. It judges the call by the rules that one call decides: level error denies it with the reason, warning
    asks the user, and all else is left to the agent's own permissions. The manual page says more about all of these.

    The exit code is 0 if nothing was found, 1 if there is a finding at the level of --fail-on (default: error), and 2
    if the policy has a mistake.

    Examples:
      scopes check agent.jsonl ~/.codex/sessions
      scopes check agent.jsonl --report github --report sarif=s.sarif
      scopes check agent.jsonl --baseline last.sarif --agent-exit 0
      scopes check --since yesterday --project .
      scopes check --explain order/tests-after-last-edit
      scopes check --test tests/rules
      scopes check --compare conv-001 agent.jsonl --compare-mode superset
      scopes check --hook claude-code --rules-from HEAD
      scopes check conv-042 --json
    """
    invocation: Invocation = context.obj
    request = CheckRequest(
        targets or (), unknown, baseline, agent_exit, report or (), since, project or (), listed, explain, test,
        compare, compare_mode, fail_on,
    )  # fmt: skip
    if hook is not None:
        refuse_others(request)
        return run_hook(invocation.environ, hook, rules, rules_from, preset, overrides=invocation.overrides)
    with reported_failures(invocation):
        policy = read_policy(invocation, rules, rules_from, fail_on, preset, only_shown=listed or explain is not None)
        return answer_request(invocation, policy, request)
