"""`scopes budget`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.invocation import Invocation
from scopes.cli.token_options import known_model
from scopes.context.budget import PRESETS, configured_shares, plan_budget
from scopes.errors import Invalid


def budget(
    context: typer.Context,
    window: Annotated[int | None, typer.Option("--window", metavar="TOKENS", help="Size of the context window")] = None,
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="Take the window of this model")] = None,
    preset: Annotated[str, typer.Option("--preset", metavar="NAME", help="How to divide: default or zen")] = PRESETS[0],
) -> int:
    """Divide a model's context window.

    By default 60 % is content, 20 % the response and 20 % overhead; of the content 50 % is files, 30 % history and
    20 % metadata. The parts always add up to the window. scopes.model.<name>.window sets the window of a model,
    scopes.budgetWindow and scopes.budgetContent the shares: scopes config set scopes.budgetWindow 70/20/10

    Examples:
      scopes budget --window 200000
      scopes budget --model claude-sonnet-4-5
      scopes budget --window 1000000 --preset zen --json
    """
    invocation: Invocation = context.obj
    row = known_model(invocation, model)
    if window is None and row is not None:
        window = row.window
    if window is None:
        raise Invalid("no window is given", hint="for example: --window 200000, or --model gpt-4o")
    return invocation.show(plan_budget(window, preset, model=model, default=configured_shares(invocation.config())))
