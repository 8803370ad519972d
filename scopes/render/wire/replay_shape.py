"""What rebase and cherry-pick have in common as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.render.wire.conflicts import conflict_object

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scopes.merge.replay import Rewrite
    from scopes.model.conflict import Conflict


def moved_objects(moved: Iterable[Rewrite]) -> list[dict[str, object]]:
    """Return messages with their former and their present commits."""
    return [{"id": each.id, "old": each.old, "new": each.new} for each in moved]


def conflict_objects(conflicts: Iterable[Conflict]) -> list[dict[str, object]]:
    """Return conflicts, numbered as in their list."""
    return [conflict_object(number, each) for number, each in enumerate(conflicts, 1)]
