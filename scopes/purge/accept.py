"""`purge --accept`: purge here what others have purged. Offers remove nothing before the user accepts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from scopes.errors import NotFound
from scopes.history.activity import with_summary
from scopes.history.messages import message_id_of, walk_headers_newest_first
from scopes.history.metadata import read_remote_branches
from scopes.history.names import find_root_commit, list_branch_tips, resolve_conversation
from scopes.history.sources import NOTHING, Purged, read_purged
from scopes.ids import ConversationId
from scopes.purge.derived import Derived
from scopes.purge.offers import ACCEPT, DECLINE, OfferedHere, read_offered, restrict, walk_offered
from scopes.purge.purge import Places, Progress, PurgedMessage, PurgeDone, PurgePlanned, plan_removal, remove
from scopes.purge.unfinished import refuse_unfinished
from scopes.result import Note, plural
from scopes.store.graph import walk_newest_first
from scopes.store.refs import PURGE_DECLINED
from scopes.store.repository import Repository

FETCH = "get the newest lists: scopes fetch; see them: scopes purge --offers"


class OfferChoice(NamedTuple):
    """Which offers the user decides about: all undecided ones, those of one remote or machine, or in one conversation.

    If a remote, machine or conversation is named, offers that were declined before are included.
    """

    name: str | None = None
    conversation: str | None = None


def plan_accept(repository: Repository, choice: OfferChoice | None = None) -> PurgePlanned:
    """Return what `accept_purges` would remove: content that is here and was purged elsewhere; change nothing.

    Raises:
        NotFound: there is none.
    """
    offered, found = _choose_all(repository, choice or OfferChoice())
    if not found:
        raise NotFound("nothing that was purged elsewhere is here", hint=_hint_declined(repository, choice) or FETCH)
    conversations = tuple(each.conversation for each in found if each.head is None)
    plan = plan_removal(repository, offered, tuple(_describe(repository, found, offered)), conversations)
    own = count_unpublished(repository, conversations)
    if not own:
        return plan
    text = f"{own} {plural(own, 'message')} of these conversations {'is' if own == 1 else 'are'} on no remote"
    note = Note(text, f"keep the conversations: {DECLINE}; or export them first: scopes export CONV")
    return replace(plan, notes=(note, *plan.notes))


def count_unpublished(repository: Repository, conversations: Iterable[ConversationId]) -> int:
    """Count the messages of conversations that no remote had when it was last seen: they may exist only here."""
    count = 0
    for name in conversations:
        known = read_remote_branches(repository, find_root_commit(repository, name))
        tips = [branch.tip for branches in known.values() for branch in branches.values()]
        sent = {message_id_of(commit) for commit in walk_newest_first(repository, tips)}
        own = walk_headers_newest_first(repository, list_branch_tips(repository, name).values())
        count += sum(head.id not in sent for head in own)
    return count


def accept_purges(
    repository: Repository,
    places: Places,
    choice: OfferChoice | None = None,
    *,
    on_progress: Progress = lambda _: None,
) -> PurgeDone:
    """Remove what was purged elsewhere; raises as `purge`, and NotFound if nothing is offered."""
    refuse_unfinished(repository)
    offered, _ = _choose_all(repository, choice or OfferChoice())
    if not offered:
        raise NotFound("nothing was purged elsewhere", hint=_hint_declined(repository, choice) or FETCH)

    def choose_again() -> Purged:
        return _choose_all(repository, choice or OfferChoice())[0]

    return remove(repository, offered, places, on_progress=on_progress, choose_again=choose_again)


def choose_offered(
    repository: Repository, choice: OfferChoice, derived: Derived | None = None
) -> tuple[Purged, list[OfferedHere]]:
    """Return the entries that a choice selects, and the messages and conversations here that they apply to.

    Messages made from an offered message that only this store has are included: whoever purged it did not know them.
    So are messages made from what was purged here before, unless the choice names a remote or machine.
    """
    known, own = derived or Derived(repository), read_purged(repository)
    offered = read_offered(repository, choice.name)
    if choice.name is None and choice.conversation is None:
        offered = offered.without(read_purged(repository, PURGE_DECLINED))
    offered = known.add_to(offered, own if choice.name is None else NOTHING).without(own)
    if choice.conversation is None:
        return offered, list(walk_offered(repository, offered))
    inside = list(walk_offered(repository, offered, resolve_conversation(repository, choice.conversation)))
    chosen = restrict(repository, offered, inside)
    return chosen, list(walk_offered(repository, chosen))  # other conversations may have the same messages


def _choose_all(repository: Repository, choice: OfferChoice) -> tuple[Purged, list[OfferedHere]]:
    """Return the same with all messages made from the selected ones, also in conversations that were not chosen."""
    derived = Derived(repository)
    offered, found = choose_offered(repository, choice, derived)
    more = derived.add_to(offered).without(offered).without(read_purged(repository))
    return (offered.join(more), [*found, *walk_offered(repository, more)]) if more else (offered, found)


def _hint_declined(repository: Repository, choice: OfferChoice | None) -> str | None:
    """Return a hint how to accept offers that were declined before, if their content is here.

    A choice that names a remote, machine or conversation includes these already: it has none that were declined.
    """
    if choice is not None and choice != OfferChoice():
        return None
    found = next(walk_offered(repository, read_offered(repository)), None)
    return None if found is None else f"you have declined it; to change that: {ACCEPT} {found.conversation}"


def _describe(repository: Repository, found: list[OfferedHere], offered: Purged) -> Iterator[PurgedMessage]:
    for conversation, head in found:
        if head is not None:
            parts = offered.parts_of(head.id)
            subject = with_summary(repository, head).subject
            yield PurgedMessage(conversation, head.id, subject, None if parts is None else len(parts))
