"""`scopes pull`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli import usage
from scopes.cli.connection import choose_wanted, connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import WantedFrom
from scopes.sync.fetch_here import fetch_chosen
from scopes.sync.pull import merge_fetched
from scopes.sync.remotes import resolve_remote


@usage.shares("wanted", WantedFrom)
def pull(
    context: usage.Context,
    wanted: WantedFrom,
    rebase: Annotated[
        bool, usage.Option("--rebase", help="Move messages that the remote lacks on top of its own, instead of a merge")
    ] = False,
) -> int:
    """Get conversations, and merge what differs.

    This is fetch, and then merge of REMOTE/BRANCH into every branch that has messages on both sides. If values differ,
    such as two decisions about one topic, the merge of that branch stops with exit code 3, as merge does: resolve the
    conflicts, and run merge --continue. One undo takes back all of it.

    With --rebase the messages that the remote lacks are moved on top of those that it has, as rebase does: they keep
    their ids, and there is no merge. A conflict is continued with rebase --continue.

    A branch with a message that was purged elsewhere stays as it is, with exit code 1, until scopes purge --accept or
    scopes purge --decline has decided. What was declined is kept by a merge; --rebase, which would drop it, is refused.

    Examples:
      scopes pull
      scopes pull conv-001 --remote backup
      scopes pull --rebase
    """
    invocation: Invocation = context.obj
    selection = choose_wanted(invocation, wanted, "pull")
    repository = invocation.repository()
    chosen = resolve_remote(repository, wanted.remote)
    with connect(invocation) as connection:
        fetched = fetch_chosen(repository, chosen, selection, connection, invocation.index_directory)
        result = merge_fetched(repository, chosen, selection, fetched, rebasing=rebase)
    return invocation.show(result)
