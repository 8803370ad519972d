"""`scopes pull`."""

from __future__ import annotations

from scopes.cli import usage
from scopes.cli.connection import choose, connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import FromRemote, OfProject, OfYear, ToGet
from scopes.sync.pull import pull as run_pull
from scopes.sync.remotes import resolve_remote


def pull(
    context: usage.Context,
    conversations: ToGet = None,
    remote: FromRemote = None,
    project: OfProject = None,
    year: OfYear = None,
) -> int:
    """Get conversations, and merge what differs.

    This is fetch, and then merge of REMOTE/BRANCH into every branch that has messages on both sides. If values differ,
    such as two decisions about one topic, the merge of that branch stops with exit code 3, as merge does: resolve the
    conflicts, and run merge --continue. One undo takes back all of it.

    Examples:
      scopes pull
      scopes pull conv-001 --remote backup
    """
    invocation: Invocation = context.obj
    selection = choose(invocation, conversations, project=project, year=year)
    repository = invocation.repository()
    chosen = resolve_remote(repository, remote)
    with connect(invocation) as connection:
        result = run_pull(repository, chosen, selection, connection)
    return invocation.show(result)
