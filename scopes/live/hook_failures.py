"""The failures of hooks: what `hooks.log` has about them, and when one is over.

The problem of a target ends with its next turn that is recorded, or when the file of the failed turn is imported. The
hooks of git are those of one repository, so its events name it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from scopes.errors import CannotImport, ScopesError
from scopes.live.event_log import HOOK_LOG, Event, EventLog, read_events

FAILED = "failed"
IMPORTED = "imported"  # a file that a hook could not import


def log_failed_turn(
    log: EventLog, error: ScopesError | OSError, paths: Sequence[str], store: str | None = None
) -> None:
    """Write why the turn of a session with these files was not recorded; of commits in which store they are missing."""
    is_missing = bool(paths) and not os.path.exists(paths[0])
    log.write(
        FAILED,
        error=error.message if isinstance(error, ScopesError) else f"{type(error).__name__}: {error}",
        hint=error.hint if isinstance(error, ScopesError) else None,
        file=paths[0] if paths else None,
        store=store,
        unusable=True if is_missing or isinstance(error, CannotImport) else None,
    )


def log_imported_files(state_directory: str, paths: Iterable[str]) -> None:
    """Write which files were imported whose last turn a hook could not record: their problem is over."""
    last = {event.details.get("target"): event for event in read_events(state_directory, HOOK_LOG).events}
    failed = [event.details for event in last.values() if event.name == FAILED and event.details.get("file")]
    imported = {os.path.realpath(path) for path in paths} if failed else set()
    for details in failed:
        if os.path.realpath(str(details["file"])) in imported:
            log = EventLog(state_directory, file_name=HOOK_LOG, target=str(details.get("target")))
            log.write(IMPORTED, file=str(details["file"]))


def list_failed_repositories(state_directory: str, target: str, store: str) -> list[str]:
    """Return the repositories whose last commits a hook of git could not record in a store."""
    events = read_events(state_directory, HOOK_LOG).events
    last = {event.details.get("repository"): event for event in events if event.details.get("target") == target}
    return [
        repository
        for repository, event in last.items()
        if isinstance(repository, str) and event.name == FAILED and event.details.get("store") in {None, store}
    ]


def last_events(events: Iterable[Event], target: str, repository: str | None) -> tuple[Event | None, Event | None]:
    """Return the last event of a target in which a hook ran, and the last one if that is a failure.

    repository: of git, the one whose hooks are meant.
    """
    found = [event for event in events if event.details.get("target") == target]
    found = [event for event in found if event.details.get("repository") in (None, repository)]
    runs = [event for event in found if event.name != IMPORTED]
    return (runs[-1] if runs else None), (found[-1] if found and found[-1].name == FAILED else None)
