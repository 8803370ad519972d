"""Find the two runs of `scopes check --compare` and compare them."""

from __future__ import annotations

from collections.abc import Sequence

from scopes.check.compare import MODES, RunComparison, compare_runs
from scopes.check.policy import Policy
from scopes.check.run import Run
from scopes.check.run_reader import read_run
from scopes.cli.check_targets import open_runs, split_targets
from scopes.cli.invocation import Invocation
from scopes.errors import Ambiguous, Invalid, NotFound


def compare_targets(
    invocation: Invocation, first: str, targets: Sequence[str], mode: str | None, policy: Policy
) -> RunComparison:
    """Compare two runs, each a path or a stored conversation.

    Raises:
        Invalid: there is not one other run, or the mode does not exist.
        NotFound, Ambiguous: a target is not a run, or has several.
    """
    if mode not in {None, *MODES}:
        raise Invalid(f"--compare-mode {mode!a} is not possible: use one of {', '.join(MODES)}")
    if len(targets) != 1:
        raise Invalid("--compare needs two runs", hint="for example: scopes check --compare before.jsonl after.jsonl")
    return compare_runs(_read(invocation, first), _read(invocation, targets[0]), mode or "strict", policy)


def _read(invocation: Invocation, target: str) -> Run:
    paths, names = split_targets(invocation, [target])
    with open_runs(invocation, paths, names) as runs:
        if not runs.scopes:
            reason = f": {runs.missing[0][1]}" if runs.missing else ""
            raise NotFound(f"there is no run in {target}{reason}", hint="give a transcript or a stored conversation")
        if len(runs.scopes) > 1:
            raise Ambiguous(f"{target} has {len(runs.scopes)} runs", hint="give the transcript of one of them")
        return read_run(runs.repository, runs.scopes[0][1], target)
