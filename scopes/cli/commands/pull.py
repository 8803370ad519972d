"""`scopes pull`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import Since
from scopes.cli.connection import choose_wanted, connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import EverythingThere, FromRemote, OfProject, OfYear, ToGet, WantedFrom
from scopes.sync.fetch_here import fetch_chosen
from scopes.sync.pull import merge_fetched
from scopes.sync.remotes import resolve_remote


def pull(
    context: typer.Context,
    conversations: ToGet = None,
    remote: FromRemote = None,
    everything: EverythingThere = False,
    project: OfProject = None,
    since: Since = None,
    year: OfYear = None,
    rebase: Annotated[
        bool, typer.Option("--rebase", help="Move your new messages on top of those of the remote, instead of a merge")
    ] = False,
    purged: Annotated[
        bool, typer.Option("--purged", help="Also get conversations with what was purged here, and purge it in them")
    ] = False,
) -> int:
    """Get conversations, and merge what differs.

    The remote may be one of the words, as in git: pull origin. Runs fetch, and then merges REMOTE/BRANCH into each
    branch that has new messages on both sides. If values differ, such as two decisions about one topic, the merge of
    that branch stops with exit code 3, as scopes merge does: resolve the conflicts, and run scopes merge --continue.
    One scopes undo reverts the whole pull.

    With --rebase your new messages are moved on top of those of the remote, as by scopes rebase: they keep their ids,
    and there is no merge. After a conflict, resolve it and run scopes rebase --continue.

    A branch with a message that was purged elsewhere is not changed, and the exit code is 1, until you run scopes purge
    --accept or scopes purge --decline. A merge keeps declined messages; --rebase would drop them, and is refused.

    A conversation that has what was purged here is not taken: somebody has added messages above it, or keeps it. With
    --purged it is taken, and purged at once, which cannot be undone: the messages of others are here then, without the
    content. scopes push --purged replaces it on the remote. A conversation that was purged as a whole is not taken.

    Examples:
      scopes pull
      scopes pull backup conv-001
      scopes pull --rebase
      scopes pull conv-001 --purged
    """
    invocation: Invocation = context.obj
    wanted = WantedFrom(conversations, remote, everything, project, since, year)
    named, selection = choose_wanted(invocation, wanted)
    repository = invocation.repository()
    chosen = resolve_remote(repository, named)
    from scopes.cli.places import places_of

    places = places_of(invocation) if purged else None
    with connect(invocation) as connection:
        fetched = fetch_chosen(repository, chosen, selection, connection, invocation.index_directory, places=places)
        result = merge_fetched(repository, chosen, selection, fetched, rebasing=rebase)
    return invocation.show(result)
