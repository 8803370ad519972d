"""`scopes check`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.check.check import check as run_check
from scopes.check.policy import FAIL_ON, FILE_NAME
from scopes.cli.check_runner import open_runs, read_policy, split_targets
from scopes.cli.invocation import Invocation
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
    fail_on: Annotated[
        str | None,
        typer.Option("--fail-on", metavar="LEVEL", help=f"Fail from this level on: {', '.join(FAIL_ON)}"),
    ] = None,
    unknown: Annotated[
        str | None, typer.Option("--unknown", metavar="fail", help="Fail also on rules that cannot be judged")
    ] = None,
) -> int:
    """Check what agents did against rules.

    Every rule answers pass, fail or unknown for every run. A run that is missing, empty, cut off or failed never
    passes. Transcripts are read into a temporary store; nothing that they contain is executed.

    The exit code is 0 if nothing was found, 1 if there is a finding at the level of --fail-on (default: error), and 2
    if the policy has a mistake.

    Examples:
      scopes check agent.jsonl ~/.codex/sessions
      scopes check conv-042
      scopes check agent.jsonl --rules ci/scopes-check.toml --fail-on warning
      scopes check agent.jsonl --json
    """
    invocation: Invocation = context.obj
    if unknown not in {None, "fail"}:
        raise Invalid(f"--unknown {unknown!a} is not possible: use --unknown fail")
    policy = read_policy(rules, fail_on)
    paths, names = split_targets(targets or [])
    with open_runs(invocation, paths, names) as runs:
        return invocation.show(
            run_check(runs.repository, runs.scopes, policy, missing=runs.missing, unknown_fails=unknown is not None)
        )
