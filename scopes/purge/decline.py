"""`purge --decline`: keep what others have purged, and push it as before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scopes.errors import NotFound
from scopes.history.sources import NOTHING, Purged, hash_of, read_purged, write_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import OperationId
from scopes.purge.accept import FETCH, OfferChoice, choose_offered
from scopes.purge.offers import ACCEPT, OfferedHere, read_offered
from scopes.purge.stored_messages import walk_named_messages
from scopes.purge.unfinished import refuse_unfinished
from scopes.result import Column, Note, Result, counted, first_few, plural
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

    columns = (Column("messages"), Column("conversations"))

    messages: int
    conversations: int
    listed: int
    operation: OperationId | None

    @property
    def sentence(self) -> str:
        """What is kept."""
        whole = ((self.messages, "message"), (self.conversations, "conversation"))
        named = " and ".join(counted(count, noun) for count, noun in whole if count)
        return f"Kept {named} that others have purged." if named else "Declined; nothing of it is here."


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
        offered = offered.join(_list_inside(repository, found))
        known = read_purged(repository, PURGE_DECLINED)
        new = offered.without(known)
        tx = RefTransaction(repository)
        if new:
            before = repository.find_ref(PURGE_DECLINED)
            tx.move_ref(PURGE_DECLINED, before, write_purged(repository, known.join(new)))
            tx.commit("decline", "decline what was purged elsewhere")
    return PurgeDeclined(
        messages=len({each.head.id for each in found if each.head is not None}),
        conversations=sum(each.head is None for each in found),
        listed=len(new.messages) + len(new.conversations),
        operation=tx.operation_id if new else None,
        notes=_note_others(found),
    )


def _list_inside(repository: Repository, found: Sequence[OfferedHere]) -> Purged:
    """Return the offered messages of conversations that are kept whole: a list has them, too."""
    names = {each.conversation for each in found if each.head is None}
    offered = read_offered(repository) if names else NOTHING
    heads = (each.head for name, each in walk_named_messages(repository) if name in names) if names else ()
    inside = {hash_of(head.id) for head in heads}
    return Purged({name: parts for name, parts in offered.messages.items() if name in inside})


def _note_others(found: Sequence[OfferedHere]) -> tuple[Note, ...]:
    """Return a note that those who have purged the content no longer accept a conversation with it."""
    if not found:
        return ()
    names = sorted({each.conversation for each in found})
    what = plural(len(names), "conversation")
    text = f"stores that have purged it no longer accept the {what} with it from you: {first_few(names)}"
    return (Note(text, f"to remove it after all: {ACCEPT} {names[0]}; then: scopes push"),)
