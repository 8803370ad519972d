"""`scopes push`."""

from __future__ import annotations

from shlex import quote
from typing import Annotated, TypeAlias

from scopes.cli import usage
from scopes.cli.arguments import AllowSecrets, Since
from scopes.cli.connection import DELETE, choose, connect, refuse_remotes
from scopes.cli.continue_options import DryRun
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import Everything, IncludeOpen, OfProject, OfYear, ToRemote, ToSend, WithSources
from scopes.errors import Invalid, NotFound
from scopes.history.revisions import conversation_ids
from scopes.ids import BranchName
from scopes.loading import load
from scopes.store.repository import Repository
from scopes.sync.local_conversations import read_all_tips
from scopes.sync.push import push as run_push
from scopes.sync.remotes import resolve_remote

_MAX_NAMED = 3  # conversations in a hint


Force: TypeAlias = Annotated[
    bool, usage.Option("--force", help="Also move branches of the remote that have other messages")
]
OnlyPurged: TypeAlias = Annotated[
    bool, usage.Option("--purged", help="Those of which the remote still has what was purged here")
]
Delete: TypeAlias = Annotated[
    bool, usage.Option("--delete", help="Delete the named ones from the remote: CONV, or CONV/BRANCH")
]


def push(
    context: usage.Context,
    conversations: ToSend = None,
    remote: ToRemote = None,
    everything: Everything = False,
    project: OfProject = None,
    since: Since = None,
    year: OfYear = None,
    force: Force = False,
    purged: OnlyPurged = False,
    delete: Delete = False,
    include_open: IncludeOpen = False,
    with_sources: WithSources = False,
    allow_secrets: AllowSecrets = False,
    dry_run: DryRun = False,
) -> int:
    """Send conversations to a remote.

    Without a choice these are the conversations that the remote has already: what is new in them is sent. Others are
    sent once they are named, or chosen by a condition. --dry-run lists what would leave or be refused; it asks nobody.

    What the remote has already is not sent again. All branches, titles, tags and merge requests are sent; not the
    operation log, facts, memory, registered agents and branches of conflicts. The first commit of an imported session
    names the directory in which the session began, so this leaves, too; conversations that began here name none. If
    somebody else has pushed meanwhile, scopes fetches that first. A branch is left as it is if the remote has messages
    on it that are not here; the exit code is 1: pull, or give --force. What somebody has deleted there is named; with
    messages that only you have it is refused, too. CONV/BRANCH --force is about that branch alone. --force names what
    it leaves out there, and refuses to leave out messages that were not seen here yet: the same push again does.

    The last message of an imported session may still grow: it is held back until the session was still for an hour,
    or sent with --include-open. See OPEN MESSAGES in the manual page.

    With --project and a directory, what began on another machine in a directory of the same name is sent only where the
    remote has it already; with --project and a name, always. A repository that is full is closed: new conversations go
    to the next one, origin-2. See FULL REPOSITORIES in the manual page.

    Everything that would leave is searched for secrets first: keys, tokens and passwords. A conversation that may have
    one is not sent, and the exit code is 1: scopes secrets allow is for good, --allow-secrets lets them pass this time.

    --with-sources also sends the files that a conversation was imported from, byte by byte, once they were searched for
    secrets, too. See ORIGINAL FILES in the manual page.

    --delete removes the named ones from the remote; it asks, or needs --yes. Nothing is deleted here. A branch is named
    with its conversation, CONV/BRANCH; a remote by --remote, also where a conversation has its name. See DELETING in
    the manual page. After a purge, --purged replaces what the remote still has, and deletes conversations there that
    were purged as a whole. Every push also sends the list of what was purged, as hashes, so that a fetch elsewhere
    offers to purge it, too; and a conversation with messages that were purged elsewhere is not sent.

    Examples:
      scopes push
      scopes push conv-001 --dry-run
      scopes push conv-001 conv-002 --remote backup
      scopes push --project . --since '1 month ago'
      scopes push --all
      scopes push conv-001 --with-sources --dry-run
      scopes push conv-001 --with-sources
      scopes push --delete conv-001 conv-002/try-sqlite conv-002/fix --remote backup
      scopes push --purged
    """
    invocation: Invocation = context.obj
    if delete:
        others = any((everything, project, since, year, force, purged, include_open, with_sources, allow_secrets))
        return _delete(invocation, conversations or [], remote, others=others, dry_run=dry_run)
    refuse_remotes(invocation, conversations or (), "push")
    selection = choose(invocation, conversations, everything=everything, project=project, since=since, year=year)
    if purged and not selection.is_empty:
        raise Invalid("--purged cannot be combined with a choice of conversations", hint="leave out one of them")
    repository = invocation.repository()
    chosen = resolve_remote(repository, remote)
    with connect(invocation) as connection:
        result = run_push(
            repository, chosen, selection, connection, force=force, allow_secrets=allow_secrets,
            include_open=include_open, purged=purged, with_sources=with_sources, dry_run=dry_run,
        )  # fmt: skip
    code = invocation.show(result)
    if not dry_run and any(each.status == "new" for each in result.conversations):
        invocation.hint_author()
    return code


def _delete(invocation: Invocation, names: list[str], remote: str | None, *, others: bool, dry_run: bool) -> int:
    """Delete conversations or branches from a remote, once the user has confirmed it."""
    if others:
        raise Invalid("--delete cannot be combined with other options of push", hint="leave them out")
    if not names:
        raise Invalid("nothing was named to delete", hint="name conversations, or branches as CONV/BRANCH")
    refuse_remotes(invocation, names, DELETE)
    repository = invocation.repository()
    for name in names:
        _refuse_branch(repository, name)
    chosen = resolve_remote(repository, remote)
    if not dry_run:
        invocation.confirm(f"delete {', '.join(names)} from {chosen.name}? Those who have fetched it keep it.")
    with connect(invocation) as connection:
        delete = load("scopes.sync.delete_on_remote:delete_on_remote")
        result = delete(repository, chosen, names, connection, dry_run=dry_run)
    return invocation.show(result)


def _refuse_branch(repository: Repository, name: str) -> None:
    """Raise NotFound for the name of a branch alone, as git takes it.

    Raises:
        NotFound: with the conversations that have such a branch.
    """
    if "/" in name and name.partition("/")[0] in conversation_ids(repository):
        return
    found = [conversation for conversation, tips in read_all_tips(repository).items() if BranchName(name) in tips]
    if found and not any(each.startswith(name) for each in conversation_ids(repository)):
        words = " or ".join(f"scopes push --delete {quote(each)}/{quote(name)}" for each in found[:_MAX_NAMED])
        raise NotFound(f"{name!a} is a branch, and no conversation", hint=f"name both: {words}")
