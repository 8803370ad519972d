"""`scopes conv decisions`."""

from __future__ import annotations

import typer

from scopes.cli.arguments import LATEST, ScopeOrLatestArgument
from scopes.cli.invocation import Invocation
from scopes.conversation.decisions import decisions as run_decisions


def decisions(context: typer.Context, where: ScopeOrLatestArgument = LATEST) -> int:
    """List the decisions of a conversation.

    Each with its message, date and agent, and its state: in effect on the active branch, superseded by a later one, or
    "other branch" if only other branches hold it (in JSON, `branches` names them). With CONV/BRANCH only the decisions
    in the history of that branch, and whether they are in effect there.

    Examples:
      scopes conv decisions conv-001
      scopes conv decisions conv-001/analysis/security-review
      scopes conv decisions conv-001 --json
    """
    invocation: Invocation = context.obj
    return invocation.show(run_decisions(invocation.repository(), where))
