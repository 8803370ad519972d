"""Keeping a store small and quick: packing loose objects under the exclusive lock."""

from __future__ import annotations

import os

from scopes.errors import Refused, ScopesError
from scopes.store.error_translation import translated
from scopes.store.fsck import ends_with_own_hash
from scopes.store.git_program import find_git, run_git
from scopes.store.init import remove_workplaces, sync
from scopes.store.recovery import list_leftovers, remove_orphans
from scopes.store.repository import Repository
from scopes.store.transaction import exclusive_write

DEFAULT_PACK_THRESHOLD = 6000  # three objects a message: about 2,000 messages
_SAMPLE_DIRECTORY = "17"
_UNSEARCHED_PART = 10
# Window and depth are what an ordinary repack takes. Chunks of imported files, which are larger than this, resemble
# nothing and would take most of the time.
_SEARCH = ("gc.aggressiveWindow=10", "gc.aggressiveDepth=50", "core.bigFileThreshold=512k")
_OBJECTS_HOOK = "gc.recentObjectsHook"


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
        with exclusive_write(repository):
            if estimate_loose_objects(repository) >= threshold:
                pack(repository)
    except ScopesError:
        return False
    return True


def pack(repository: Repository) -> None:
    """Run git's own gc, with its two-week grace for what nothing refers to; call it under the exclusive lock.

    Raises:
        Refused: the store's configuration would make git run a program.
        Inaccessible: there is no git, or it failed; nothing is lost.
    """
    _refuse_programs(repository)
    remove_leftovers(repository)
    _remove_damaged_graph(repository)
    # We are alone here. The pid file of a killed gc would stop the next one for as long as something has that pid.
    if _is_unsearched(repository):
        run_git(repository.path, "gc", "--quiet", "--force", "--aggressive", settings=_SEARCH)
    else:
        run_git(repository.path, "gc", "--quiet", "--force")
    run_git(repository.path, "commit-graph", "write", "--reachable")
    with translated("sync what was packed", repository.path):
        for directory in ("objects/pack", "objects/info", ""):  # git syncs its files, not where it put them
            sync(os.path.join(repository.path, directory))


def _is_unsearched(repository: Repository) -> bool:
    """Tell whether a good part of the store was never searched for deltas.

    Git takes two objects of one pack for searched, and bulk writing leaves that to us: 2,000 states of a conversation
    then take three times the space. A pack that git has made of the whole store has a bitmap beside it. Of a small one
    git still compares every object with those of the others.
    """
    directory = os.path.join(repository.path, "objects", "pack")
    with translated("look at the packs", repository.path):
        sizes = {entry.name: entry.stat().st_size for entry in os.scandir(directory) if entry.name.endswith(".pack")}
        unsearched = [name for name in sizes if not os.path.exists(f"{directory}/{name.removesuffix('.pack')}.bitmap")]
    return sum(sizes[name] for name in unsearched) * _UNSEARCHED_PART > sum(sizes.values())


def _refuse_programs(repository: Repository) -> None:
    """Refuse the one program of a configuration that no switch of git turns off: its values add up."""
    if _OBJECTS_HOOK in repository.config.store_level():
        cure = f"remove it: git --git-dir={repository.path} config --unset-all {_OBJECTS_HOOK}"
        raise Refused(f"the store's configuration names a program to run: {_OBJECTS_HOOK}", hint=cure)


def _remove_damaged_graph(repository: Repository) -> None:
    """Remove a commit graph that does not match its checksum: git stops at it, and it is written anew."""
    path = os.path.join(repository.path, "objects", "info", "commit-graph")
    with translated("read the commit graph", repository.path):
        if os.path.isfile(path) and not ends_with_own_hash(path):
            os.unlink(path)


def remove_leftovers(repository: Repository) -> list[str]:
    """Remove temporary and lock files of dead processes; call it under the exclusive lock. Returns their paths."""
    remove_workplaces(repository.path)
    return remove_orphans(os.path.join(repository.path, path) for path in list_leftovers(repository))
