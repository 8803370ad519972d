"""Recognize conversations of this store on a remote that was never fetched: it had another name or address before.

A conversation counts as present on the remote if this store has the manifest there: then a push sends what is new in
it. For the others the remote has something that is not here: a fetch gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from scopes.errors import ScopesError
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.purge.on_remotes import SOURCES_THERE
from scopes.result import Note, first_few, plural
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository
from scopes.sync.local_conversations import list_roots
from scopes.sync.manifest import read_manifest
from scopes.sync.names import ON_REMOTE, sources_tracking_ref, tracking_ref


def list_tracking(remote: str, refs: Mapping[str, Oid]) -> dict[str, Oid]:
    """Return the values of the conversations and original files of a remote, by their tracking refs."""
    found: dict[str, Oid] = {}
    for ref, value in refs.items():
        if ref.startswith(ON_REMOTE):
            found[tracking_ref(remote, Oid(ref.rpartition("/")[2]))] = value
        elif ref.startswith(SOURCES_THERE):
            found[sources_tracking_ref(remote, Oid(ref.rpartition("/")[2]))] = value
    return found


def know_again(repository: Repository, tx: RefTransaction, there: Mapping[str, Oid], option: str) -> tuple[Note, ...]:
    """Set tracking refs for the conversations of this store that a remote has; return a note about newer ones.

    there: the values of the remote, by tracking ref
    """
    roots = list_roots(repository)
    newer = []
    for ref, value in sorted(there.items()):
        conversation = roots.get(Oid(ref.rpartition("/")[2]))
        if conversation is None or repository.find_ref(ref) is not None:
            continue
        if _is_known(repository, ref, value):
            tx.move_ref(ref, None, value)
        elif ref.startswith(REMOTES):
            newer.append(conversation)
    if not newer:
        return ()
    text = f"{len(newer)} {plural(len(newer), 'conversation')} of this store {'is' if len(newer) == 1 else 'are'} there"
    return (
        Note(f"{text}, with something that was never fetched: {first_few(newer)}", f"get it: scopes fetch{option}"),
    )


def _is_known(repository: Repository, ref: str, value: Oid) -> bool:
    """Return True if a manifest with all its branches, or a commit with original files, is here."""
    with suppress(ScopesError):
        if not repository.has(value):
            return False
        branches = read_manifest(repository, value).manifest.branches if ref.startswith(REMOTES) else {}
        return all(repository.has(branch.tip) for branch in branches.values())
    return False
