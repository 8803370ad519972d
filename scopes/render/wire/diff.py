"""Format differences between two revisions as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.view_options import DEFAULT_OPTIONS, ViewOptions
from scopes.render.wire.message import header_object

if TYPE_CHECKING:
    from scopes.conversation.diff import ChangedClaim, ChangedMessage, Difference, DiffSide


@to_wire.register_with_options
def format_difference(result: Difference, options: ViewOptions = DEFAULT_OPTIONS) -> dict[str, object]:
    """Return the differences; with `--stat` only their counts."""
    counts = {
        "only_left": len(result.only_left),
        "only_right": len(result.only_right),
        "changed": len(result.changed),
        "claims": len(result.claims),
    }
    shape: dict[str, object] = {
        "kind": "diff",
        "equal": result.exit_code == 0,
        "left": _place(result.left),
        "right": _place(result.right),
        "counts": counts,
    }
    if options.stat:
        return shape
    return shape | {
        "only_left": [header_object(head) for head in result.only_left],
        "only_right": [header_object(head) for head in result.only_right],
        "changed": [_changed(message) for message in result.changed],
        "claims": [_claim(claim) for claim in result.claims],
    }


def _place(side: DiffSide) -> dict[str, object]:
    place = side.revision
    return without_none(name=side.name, conversation=place.conversation, branch=place.branch, oid=place.oid)


def _changed(message: ChangedMessage) -> dict[str, object]:
    return {"id": message.head.id, "left": message.left.text, "right": message.right.text}


def _claim(claim: ChangedClaim) -> dict[str, object]:
    """Return a claim; a side without it is absent. `changed_in` is there if only one side changed it."""
    sides = {name: value for name, value, there in _sides(claim) if there}
    return without_none(key=claim.key, agent=claim.agent, changed_in=claim.changed_in) | sides


def _sides(claim: ChangedClaim) -> tuple[tuple[str, object, bool], ...]:
    return ("left", claim.left, claim.in_left), ("right", claim.right, claim.in_right)
