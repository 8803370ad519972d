"""`purge --accept`: do what others have purged. What is only offered removes nothing before that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from scopes.errors import NotFound
from scopes.history.purged import Purged, read_purged
from scopes.history.revisions import resolve_conversation
from scopes.purge.offers import ACCEPT, OfferedHere, read_offered, restrict, walk_offered
from scopes.purge.purge import Places, Progress, PurgedMessage, PurgeDone, PurgePlanned, plan_removal, remove
from scopes.purge.unfinished import refuse_unfinished
from scopes.store.refs import PURGE_DECLINED
from scopes.store.repository import Repository

FETCH = "get the newest lists: scopes fetch; see them: scopes purge --offers"


class OfferChoice(NamedTuple):
    """Which offers are decided: all that are undecided, those of one remote or machine, or what is in a conversation.

    An offer that is named may have been declined before.
    """

    name: str | None = None
    conversation: str | None = None


def plan_accept(repository: Repository, choice: OfferChoice | None = None) -> PurgePlanned:
    """Return what was purged elsewhere and is here, and change nothing.

    Raises:
        NotFound: nothing is.
    """
    offered, found = choose_offered(repository, choice or OfferChoice())
    if not found:
        raise NotFound("nothing that was purged elsewhere is here", hint=_hint_declined(repository) or FETCH)
    conversations = tuple(each.conversation for each in found if each.head is None)
    return plan_removal(repository, offered, tuple(_describe(found, offered)), conversations)


def accept_purges(
    repository: Repository,
    places: Places,
    choice: OfferChoice | None = None,
    *,
    on_progress: Progress = lambda _: None,
) -> PurgeDone:
    """Remove what was purged elsewhere; raises as `purge`, and NotFound if nothing is offered."""
    refuse_unfinished(repository)
    offered, _ = choose_offered(repository, choice or OfferChoice())
    if not offered:
        raise NotFound("nothing was purged elsewhere", hint=_hint_declined(repository) or FETCH)
    return remove(repository, offered, places, on_progress=on_progress)


def choose_offered(repository: Repository, choice: OfferChoice) -> tuple[Purged, list[OfferedHere]]:
    """Return what a choice is about, and what of it is here."""
    offered = read_offered(repository, choice.name)
    if choice.conversation is not None:
        found = list(walk_offered(repository, offered, resolve_conversation(repository, choice.conversation)))
        return restrict(repository, offered, found), found
    if choice.name is None:
        offered = offered.without(read_purged(repository, PURGE_DECLINED))
    return offered, list(walk_offered(repository, offered))


def _hint_declined(repository: Repository) -> str | None:
    """Return how to accept what was declined before, if any of it is here."""
    found = next(walk_offered(repository, read_offered(repository)), None)
    return None if found is None else f"you have declined it; to change that: {ACCEPT} {found.conversation}"


def _describe(found: list[OfferedHere], offered: Purged) -> Iterator[PurgedMessage]:
    for conversation, head in found:
        if head is not None:
            parts = offered.parts_of(head.id)
            yield PurgedMessage(conversation, head.id, head.subject, None if parts is None else len(parts))
