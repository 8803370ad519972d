"""Refuse to make a new store where one was: its disk may not be mounted, and what is recorded would be below it.

What programs that nobody watches, such as hooks, have to record waits, as on a full disk, and an import is refused. A
store was there if the cache has an index of it, or the log says that a hook recorded into it. `init` and `new` begin
a new one.
"""

from __future__ import annotations

import os
import shlex
from typing import TYPE_CHECKING

from scopes.errors import Inaccessible
from scopes.live.event_log import HOOK_LOG, read_events
from scopes.result import Note
from scopes.store.init import is_store

if TYPE_CHECKING:
    from scopes.cli.invocation import Invocation


def require_store_not_lost(invocation: Invocation) -> None:
    """Raise Inaccessible if the selected store is gone; one that never was there may be created."""
    note = find_lost_store(invocation)
    if note is not None:
        raise Inaccessible(note.text, hint=note.hint)


def find_lost_store(invocation: Invocation) -> Note | None:
    """Return a note that the selected store is gone, and what to do; None if it is there, or never was."""
    path = invocation.store_path
    if is_store(path) or not _is_empty(path) or not _was_used(invocation, path):
        return None
    again = f"scopes --store {shlex.quote(path)} init"
    return Note(
        f"the store {path} is gone",
        f"mount its disk, or move it back, and then: scopes import; to begin a new one: {again}",
    )


def _is_empty(path: str) -> bool:
    """Return True if there is nothing at a path, or an empty directory, such as a mount point."""
    try:
        return not os.listdir(path)
    except FileNotFoundError:
        return True
    except OSError:  # the error of who opens it says more
        return False


def _was_used(invocation: Invocation, path: str) -> bool:
    if os.path.isdir(invocation.index_directory):
        return True
    events = read_events(invocation.state_directory, HOOK_LOG).events
    return any(event.name == "recorded" and event.details.get("store") == path for event in events)
