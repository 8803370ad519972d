"""Choose what to fetch: the refspecs for the conversations that a command has selected."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial

from scopes.errors import Ambiguous, Corrupt, NotFound, ScopesError
from scopes.history.names import resolve_conversation
from scopes.ids import Oid
from scopes.store.repository import Repository
from scopes.sync.addresses import Address
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.git_transport import INCOMING, GitTransport
from scopes.sync.local_conversations import Selection, choose_local, name_of_conversation
from scopes.sync.names import ON_REMOTE, RemoteName, parse_remote_ref
from scopes.sync.nothing_found import none_named, none_selected
from scopes.sync.remotes import Remote

EVERYTHING = f"{ON_REMOTE}*"
EVERYTHING_SPEC = f"{EVERYTHING}:{INCOMING}*"
_PREFIX = re.compile(r"[0-9a-f]{7,40}")


def choose_refspecs(
    repository: Repository, remote: Remote, selection: Selection, connection: Connection, transport: GitTransport
) -> list[str]:
    """Return the refspecs for a fetch of the chosen conversations.

    Raises:
        NotFound, Ambiguous: a name matches no conversation, or several; or none meets the conditions.
        Inaccessible, Corrupt: as `GitTransport.list_refs`.
    """
    if selection.names:
        names = resolve_names(repository, remote.name, selection.names, partial(list_all, transport))
        return [refspec_of(name) for name in dict.fromkeys(names)]
    if selection.project is None and selection.year is None:
        return [EVERYTHING_SPEC]
    return list(map(refspec_of, choose_names(repository, remote, selection, connection, list_all(transport))))


def resolve_names(
    repository: Repository, remote: str, texts: Iterable[str], list_there: Callable[[], Mapping[RemoteName, Oid]]
) -> list[RemoteName]:
    """Resolve names of conversations here, or beginnings of root ids on a remote, in the order of `texts`.

    The result ends with other refs of the remote whose names end with these roots.

    Raises:
        NotFound, Ambiguous: a name matches no conversation, or several.
    """
    names: list[RemoteName] = []
    others: list[RemoteName] = []
    listed: Mapping[RemoteName, Oid] | None = None
    for text in texts:
        try:
            names.append(name_of_conversation(repository, resolve_conversation(repository, text)))
        except ScopesError:
            if not _PREFIX.fullmatch(text):
                raise
            listed = list_there() if listed is None else listed
            found, *same_root = _find(remote, listed, text)
            names.append(found)
            others += same_root
    return [*names, *others]


def choose_names(
    repository: Repository,
    remote: Remote,
    selection: Selection,
    connection: Connection,
    listed: dict[RemoteName, Oid],
) -> dict[RemoteName, Oid]:
    """Return the conversations of a remote that meet the conditions of a selection, with their manifests.

    Raises:
        NotFound: there are conditions, and none meets them.
        Ambiguous: several projects on this machine have the name.
        Inaccessible, Corrupt: as `GitTransport.fetch_alone`; or it sent damaged data.
    """
    if selection.project is None and selection.year is None:
        return listed
    of_year = [name for name in listed if name.month.startswith(selection.year or "")]
    directories: dict[str, str] = {}
    chosen = set(of_year)
    if selection.project is not None:
        from scopes.sync.remote_projects import read_directories

        directories = read_directories(repository, remote, connection, listed)
        found = selection.project.find(directories.values())
        here = choose_local(repository, Selection(project=selection.project))
        roots = {name_of_conversation(repository, each).root for each in here}
        chosen = {name for name in of_year if name.root in roots or directories.get(name.project) in found}
    if not chosen:
        from scopes.store.projects import names_of

        raise none_selected(remote.name, selection, [name.month[:4] for name in listed], names_of(directories.values()))
    return {name: oid for name, oid in listed.items() if name in chosen}


def none_of_several(errors: Sequence[NotFound]) -> NotFound:
    """Join the errors of all repositories of a remote in which nothing meets the conditions; it names the first."""
    hints = dict.fromkeys(error.hint for error in errors if error.hint is not None)
    return NotFound(errors[0].message, hint="; ".join(hints) or None)


def find_missing(
    selection: Selection, refspecs: Iterable[str], listed: Collection[RemoteName]
) -> dict[str, RemoteName]:
    """Return the named conversations that a remote does not have, by the names that the user gave."""
    wanted = zip(selection.names, refspecs, strict=False)
    names = {text: parse_remote_ref(spec.partition(":")[0]) for text, spec in wanted}
    return {text: name for text, name in names.items() if name not in listed}


def keep_recent(
    repository: Repository, address: Address, connection: Connection, refspecs: list[str], since: int
) -> list[str]:
    """Return the refspecs of conversations with messages since a time; only their manifests are fetched for that.

    One whose time cannot be read is kept: the fetch then reports what is wrong with it.

    Raises:
        As `GitTransport.fetch`.
    """
    if not refspecs:
        return []
    with quarantine_of(repository) as quarantine:
        transport = connection.open(quarantine, address)
        times = transport.list_times(refspecs)
        names = transport.list_refs(EVERYTHING) if refspecs == [EVERYTHING_SPEC] else None
    every = refspecs if names is None else [refspec_of_ref(ref) for ref in sorted(names)]
    return [spec for spec in every if times.get(spec.partition(":")[2], since) >= since]


def list_all(transport: GitTransport) -> dict[RemoteName, Oid]:
    """Return all conversations of a remote, and their manifests; raises as `GitTransport.list_refs`."""
    return names_of_refs(transport.list_refs(EVERYTHING))


def names_of_refs(refs: Mapping[str, Oid]) -> dict[RemoteName, Oid]:
    """Return the conversations among the refs of a remote, and their manifests."""
    found: dict[RemoteName, Oid] = {}
    for ref, oid in sorted(refs.items()):
        with suppress(Corrupt):  # not a conversation; conditions do not apply to it
            found[parse_remote_ref(ref)] = oid
    return found


def find_root_there(remote: str, listed: Iterable[RemoteName], prefix: str) -> Oid:
    """Return the root of a conversation of a remote by the beginning of its id.

    Raises:
        NotFound, Ambiguous: there is none, or there are several.
    """
    if not _PREFIX.fullmatch(prefix):
        raise NotFound(f"there is no conversation {prefix[:100]!a}", hint="list them: scopes list")
    return _find(remote, listed, prefix)[0].root


def _find(remote: str, listed: Iterable[RemoteName], prefix: str) -> list[RemoteName]:
    """Return the name of the conversation whose root has this prefix, then other refs that end with that root."""
    there = list(listed)
    found = [name for name in there if name.root.startswith(prefix)]
    if not found:
        raise none_named(remote, [prefix], there)
    roots = len({name.root for name in found})
    if roots > 1:
        raise Ambiguous(f"the remote has {roots} conversations {prefix}...", hint="give more digits")
    return found


def refspec_of(name: RemoteName) -> str:
    """Return the refspec that fetches one conversation."""
    return refspec_of_ref(name.ref)


def refspec_of_ref(ref: str) -> str:
    """Return the refspec that fetches one ref of a remote."""
    return f"{ref}:{INCOMING}{ref.removeprefix(ON_REMOTE)}"
