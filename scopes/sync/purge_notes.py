"""Purge offers in fetch, push and pull: notes about them, and gates for conversations that have offered content.

An offer removes nothing by itself. A conversation that was begun here is always pushed; one that came from elsewhere
and has offered content is held back until the user accepts or declines the offer.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cached_property
from hashlib import sha256
from shlex import quote
from typing import TYPE_CHECKING, Final, NamedTuple

from scopes.errors import Corrupt
from scopes.history.messages import MessageHeader, header_of
from scopes.history.names import list_branch_tips
from scopes.history.sources import NOTHING, Purged, read_purged
from scopes.ids import ConversationId, Oid
from scopes.purge.offers import (
    DECIDE,
    fingerprint,
    has_content,
    list_offers,
    read_offered,
    read_undecided,
    walk_offered,
)
from scopes.result import Note, first_few, plural
from scopes.store.config import read_json, write_json
from scopes.store.graph import walk_newest_first
from scopes.store.refs import HEADS, PURGE_DECLINED
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.origin import is_from_here

if TYPE_CHECKING:
    from scopes.purge.derived import Derived
    from scopes.sync.accept import FetchedConversation
    from scopes.sync.outgoing import Outgoing

_SHORT_MESSAGE: Final = 8
FILE: Final = "purge-offers.json"  # in the store: a count of offered content, and the refs it is for
HELD: Final = "it has what was purged elsewhere: scopes purge --accept removes it, scopes purge --decline keeps it"
_KEPT: Final = "a rebase would drop what was declined to purge: scopes pull without --rebase merges and keeps it"


def note_offers(repository: Repository) -> tuple[Note, ...]:
    """Return a note if content is here that was purged elsewhere, and that was neither accepted nor declined."""
    messages, conversations, _ = _count_offered(repository)
    counts = ((messages, "message"), (conversations, "conversation"))
    named = " and ".join(f"{count} {plural(count, noun)}" for count, noun in counts if count)
    if not named:
        return ()
    verb = "was" if messages + conversations == 1 else "were"
    return (Note(f"{named} {verb} purged elsewhere, and not here", DECIDE),)


def list_offered_conversations(repository: Repository) -> frozenset[ConversationId]:
    """Return the conversations with such undecided content."""
    return frozenset(map(ConversationId, _count_offered(repository).names))


class _Offered(NamedTuple):
    """How many messages and conversations are undecided, and in which conversations they are."""

    messages: int
    conversations: int
    names: list[str]


def _count_offered(repository: Repository) -> _Offered:
    """Count undecided messages and conversations; lists and messages are read only if refs have changed."""
    if not list_offers(repository):
        return _Offered(0, 0, [])
    branches = sorted(f"{ref} {value}" for ref, value in repository.list_refs(HEADS).items())
    state = sha256("\n".join((fingerprint(repository), *branches)).encode()).hexdigest()
    try:
        match read_json(repository.path, FILE):
            case {"v": 1, "state": known, "messages": int(messages), "conversations": int(conversations),
                  "names": list(names)} if known == state:  # fmt: skip
                return _Offered(messages, conversations, [str(name) for name in names])
    except Corrupt:
        pass
    found = list(walk_offered(repository, _undecided_with_derived(repository)))
    conversations = sum(each.head is None for each in found)
    offered = _Offered(
        len({each.head.id for each in found if each.head is not None}),
        conversations,
        sorted({each.conversation for each in found}),
    )
    with exclusive_write(repository):
        write_json(repository.path, FILE, {"v": 1, "state": state, **offered._asdict()})
    return offered


def _undecided_with_derived(repository: Repository) -> Purged:
    """Return the undecided entries, with messages made from them that only this store has."""
    from scopes.purge.derived import Derived

    return Derived(repository).add_to(read_undecided(repository)).without(read_purged(repository))


def note_made_from_parts(rows: Iterable[FetchedConversation], made: Mapping[Oid, str]) -> Iterator[Note]:
    """Yield a note for each conversation with a message that was made from one that was purged here in part."""
    for row in rows:
        if row.conversation is not None and row.status != "unacceptable" and row.root in made:
            name, message = row.conversation, made[row.root][:_SHORT_MESSAGE]
            text = f"{name} has a message that was made from one that was purged here in part: {message}"
            see = f"look at it: scopes cat {quote(name)} {quote(message)}"
            yield Note(text, f"{see}; to purge it, too: scopes purge {quote(name)} {quote(message)}")


class OfferGate:
    """Decides which conversations a push may send while offers are undecided."""

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._undecided: Purged | None = None
        self._sent: dict[ConversationId, None] = {}
        self._held: dict[ConversationId, None] = {}

    def find_refusal(self, outgoing: Outgoing) -> str | None:
        """Return why a conversation may not be sent: it came from elsewhere, and has content that was purged there."""
        if self._undecided is None:
            self._undecided = _undecided_with_derived(self._repository)
        undecided = self._undecided if outgoing.is_new or outgoing.diverged else NOTHING
        name = outgoing.conversation
        if not undecided:
            return None
        if is_from_here(self._repository, name):
            if outgoing.is_new and self._has_offered(outgoing, undecided, of_remote_too=False):
                self._sent[name] = None
            return None
        if not self._has_offered(outgoing, undecided, of_remote_too=True):
            return None
        self.hold(name)
        return HELD

    def hold(self, conversation: ConversationId) -> None:
        """Record that a conversation is held back, for `notes`."""
        self._held[conversation] = None

    def notes(self, refused: Container[ConversationId] = ()) -> tuple[Note, ...]:
        """Return a note about conversations held back, and one about those with offered content that were sent.

        refused: conversations that were not sent for other reasons
        """
        sent = {name: None for name in self._sent if name not in refused}
        return (
            *_note(self._held, "was held back", "were held back", "what was purged elsewhere"),
            *_note(sent, "goes all the same, because it began here",
                   "go all the same, because they began here", "what somebody else has purged"),
        )  # fmt: skip

    def refresh(self) -> None:
        """Read the lists again: a fetch may have brought new ones."""
        self._undecided = None

    def _has_offered(self, outgoing: Outgoing, undecided: Purged, *, of_remote_too: bool) -> bool:
        """Return True if a conversation has undecided content.

        of_remote_too: also look at what the remote already has: whoever has purged it can no longer push once somebody
            has added messages above it there
        """
        if undecided.has_conversation(outgoing.name.root):
            return True
        there = {} if outgoing.previous is None or of_remote_too else outgoing.previous.manifest.branches
        tips = list_branch_tips(self._repository, outgoing.conversation).values()
        new = _walk_new(self._repository, tips, [known.tip for known in there.values()])
        return any(has_content(self._repository, head, undecided) for head in new)


class JoinGate:
    """Decides which branches a pull may merge while content is here that was purged elsewhere.

    A merge or a rebase with the purged copy of a message would decide about it without the user.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._listed = read_offered(repository) if list_offers(repository) else NOTHING

    def find_refusal(self, root: Oid, ours: Oid, theirs: Oid, *, rebasing: bool) -> str | None:
        """Return why a branch may not be merged: it has undecided content, or a rebase would drop declined messages."""
        if not self._listed:
            return None
        if self._undecided.has_conversation(root):
            return HELD
        kept = [head for head in _walk_new(self._repository, [ours], [theirs]) if self._has(head, self._offered)]
        if any(self._has(head, self._undecided) for head in kept):
            return HELD
        there = {head.id for head in _walk_new(self._repository, [theirs], [ours])} if rebasing and kept else set()
        return _KEPT if any(head.id in there for head in kept) else None

    @cached_property
    def _derived(self) -> Derived:
        from scopes.purge.derived import Derived

        return Derived(self._repository)

    @cached_property
    def _offered(self) -> Purged:
        return self._derived.add_to(self._listed)

    @cached_property
    def _undecided(self) -> Purged:
        declined = read_purged(self._repository, PURGE_DECLINED)
        return self._derived.add_to(self._listed.without(declined)).without(declined)

    def _has(self, head: MessageHeader, purged: Purged) -> bool:
        return has_content(self._repository, head, purged)


def _walk_new(repository: Repository, tips: Iterable[Oid], known: Iterable[Oid]) -> Iterator[MessageHeader]:
    """Yield the messages whose commits are reachable from `tips` and not from `known`."""
    hidden = {each.oid for each in walk_newest_first(repository, known)}
    return map(header_of, walk_newest_first(repository, tips, hidden))


def _note(names: dict[ConversationId, None], one: str, many: str, what: str) -> tuple[Note, ...]:
    if not names:
        return ()
    verb, has = (one, "has") if len(names) == 1 else (many, "have")
    text = f"{len(names)} {plural(len(names), 'conversation')} ({first_few(names)}) {has} {what}, and {verb}"
    return (Note(text, DECIDE),)
