"""Format the result of a bisect as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.conversation.log import Bisection, BisectPoint, BisectStep


@to_wire.register
def format_bisection(result: Bisection) -> dict[str, object]:
    """Return the first bad message, or what hides it, and every run of the command."""
    return without_none(
        kind="bisect",
        conversation=result.conversation,
        found=result.first_bad is not None,
        good=_point(result.good),
        bad=_point(result.bad),
        first_bad=None if result.first_bad is None else result.first_bad.document(),
        candidates=[head.document() for head in result.candidates],
        skipped=[head.document() for head in result.skipped],
        steps=[_step(step) for step in result.steps],
    )


def _point(point: BisectPoint) -> dict[str, object]:
    return without_none(oid=point.oid, id=None if point.head is None else point.head.id)


def _step(step: BisectStep) -> dict[str, object]:
    return {**_point(step.point), "verdict": step.verdict, "exit_code": step.code} | (
        {} if step.role is None else {"role": step.role}
    )
