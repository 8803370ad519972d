"""`scopes fetch`."""

from __future__ import annotations

from typing import Annotated

import typer

from scopes.cli.arguments import Since
from scopes.cli.connection import choose_wanted, connect
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import EverythingThere, FromRemote, OfProject, OfYear, ToGet, WantedFrom
from scopes.errors import Invalid
from scopes.sync.fetch_here import fetch_chosen
from scopes.sync.remotes import resolve_remote


def fetch(
    context: typer.Context,
    conversations: ToGet = None,
    remote: FromRemote = None,
    everything: EverythingThere = False,
    project: OfProject = None,
    since: Since = None,
    year: OfYear = None,
    manifests: Annotated[
        bool, typer.Option("--manifests", help="Only get the list of conversations, without their messages")
    ] = False,
) -> int:
    """Get conversations from a remote.

    The remote may be one of the words, as in git: fetch origin conv-001.

    New conversations get the next free numbers in this store. A branch is fast-forwarded if it has no messages that the
    remote lacks; otherwise it is not changed, and the remote's branch is available as REMOTE/BRANCH, such as
    origin/main, until you merge it. Conversations and branches that were deleted here do not come back. One scopes undo
    reverts the whole fetch.

    The output counts branches by state: created; moved, fast-forwarded to new messages; grown, the last message was
    replaced by a later import of the same session; ahead, with messages that the remote lacks; diverged, with new
    messages on both sides; deleted, here. The state metadata means that the title, tags, merge requests or branch
    entries have changed.

    If a repository of the remote is full and closed, the fetch continues with the next one, origin-2.

    Nothing that comes from a remote is trusted: git and scopes check it in a quarantine before it enters the store. A
    conversation that fails a check is rejected as a whole and listed with the reason; the others are taken, and the
    exit code is 7. A conversation that somebody has sent with content that was purged here is rejected with exit code 7
    the first time, and whenever you name it; after that it is only a note, so that scripts can fetch the others. pull
    --purged gets the rest of it. Original files that were pushed with a conversation (push --with-sources) are fetched
    with it; if they fail a check, they are rejected and a note says so.

    --project means the same in all commands: the directory of a project, . for the current one; its name, which is the
    last part of its directory or of the address of its repository; or that address; or all. It includes other clones of
    the repository on this machine, those with the same remote address or else the same first commit. Of a directory
    that is not on this machine only the path is known: its last part must be the name. A name that belongs to several
    repositories on this machine is an error that lists them.

    --manifests gets title, time and size of each conversation, but no messages: scopes list --remote REMOTE lists them,
    scopes search --remote-titles searches them, and the first command that reads a conversation, such as log, fetches
    it. In a store that was cloned with --manifests, fetch and pull without arguments update this list, and get messages
    only for conversations that are already here. --all gets everything, as does any fetch if scopes.fetchManifests is
    false.

    Examples:
      scopes fetch
      scopes fetch backup conv-001
      scopes fetch --project . --year 2026
      scopes fetch --since '1 week ago'
      scopes fetch --manifests
      scopes fetch --all
    """
    invocation: Invocation = context.obj
    wanted = WantedFrom(conversations, remote, everything, project, since, year)
    named, selection = choose_wanted(invocation, wanted)
    repository = invocation.repository()
    chosen = resolve_remote(repository, named)
    if manifests and (selection.names or wanted.since or wanted.everything):
        raise Invalid("--manifests can be combined with --project and --year only", hint="or leave out --manifests")
    with connect(invocation) as connection:
        directory = invocation.index_directory
        if manifests:
            from scopes.sync.fetch_manifests import fetch_manifests

            return invocation.show(fetch_manifests(repository, chosen, selection, connection, directory))
        result = fetch_chosen(repository, chosen, selection, connection, directory)
    return invocation.show(result)
