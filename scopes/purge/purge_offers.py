"""`purge --offers`: what other machines have purged, who signed it and when it came, and what of it is here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypeAlias

from scopes.clock import format_seconds
from scopes.history.activity import with_summary
from scopes.history.handles import heading_of, walk_main
from scopes.history.metadata import read_metadata
from scopes.history.names import find_root_commit, list_branch_tips
from scopes.history.sources import Purged, hash_of, join_all, read_purged
from scopes.ids import ConversationId, MessageId
from scopes.model.operation import Signature
from scopes.purge.derived import Derived
from scopes.purge.offers import CHOOSE, Offer, OfferedHere, list_offers, read_list, walk_offered
from scopes.result import Column, Note, Result
from scopes.store.git_program import check_signatures
from scopes.store.operations import walk_moves
from scopes.store.refs import PURGE_DECLINED
from scopes.store.repository import Repository

Decision: TypeAlias = Literal["undecided", "declined"]
UNDECIDED: Final = "undecided"
DECLINED: Final = "declined"


class OfferedMessage(NamedTuple):
    """A message that is in this store and on a list."""

    message: MessageId
    subject: str


class OfferedConversation(NamedTuple):
    """The part of an offer that applies to one conversation: all of it if `messages` is None, else that many messages.

    title: that of the conversation, or the beginning of its first prompt; None if it has neither
    named: the messages
    """

    conversation: ConversationId
    messages: int | None
    decision: Decision
    title: str | None = None
    named: tuple[OfferedMessage, ...] = ()


class PurgeOffer(NamedTuple):
    """The list of one machine on one remote.

    machine: its id, which is the same on all remotes
    received: when its newest list was fetched; None if that is no longer known
    signature: git's verdict about the signature of the list; None if it is not signed
    listed: how many messages and conversations are on the list
    here: those that are in this store and were not purged
    """

    remote: str
    machine: str
    received: str | None
    signature: Signature | None
    listed: int
    here: tuple[OfferedConversation, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeOffers(Result):
    """The lists of what other machines have purged and this store has."""

    rows_in = "rows"
    is_one_row = True
    columns = (
        Column("machine", form="id"),
        Column("remote"),
        Column("received", form="time", on="pipe"),
        Column("signature", form="state"),
        Column("signer", on="pipe"),
        Column("listed", on="pipe"),
        Column("conversation", form="branch"),
        Column("messages"),
        Column("decision", form="state"),
        Column("subject"),
    )
    empty = "Nothing that was purged elsewhere is here."

    offers: tuple[PurgeOffer, ...]

    @property
    def rows(self) -> list[dict[str, object]]:
        """A row for each conversation that an offer is about."""
        return [
            {
                "machine": offer.machine,
                "remote": offer.remote,
                "received": offer.received or "",
                "signature": offer.signature.state if offer.signature else "not signed",
                "signer": offer.signature.signer if offer.signature else None,
                "listed": offer.listed,
                "conversation": each.conversation,
                "messages": "all" if each.messages is None else each.messages,
                "decision": each.decision,
                "subject": each.named[0].subject if each.named else each.title,
            }
            for offer in self.offers
            for each in offer.here
        ]


def list_purge_offers(repository: Repository, directory: str) -> PurgeOffers:
    """Return the offers that apply to content of this store, each with that content.

    A list of which nothing is here is left out. So is that of this machine on a remote, unless this store was restored
    from a backup and has content of it again.

    directory: the current directory, for conditional settings of git

    Raises:
        Corrupt, NotFound: the store cannot be read.
    """
    offers = list_offers(repository)
    lists = [read_list(repository, offer.commit) for offer in offers]
    derived = Derived(repository)
    every_list = [derived.add_to(listed) for listed in lists]
    found = list(walk_offered(repository, join_all(every_list).without(read_purged(repository))))
    signatures = check_signatures(repository, [offer.commit for offer in offers], directory)
    declined = derived.add_to(read_purged(repository, PURGE_DECLINED))
    every = (
        PurgeOffer(
            offer.remote,
            offer.machine,
            _find_time(repository, offer),
            signatures.get(offer.commit),
            len(listed.messages) + len(listed.conversations),
            tuple(_walk_here(repository, found, with_derived, declined)),
        )
        for offer, listed, with_derived in zip(offers, lists, every_list, strict=True)
    )
    rows = tuple(row for row in every if row.here)
    is_open = any(each.decision == UNDECIDED for row in rows for each in row.here)
    notes = (Note("what is undecided stays here, and is not removed by itself", CHOOSE),) if is_open else ()
    unsigned = [row for row in rows if row.signature is None and any(one.decision == UNDECIDED for one in row.here)]
    return PurgeOffers(offers=rows, notes=(*notes, *_note_unsigned(unsigned)))


def _note_unsigned(rows: Sequence[PurgeOffer]) -> Iterator[Note]:
    """Yield a note about unsigned lists: a list names a machine, only a signature names a person."""
    machines = ", ".join(dict.fromkeys(row.machine for row in rows))
    if machines:
        text = f"only a signature says who has written a list, and that of {machines} is not signed"
        yield Note(text, "ask who purged it; a list is signed where git signs: git config --global commit.gpgSign true")


def _find_time(repository: Repository, offer: Offer) -> str | None:
    times = (move.time for move in walk_moves(repository, offer.ref) if move.new == offer.commit)
    return next(map(format_seconds, times), None)


def _walk_here(
    repository: Repository, found: Sequence[OfferedHere], listed: Purged, declined: Purged
) -> Iterator[OfferedConversation]:
    named: dict[tuple[ConversationId, Decision], list[OfferedMessage]] = {}
    for name, head in found:
        if head is None:
            key = hash_of(find_root_commit(repository, name) or "")
            if key in listed.conversations:
                decision: Decision = DECLINED if key in declined.conversations else UNDECIDED
                yield OfferedConversation(name, None, decision, _find_title(repository, name))
        elif listed.has_message(head.id):
            one = Purged({hash_of(head.id): listed.parts_of(head.id)})
            shown = OfferedMessage(head.id, with_summary(repository, head).subject)
            named.setdefault((name, UNDECIDED if one.without(declined) else DECLINED), []).append(shown)
    for (name, state), each in sorted(named.items()):
        yield OfferedConversation(name, len(each), state, _find_title(repository, name), tuple(each))


def _find_title(repository: Repository, conversation: ConversationId) -> str | None:
    tips = list_branch_tips(repository, conversation)
    heading = heading_of(repository, read_metadata(repository, conversation).title, walk_main(repository, tips))
    return None if heading is None else heading.text
