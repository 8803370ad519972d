"""Pack loose objects with git gc, under the exclusive lock, and remove the files of dead processes."""

from __future__ import annotations

import os

from scopes.errors import ScopesError
from scopes.store.error_translation import translated
from scopes.store.file_checks import check_all
from scopes.store.git_program import find_git, run_git
from scopes.store.init import remove_unfinished_stores, sync
from scopes.store.prunes import note_prune
from scopes.store.recovery import list_leftovers, remove_orphans
from scopes.store.repository import Repository
from scopes.store.transactions import exclusive_write

DEFAULT_PACK_THRESHOLD = 6000  # three objects a message: about 2,000 messages
_SAMPLE_DIRECTORY = "17"
_UNSEARCHED_DIVISOR = 10  # search for deltas if a tenth of the packed bytes was never searched
# Window and depth of an ordinary repack. Blobs above the threshold are chunks of imported files: they compress poorly
# as deltas and would take most of the time.
_SEARCH = ("gc.aggressiveWindow=10", "gc.aggressiveDepth=50", "core.bigFileThreshold=512k")


def estimate_loose_objects(repository: Repository) -> int:
    """Estimate the number of loose objects from one of the 256 directories, as git does."""
    try:
        return 256 * len(os.listdir(os.path.join(repository.path, "objects", _SAMPLE_DIRECTORY)))
    except OSError:
        return 0


def count_loose_objects(repository: Repository) -> int:
    """Count the loose objects."""
    top = os.path.join(repository.path, "objects")
    with translated("list the loose objects", repository.path):
        return sum(len(os.listdir(os.path.join(top, name))) for name in os.listdir(top) if len(name) == 2)


def pack_when_needed(repository: Repository) -> bool:
    """Pack the store if it has too many loose objects; return True if it was packed. Errors are ignored."""
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
    """Run git gc, which keeps unreachable objects for two weeks; call it under the exclusive lock.

    Raises:
        Inaccessible: git is not installed, or it failed; nothing is lost.
        Corrupt: the store contains a named pipe or a device, on which git would wait.
    """
    remove_leftovers(repository)  # the directory of a killed git has links, which the check refuses
    check_all(repository.path)
    # --force: the lock is held, so no other gc runs.
    lock = repository.lock.descriptor
    if _is_unsearched(repository):
        run_git(repository.path, "gc", "--quiet", "--force", "--aggressive", settings=_SEARCH, lock=lock)
    else:
        run_git(repository.path, "gc", "--quiet", "--force", lock=lock)
    _sync_packs(repository)


def _sync_packs(repository: Repository) -> None:
    with translated("sync the packs", repository.path):
        for directory in ("objects/pack", "objects/info", ""):  # git syncs the files, not the directories
            sync(os.path.join(repository.path, directory))


def drop_unreachable(repository: Repository) -> None:
    """Write one pack of all that refs and reflogs reach, and delete every other object at once.

    Call it under the exclusive lock. Repeating it is harmless; until it has returned, objects may still be there.

    Raises:
        Inaccessible, Corrupt: as `pack`.
    """
    remove_leftovers(repository)
    check_all(repository.path)
    lock = repository.lock.descriptor
    with translated("delete derived files", repository.path):
        for top, _, files in os.walk(os.path.join(repository.path, "objects")):
            for name in files:
                if name.endswith((".keep", ".bitmap", ".mtimes")) or name.startswith(
                    ("multi-pack-index", "commit-graph")
                ):
                    os.unlink(os.path.join(top, name))
    repository.close()
    note_prune(repository.path)
    run_git(repository.path, "repack", "-a", "-d", "-q", "--no-write-bitmap-index", lock=lock)
    run_git(repository.path, "prune", "--expire=now", lock=lock)
    repository.close()
    _sync_packs(repository)


def _is_unsearched(repository: Repository) -> bool:
    """Return True if a large part of the packed bytes was never searched for deltas.

    Git does not search for deltas between objects of the same pack again, and bulk writing makes no deltas: 2,000
    states of a conversation then take three times the space. A pack that git made of the whole store has a bitmap.
    Small packs need no extra search: git compares their objects with those of other packs.
    """
    directory = os.path.join(repository.path, "objects", "pack")
    with translated("list the packs", repository.path):
        sizes = {entry.name: entry.stat().st_size for entry in os.scandir(directory) if entry.name.endswith(".pack")}
        unsearched = [name for name in sizes if not os.path.exists(f"{directory}/{name.removesuffix('.pack')}.bitmap")]
    return sum(sizes[name] for name in unsearched) * _UNSEARCHED_DIVISOR > sum(sizes.values())


def remove_leftovers(repository: Repository) -> list[str]:
    """Remove temporary files and lock files of dead processes; return their paths. Call it under the exclusive lock."""
    remove_unfinished_stores(repository.path)
    # The pid file of a killed git: git refuses to run for twelve hours if another process has that pid now.
    leftovers = [*list_leftovers(repository), "gc.pid"]
    return remove_orphans(os.path.join(repository.path, path) for path in leftovers)
