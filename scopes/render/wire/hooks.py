"""What was done to the hooks of other programs, and how they are, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.hosts.hook_target import HooksChanged
    from scopes.live.hook_status import HooksStatus


@to_wire.register
def format_hooks_changed(result: HooksChanged) -> dict[str, object]:
    """Return the files and what was done; `entry` is the text that is in a file, or would be."""
    return without_none(
        kind="hooks-changed",
        target=result.target,
        shown=result.shown,
        advice=result.advice,
        changes=[
            without_none(file=change.file, state=change.state, entry=change.text or None, backup=change.backup)
            for change in result.changes
        ],
    )


@to_wire.register
def format_hooks_status(result: HooksStatus) -> dict[str, object]:
    """Return a row for each target; without `last` if no turn has ended since, without `problem` if it is recorded.

    `cure` says what to do about `detail` and `problem`. Only git has `trailers`.
    """
    return {
        "kind": "hooks-status",
        "hooks": [
            without_none(
                target=row.target,
                condition=row.condition,
                file=row.file,
                detail=row.detail or None,
                last=row.last,
                problem=row.problem,
                cure=row.cure,
                trailers=row.trailers,
            )
            for row in result.hooks
        ],
    }
