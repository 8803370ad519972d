"""`scopes push`."""

from __future__ import annotations

from typing import Annotated

from scopes.cli import usage
from scopes.cli.arguments import AllowSecrets, Since
from scopes.cli.connection import choose, connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import Everything, IncludeOpen, OfProject, OfYear, ToRemote, ToSend
from scopes.errors import Invalid
from scopes.sync.push import push as run_push
from scopes.sync.remotes import resolve_remote


def push(
    context: usage.Context,
    conversations: ToSend = None,
    remote: ToRemote = None,
    everything: Everything = False,
    project: OfProject = None,
    since: Since = None,
    year: OfYear = None,
    force: Annotated[
        bool, usage.Option("--force", help="Also move branches of the remote that have other messages")
    ] = False,
    purged: Annotated[
        bool, usage.Option("--purged", help="Those of which the remote still has what was purged here")
    ] = False,
    include_open: IncludeOpen = False,
    allow_secrets: AllowSecrets = False,
) -> int:
    """Send conversations to a remote.

    What the remote has already is not sent again. All branches, titles, tags and merge requests are sent; not the
    operation log, facts, memory, registered agents and branches of conflicts. The directory in which an imported
    session began is part of its first commit and leaves with it; that of another conversation stays here. Where
    somebody else has pushed meanwhile, that is fetched first. A branch with messages on the remote that are not in it
    here is left as it is, and the exit code is 1: pull, or give --force.

    The last message of an imported session is open: the session may still grow, and its next import may bring a longer
    message in its place. An open message is held back, and said to be, until the session has been still for an hour;
    --include-open sends it at once. If it grows after it was sent, the next push replaces it on the remote, and every
    fetch replaces it here; the history of the remote keeps the earlier one.

    A repository that is full, with 5,000 conversations, is closed: new conversations go to the next one beside it, such
    as talks-2.git, which becomes the remote origin-2. See FULL REPOSITORIES in the manual page.

    A first push of thousands of conversations goes in batches of 200, each remembered as soon as the remote has
    confirmed it. Over HTTP it still takes longer than over ssh: git starts anew for each batch, and the server lists
    all refs again. Plain git is slower there: it compares every ref that it sends with all refs of the repository.

    Everything that would leave is searched for secrets first: keys, tokens and passwords. A conversation that may have
    one is not sent, and the exit code is 1: scopes secrets allow is for good, --allow-secrets lets them pass this time.

    After a purge, --purged replaces what the remote still has, and deletes conversations there that were purged as a
    whole. Every push also sends the list of what was purged, as hashes, so that a fetch elsewhere offers to purge it,
    too; and a conversation with messages that were purged elsewhere is not sent.

    Examples:
      scopes push conv-001
      scopes push conv-001 conv-002 --remote backup
      scopes push --project . --since '1 month ago'
      scopes push --all
      scopes push --purged
    """
    invocation: Invocation = context.obj
    selection = choose(invocation, conversations, everything=everything, project=project, since=since, year=year)
    if purged and not selection.is_empty:
        raise Invalid("--purged cannot be combined with a choice of conversations", hint="leave out one of them")
    if selection.is_empty and not purged:
        raise Invalid("nothing was chosen to push", hint="name conversations, or use --project DIR, --since or --all")
    repository = invocation.repository()
    chosen = resolve_remote(repository, remote)
    with connect(invocation) as connection:
        result = run_push(
            repository,
            chosen,
            selection,
            connection,
            force=force,
            allow_secrets=allow_secrets,
            include_open=include_open,
            purged=purged,
        )
    return invocation.show(result)
