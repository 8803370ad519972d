"""The repositories of a remote: those known here, and the next one when the last is closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from shlex import quote
from typing import Final

from scopes.errors import Refused
from scopes.history.names import find_root_commit
from scopes.ids import ConversationId, Oid
from scopes.store.config import find_first, find_next, list_family, read_addresses
from scopes.store.git_program import Quarantine
from scopes.store.refs import REMOTES
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write
from scopes.sync.closed import CLOSED, check_mark
from scopes.sync.connection import Connection, quarantine_of
from scopes.sync.local_conversations import list_roots
from scopes.sync.lost_on_remote import explain_missing
from scopes.sync.names import RemoteName, tracking_ref
from scopes.sync.remote_selection import EVERYTHING, names_of_refs, refspec_of, resolve_names
from scopes.sync.remotes import Remote, remote_option, resolve_remote, save_remote

EVERY_REF_OF_SCOPES: Final = "refs/scopes/v1/*"
_FEW: Final = 20  # conversations that are looked up one by one


def list_members(repository: Repository, remote: Remote) -> list[Remote]:
    """Return the known repositories of a remote, the oldest first; a bundle has only one.

    For a later repository, all repositories of the remote that it belongs to are returned.
    """
    addresses = read_addresses(repository.path)
    if addresses.get(remote.name) != remote.address.text:
        return [remote]
    names = list_family(addresses, find_first(addresses, remote.name))
    return [resolve_remote(repository, name) for name in names]


def find_next_member(repository: Repository, members: list[Remote]) -> Remote:
    """Return the repository after the last one, which may or may not be a known remote.

    Raises:
        Refused: the last one has no name that can be numbered, or another remote has the name of the next one.
    """
    found, last = find_next_of(members), members[-1]
    if found is None:
        hint = "add another remote: scopes remote add NAME ADDRESS"
        raise Refused(f"no repository can follow {last.address.text}: its name cannot be numbered", hint=hint)
    if read_addresses(repository.path).get(found.name, found.address.text) != found.address.text:
        problem = f"{members[0].name} goes on at {found.address.text}, and another remote is called {found.name}"
        raise Refused(problem, hint=f"remove that one: scopes remote remove {quote(found.name)}")
    return found


def find_next_of(members: Sequence[Remote]) -> Remote | None:
    """Return the repository after the last one by name and address; None if that has no name that can be numbered."""
    last = members[-1]
    following = find_next(last.address.text)
    if following is None:
        return None
    return Remote(f"{members[0].name}-{following.number}", last.address._replace(text=following.address))


def add_member(repository: Repository, members: list[Remote]) -> Remote:
    """Add the repository after the last one to the members and to the remotes of the store, and return it.

    Raises:
        Refused: as `find_next_member`, or the store has too many remotes.
    """
    with exclusive_write(repository):
        added = find_next_member(repository, members)
        if added.name not in read_addresses(repository.path):
            save_remote(repository, added)
    members.append(added)
    return added


def is_closed(remote: Remote, refs: Mapping[str, Oid]) -> bool:
    """Return True if the refs of a repository say that it is closed.

    Raises:
        Corrupt: its mark is not acceptable.
    """
    if CLOSED not in refs:
        return False
    check_mark(remote.address, refs[CLOSED])
    return True


def learn_members(
    repository: Repository, members: list[Remote], quarantine: Quarantine, connection: Connection
) -> None:
    """Check whether the last known repository is closed, and add those that follow it, one after the other.

    Raises:
        Inaccessible, Corrupt: a repository does not answer, or its mark is not acceptable.
        Refused: as `add_member`.
    """
    while is_closed(members[-1], connection.open(quarantine, members[-1].address).list_refs(CLOSED)):
        add_member(repository, members)


def list_there(
    repository: Repository, members: list[Remote], quarantine: Quarantine, connection: Connection
) -> dict[Remote, dict[RemoteName, Oid]]:
    """List the conversations of each repository, also of those that are not known yet; raises as `learn_members`.

    Git sends all refs for every request, so each repository is contacted once.
    """
    found: dict[Remote, dict[RemoteName, Oid]] = {}
    for member in members:  # which grows
        refs = connection.open(quarantine, member.address).list_refs(EVERYTHING, CLOSED)
        found[member] = names_of_refs(refs)
        if member == members[-1] and is_closed(member, refs):
            add_member(repository, members)
    return found


def choose_named(
    repository: Repository, texts: Sequence[str], members: list[Remote], connection: Connection
) -> dict[str, list[str]]:
    """Return what to fetch of named conversations from each of several repositories, by its name.

    Raises:
        NotFound, Ambiguous: a name matches no conversation, or several; or no repository has it.
        Inaccessible, Corrupt: one of them does not answer, or sent damaged data.
    """
    with quarantine_of(repository, knows_remotes=False) as quarantine:
        listed = list_there(repository, members, quarantine, connection)
    everything = {name: oid for found in listed.values() for name, oid in found.items()}
    wanted = resolve_names(repository, members[0].name, texts, lambda: everything)
    missing = {text: name for text, name in zip(texts, wanted, strict=False) if name not in everything}
    if missing:
        there = {member.name: found for member, found in listed.items()}
        raise explain_missing(repository, missing, there, remote_option(repository, members[0].name))
    return {
        member.name: [refspec_of(name) for name in dict.fromkeys(wanted) if name in found]
        for member, found in listed.items()
    }


def find_roots(repository: Repository, conversations: Sequence[ConversationId]) -> dict[ConversationId, Oid]:
    """Return the root commits of conversations; one whose root is damaged is left out."""
    if len(conversations) > _FEW:
        return {name: root for root, name in list_roots(repository).items()}
    roots = {each: find_root_commit(repository, each) for each in conversations}
    return {each: root for each, root in roots.items() if root is not None}


def place_known(
    repository: Repository, members: Iterable[Remote], roots: Mapping[ConversationId, Oid]
) -> dict[ConversationId, Remote]:
    """Return the repository of each conversation that one had when it was last seen: the oldest, if several had it."""
    places: dict[ConversationId, Remote] = {}
    for member in members:
        known = repository.list_ref_names(f"{REMOTES}{member.name}/") if len(roots) > _FEW else None
        for each, root in roots.items():
            ref = tracking_ref(member.name, root)
            if ref in known if known is not None else repository.find_ref(ref) is not None:
                places.setdefault(each, member)
    return places
