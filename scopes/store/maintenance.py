"""Keeping a store small and quick: packing loose objects under the exclusive lock."""

from __future__ import annotations

import os

from scopes.errors import ScopesError
from scopes.store.git_program import find_git, run_git
from scopes.store.recovery import finish_pending, list_leftovers, remove_orphans
from scopes.store.repository import Repository

DEFAULT_PACK_THRESHOLD = 6000  # three objects a message: about 2,000 messages
_SAMPLE_DIRECTORY = "17"


def estimate_loose_objects(repository: Repository) -> int:
    """Estimate the number of loose objects from one of the 256 directories, as git does."""
    try:
        return 256 * len(os.listdir(os.path.join(repository.path, "objects", _SAMPLE_DIRECTORY)))
    except OSError:
        return 0


def pack_when_needed(repository: Repository) -> bool:
    """Pack the store when enough loose objects have piled up; whatever is in the way leaves it as it is."""
    threshold = repository.config.find_integer("scopes.packThreshold", DEFAULT_PACK_THRESHOLD)
    if threshold == 0 or estimate_loose_objects(repository) < threshold or find_git() is None:
        return False
    try:
        with repository.lock.exclusive():
            finish_pending(repository)
            if estimate_loose_objects(repository) >= threshold:
                pack(repository)
    except ScopesError:
        return False
    return True


def pack(repository: Repository) -> None:
    """Run git's own gc, with its two-week grace for what nothing refers to; call it under the exclusive lock.

    Raises:
        Inaccessible: there is no git, or it failed; nothing is lost.
    """
    remove_leftovers(repository)
    run_git(repository.path, "gc", "--quiet")
    run_git(repository.path, "commit-graph", "write", "--reachable")


def remove_leftovers(repository: Repository) -> list[str]:
    """Remove temporary and lock files of dead processes; call it under the exclusive lock. Returns their paths."""
    return remove_orphans(os.path.join(repository.path, path) for path in list_leftovers(repository))
