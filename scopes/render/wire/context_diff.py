"""Format the difference of two contexts as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.context.context_diff import ContextDifference, ContextSide
    from scopes.context.result import ContextMessage


@to_wire.register
def format_context_difference(result: ContextDifference) -> dict[str, object]:
    """Return both sides with their tokens; the turns that only one has; those that differ; other parts that differ."""
    turns = [change for change in result.changes if change.part == "turn"]
    return {
        "kind": "context-diff",
        "equal": result.exit_code == 0,
        "max_tokens": result.max_tokens,
        "method": result.method,
        "left": _side(result.left),
        "right": _side(result.right),
        "removed": [_turn(each.left) for each in turns if each.left is not None and each.right is None],
        "added": [_turn(each.right) for each in turns if each.right is not None and each.left is None],
        "changed": [
            {"left": _turn(each.left), "right": _turn(each.right), "diff": list(each.lines)}
            for each in turns
            if each.left is not None and each.right is not None
        ],
        "other_parts": [
            {"part": each.part, "diff": list(each.lines)} for each in result.changes if each.part != "turn"
        ],
    }


def _side(side: ContextSide) -> dict[str, object]:
    place = side.side.revision
    return without_none(
        name=side.side.name,
        conversation=place.conversation,
        branch=place.branch,
        oid=place.oid,
        tokens_used=side.tokens_used,
        turns=side.turns,
    )


def _turn(turn: ContextMessage) -> dict[str, object]:
    return without_none(
        id=turn.id, oid=turn.oid, number=turn.number, role=turn.role, author=turn.author, time=turn.time,
        tokens=turn.tokens, truncated=turn.truncated, text=turn.text,
    )  # fmt: skip
