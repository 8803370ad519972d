"""Fetch refs into a quarantine: from a directory only those that have changed.

Git learns what both sides have by walking the history of all refs that they share. In a store with hundreds of
conversations, that takes most of the time in which one message is fetched. So a directory is asked for its refs first,
and then for those that have changed, by a git that knows nothing of the others. Over a network a second connection
takes longer than that walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from scopes.errors import NotFound
from scopes.ids import Oid
from scopes.purge.offers import offer_ref
from scopes.store.git_program import Quarantine
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository
from scopes.sync.closed import CLOSED
from scopes.sync.connection import list_known
from scopes.sync.git_transport import INCOMING, GitTransport
from scopes.sync.incoming_sources import is_of_sources
from scopes.sync.names import ON_REMOTE, find_own_name, sources_tracking_ref
from scopes.sync.purged_lists import ON_REMOTE as LISTS
from scopes.sync.refspecs import Places
from scopes.sync.remote_selection import EVERYTHING_SPEC
from scopes.sync.remotes import Remote

FEW: Final = 50  # refs; git compares each that is asked for with each that it gets


def fetch_refs(
    repository: Repository, remote: Remote, transport: GitTransport, quarantine: Quarantine, refspecs: Sequence[str]
) -> dict[str, Oid]:
    """Fetch refs of a remote as `GitTransport.fetch` does; their objects are in the quarantine, or in the store.

    Raises:
        As `GitTransport.fetch`.
    """
    if not refspecs:
        return {}
    store = _SeenRefs(repository, remote.name)
    if store.conversations and remote.address.transport == "directory" and len(refspecs) <= FEW:
        found = _fetch_changed(store, transport, quarantine, Places(refspecs))
        if found is not None:
            return found
    quarantine.set_known(list_known(repository) | (store.list_places() if EVERYTHING_SPEC in refspecs else {}))
    return transport.fetch(refspecs)


def _fetch_changed(
    store: _SeenRefs, transport: GitTransport, quarantine: Quarantine, places: Places
) -> dict[str, Oid] | None:
    """List the refs and fetch those with new values.

    Return None if these are many, if two refs have one place, or if one that was named is missing.
    """
    listed = transport.list_refs(*places.by_source)
    found = {ref: (place, oid) for ref, oid in listed.items() if (place := places.find(ref)) is not None}
    values = dict(found.values())
    changed = [ref for ref, (_, oid) in found.items() if not store.has(ref, oid)]
    is_missing = bool(places.by_source.keys() - places.patterns.keys() - listed.keys())
    if len(changed) > FEW or len(values) < len(found) or is_missing:
        return None
    if changed:
        quarantine.set_known(list_known(store.repository, {_last(ref) for ref in changed}))
        try:
            values |= transport.fetch([f"{ref}:{found[ref][0]}" for ref in changed])
        except NotFound:  # one was deleted meanwhile
            return None
    return values


class _SeenRefs:
    """The values that refs of a remote had when they were last seen: the store has their objects."""

    def __init__(self, repository: Repository, remote: str) -> None:
        self.repository = repository
        self._remote = remote
        tracked = repository.list_refs(f"{REMOTES}{remote}/")  # sooner done than one by one
        self.conversations = {_last(ref): Oid(oid) for ref, oid in tracked.items()}

    def has(self, ref: str, oid: Oid) -> bool:
        """Return True if a ref had this value, or if it is the mark that closes a remote, which is known by its id."""
        last = _last(ref)
        if ref.startswith(ON_REMOTE):
            return self.conversations.get(last) == oid
        if is_of_sources(ref):
            return self.repository.find_ref(sources_tracking_ref(self._remote, Oid(last))) == oid
        is_list = ref.startswith(LISTS)
        return ref == CLOSED or (is_list and self.repository.find_ref(offer_ref(self._remote, last)) == oid)

    def list_places(self) -> dict[str, Oid]:
        """Return the places of all conversations with their values, so that git makes no refs for these."""
        names = ((find_own_name(self.repository, Oid(root)), oid) for root, oid in self.conversations.items())
        return {INCOMING + name.ref.removeprefix(ON_REMOTE): oid for name, oid in names if name is not None}


def _last(ref: str) -> str:
    """Return the part of a ref that says what it is of: the root of a conversation, or a machine."""
    return ref.rpartition("/")[2]
