"""Read all refs of a repository before a push sends a conversation that is new there.

For a conversation that the remote has, a purge elsewhere is noticed because it has moved the ref. For one that is new
there, or that the remote no longer has, the push must first know the lists of what was purged elsewhere, and whether
the remote was replaced by another repository.
"""

from __future__ import annotations

from collections.abc import Mapping

from scopes.ids import Oid
from scopes.purge.gone_there import note_seen
from scopes.purge.offers import is_new_offer
from scopes.store.config import read_gone
from scopes.store.repository import Repository
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.names import ON_REMOTE as CONVERSATIONS
from scopes.sync.purged_lists import ON_REMOTE as LISTS
from scopes.sync.purged_lists import SENT
from scopes.sync.receive import receive
from scopes.sync.remotes import Remote


def learn_before(
    repository: Repository, remote: Remote, refs: Mapping[str, Oid], connection: Connection
) -> frozenset[str]:
    """Add the purge lists of a repository that are new here, and record which conversations it no longer has.

    `refs` are all refs of the repository. Return the roots of the conversations that it had until now.

    Raises:
        Inaccessible, Corrupt: as `fetch`.
    """
    learn_lists(repository, remote, refs, connection)
    roots = [ref.rpartition("/")[2] for ref in refs if ref.startswith(CONVERSATIONS)]
    before = read_gone(repository.path).get(remote.name, frozenset())
    note_seen(repository, remote.name, roots, everything=True)
    return read_gone(repository.path).get(remote.name, frozenset()) - before


def learn_lists(repository: Repository, remote: Remote, refs: Mapping[str, Oid], connection: Connection) -> None:
    """Fetch and store the lists of what was purged elsewhere that a repository has, and that are new here.

    Raises:
        Inaccessible, Corrupt: as `fetch`.
    """
    sent = repository.find_ref(SENT + remote.name)
    lists = {ref[len(LISTS) :]: oid for ref, oid in refs.items() if ref.startswith(LISTS) and oid != sent}
    if is_new_offer(repository, remote.name, lists):
        with quarantine_of(repository, knows_remotes=False) as quarantine:
            receive(repository, remote, quarantine, [], connection, kind="push")  # no undo takes that back
