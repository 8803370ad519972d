"""Remove the values of purged messages from records of conflicts, which name the message of each value.

The result depends only on the record and on what is purged, so it is the same on every machine. A conflict keeps its
status: a resolved one does not become open because its values are gone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scopes.errors import Corrupt
from scopes.ids import Oid
from scopes.model import canonical_json
from scopes.model.message import CONFLICTS, PURGED_TEXT
from scopes.purge.links import SHORTEST, list_older_values, walk_resolutions
from scopes.store.objects import BlobChange, Objects, find_entry, read_blob, update_tree, walk_blobs

_SIDES = ("base", "source", "target")


class ConflictRewriter:
    """Rewrites the records of conflicts in states, each tree of records once.

    is_purged: returns True for the id of a message that is purged as a whole
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
        """Return a record without the values of purged messages; None if it has no such value."""
        document = _load(data)
        purged = [each for each in _list_positions(document) if self._is_purged(str(each.get("message")))]
        if not purged:
            return None
        gone = [each.get("value") for each in purged]
        resolution = document.get("resolution")
        if PURGED_TEXT in gone and isinstance(resolution, dict):
            gone += _take_older_values(document, resolution)
        for position in purged:
            position["value"] = PURGED_TEXT
        _replace_values(resolution, gone)
        new = canonical_json.dump(document)
        return None if new == data else new


def _list_positions(document: dict[str, Any]) -> list[dict[str, Any]]:
    sides = (document.get(side) for side in _SIDES)
    return [each for side in sides if isinstance(side, list) for each in side if isinstance(each, dict)]


def _take_older_values(document: dict[str, Any], resolution: dict[str, Any]) -> list[object]:
    """Return values that are only left because the record was merged with a purged one, and remove their reasons."""
    positions = [each.get("value") for each in _list_positions(document)]
    older = list_older_values(positions, resolution)
    for each in walk_resolutions(resolution) if older else ():
        if list_older_values(positions, {**each, "also": []}):
            each["reason"] = PURGED_TEXT
    return older


def without_resolution(data: bytes) -> bytes:
    """Return the record of a conflict without the texts of its resolution; it stays resolved."""
    document = _load(data)
    resolution = document.get("resolution")
    if isinstance(resolution, dict):
        resolution.pop("also", None)
        rejected = resolution.get("rejected")
        _replace_values(resolution, [*(rejected if isinstance(rejected, list) else ()), resolution.get("value")])
        resolution["reason"] = PURGED_TEXT
    return canonical_json.dump(document) if document else data


def _load(data: bytes) -> dict[str, Any]:
    try:
        document = canonical_json.load(data)
    except Corrupt:  # `verify` names it
        return {}
    return document if isinstance(document, dict) else {}


def _replace_values(resolution: object, gone: list[object]) -> None:
    """Replace values in a resolution and in others nested in it, and reasons that contain one of the values."""
    if not isinstance(resolution, dict):
        return
    rejected, also, reason = (resolution.get(name) for name in ("rejected", "also", "reason"))
    if isinstance(rejected, list):
        resolution["rejected"] = [PURGED_TEXT if value in gone else value for value in rejected]
    if "value" in resolution and resolution["value"] in gone:
        resolution["value"] = PURGED_TEXT
    texts = [value for value in gone if isinstance(value, str) and len(value) >= SHORTEST]
    if isinstance(reason, str) and any(text in reason for text in texts):
        resolution["reason"] = PURGED_TEXT
    for other in also if isinstance(also, list) else ():
        _replace_values(other, gone)
