"""The branches that remotes had when they were last seen: `origin/main` is the branch main of the remote origin.

Nobody is asked: a fetch or a push has written what a remote had into the store. `bundle/main` is what the last bundle
had.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from scopes.errors import Corrupt, NotFound
from scopes.history.messages import is_root
from scopes.ids import BranchName, Oid
from scopes.model.conversation import BranchEntry, branch_id
from scopes.model.manifest import MANIFEST_FILE, ManifestBranch, decode_manifest
from scopes.store.graph import list_new_commits
from scopes.store.refs import REMOTES
from scopes.store.remote_file import BUNDLE, read_addresses
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import find_blob


class RemoteState(NamedTuple):
    """A branch of a remote, as `origin/main`, compared with the local one.

    ahead: how many messages only the local branch has, also one that a push holds back
    behind: how many only that of the remote has
    """

    name: str
    ahead: int
    behind: int


def read_remote_branches(repository: Repository, root: Oid | None) -> dict[str, dict[str, ManifestBranch]]:
    """Return the branches of a conversation by remote and by id; a remote that did not have it is left out.

    What is damaged is left out as well: `verify` reports it.
    """
    found: dict[str, dict[str, ManifestBranch]] = {}
    for remote in _list_names(repository) if root is not None else ():
        value = repository.find_ref(f"{REMOTES}{remote}/{root}")
        if value is not None:
            with suppress(Corrupt, NotFound):
                found[remote] = read_manifest_branches(repository, Oid(value))
    return found


def read_manifest_branches(repository: Repository, manifest: Oid) -> dict[str, ManifestBranch]:
    """Return the branches in a manifest by id; none if the commit is no manifest.

    Raises:
        Corrupt, NotFound: it is damaged.
    """
    data = find_blob(repository, read_commit(repository, manifest).tree, MANIFEST_FILE)
    return {} if data is None else dict(decode_manifest(data).branches)


def _list_names(repository: Repository) -> list[str]:
    try:
        return sorted({*read_addresses(repository.path), BUNDLE})
    except Corrupt:
        return [BUNDLE]


def find_remote_branch(repository: Repository, root: Oid | None, name: str) -> Oid | None:
    """Return the tip of a branch such as `origin/main`; None if no remote has it."""
    for remote, branches in read_remote_branches(repository, root).items():
        for branch in branches.values():
            if name == f"{remote}/{branch.name}" and repository.has(branch.tip):
                return branch.tip
    return None


def is_same_branch(repository: Repository, root: Oid | None, name: str, branch: str) -> bool:
    """Return True if a name such as `origin/main` is that of the branch with an id, as some remote has it."""
    found = ((remote, branches.get(branch)) for remote, branches in read_remote_branches(repository, root).items())
    return any(there is not None and name == f"{remote}/{there.name}" for remote, there in found)


def compare_with_remotes(
    repository: Repository,
    branches: Mapping[str, Mapping[str, ManifestBranch]],
    name: BranchName,
    entry: BranchEntry | None,
    tip: Oid,
) -> tuple[RemoteState, ...]:
    """Return how a local branch differs from the same branch of each remote; none for a remote that lacks it."""
    key = branch_id(name, entry)
    states: list[RemoteState] = []
    for remote, there in branches.items():
        if key in there and repository.has(there[key].tip):
            other = there[key].tip
            ahead, behind = (_count(repository, *pair) for pair in ((tip, other), (other, tip)))
            states.append(RemoteState(f"{remote}/{there[key].name}", ahead, behind))
    return tuple(states)


def _count(repository: Repository, tip: Oid, other: Oid) -> int:
    """Count the messages that only one of two commits reaches."""
    return 0 if tip == other else sum(not is_root(commit) for commit in list_new_commits(repository, tip, other))
