"""Which of two reviews of one proposal follows from the other one: a proposal that was accepted is applied later.

If one side accepted a proposal and the other one applied it too, they are of one opinion. To take the review of the
first one would leave the values in place, of a proposal that can be neither applied nor rolled back.
"""

from __future__ import annotations

from typing import Any, Literal

from scopes.merge.conflict_keys import group_of
from scopes.merge.divergence import PathChanges
from scopes.model import encoding
from scopes.model.claims import REVIEWS
from scopes.store.repository import Objects
from scopes.store.trees import read_blob


def find_later_review(
    objects: Objects, key: str, target: PathChanges, source: PathChanges
) -> Literal["target", "source"] | None:
    """Return the side that applied a proposal which the other side accepted with the same values; None otherwise."""
    if group_of(key) != REVIEWS:
        return None
    match _read_review(objects, target), _read_review(objects, source):
        case ({"status": "accepted"} as first, {"status": "applied"} as second):
            return "source" if first.get("after") == second.get("after") else None
        case ({"status": "applied"} as first, {"status": "accepted"} as second):
            return "target" if first.get("after") == second.get("after") else None
    return None


def _read_review(objects: Objects, changes: PathChanges) -> Any:
    blobs = [change.new for change in changes.values()]
    return encoding.load(read_blob(objects, blobs[0])) if len(blobs) == 1 and blobs[0] is not None else None
