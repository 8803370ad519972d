"""Render what other machines have purged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import counted
from scopes.render.text.verify_signatures import signature_spans
from scopes.render.view import Column, Span, View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scopes.purge.purge_offers import PurgeOffer, PurgeOffers

_OFFERS = (
    Column("Machine", "id"), Column("Remote"), Column("Received"), Column("Signature"), Column("Signer", flexible=True),
    Column("Listed", align="right"), Column("Conversation", "branch"), Column("Messages", align="right"),
    Column("Decision"), Column("Subject", flexible=True),
)  # fmt: skip
_UNSIGNED = "not signed"
_ALL = "all"
_FEW = 5
_SHORT = 8


@render_text.register
def render_purge_offers(result: PurgeOffers, view: View) -> None:
    """Write each offer and what of it is here; in a pipe a row for each conversation that an offer is about."""
    if not view.terminal:
        view.rows(_OFFERS, (row for offer in result.offers for row in _walk_offer_rows(offer)))
        return
    if not result.offers:
        view.line("Nothing that was purged elsewhere is here.")
    for offer in result.offers:
        signed = signature_spans(offer.signature) if offer.signature else (_UNSIGNED,)
        view.line(Span(offer.machine, "id"), f" on {offer.remote} lists {offer.listed}; signature: ", *signed)
        if offer.received:
            view.line(f"received {offer.received}", indent=2)
        for each in offer.here:
            count = "all of it" if each.messages is None else counted(each.messages, "message")
            title = f"  {each.title}" if each.title else ""
            view.line(Span(each.conversation, "branch"), f": {count}, {each.decision}{title}", indent=2)
            for message in each.named[:_FEW]:
                view.line(Span(message.message[:_SHORT], "id"), f"  {message.subject}", indent=4)
            if len(each.named) > _FEW:
                view.line(f"and {len(each.named) - _FEW} more: scopes purge --accept --dry-run", indent=4)


def _walk_offer_rows(offer: PurgeOffer) -> Iterator[tuple[str, ...]]:
    state = offer.signature.state if offer.signature else _UNSIGNED
    signer = offer.signature.signer if offer.signature and offer.signature.signer else ""
    about = (offer.machine, offer.remote, offer.received or "", state, signer, str(offer.listed))
    for each in offer.here:
        subject = each.named[0].subject if each.named else each.title or ""
        yield (*about, each.conversation, _ALL if each.messages is None else str(each.messages), each.decision, subject)
