"""Conversations that a fetch has refused before, because they have what was purged here.

The first refusal ends a fetch with an exit code. Later ones are notes, as long as nobody has replaced the conversation
there: a script that fetches other conversations would fail for ever because of somebody who keeps what was purged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from scopes.ids import Oid
from scopes.result import Note, plural
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.accept import FetchedConversation
from scopes.sync.format_check import PurgedHere
from scopes.sync.names import is_remote_ref, parse_remote_ref
from scopes.sync.receive import Receipt
from scopes.sync.refused_file import read_refused, write_refused
from scopes.sync.remotes import Remote

_SHORT_ROOT: Final = 12
_FEW: Final = 5


def note_refused(repository: Repository, receipts: Mapping[Remote, Receipt]) -> frozenset[Oid]:
    """Record what a fetch has refused and what it has taken; return the roots of what was refused before, too."""
    before = read_refused(repository.path)
    if _join(before, receipts) != before:
        with exclusive_write(repository):
            write_refused(repository.path, _join(read_refused(repository.path), receipts))
    again = (
        ref
        for member, receipt in receipts.items()
        for ref, _ in _walk_purged(receipt)
        if ref in before.get(member.name, ())
    )
    return frozenset(parse_remote_ref(ref).root for ref in again)


def _join(before: Mapping[str, Mapping[str, str]], receipts: Mapping[Remote, Receipt]) -> dict[str, Mapping[str, str]]:
    """Return the refs with what was refused now, and without what was taken."""
    after = dict(before)
    for member, receipt in receipts.items():
        taken = {row.root for row in receipt.rows if row.status != "unacceptable"}
        known = before.get(member.name, {})
        left = {ref: value for ref, value in known.items() if parse_remote_ref(ref).root not in taken}
        after[member.name] = left | {ref: error.value for ref, error in _walk_purged(receipt)}
    return {name: refs for name, refs in after.items() if refs}


def describe_refused_again(
    rows: Sequence[FetchedConversation], known: Collection[Oid], receipts: Mapping[Remote, Receipt]
) -> Iterator[Note]:
    """Yield notes about conversations that are still not taken; `rows` has a row for each, `known` are their roots."""
    names = {row.root: row.conversation or row.root[:_SHORT_ROOT] for row in rows if row.root in known}
    found = [
        (member, name, error)
        for member, receipt in receipts.items()
        for ref, error in _walk_purged(receipt)
        if (name := names.get(parse_remote_ref(ref).root)) is not None
    ]
    for member, name, error in found[:_FEW]:
        yield Note(f"{name} of {member.name} is still not taken: {error.reason}", error.cure)
    more = len(found) - _FEW
    if more > 0:
        yield Note(f"{more} more {plural(more, 'conversation')} {'is' if more == 1 else 'are'} still not taken")


def _walk_purged(receipt: Receipt) -> Iterator[tuple[str, PurgedHere]]:
    """Yield the refs of conversations that were refused because of purged content, with the errors."""
    for ref, error in receipt.refused.items():
        if isinstance(error, PurgedHere) and is_remote_ref(ref):
            yield ref, error
