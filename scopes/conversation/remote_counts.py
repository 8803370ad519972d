"""How many messages a remote lacks, and how many only it has, for every conversation of a list.

A manifest has the tips of its branches as parents. So a conversation of which the remote has everything costs one
commit more, and only others are compared by their histories. No message is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from scopes.conversation.list_rows import ConversationRefs
from scopes.errors import Corrupt, NotFound
from scopes.history.messages import is_root
from scopes.history.metadata import read_directory_and_fork, read_metadata
from scopes.history.remote_branches import read_manifest_branches
from scopes.history.revisions import find_root_commit
from scopes.ids import ConversationId, Oid
from scopes.model.conversation import branch_id
from scopes.store.config_write import read_setting
from scopes.store.graph import list_merge_bases, list_new_commits
from scopes.store.refs import REMOTES
from scopes.store.remote_family import list_family
from scopes.store.remote_file import DEFAULT, find_default, read_addresses, read_gone
from scopes.store.repository import Repository, read_commit


class RemoteCounts(NamedTuple):
    """How many messages only this store has, and how many only the remote."""

    ahead: int
    behind: int


_EVEN: Final = RemoteCounts(0, 0)


def count_by_conversation(
    repository: Repository, conversations: Iterable[ConversationRefs], values: Mapping[str, str]
) -> dict[ConversationId, RemoteCounts]:
    """Compare conversations with the default remote; those that it did not have, or had no more, are left out.

    `values` are the refs. A branch that the remote lacks is compared with all that it has. What is damaged is left out,
    too: `verify` reports it.
    """
    remote, gone = _default_remote(repository), _read_gone(repository)
    manifests: dict[Oid, Oid] = {}
    for name in reversed(_list_repositories(repository, remote)):  # the oldest that has a conversation counts
        prefix = f"{REMOTES}{name}/"
        found_there = {ref.removeprefix(prefix): Oid(oid) for ref, oid in values.items() if ref.startswith(prefix)}
        manifests |= {Oid(root): oid for root, oid in found_there.items() if root not in gone.get(name, ())}
    found: dict[ConversationId, RemoteCounts] = {}
    for refs_of in conversations if manifests else ():
        with suppress(Corrupt, NotFound):
            manifest = manifests.get(_find_root(repository, refs_of, manifests) or Oid(""))
            if manifest is not None:
                found[refs_of.conversation] = _count(repository, refs_of, manifest)
    return found


def _find_root(repository: Repository, refs_of: ConversationRefs, manifests: Mapping[Oid, Oid]) -> Oid | None:
    if refs_of.meta is not None:
        _, fork = read_directory_and_fork(repository, Oid(refs_of.meta))
        if fork in manifests:
            return fork
    return find_root_commit(repository, refs_of.conversation)


def _count(repository: Repository, refs_of: ConversationRefs, manifest: Oid) -> RemoteCounts:
    parents, tips = read_commit(repository, manifest).parents, set(refs_of.tips.values())
    if tips in (set(parents), set(parents[1:])):  # the first one may be the manifest before
        return _EVEN
    there = read_manifest_branches(repository, manifest)
    entries = read_metadata(repository, refs_of.conversation).branches
    ahead: set[Oid] = set()
    behind: set[Oid] = set()
    for name, tip in refs_of.tips.items():
        other = there.get(branch_id(name, entries.get(name)))
        if other is None or other.tip != tip:
            ahead |= _list_new(repository, tip, manifest)
        if other is not None and other.tip != tip:
            behind |= _list_new(repository, other.tip, tip)
    return RemoteCounts(len(ahead), len(behind))


def _list_new(repository: Repository, tip: Oid, other: Oid) -> set[Oid]:
    bases = list_merge_bases(repository, tip, other)
    return {each.oid for each in list_new_commits(repository, tip, other, bases) if not is_root(each)}


def _list_repositories(repository: Repository, remote: str | None) -> list[str]:
    addresses = {} if remote is None else read_addresses(repository.path)
    return list_family(addresses, remote) if remote in addresses else []


def _read_gone(repository: Repository) -> dict[str, frozenset[str]]:
    try:
        return read_gone(repository.path)
    except Corrupt:
        return {}


def _default_remote(repository: Repository) -> str | None:
    try:
        setting = read_setting(repository.config.store_level(), DEFAULT)  # lists are cached by the files of the store
        return find_default(repository.path, setting)
    except Corrupt:
        return None
