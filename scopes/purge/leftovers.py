"""Delete copies of purged content outside of the objects: indexes, caches, replaced files, bundles, logs of this store.

Files that must not be deleted are only reported: a spool has messages that are not in the store yet, and transcripts
belong to the agents.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from scopes.importers.purged_texts import Quotes
from scopes.regular_file import read_regular
from scopes.store.git_program import is_in_use
from scopes.store.objects import translated
from scopes.store.repository import Repository

_QUARANTINES: Final = ("scopes-quarantine", "scopes-git-", "scopes-incoming-")
_BUNDLE: Final = b"# v"
_BUNDLE_WORDS: Final = b" git bundle\n"
_LOGS: Final = (".log", ".log.1")
_MAX_BYTES: Final = 1 << 30
_EMPTY_BELOW: Final = ("refs", "logs/refs")
_MIN_DEPTH: Final = 3  # of a cache: CACHE/scopes/NAME
_KEPT: Final = frozenset({"refs/heads", "refs/tags", "logs/refs"})


def delete_in_store(repository: Repository) -> None:
    """Delete files of the store that may have copies of objects; call it under the exclusive lock.

    These are the directories of repairs and of dead processes, and bundles. Empty directories of deleted refs are
    removed, too: they have the names of branches.

    Raises:
        Inaccessible: something cannot be deleted.
    """
    with translated("delete copies in the store", repository.path):
        for entry in list(os.scandir(repository.path)):
            if entry.is_dir(follow_symlinks=False) and entry.name.startswith(_QUARANTINES):
                if not is_in_use(entry.path):  # a fetch that comes after a purge takes nothing of it
                    shutil.rmtree(entry.path)
                    continue
                for file in list(os.scandir(entry.path)):  # a bundle in the making is made again
                    if file.is_file(follow_symlinks=False) and _is_bundle(file.path):
                        os.unlink(file.path)
            elif entry.is_file(follow_symlinks=False) and _is_bundle(entry.path):
                os.unlink(entry.path)
        for top in _EMPTY_BELOW:
            for here, directories, files in os.walk(os.path.join(repository.path, top), topdown=False):
                if (not files and not directories) or not os.listdir(here):
                    _remove_empty(repository.path, here)


def _remove_empty(store: str, directory: str) -> None:
    if os.path.relpath(directory, store) not in _KEPT and directory != os.path.join(store, "refs"):
        with suppress(OSError):
            os.rmdir(directory)


def _is_bundle(path: str) -> bool:
    with suppress(OSError), open(path, "rb") as file:
        first = file.readline(100)
        return first.startswith(_BUNDLE) and first.endswith(_BUNDLE_WORDS)
    return False


def delete_caches(directories: Iterable[str]) -> dict[str, str]:
    """Delete everything but lock files in directories of derived data; return the errors of files that stay, by path.

    A cache is several levels below the root directory and contains no home directory, after links are resolved. Nothing
    is deleted in a directory for which that is not true.
    """
    errors: dict[str, str] = {}
    for directory in directories:
        if not _may_be_cache(directory):
            errors[directory] = f"{directory} is not a cache of scopes: nothing in it was deleted"
            continue
        for here, names, files in os.walk(directory, topdown=False):
            for name in [each for each in files if not each.endswith("-lock")]:
                _delete(os.path.join(here, name), errors)
            for name in names:
                with suppress(OSError):
                    os.rmdir(os.path.join(here, name))
    return errors


def _may_be_cache(directory: str) -> bool:
    """Return True if a directory cannot be a system directory or contain a user's own files."""
    real, home = os.path.realpath(directory), os.path.realpath(os.path.expanduser("~"))
    is_deep = len(real.strip(os.sep).split(os.sep)) >= _MIN_DEPTH
    return os.path.isabs(directory) and is_deep and os.path.commonpath([real, home]) != real


def _delete(path: str, errors: dict[str, str]) -> None:
    try:
        os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        errors[path] = str(error)


def clear_logs(directory: str, quotes: Quotes, *, every_log: bool) -> list[str]:
    """Delete logs and crash reports that quote purged content; return the paths of other files that do.

    every_log: delete all of them, because the purged content is no longer known
    """
    kept: list[str] = []
    for path in _walk_files(directory) if every_log or quotes.lines() else ():
        name = os.path.basename(path)
        is_log = name.endswith(_LOGS) or name.startswith("crash-") or ".jsonl.deleted-" in name
        with suppress(OSError):
            if is_log and every_log:
                os.unlink(path)
            elif quotes.are_in_bytes(read_regular(path, _MAX_BYTES)):
                os.unlink(path) if is_log else kept.append(path)
    return sorted(kept)


def _walk_files(directory: str) -> Iterator[str]:
    for here, _, files in os.walk(directory):
        yield from (os.path.join(here, name) for name in files)
