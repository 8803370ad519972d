"""Refuse to make a new store where one was: its disk may not be mounted, and what is recorded would be below it.

What hooks have to record waits, as on a full disk, and a command that would make the store is refused: only `init` and
`clone` begin a new one. A store was there if the cache has an index of it, or the log says that a hook recorded there.
"""

from __future__ import annotations

import os
import shlex

from scopes.errors import Inaccessible
from scopes.live.event_log import HOOK_LOG, read_events
from scopes.result import Note
from scopes.store.projects import index_directory
from scopes.store.repository import is_store

_THE_STORE, _IS_GONE = "the store ", " is gone"


def require_store_not_lost(path: str, cache_directory: str, state_directory: str) -> None:
    """Raise Inaccessible if a store is gone; one that never was there may be created."""
    note = find_lost_store(path, cache_directory, state_directory)
    if note is not None:
        raise Inaccessible(note.text, hint=note.hint)


def find_lost_store(path: str, cache_directory: str, state_directory: str) -> Note | None:
    """Return a note that a store is gone, and what to do; None if it is there, or never was.

    cache_directory, state_directory: those of scopes
    """
    if is_store(path) or not _is_empty(path) or not _was_used(path, cache_directory, state_directory):
        return None
    again = f"scopes --store {shlex.quote(path)} init"
    return Note(
        f"{_THE_STORE}{path}{_IS_GONE}",
        f"mount its disk, or move it back; then record what is missing: scopes import; to begin a new one: {again}",
    )


def find_returned_store(error: str) -> str | None:
    """Return the path of the store that an error says is gone, if it is there again."""
    path = error.removeprefix(_THE_STORE).removesuffix(_IS_GONE)
    return path if error == f"{_THE_STORE}{path}{_IS_GONE}" and is_store(path) else None


def _is_empty(path: str) -> bool:
    """Return True if there is nothing at a path, or an empty directory, such as a mount point."""
    try:
        return not os.listdir(path)
    except FileNotFoundError:
        return True
    except OSError:  # the error of who opens it says more
        return False


def _was_used(path: str, cache_directory: str, state_directory: str) -> bool:
    if os.path.isdir(index_directory(cache_directory, path)):
        return True
    events = read_events(state_directory, HOOK_LOG).events
    return any(event.name == "recorded" and event.details.get("store") == path for event in events)
