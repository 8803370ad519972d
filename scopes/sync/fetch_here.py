"""A fetch in a store that was cloned with --manifests: the list of all conversations, and messages of those here."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from shlex import quote
from typing import TYPE_CHECKING, Final

from scopes.ids import Oid
from scopes.purge.gone_there import note_seen
from scopes.result import Note, plural
from scopes.store.config import read_gone, write_setting
from scopes.store.repository import Repository
from scopes.sync.change_notes import note_deleted_conversations
from scopes.sync.connection import Connection
from scopes.sync.family import list_members
from scopes.sync.fetch import Fetched, ListChanges, fetch
from scopes.sync.local_conversations import Selection, list_roots
from scopes.sync.lost_on_remote import note_lost
from scopes.sync.remotes import Remote, remote_option

if TYPE_CHECKING:
    from scopes.purge.purge import Places

SETTING: Final = "scopes.fetchManifests"
_SHORT: Final = 12


def choose_manifests(repository: Repository) -> None:
    """Let every later fetch without a choice get manifests; call it inside `exclusive_write`."""
    write_setting(repository.config.store_file, SETTING, "true")


def fetch_chosen(
    repository: Repository,
    remote: Remote,
    selection: Selection,
    connection: Connection,
    directory: str,
    *,
    places: Places | None = None,
) -> Fetched:
    """Fetch the selection; if it is empty, everything, or as `fetch_here` if the store was cloned with --manifests.

    directory: that of the index
    places: as in `fetch`

    Raises:
        As `fetch` and `fetch_manifests`.
    """
    if selection.is_empty and repository.config.find_boolean(SETTING, default=False):
        return fetch_here(repository, remote, connection, directory, places)
    return fetch(repository, remote, selection, connection, places=places)


def fetch_here(
    repository: Repository, remote: Remote, connection: Connection, directory: str, places: Places | None = None
) -> Fetched:
    """Update the list of the conversations of a remote, and fetch those that are here.

    Raises:
        As `fetch` and `fetch_manifests`.
    """
    before = _read_list(repository, remote, directory)
    from scopes.sync.fetch_manifests import fetch_manifests

    listed = fetch_manifests(repository, remote, Selection(everything=True), connection, directory)
    there = _read_list(repository, remote, directory)
    lost = () if listed.refused else _note_lost(repository, remote, directory)
    roots = list_roots(repository)
    here = {root: name for root, name in roots.items() if root in there}
    if here:
        done = fetch(
            repository, remote, Selection(tuple(sorted(here.values()))), connection, places=places, is_named=False
        )
    else:
        done = Fetched(remote=listed.remote, address=listed.address, conversations=(), unchanged=0, operation=None)
    others = _note_others(there.keys() - here.keys(), remote.name, remote_option(repository, remote.name))
    notes = dict.fromkeys((*done.notes, *lost, *listed.notes, *others))
    return replace(done, notes=(*notes,), listed=_compare(_without(before, roots), _without(there, roots)))


def _read_list(repository: Repository, remote: Remote, directory: str) -> dict[Oid, Oid]:
    """Return the manifests in the list of a remote, by root."""
    from scopes.sync.manifest_list import read_manifest_list

    lists = [read_manifest_list(directory, member) for member in list_members(repository, remote)]
    return {root: row.manifest for each in lists for root, row in ({} if each is None else each.conversations).items()}


def _note_lost(repository: Repository, remote: Remote, directory: str) -> tuple[Note, ...]:
    """Remember which conversations a remote no longer has, by its list, and return notes about them."""
    members, gone = list_members(repository, remote), dict[str, Collection[str]]()
    from scopes.sync.manifest_list import read_manifest_list

    for member in members:
        listed, before = read_manifest_list(directory, member), read_gone(repository.path).get(member.name, frozenset())
        if listed is not None:
            note_seen(repository, member.name, listed.conversations, everything=True)
        gone[member.name] = read_gone(repository.path).get(member.name, frozenset()) - before
    option = remote_option(repository, remote.name)
    lost = note_lost(repository, [member.name for member in members], option)
    return (*lost, *note_deleted_conversations(repository, gone, option))


def _without(listed: Mapping[Oid, Oid], here: Collection[Oid]) -> dict[Oid, Oid]:
    return {root: manifest for root, manifest in listed.items() if root not in here}


def _compare(before: Mapping[Oid, Oid], after: Mapping[Oid, Oid]) -> ListChanges:
    new, gone = after.keys() - before.keys(), before.keys() - after.keys()
    changed = [root for root, manifest in after.items() if root in before and before[root] != manifest]
    return ListChanges(len(new), len(changed), len(gone))


def _note_others(roots: set[Oid], remote: str, option: str) -> tuple[Note, ...]:
    """Return a note about the conversations of which only the manifests are known, and how to get them."""
    if not roots:
        return ()
    number, first = len(roots), min(roots)[:_SHORT]
    text = f"only manifests were fetched of {number:,} {plural(number, 'conversation')} of {remote}"
    one, every = f"get one: scopes fetch {first}{option}", f"all: scopes fetch --all{option}"
    hint = f"list them: scopes fetch {quote(remote)} --list; {one}; {every}"
    return (Note(text, hint),)
