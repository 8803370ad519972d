"""`scopes push`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli import usage
from scopes.cli.arguments import AllowSecrets, Since
from scopes.cli.connection import choose, connect
from scopes.cli.invocation import Invocation
from scopes.errors import Invalid
from scopes.sync.push import push as run_push
from scopes.sync.remotes import resolve_remote


def push(
    context: usage.Context,
    conversations: Annotated[list[str] | None, usage.Argument(metavar="CONV", help="The conversations to send")] = None,
    remote: Annotated[
        str | None, usage.Option("--remote", metavar="REMOTE", help="Where to (default: origin, or the only one)")
    ] = None,
    everything: Annotated[bool, usage.Option("--all", help="All conversations of the store")] = False,
    project: Annotated[
        str | None, usage.Option("--project", metavar="PROJECT", help="Those of this project: a directory in it")
    ] = None,
    since: Since = None,
    year: Annotated[str | None, usage.Option("--year", metavar="YYYY", help="Those that began in this year")] = None,
    force: Annotated[
        bool, usage.Option("--force", help="Also move branches of the remote that have other messages")
    ] = False,
    allow_secrets: AllowSecrets = False,
) -> int:
    """Send conversations to a remote.

    What the remote has already is not sent again. All branches, titles, tags and merge requests are sent; not the
    operation log, facts, memory and registered agents. The directory in which an imported session began is part of
    its first commit and leaves with it; that of another conversation stays here. The last message of a session that
    may still grow waits for the next push. Where somebody else has pushed meanwhile, that is fetched first. A
    branch with messages on the remote that are not in it here is left as it is, and the exit code is 1: fetch and
    merge, or give --force.

    Everything that would leave is searched for secrets first: keys, tokens and passwords. A conversation that may have
    one is not sent, and the exit code is 1: scopes secrets allow is for good, --allow-secrets lets them pass this time.

    Examples:
      scopes push conv-001
      scopes push conv-001 conv-002 --remote backup
      scopes push --project . --since '1 month ago'
      scopes push --all
    """
    invocation: Invocation = context.obj
    selection = choose(invocation, conversations, everything=everything, project=project, since=since, year=year)
    if selection.is_empty:
        raise Invalid("nothing was chosen to push", hint="name conversations, or use --project DIR, --since or --all")
    repository = invocation.repository()
    chosen = resolve_remote(repository, remote)
    with connect(invocation) as connection:
        result = run_push(repository, chosen, selection, connection, force=force, allow_secrets=allow_secrets)
    return invocation.show(result)
