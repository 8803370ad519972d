"""What the entry of a branch has for this machine alone: an unfinished merge or replay, and where an agent works.

It is in no state that is joined, so it neither leaves nor comes from elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from scopes.ids import BranchName
from scopes.loading import deferred
from scopes.model.conversation import ACP, WAITING, BranchEntry

if TYPE_CHECKING:
    from scopes.merge.in_progress import follow_rename
else:
    follow_rename = deferred("scopes.merge.in_progress:follow_rename")

LocalFields: TypeAlias = Mapping[str, Any]
_DIRECTORY = "cwd"  # of a session, an absolute path


def split_entry(entry: BranchEntry) -> tuple[BranchEntry, LocalFields]:
    """Return an entry as it goes to other machines, and what stays here."""
    extra, local = dict(entry.extra), {}
    if WAITING in extra:
        local[WAITING] = extra.pop(WAITING)
    session = extra.get(ACP)
    if isinstance(session, dict) and _DIRECTORY in session:
        local[ACP] = session
        extra[ACP] = _without_directory(session)
    return (replace(entry, extra=extra), local) if local else (entry, local)


def add_local_fields(entry: BranchEntry, local: LocalFields) -> BranchEntry:
    """Return an entry with what `split_entry` has kept; the directory of a session only if it is still that session."""
    extra = dict(entry.extra)
    if WAITING in local:
        extra[WAITING] = local[WAITING]
    if ACP in local and extra.get(ACP) == _without_directory(local[ACP]):
        extra[ACP] = local[ACP]
    return replace(entry, extra=extra)


def follow_renames(local: LocalFields, renamed: Mapping[BranchName, BranchName]) -> LocalFields:
    """Return the fields with the new names of branches in what is in progress."""
    entry = BranchEntry(extra=local)
    for old, new in renamed.items():
        entry = follow_rename(entry, old, new)
    return entry.extra


def _without_directory(session: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in session.items() if name != _DIRECTORY}
