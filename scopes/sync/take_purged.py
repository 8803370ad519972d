"""`pull --purged`: take conversations that have what was purged here, and purge it in them at once.

Somebody has added messages above purged content, or keeps it: a fetch refuses all of such a conversation. Here it is
checked as in every fetch, except for the list of what was purged. Before it enters the store a purge is recorded as
begun: if this process is killed, `purge --continue` removes the content. Conversations that were purged as a whole are
not taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scopes.history.sources import Purged, read_purged
from scopes.purge.derived import Derived
from scopes.purge.purge import Places, PurgeDone, remove
from scopes.purge.unfinished import find_unfinished
from scopes.store.repository import Repository
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.format_check import PurgedHere
from scopes.sync.names import is_remote_ref, parse_remote_ref
from scopes.sync.receive import Receipt, receive
from scopes.sync.remote_selection import refspec_of_ref
from scopes.sync.remotes import Remote


def take_purged(
    repository: Repository, receipts: Mapping[Remote, Receipt], connection: Connection, places: Places
) -> tuple[dict[Remote, Receipt], PurgeDone | None]:
    """Take what a fetch has refused because of purged content; return the new receipts, and the purge if there was one.

    Raises:
        As `receive` and `purge`; once something was taken, `purge --continue` does the rest.
    """
    purged = read_purged(repository)
    refs = {member: [*_walk_refused(receipt, purged)] for member, receipt in receipts.items()}
    found = dict(receipts)
    if not any(refs.values()):
        return found, None
    derived = Derived(repository).add_to(purged)
    for member, receipt in receipts.items():
        if refs[member]:
            with quarantine_of(repository) as quarantine:
                specs = [refspec_of_ref(ref) for ref in refs[member]]
                again = receive(repository, member, quarantine, specs, connection, takes_purged=True)
            found[member] = _join(receipt, again, refs[member])
    if find_unfinished(repository.path) is None:  # nothing was taken
        return found, None
    new = Derived(repository).add_to(purged).without(derived)
    return found, remove(repository, new, places)


def _walk_refused(receipt: Receipt, purged: Purged) -> Iterator[str]:
    """Yield the refs of conversations that were refused because of purged content, but were not purged as a whole."""
    refs = (ref for ref, error in receipt.refused.items() if isinstance(error, PurgedHere) and is_remote_ref(ref))
    yield from (ref for ref in refs if not purged.has_conversation(parse_remote_ref(ref).root))


def _join(before: Receipt, after: Receipt, refs: list[str]) -> Receipt:
    """Return the receipt of two fetches; the second one was of `refs`, which the first one has refused."""
    roots = {parse_remote_ref(ref).root for ref in refs}
    refused = {ref: error for ref, error in before.refused.items() if ref not in refs}
    return before._replace(
        rows=(*(row for row in before.rows if row.root not in roots), *after.rows),
        operation=after.operation or before.operation,
        refused={**refused, **after.refused},
        sources=before.sources | after.sources,
        older=(*before.older, *after.older),
        ahead={**before.ahead, **after.ahead},
        made_from_parts={**before.made_from_parts, **after.made_from_parts},
    )
