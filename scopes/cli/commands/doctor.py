"""`scopes doctor`."""

from __future__ import annotations

import typer

from scopes.cli.invocation import Invocation
from scopes.conversation.doctor import doctor as examine


def doctor(context: typer.Context) -> int:
    """Check that scopes and its surroundings work.

    Examples:
      scopes doctor
      scopes doctor --json
    """
    call: Invocation = context.obj
    return call.show(examine(call.store_path, call.repository_or_refusal()))
