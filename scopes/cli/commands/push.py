"""`scopes push`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from shlex import quote
from typing import Annotated, TypeAlias

import typer

from scopes.cli.arguments import AllowSecrets, Since
from scopes.cli.connection import choose, connect, take_remote
from scopes.cli.continue_options import DryRun
from scopes.cli.invocation import Invocation
from scopes.cli.sharing_options import Everything, OfProject, OfYear, ToRemote, ToSend, WithSources
from scopes.errors import Invalid, NotFound
from scopes.history.names import conversation_ids
from scopes.ids import BranchName
from scopes.result import first_few
from scopes.store.repository import Repository
from scopes.sync.local_conversations import read_all_tips
from scopes.sync.push import push as run_push
from scopes.sync.pushed import Pushed
from scopes.sync.remotes import resolve_remote
from scopes.sync.unmerged import describe_unmerged

_MAX_NAMED = 3  # conversations in a hint


Force: TypeAlias = Annotated[
    bool, typer.Option("--force", help="Also replace remote branches that have other messages")
]
OnlyPurged: TypeAlias = Annotated[
    bool, typer.Option("--purged", help="Replace purged content that the remote still has")
]
Delete: TypeAlias = Annotated[
    bool, typer.Option("--delete", help="Delete from the remote what is named: CONV or CONV/BRANCH")
]


def push(
    context: typer.Context,
    conversations: ToSend = None,
    remote: ToRemote = None,
    everything: Everything = False,
    project: OfProject = None,
    since: Since = None,
    year: OfYear = None,
    force: Force = False,
    purged: OnlyPurged = False,
    delete: Delete = False,
    with_sources: WithSources = False,
    allow_secrets: AllowSecrets = False,
    dry_run: DryRun = False,
) -> int:
    """Send conversations to a remote.

    Without arguments, push sends what is new in the conversations that the remote already has; the remote may be one of
    the words, as in git: push origin conv-001. Other conversations are sent if you name them, or choose them with
    --all, --project, --since or --year. --dry-run lists what would be sent or refused, without contacting the remote.

    Branches, titles, tags and merge requests are sent. The operation log, facts, memory, registered agents and the
    working branches of unresolved conflicts are not. The first commit of an imported session contains the directory in
    which the session began, so the remote receives that path; conversations that began in scopes contain none.

    If somebody else has pushed in the meantime, scopes fetches first. If a remote branch has messages that are not
    here, it is not changed and the exit code is 1: run scopes pull, or push with --force. CONV/BRANCH --force replaces
    only that branch. --force lists the messages that it removes from remote branches. Messages that no branch of this
    store ever had, such as those that a rejected push has fetched, are removed only if you confirm it; scripts need
    --yes. A branch that was deleted on the remote is not sent again without --force; if it has messages that only you
    have, the exit code is 1.

    --project chooses what scopes list --project lists. If a repository is full, new conversations go to the next one,
    origin-2. See FULL REPOSITORIES in the manual page.

    Everything that would be sent is searched for secrets first: keys, tokens and passwords. A conversation with a
    possible secret is not sent, and the exit code is 1. scopes secrets allow permits one secret permanently;
    --allow-secrets permits all of them for this push.

    --with-sources also sends the original files that a conversation was imported from, byte by byte. They are searched
    for secrets, too. See ORIGINAL FILES in the manual page.

    --delete deletes the named conversations and branches from the remote. It asks for confirmation; scripts need --yes.
    Nothing is deleted here. A branch is named as CONV/BRANCH. See DELETING in the manual page.

    After a purge, --purged replaces what the remote still has of the purged content, and deletes conversations there
    that were purged as a whole. Every push also sends the list of what was purged, as hashes: other machines are
    offered the same purge when they fetch. A conversation from elsewhere with messages that were purged elsewhere is
    not sent until you decide with scopes purge --accept or --decline.

    Examples:
      scopes push
      scopes push conv-001 --dry-run
      scopes push backup conv-001 conv-002
      scopes push --project . --since '1 month ago'
      scopes push --all
      scopes push conv-001 --with-sources --dry-run
      scopes push conv-001 --with-sources
      scopes push --delete conv-001 conv-002/try-sqlite conv-002/fix --remote backup
      scopes push --purged
    """
    invocation: Invocation = context.obj
    if delete:
        others = any((everything, project, since, year, force, purged, with_sources, allow_secrets))
        return _delete(invocation, conversations or [], remote, others=others, dry_run=dry_run)
    remote, names = take_remote(invocation, conversations or (), remote)
    selection = choose(invocation, names, everything=everything, project=project, since=since, year=year)
    if purged and not selection.is_empty:
        raise Invalid("--purged cannot be combined with conversations or conditions", hint="leave out one of them")
    do_push = partial(
        run_push, invocation.repository(), resolve_remote(invocation.repository(), remote), selection, force=force,
        allow_secrets=allow_secrets, purged=purged, with_sources=with_sources,
    )  # fmt: skip
    return _push(invocation, do_push, asks=force, dry_run=dry_run)


def _push(invocation: Invocation, do_push: Callable[..., Pushed], *, asks: bool, dry_run: bool) -> int:
    """Push, and before that ask about what it may remove on a remote, if it `asks`."""
    with connect(invocation) as connection:
        do_push = partial(do_push, connection)
        drops = invocation.yes or (asks and not dry_run and _confirm_loss(invocation, do_push))
        result = do_push(dry_run=dry_run, drops_unmerged=drops)
    return invocation.show(result)


def _confirm_loss(invocation: Invocation, do_push: Callable[..., Pushed]) -> bool:
    """Ask on a terminal whether a forced push may remove what no branch here ever had; return True if it may.

    Raises:
        Refused: the answer is no.
    """
    if not invocation.interactive:
        return False
    preview = do_push(dry_run=True)
    unmerged = {row.conversation: row.unmerged for row in preview.conversations if row.unmerged}
    if unmerged:
        what = describe_unmerged(each for branches in unmerged.values() for each in branches)
        where = first_few(f"{name}/{each.branch}" for name, branches in unmerged.items() for each in branches)
        invocation.confirm(f"remove {what} from {preview.remote} ({where}), which no branch here ever had?")
    return bool(unmerged)


def _delete(invocation: Invocation, names: list[str], remote: str | None, *, others: bool, dry_run: bool) -> int:
    """Delete conversations or branches from a remote, once the user has confirmed it."""
    if others:
        raise Invalid("--delete cannot be combined with other options of push", hint="leave them out")
    remote, names = take_remote(invocation, names, remote)
    if not names:
        raise Invalid("nothing was named to delete", hint="name conversations, or branches as CONV/BRANCH")
    repository = invocation.repository()
    for name in names:
        _refuse_branch(repository, name)
    chosen = resolve_remote(repository, remote)
    if not dry_run:
        invocation.confirm(f"delete {', '.join(names)} from {chosen.name}? Those who have fetched it keep it.")
    with connect(invocation) as connection:
        from scopes.sync.delete_on_remote import delete_on_remote

        delete = delete_on_remote
        result = delete(repository, chosen, names, connection, dry_run=dry_run)
    return invocation.show(result)


def _refuse_branch(repository: Repository, name: str) -> None:
    """Refuse a branch name without its conversation, which is how git names a branch.

    Raises:
        NotFound: the hint lists up to three conversations that have such a branch.
    """
    if "/" in name and name.partition("/")[0] in conversation_ids(repository):
        return
    found = [conversation for conversation, tips in read_all_tips(repository).items() if BranchName(name) in tips]
    if found and not any(each.startswith(name) for each in conversation_ids(repository)):
        words = " or ".join(f"scopes push --delete {quote(each)}/{quote(name)}" for each in found[:_MAX_NAMED])
        raise NotFound(f"{name!a} is a branch, not a conversation", hint=f"name both: {words}")
