"""The local fields in the entry of a branch: an unfinished merge or replay, and the directory in which an agent works.

They are in no state that is joined, so they are neither sent nor received.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from scopes.ids import BranchName
from scopes.model.conversation import ACP, WAITING, BranchEntry

LocalFields: TypeAlias = Mapping[str, Any]
_DIRECTORY = "cwd"  # of a session, an absolute path


def split_entry(entry: BranchEntry) -> tuple[BranchEntry, LocalFields]:
    """Split an entry into the one for other machines and the local fields."""
    extra, local = dict(entry.extra), {}
    if WAITING in extra:
        local[WAITING] = extra.pop(WAITING)
    session = extra.get(ACP)
    if isinstance(session, dict) and _DIRECTORY in session:
        local[ACP] = session
        extra[ACP] = _without_directory(session)
    return (replace(entry, extra=extra), local) if local else (entry, local)


def add_local_fields(entry: BranchEntry, local: LocalFields) -> BranchEntry:
    """Add local fields to an entry again; the directory of a session only if the entry still has that session."""
    extra = dict(entry.extra)
    if WAITING in local:
        extra[WAITING] = local[WAITING]
    if ACP in local and extra.get(ACP) == _without_directory(local[ACP]):
        extra[ACP] = local[ACP]
    return replace(entry, extra=extra)


def follow_renames(local: LocalFields, renamed: Mapping[BranchName, BranchName]) -> LocalFields:
    """Return the fields with branches renamed in the merge or replay that is in progress."""
    entry = BranchEntry(extra=local)
    from scopes.merge.in_progress import follow_rename

    for old, new in renamed.items():
        entry = follow_rename(entry, old, new)
    return entry.extra


def _without_directory(session: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in session.items() if name != _DIRECTORY}
