"""The options by which a command that stopped on conflicts goes on, shared by the verbs that can stop."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from scopes.errors import Invalid

Continue: TypeAlias = Annotated[bool, typer.Option("--continue", help="Go on once the conflicts are resolved")]
Skip: TypeAlias = Annotated[bool, typer.Option("--skip", help="Go on without the message that it stopped at")]
Abort: TypeAlias = Annotated[bool, typer.Option("--abort", help="Give up, and leave everything as it was")]
DryRun: TypeAlias = Annotated[bool, typer.Option("--dry-run", help="Say what would happen, and do nothing")]


def chosen_step(*, begins: bool, go_on: bool, skip: bool, abort: bool, dry_run: bool, missing: str) -> str:
    """Return which of begin, continue, skip and abort is asked for; `missing` says what a beginning lacks.

    Raises:
        Invalid: none or several of them, or a dry run of something else than a beginning.
    """
    asked = {"begin": begins, "continue": go_on, "skip": skip, "abort": abort}
    steps = [name for name, given in asked.items() if given]
    if not steps:
        raise Invalid(missing, hint="or go on with --continue, --skip or --abort")
    if len(steps) > 1:
        raise Invalid("one thing at a time", hint="begin anew, or give one of --continue, --skip and --abort")
    if dry_run and not begins:
        raise Invalid(f"--dry-run does not go with --{steps[0]}", hint="it shows what a new one would do")
    return steps[0]
