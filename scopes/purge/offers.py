"""Offers: lists of what other machines have purged, from remotes. They remove nothing here, and each may be declined.

A remote has one list for each machine, which only grows. It is stored unchanged, with its signature; entries that a
newer list lacks are stored separately. Declined entries are a list, too: entries that are added later are undecided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import NamedTuple

from scopes.errors import NotFound
from scopes.history.handles import list_tips_by_time
from scopes.history.messages import MessageHeader, header_of, read_stored_body
from scopes.history.names import conversation_ids, find_root_commit
from scopes.history.sources import NOTHING, Purged, hash_of, join_all, read_purged, read_purged_tree, write_purged
from scopes.history.transaction import RefTransaction
from scopes.ids import ConversationId, Oid
from scopes.model.message import purge_message
from scopes.purge.stored_messages import walk_undone_headers
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Objects, read_commit
from scopes.store.refs import PURGE_DECLINED, PURGE_OFFERS, PURGED, PURGED_ELSEWHERE
from scopes.store.repository import Repository

ACCEPT, DECLINE = "scopes purge --accept", "scopes purge --decline"
CHOOSE = f"remove it here, too: {ACCEPT}; keep it: {DECLINE}"
LIST = "scopes purge --offers"
DECIDE = f"see what: {LIST}; {CHOOSE}"
_EARLIER = "earlier"


class Offer(NamedTuple):
    """The list of a machine, as a remote has it.

    remote, machine: both "earlier" for entries that lists of remotes no longer have
    ref: where it is kept
    commit: the list, as it came
    """

    remote: str
    machine: str
    ref: str
    commit: Oid

    def matches(self, name: str | None) -> bool:
        """Return True if `name` is None, the name of the remote, or the beginning of that of the machine."""
        return name is None or self.remote == name or (len(name) > 0 and self.machine.startswith(name))


class OfferedHere(NamedTuple):
    """A message, or without one a conversation, that is here and on a list."""

    conversation: ConversationId
    head: MessageHeader | None


def offer_ref(remote: str, machine: str) -> str:
    """Return the ref here with the list that a remote has of a machine."""
    return f"{PURGE_OFFERS}{remote}/{machine}"


def list_offers(repository: Repository) -> list[Offer]:
    """Return all offers, sorted by remote and machine."""
    found = []
    for ref, value in sorted(repository.list_refs(PURGE_OFFERS).items()):
        remote, _, machine = ref.removeprefix(PURGE_OFFERS).rpartition("/")
        found.append(Offer(remote, machine, ref, Oid(value)))
    earlier = repository.find_ref(PURGED_ELSEWHERE)
    return found if earlier is None else [*found, Offer(_EARLIER, _EARLIER, PURGED_ELSEWHERE, Oid(earlier))]


def fingerprint(repository: Repository) -> str:
    """Return a hash of the refs of all lists of a store, which changes when one of them does."""
    values = [f"{each.ref} {each.commit}" for each in list_offers(repository)]
    values += [f"{ref} {repository.find_ref(ref)}" for ref in (PURGED, PURGE_DECLINED)]
    return sha256("\n".join(values).encode()).hexdigest()


def read_undecided(repository: Repository) -> Purged:
    """Return the offered entries that were neither purged here nor declined."""
    return read_offered(repository).without(read_purged(repository, PURGE_DECLINED))


def read_offered(repository: Repository, name: str | None = None) -> Purged:
    """Return the entries offered by all, or by one remote or machine, that were not purged here.

    Raises:
        NotFound: nobody of that name offers anything.
    """
    chosen = [offer for offer in list_offers(repository) if offer.matches(name)]
    if not chosen and name is not None:
        raise NotFound(f"no remote and no machine {name!a} offers anything", hint=f"see: {LIST}")
    return join_all(read_purged(repository, offer.ref) for offer in chosen).without(read_purged(repository))


def read_list(objects: Objects, commit: Oid) -> Purged:
    """Return the entries of a list."""
    return read_purged_tree(objects, read_commit(objects, commit).tree)


def is_new_offer(repository: Repository, remote: str, lists: Mapping[str, Oid]) -> bool:
    """Return True if one of the lists of a remote, by machine, has changed since it was last seen."""
    return any(repository.find_ref(offer_ref(remote, machine)) != commit for machine, commit in lists.items())


def take_offers(objects: Objects, transaction: RefTransaction, remote: str, lists: Mapping[str, Oid]) -> None:
    """Store the lists that a remote has now, by machine; entries that only older ones had are kept, too."""
    repository = transaction.repository
    lost = NOTHING
    for machine, commit in lists.items():
        ref = offer_ref(remote, machine)
        before = repository.find_ref(ref)
        if before is not None and before != commit:
            lost = lost.join(read_purged(repository, ref).without(read_list(objects, commit)))
        transaction.move_ref(ref, before, commit)
    if lost:
        known = repository.find_ref(PURGED_ELSEWHERE)
        joined = write_purged(objects, read_purged(repository, PURGED_ELSEWHERE).join(lost))
        transaction.move_ref(PURGED_ELSEWHERE, known, joined)


def has_content(repository: Repository, head: MessageHeader, purged: Purged) -> bool:
    """Return True if a message is on a list and has its content still."""
    if not purged.has_message(head.id):
        return False
    data = read_stored_body(repository, head)
    return purge_message(data, purged.parts_of(head.id)) != data


def walk_offered(
    repository: Repository, offered: Purged, conversation: ConversationId | None = None
) -> Iterator[OfferedHere]:
    """Yield the messages and conversations of this store, or in one conversation, that are on a list.

    A message that several conversations have is yielded for each of them. Those on branches come first, then those that
    only undo or the trash reaches.
    """
    seen: set[tuple[ConversationId, str]] = set()
    names = conversation_ids(repository) if conversation is None else [conversation]
    for name in names if offered else ():
        root = find_root_commit(repository, name)
        if root is not None and offered.has_conversation(root):
            yield OfferedHere(name, None)
        elif offered.messages:
            for commit in walk_oldest_first(repository, list_tips_by_time(repository, name)):
                head = header_of(commit)  # every copy: one branch may have a message whole, and another one purged
                if (name, head.id) not in seen and has_content(repository, head, offered):
                    seen.add((name, head.id))
                    yield OfferedHere(name, head)
    for name, head in walk_undone_headers(repository) if offered.messages else ():
        if name in names and (name, head.id) not in seen and has_content(repository, head, offered):
            seen.add((name, head.id))
            yield OfferedHere(name, head)


def restrict(repository: Repository, offered: Purged, found: list[OfferedHere]) -> Purged:
    """Return the entries of a list that apply to these messages and conversations."""
    roots = [find_root_commit(repository, each.conversation) for each in found if each.head is None]
    messages = {hash_of(each.head.id): offered.parts_of(each.head.id) for each in found if each.head is not None}
    return Purged(messages, frozenset(hash_of(root) for root in roots if root is not None))
