"""The options --continue, --skip, --abort and --dry-run of `rebase` and `cherry-pick`."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from scopes.errors import Invalid

Continue: TypeAlias = Annotated[bool, typer.Option("--continue", help="Continue after the conflicts are resolved")]
Skip: TypeAlias = Annotated[
    bool, typer.Option("--skip", help="Skip the message that caused the conflict, and continue")
]
Abort: TypeAlias = Annotated[bool, typer.Option("--abort", help="Stop, and restore the state from before")]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Print what would happen, and change nothing")]


def requested_step(*, begin: bool, continue_: bool, skip: bool, abort: bool, dry_run: bool, missing: str) -> str:
    """Return the requested step: "begin", "continue", "skip" or "abort".

    `missing` is the error message when no step is requested.

    Raises:
        Invalid: no step or several steps are given, or --dry-run with another step than "begin".
    """
    requested = {"begin": begin, "continue": continue_, "skip": skip, "abort": abort}
    steps = [name for name, given in requested.items() if given]
    if not steps:
        raise Invalid(missing, hint="or give one of --continue, --skip and --abort")
    if len(steps) > 1:
        raise Invalid(
            "several steps are given at once", hint="start a new one, or give one of --continue, --skip and --abort"
        )
    if dry_run and not begin:
        raise Invalid(f"--dry-run cannot be combined with --{steps[0]}", hint="it previews a new one only")
    return steps[0]
