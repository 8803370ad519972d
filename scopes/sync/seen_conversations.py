"""The conversations of a remote that were pushed or fetched, from the manifests in tracking refs.

A manifest list (`manifest_list`) has all conversations of a remote at one time. Later pushes and fetches see newer
manifests of single conversations. In a store that never fetched a list, these are all that is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from scopes.errors import ScopesError
from scopes.ids import Oid
from scopes.store.config import read_gone
from scopes.store.operations import walk_moves
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository
from scopes.sync.manifest import StoredManifest, read_manifest
from scopes.sync.manifest_list import ListedConversation, ManifestList, describe_all
from scopes.sync.names import RemoteName, find_own_name, tracking_ref


def add_seen(
    repository: Repository, remote: str, listed: ManifestList | None, *, prefix: str = ""
) -> ManifestList | None:
    """Add manifests that were seen later to a list; without a list return those that were ever seen, None if none.

    prefix: only roots that begin with it are needed
    """
    before = ManifestList(0, {}) if listed is None else listed
    gone = read_gone(repository.path).get(remote, frozenset())
    newer = {
        root: value
        for root, value in list_newer(repository, remote, before.conversations).items()
        if root.startswith(prefix) and root not in gone and before.older.get(root) != value
    }
    seen = describe_all([each for each in (_read(repository, *item) for item in newer.items()) if each is not None])
    if listed is None and not seen:
        return None
    times = (_find_time(repository, tracking_ref(remote, each.name.root)) for each in seen)
    return ManifestList(
        seen=max(times) if listed is None else listed.seen,
        conversations={**before.conversations, **{each.name.root: each for each in seen}},
    )


def list_newer(repository: Repository, remote: str, listed: Mapping[Oid, ListedConversation]) -> dict[Oid, Oid]:
    """Return the manifests in tracking refs of a remote that are not in a list, by root."""
    prefix = f"{REMOTES}{remote}/"
    kept = {Oid(ref.removeprefix(prefix)): Oid(value) for ref, value in repository.list_refs(prefix).items()}
    return {root: value for root, value in kept.items() if root not in listed or listed[root].manifest != value}


def _find_time(repository: Repository, ref: str) -> int:
    return next((move.time for move in walk_moves(repository, ref)), 0)


def _read(repository: Repository, root: Oid, manifest: Oid) -> tuple[RemoteName, StoredManifest] | None:
    """Return the name of a conversation and its manifest; None if that cannot be read."""
    with suppress(ScopesError):
        name = find_own_name(repository, root)
        return None if name is None else (name, read_manifest(repository, manifest))
    return None
