"""`purge --decline`: keep what others have purged, and push it as before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scopes.errors import NotFound
from scopes.history.purged import read_purged, write_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import OperationId
from scopes.purge.accept import FETCH, OfferChoice, choose_offered
from scopes.purge.offers import ACCEPT, OfferedHere
from scopes.purge.unfinished import refuse_unfinished
from scopes.result import Note, Result, first_few, plural
from scopes.store.refs import PURGE_DECLINED
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeDeclined(Result):
    """What is kept here although it was purged elsewhere.

    messages, conversations: how many of them are here
    listed: how many entries of lists were declined, including those of which nothing is here
    operation: None if all of them had been declined before
    """

    messages: int
    conversations: int
    listed: int
    operation: OperationId | None


def decline_purges(repository: Repository, choice: OfferChoice | None = None) -> PurgeDeclined:
    """Keep what was purged elsewhere, and push it as before; `undo` takes the decision back.

    Raises:
        NotFound: nothing is offered.
        Refused: a purge was interrupted.
    """
    refuse_unfinished(repository)
    with exclusive_write(repository):
        offered, found = choose_offered(repository, choice or OfferChoice())
        if not offered:
            raise NotFound("nothing was purged elsewhere", hint=FETCH)
        known = read_purged(repository, PURGE_DECLINED)
        new = offered.without(known)
        tx = RefTransaction(repository)
        if new:
            before = repository.find_ref(PURGE_DECLINED)
            tx.move_ref(PURGE_DECLINED, before, write_purged(repository, known.join(new)))
            tx.commit("decline", "decline what was purged elsewhere")
    messages = sum(each.head is not None for each in found)
    return PurgeDeclined(
        messages=messages,
        conversations=len(found) - messages,
        listed=len(new.messages) + len(new.conversations),
        operation=tx.operation_id if new else None,
        notes=_note_others(found),
    )


def _note_others(found: Sequence[OfferedHere]) -> tuple[Note, ...]:
    """Return a note that those who have purged the content no longer accept a conversation with it."""
    if not found:
        return ()
    names = sorted({each.conversation for each in found})
    what = plural(len(names), "conversation")
    text = f"stores that have purged it no longer accept the {what} with it from you: {first_few(names)}"
    return (Note(text, f"to remove it after all: {ACCEPT} {names[0]}; then: scopes push"),)
