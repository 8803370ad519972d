"""What a remote has that this store knows already, although it never asked that remote: it had another name or address.

Such a conversation counts as one that the remote has, so a push sends what is new in it. What the remote has of the
others is not here: a fetch gets it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from scopes.errors import ScopesError
from scopes.history.transaction import RefTransaction
from scopes.ids import Oid
from scopes.purge.on_remotes import SOURCES_THERE
from scopes.result import Note, plural
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository
from scopes.sync.local_conversations import list_roots
from scopes.sync.manifest import read_manifest
from scopes.sync.names import ON_REMOTE, sources_tracking_ref, tracking_ref


def list_tracking(remote: str, refs: Mapping[str, Oid]) -> dict[str, Oid]:
    """Return what a remote has of conversations and original files, by the refs here that say so."""
    found: dict[str, Oid] = {}
    for ref, value in refs.items():
        if ref.startswith(ON_REMOTE):
            found[tracking_ref(remote, Oid(ref.rpartition("/")[2]))] = value
        elif ref.startswith(SOURCES_THERE):
            found[sources_tracking_ref(remote, Oid(ref.rpartition("/")[2]))] = value
    return found


def know_again(repository: Repository, tx: RefTransaction, there: Mapping[str, Oid], option: str) -> tuple[Note, ...]:
    """Record what a remote has of the conversations of this store, and return a note about what is to be fetched.

    there: what the remote has, by the refs that say so here
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
        Note(f"{text}, with something that was never fetched: {', '.join(newer[:5])}", f"get it: scopes fetch{option}"),
    )


def _is_known(repository: Repository, ref: str, value: Oid) -> bool:
    """Return True if a manifest with all its branches, or a commit with original files, is here."""
    with suppress(ScopesError):
        if not repository.has(value):
            return False
        branches = read_manifest(repository, value).manifest.branches if ref.startswith(REMOTES) else {}
        return all(repository.has(branch.tip) for branch in branches.values())
    return False
