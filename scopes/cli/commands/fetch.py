"""`scopes fetch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from scopes.cli import usage
from scopes.cli.connection import choose_wanted, connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import WantedFrom
from scopes.errors import Invalid
from scopes.loading import deferred
from scopes.sync.fetch_here import fetch_chosen
from scopes.sync.remotes import resolve_remote

if TYPE_CHECKING:
    from scopes.sync.fetch_manifests import fetch_manifests
else:
    fetch_manifests = deferred("scopes.sync.fetch_manifests:fetch_manifests")


@usage.shares("wanted", WantedFrom)
def fetch(
    context: usage.Context,
    wanted: WantedFrom,
    manifests: Annotated[
        bool, usage.Option("--manifests", help="Only learn which conversations there are, without their messages")
    ] = False,
) -> int:
    """Get conversations from a remote.

    New conversations get the next numbers here. A branch is moved forward if nothing was added to it here; otherwise it
    stays, and the other side is called REMOTE/BRANCH, as in origin/main, until you merge it. What was deleted here does
    not come back. One undo takes back the whole fetch.

    The branches of a conversation are counted by what became of them: created; moved, forward to new messages; grown,
    where the last message came from an earlier import of the session and the remote has a later one; ahead, with
    messages here that the remote lacks; diverged, with messages on both sides; deleted, here. And metadata: the title,
    tags, merge requests or entries of branches have changed.

    Where a repository of the remote is full and closed, the fetch goes on with the next one, origin-2.

    Nothing that comes from a remote is trusted: it is kept apart and checked by git and by scopes before it is taken
    into the store. Of a conversation that is not acceptable nothing is taken; it is named with the reason, the others
    are taken, and the exit code is 7. Original files that were pushed with a conversation (push --with-sources) come
    with it; of those that are not acceptable nothing is taken, and a note says so.

    --project means the same in all commands: the directory of a project, . for the current one; its name, which is the
    last part of its directory or of the address of its repository; or that address. Other clones of the repository here
    are of it too. Of a directory on another machine only the path is known, so its last part must be the name; a name
    that belongs to several repositories here is an error that lists them.

    --manifests gets title, time and size of each conversation, and no message: scopes list --remote REMOTE lists them,
    scopes search --remote-titles finds some, and the first command that reads one, such as log, fetches it. In a store
    that was cloned with --manifests, fetch and pull without a choice get this list, and messages only of conversations
    that are here. --all gets everything, and so does every fetch once scopes.fetchManifests is false.

    Examples:
      scopes fetch
      scopes fetch conv-001 --remote backup
      scopes fetch --project . --year 2026
      scopes fetch --since '1 week ago'
      scopes fetch --manifests
      scopes fetch --all
    """
    invocation: Invocation = context.obj
    selection = choose_wanted(invocation, wanted, "fetch")
    repository = invocation.repository()
    chosen = resolve_remote(repository, wanted.remote)
    if manifests and (wanted.conversations or wanted.since or wanted.everything):
        raise Invalid("--manifests can be combined with --project and --year only", hint="or leave out --manifests")
    with connect(invocation) as connection:
        directory = invocation.index_directory
        if manifests:
            return invocation.show(fetch_manifests(repository, chosen, selection, connection, directory))
        result = fetch_chosen(repository, chosen, selection, connection, directory)
    return invocation.show(result)
