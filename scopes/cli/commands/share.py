"""`scopes push`, `fetch`, `pull` and `clone`: conversations go to and come from a remote, or a bundle in a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

from scopes.cli.invocation import Invocation
from scopes.cli.options import Force, OfProjects, Since, Text, Texts, argument, choose_projects, option
from scopes.cli.progress import connect
from scopes.cli.words import read_where
from scopes.errors import Invalid, NotFound
from scopes.history.names import conversation_ids
from scopes.ids import BranchName
from scopes.result import first_few
from scopes.store.config import DEFAULT_REMOTE, ORIGIN, read_addresses, write_setting
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.addresses import parse_address
from scopes.sync.local_conversations import Selection, make_selection, read_all_tips
from scopes.sync.names import parse_remote_name
from scopes.sync.remotes import resolve_remote

if TYPE_CHECKING:
    from scopes.sync.pushed import Pushed

BUNDLE_SUFFIX = ".bundle"
_PATHS = ("/", "./", "../", "~")
_MAX_NAMED = 3  # conversations in a hint

Received: TypeAlias = Annotated[
    Texts,
    argument(
        "[REMOTE|FILE] [CONV...]",
        "Where from (default: scopes.defaultRemote, origin, or the first), and what (default: all)",
    ),
]
AsBranches: TypeAlias = Annotated[bool, option("--as-branches", "For a host that takes nothing but branches")]


class _Peer(NamedTuple):
    """With whom conversations are exchanged: a remote (None: the default one), or the file of a bundle."""

    remote: str | None
    file: str | None


def push(
    invocation: Invocation,
    words: Annotated[
        Texts, argument("[REMOTE|FILE] [WHERE...]", "Where to, and what (default: what is there already)")
    ] = None,
    include_all: Annotated[bool, option("-a, --all", "All conversations, also new ones")] = False,
    force: Force = False,
    projects: OfProjects = None,
    since: Since = None,
    delete: Annotated[bool, option("--delete", "Delete there what is named")] = False,
    originals: Annotated[bool, option("--originals", "Also the files they were imported from")] = False,
    upstream: Annotated[bool, option("-u, --set-upstream", "From now on this remote, if none is named")] = False,
    purged: Annotated[bool, option("--purged", hidden=True)] = False,
) -> int:
    """Send conversations to a remote or a bundle.

    Without names, what is new in the conversations that the remote has; -a sends all. -f replaces branches there that
    have other messages. A possible secret is refused; --secrets allow lets it pass this time. FILE.bundle is a git
    bundle with complete conversations, to carry by hand.

    Examples:
      scopes push
      scopes push origin conv-001
      scopes push --project . --dry-run
      scopes push trip.bundle conv-001
    """
    if invocation.secrets == "redact":
        raise Invalid("a push sends messages as they are", hint="send a copy without its secrets: scopes redact CONV")
    repository = invocation.repository()
    peer, names = _split(invocation, repository, words, "push")
    if delete:
        if any((include_all, force, projects, since, originals, upstream, purged)) or peer.file is not None:
            raise Invalid("--delete cannot be combined with other options of push", hint="leave them out")
        return _delete(invocation, names, peer.remote)
    names = [name if name.partition("/")[0] in {"", "@"} else read_where(repository, name) for name in names]
    selection = _choose(invocation, names, everything=include_all, projects=projects, since=since)
    allows = invocation.secrets == "allow"
    if peer.file is not None:
        if selection.is_empty:
            raise Invalid("nothing was chosen", hint="name conversations, or use --project DIR, --since or --all")
        if invocation.dry_run:
            raise Invalid("--dry-run cannot be combined with a bundle", hint="write it to another file")
        from scopes.sync.bundles import create_bundle

        with connect(invocation) as connection:
            return invocation.show(
                create_bundle(
                    repository, peer.file, selection, connection,
                    force=force, allow_secrets=allows, with_sources=originals,
                )
            )  # fmt: skip
    if purged and not selection.is_empty:
        raise Invalid("--purged cannot be combined with conversations or conditions", hint="leave out one of them")
    from scopes.sync.push import push as run_push

    remote = resolve_remote(repository, peer.remote)
    do_push = partial(
        run_push, repository, remote, selection, force=force, allow_secrets=allows, purged=purged,
        with_sources=originals,
    )  # fmt: skip
    code = _push(invocation, do_push, asks=force)
    if upstream and not invocation.dry_run:
        with exclusive_write(repository):
            write_setting(repository.config.store_file, DEFAULT_REMOTE, remote.name)
    return code


def _push(invocation: Invocation, do_push: Callable[..., Pushed], *, asks: bool) -> int:
    """Push, and before that ask about what it may remove on a remote, if it `asks`."""
    dry_run = invocation.dry_run
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
        from scopes.sync.unmerged import describe_unmerged

        what = describe_unmerged(each for branches in unmerged.values() for each in branches)
        where = first_few(f"{name}/{each.branch}" for name, branches in unmerged.items() for each in branches)
        invocation.confirm(f"remove {what} from {preview.remote} ({where}), which no branch here ever had?")
    return bool(unmerged)


def _delete(invocation: Invocation, names: list[str], remote: str | None) -> int:
    """Delete conversations or branches from a remote, once the user has confirmed it."""
    if not names:
        raise Invalid("nothing was named to delete", hint="name conversations, or branches as CONV/BRANCH")
    repository = invocation.repository()
    for name in names:
        _refuse_branch(repository, name)
    chosen = resolve_remote(repository, remote)
    if not invocation.dry_run:
        invocation.confirm(f"delete {', '.join(names)} from {chosen.name}? Those who have fetched it keep it.")
    with connect(invocation) as connection:
        from scopes.sync.delete_on_remote import delete_on_remote

        result = delete_on_remote(repository, chosen, names, connection, dry_run=invocation.dry_run)
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


def fetch(
    invocation: Invocation,
    words: Received = None,
    projects: OfProjects = None,
    since: Since = None,
    listed: Annotated[bool, option("--list", "List what is there, and get nothing")] = False,
) -> int:
    """Get conversations, and merge nothing.

    A branch that has no messages of its own is moved forward. Another one stays, and the remote's is called
    REMOTE/BRANCH, such as origin/main, until you merge it. All that comes is checked first; undo takes it back.

    Examples:
      scopes fetch
      scopes fetch origin conv-001
      scopes fetch trip.bundle --list
    """
    repository = invocation.repository(create=_is_file([*(words or ()), ""][0]))
    peer, names = _split(invocation, repository, words, "fetch")
    selection = _choose(invocation, names, projects=projects, since=since)
    with connect(invocation) as connection:
        if peer.file is not None:
            from scopes.sync.bundles import import_bundle, verify_bundle

            if listed:
                return invocation.show(verify_bundle(repository, peer.file, connection))
            return invocation.show(import_bundle(repository, peer.file, selection, connection))
        remote, directory = resolve_remote(repository, peer.remote), invocation.index_directory
        if listed:
            from scopes.sync.family import list_members
            from scopes.sync.fetch_manifests import fetch_manifests
            from scopes.sync.remote_conversations import list_remote

            fetch_manifests(repository, remote, selection, connection, directory)
            return invocation.show(list_remote(repository, list_members(repository, remote), directory))
        from scopes.sync.fetch_here import fetch_chosen

        return invocation.show(fetch_chosen(repository, remote, selection, connection, directory))


def pull(
    invocation: Invocation,
    words: Received = None,
    projects: OfProjects = None,
    since: Since = None,
    rebase: Annotated[bool, option("--rebase", "Put your new messages on top of theirs")] = False,
    purged: Annotated[bool, option("--purged", hidden=True)] = False,
) -> int:
    """Get conversations, and merge what differs.

    It is fetch, and then merge of each branch that has new messages on both sides. A conflict stops the merge of that
    branch with exit code 3: resolve it, and merge --continue. One undo takes back the whole pull.

    Examples:
      scopes pull
      scopes pull origin conv-001 --rebase
    """
    repository = invocation.repository()
    peer, names = _split(invocation, repository, words, "pull")
    selection = _choose(invocation, names, projects=projects, since=since)
    from scopes.cli.commands.purge import places_of
    from scopes.sync.fetch_here import fetch_chosen
    from scopes.sync.pull import merge_fetched

    places = places_of(invocation) if purged else None
    with connect(invocation) as connection:
        if peer.file is not None:
            from scopes.sync.bundles import bundle_remote, import_bundle

            remote = bundle_remote(peer.file)
            fetched = import_bundle(repository, peer.file, selection, connection)
        else:
            remote, directory = resolve_remote(repository, peer.remote), invocation.index_directory
            fetched = fetch_chosen(repository, remote, selection, connection, directory, places=places)
        return invocation.show(merge_fetched(repository, remote, selection, fetched, rebasing=rebase))


def clone(
    invocation: Invocation,
    address: Annotated[str, argument("ADDRESS", "https://..., ssh://..., HOST:PATH, a directory or a bundle")],
    directory: Annotated[Text, argument("[DIR]", "The new store (default: where init makes it)")] = None,
    projects: OfProjects = None,
    name: Annotated[str, option("--name NAME", "The name of the remote here (default: origin)")] = ORIGIN,
    as_branches: AsBranches = False,
) -> int:
    """Make a store of the conversations of a remote.

    The new store must have no conversations yet. If the clone fails, it is removed again.

    Examples:
      scopes clone git@example.com:team/talks.git
      scopes clone https://example.com/talks.git --project shop
    """
    checked = parse_address(address, invocation.cwd)._replace(as_branches=as_branches)
    selection = _choose(invocation, (), projects=projects)
    path = invocation.new_store_path
    if directory is not None:
        path = os.path.join(invocation.cwd, os.path.expanduser(directory))
    invocation.store = path
    from scopes.sync.clone import clone as run_clone

    with connect(invocation) as connection:
        result = run_clone(
            path, checked, selection, connection, open_store=invocation.repository, name=parse_remote_name(name)
        )
    return invocation.show(result)


def _split(
    invocation: Invocation, repository: Repository, words: Sequence[str] | None, verb: str
) -> tuple[_Peer, list[str]]:
    """Split the words `[REMOTE|FILE] NAME...`: the first one is a remote, a file, or a conversation.

    Raises:
        NotFound: a remote is named after a conversation.
    """
    names = [*(words or ())]
    here, remotes = conversation_ids(repository), read_addresses(repository.path)

    def is_remote(name: str) -> bool:
        return name in remotes and name not in here

    peer = _Peer(None, None)
    if names and is_remote(names[0]):
        peer = _Peer(names.pop(0), None)
    elif names and _is_file(names[0]):
        peer = _Peer(None, os.path.join(invocation.cwd, os.path.expanduser(names.pop(0))))
    later = next(filter(is_remote, names), None)
    if later is not None:
        others = " ".join(quote(name) for name in names if name != later)
        hint = f"it comes first: scopes {verb} {quote(later)} {others}"
        raise NotFound(f"{later} is a remote, and no conversation", hint=hint)
    return peer, names


def _is_file(word: str) -> bool:
    return word.endswith(BUNDLE_SUFFIX) or word.startswith(_PATHS)


def _choose(
    invocation: Invocation,
    names: Sequence[str],
    *,
    everything: bool = False,
    projects: Sequence[str] | None = None,
    since: str | None = None,
) -> Selection:
    """Return which conversations a command is about; raises as `make_selection` and `choose_projects` do."""
    given = [text for text in projects or () if text != "all"]
    if len(given) > 1:
        raise Invalid("name one project", hint="repeat the command for the other one")
    project = next(iter(choose_projects(invocation, given)), None)
    everything = everything or (bool(projects) and project is None and since is None and not names)
    return make_selection(names, everything=everything, project=project, since=since, year=None)
