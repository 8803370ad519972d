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
from scopes.store.objects import parse_commit
from scopes.store.read_once import ReadOnce
from scopes.store.refs import REMOTES
from scopes.store.remote_family import list_family
from scopes.store.remote_file import DEFAULT, find_default, read_addresses, read_gone
from scopes.store.repository import Repository


class RemoteCounts(NamedTuple):
    """How many messages only this store has, and how many only the remote."""

    ahead: int
    behind: int


_EVEN: Final = RemoteCounts(0, 0)


def count_by_conversation(
    repository: Repository, once: ReadOnce, conversations: Iterable[ConversationRefs], values: Mapping[str, str]
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
    if not manifests:
        return {}
    comparison = _Comparison(repository, once, manifests)
    found: dict[ConversationId, RemoteCounts] = {}
    for refs_of in conversations:
        with suppress(Corrupt, NotFound):
            counts = comparison.compare(refs_of)
            if counts is not None:
                found[refs_of.conversation] = counts
    return found


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


class _Comparison:
    """Compares conversations with the manifests of one remote, which are given by root commit."""

    def __init__(self, repository: Repository, once: ReadOnce, manifests: Mapping[Oid, Oid]) -> None:
        self._repository = repository
        self._manifests = manifests
        self._parents = _read_parents(once, list(dict.fromkeys(manifests.values())))
        self._by_tip = {tip: oid for oid, parents in self._parents.items() for tip in parents}

    def compare(self, refs_of: ConversationRefs) -> RemoteCounts | None:
        """Return the counts; None if the remote does not have the conversation."""
        tips = set(refs_of.tips.values())
        manifest = self._by_tip.get(next(iter(tips)))
        if manifest is not None:
            parents = self._parents[manifest]
            if tips in (set(parents), set(parents[1:])):  # the first one may be the manifest before
                return _EVEN
        found = self._manifests.get(self._find_root(refs_of) or Oid(""))
        return None if found is None else self._count(refs_of, found)

    def _find_root(self, refs_of: ConversationRefs) -> Oid | None:
        if refs_of.meta is not None:
            _, fork = read_directory_and_fork(self._repository, Oid(refs_of.meta))
            if fork in self._manifests:
                return fork
        return find_root_commit(self._repository, refs_of.conversation)

    def _count(self, refs_of: ConversationRefs, manifest: Oid) -> RemoteCounts:
        there = read_manifest_branches(self._repository, manifest)
        entries = read_metadata(self._repository, refs_of.conversation).branches
        ahead: set[Oid] = set()
        behind: set[Oid] = set()
        for name, tip in refs_of.tips.items():
            other = there.get(branch_id(name, entries.get(name)))
            if other is None or other.tip != tip:
                ahead |= self._list_new(tip, manifest)
            if other is not None and other.tip != tip:
                behind |= self._list_new(other.tip, tip)
        return RemoteCounts(len(ahead), len(behind))

    def _list_new(self, tip: Oid, other: Oid) -> set[Oid]:
        bases = list_merge_bases(self._repository, tip, other)
        return {each.oid for each in list_new_commits(self._repository, tip, other, bases) if not is_root(each)}


def _read_parents(once: ReadOnce, manifests: list[Oid]) -> dict[Oid, tuple[Oid, ...]]:
    """Return the parents of manifests; those that are damaged are left out."""
    try:
        commits = once.read_commits(manifests)
    except (Corrupt, NotFound):
        return {}
    return {oid: parse_commit(oid, data).parents for oid, data in zip(manifests, commits, strict=True)}
