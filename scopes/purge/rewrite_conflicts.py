"""Take the values of purged messages out of the records of conflicts, which name the message of each value.

What is written is a function of the record and of what is purged, so that it is the same on every machine. A conflict
keeps its status: it is not open again because what it was about is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scopes.errors import Corrupt
from scopes.history.quotes import SHORTEST, has_words
from scopes.ids import Oid
from scopes.model import encoding
from scopes.model.claims import CONFLICTS
from scopes.model.tombstone import PURGED_TEXT
from scopes.store.repository import Objects
from scopes.store.trees import BlobChange, find_entry, read_blob, update_tree, walk_blobs

_SIDES = ("base", "source", "target")


class ConflictRewriter:
    """Rewrites the records of conflicts in states, each tree of records once.

    is_purged: tells of the id of a message whether all of it is purged
    """

    def __init__(self, objects: Objects, is_purged: Callable[[str], bool]) -> None:
        self._objects = objects
        self._is_purged = is_purged
        self._changes: dict[Oid, dict[str, BlobChange]] = {}

    def rewrite_state(self, state: Oid) -> Oid:
        """Return a state whose conflicts have no value of a purged message."""
        entry = find_entry(self._objects, state, CONFLICTS)
        if entry is None or not entry.is_tree:
            return state
        if entry.oid not in self._changes:
            self._changes[entry.oid] = {
                path: new
                for path, blob in walk_blobs(self._objects, entry.oid, f"{CONFLICTS}/")
                if (new := self._rewrite(read_blob(self._objects, blob))) is not None
            }
        changes = self._changes[entry.oid]
        return update_tree(self._objects, state, changes) if changes else state

    def _rewrite(self, data: bytes) -> bytes | None:
        """Return a record without the values of purged messages; None if it has none."""
        document = _load(data)
        gone: list[object] = []
        for side in _SIDES:
            positions = document.get(side)
            for position in positions if isinstance(positions, list) else ():
                match position:
                    case {"message": str(message), "value": value} if self._is_purged(message):
                        gone.append(value)
                        position["value"] = PURGED_TEXT
        if not gone:
            return None
        _replace_values(document.get("resolution"), gone)
        new = encoding.dump(document)
        return None if new == data else new


def without_resolution(data: bytes) -> bytes:
    """Return the record of a conflict without what was said when it was resolved; that it was stays."""
    document = _load(data)
    resolution = document.get("resolution")
    if isinstance(resolution, dict):
        resolution.pop("also", None)
        rejected = resolution.get("rejected")
        _replace_values(resolution, [*(rejected if isinstance(rejected, list) else ()), resolution.get("value")])
        resolution["reason"] = PURGED_TEXT
    return encoding.dump(document) if document else data


def _load(data: bytes) -> dict[str, Any]:
    try:
        document = encoding.load(data)
    except Corrupt:  # `verify` names it
        return {}
    return document if isinstance(document, dict) else {}


def _replace_values(resolution: object, gone: list[object]) -> None:
    """Replace values in a resolution and in others of the same conflict, and a reason that has one of them in it."""
    if not isinstance(resolution, dict):
        return
    rejected, also, reason = (resolution.get(name) for name in ("rejected", "also", "reason"))
    if isinstance(rejected, list):
        resolution["rejected"] = [PURGED_TEXT if value in gone else value for value in rejected]
    if "value" in resolution and resolution["value"] in gone:
        resolution["value"] = PURGED_TEXT
    texts = [value for value in gone if isinstance(value, str) and len(value) >= SHORTEST]
    if isinstance(reason, str) and any(has_words(reason, text) for text in texts):
        resolution["reason"] = PURGED_TEXT
    for other in also if isinstance(also, list) else ():
        _replace_values(other, gone)
