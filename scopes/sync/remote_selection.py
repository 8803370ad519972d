"""Choose what to fetch: the patterns of refs for the conversations that a command is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial

from scopes.errors import Ambiguous, Corrupt, NotFound, ScopesError
from scopes.history.revisions import resolve_conversation
from scopes.ids import Oid
from scopes.store.repository import Repository
from scopes.sync.addresses import Address
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.git_transport import INCOMING, GitTransport
from scopes.sync.local_conversations import Selection, choose_local, name_of_conversation
from scopes.sync.names import ON_REMOTE, RemoteName, parse_remote_ref, project_digest

EVERYTHING = f"{ON_REMOTE}*"
EVERYTHING_SPEC = f"{EVERYTHING}:{INCOMING}*"
_PREFIX = re.compile(r"[0-9a-f]{7,40}")


def choose_refspecs(repository: Repository, selection: Selection, transport: GitTransport) -> list[str]:
    """Return the refspecs for a fetch of the chosen conversations; none if the remote has none of them.

    Raises:
        NotFound, Ambiguous: a name is that of no conversation, or of several.
        Inaccessible, Corrupt: as `GitTransport.list_refs`.
    """
    if selection.names:
        return list(map(refspec_of, resolve_names(repository, selection.names, partial(_list, transport))))
    if selection.project is None and selection.year is None:
        return [EVERYTHING_SPEC]
    return list(map(refspec_of, list_names(repository, selection, transport)))


def resolve_names(
    repository: Repository, texts: Iterable[str], list_there: Callable[[], Mapping[RemoteName, Oid]]
) -> list[RemoteName]:
    """Return the conversations that are named, here or by the beginning of a root that a remote has.

    Raises:
        NotFound, Ambiguous: a name is that of no conversation, or of several.
    """
    names: list[RemoteName] = []
    listed: Mapping[RemoteName, Oid] | None = None
    for text in texts:
        try:
            names.append(name_of_conversation(repository, resolve_conversation(repository, text)))
        except ScopesError:
            if not _PREFIX.fullmatch(text):
                raise
            listed = list_there() if listed is None else listed
            names.append(_find(listed, text))
    return list(dict.fromkeys(names))


def list_names(repository: Repository, selection: Selection, transport: GitTransport) -> dict[RemoteName, Oid]:
    """Return the conversations of a remote that meet the conditions of a selection, and their manifests.

    Raises:
        Inaccessible, Corrupt: as `GitTransport.list_refs`.
    """
    listed = _list(transport)
    if selection.project is None and selection.year is None:
        return listed
    wanted = _Wanted(repository, selection)
    return {name: oid for name, oid in listed.items() if name in wanted}


def keep_recent(
    repository: Repository, address: Address, connection: Connection, refspecs: list[str], since: int
) -> list[str]:
    """Return the refspecs of conversations with messages since a time; only their manifests are fetched for that.

    One whose time cannot be read is kept: the fetch says what is wrong with it.

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


class _Wanted:
    """The names on a remote that meet the conditions of a selection."""

    def __init__(self, repository: Repository, selection: Selection) -> None:
        self._selection = selection
        self._projects: set[str] | None = None
        if selection.project is not None:
            here = choose_local(repository, Selection(project=selection.project))
            self._projects = {name_of_conversation(repository, each).project for each in here}
            self._projects.update(map(project_digest, selection.project.worktrees))

    def __contains__(self, name: RemoteName) -> bool:
        if self._selection.year is not None and not name.month.startswith(self._selection.year):
            return False
        return self._projects is None or name.project in self._projects


def _list(transport: GitTransport) -> dict[RemoteName, Oid]:
    found: dict[RemoteName, Oid] = {}
    for ref, oid in sorted(transport.list_refs(EVERYTHING).items()):
        with suppress(Corrupt):  # somebody else's, which no condition can choose
            found[parse_remote_ref(ref)] = oid
    return found


def _find(listed: Iterable[RemoteName], prefix: str) -> RemoteName:
    found = [name for name in listed if name.root.startswith(prefix)]
    if not found:
        raise NotFound(f"neither this store nor the remote has a conversation {prefix}", hint="see: scopes list")
    if len(found) > 1:
        raise Ambiguous(f"the remote has {len(found)} conversations {prefix}...", hint="give more digits")
    return found[0]


def refspec_of(name: RemoteName) -> str:
    """Return the refspec that fetches one conversation."""
    return refspec_of_ref(name.ref)


def refspec_of_ref(ref: str) -> str:
    """Return the refspec that fetches one ref of a remote."""
    return f"{ref}:{INCOMING}{ref.removeprefix(ON_REMOTE)}"
