"""Format conflicts as JSON: list, show, resolve, and the conflicts of merges and replays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.clock import utc
from scopes.model.conflicts import conflict_document
from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.document import plain
from scopes.render.wire.message import header_object

if TYPE_CHECKING:
    from scopes.conversation.conflicts import ConflictList, ConflictResolved, ConflictView, FileChanges
    from scopes.merge.conflicts import ConflictRow


@to_wire.register
def format_conflict_list(result: ConflictList) -> dict[str, object]:
    """Return the conflicts, each with its conversation and branch."""
    listed = [conflict_document(row.number, row.conflict) | _place(row) for row in result.conflicts]
    return without_none(kind="conflict-list", conversation=result.conversation, conflicts=listed)


@to_wire.register
def format_conflict_view(result: ConflictView) -> dict[str, object]:
    """Return a conflict with the texts of its messages, the messages since (`talk`), and what authors hold."""
    row = result.row
    shape = conflict_document(row.number, row.conflict, result.texts) | _place(row)
    shape["talk"] = [header_object(head) for head in result.talk]
    shape["positions"] = plain(result.positions)
    shape["sides"] = list(result.sides)
    file = None if result.file is None else _file_changes(result.file)
    escalated = without_none(escalated_to=result.escalated_to, escalated_at=result.escalated_at)
    return {"kind": "conflict", **shape, **escalated, **without_none(file=file)}


def _file_changes(changes: FileChanges) -> dict[str, object]:
    """Return what both sides made of a file, with the diffs that are known."""
    found: dict[str, object] = plain(changes.comparison)
    return found | without_none(
        target_patch=changes.target_patch or None,
        source_patch=changes.source_patch or None,
    )


@to_wire.register
def format_conflict_resolved(result: ConflictResolved) -> dict[str, object]:
    """Return the resolution, how many conflicts of the branch are still open, and the outcome of what was continued."""
    shape: dict[str, object] = {
        "kind": "resolution" if result.conflict.status == "resolved" else "escalation",
        "conversation": result.conversation,
        "branch": result.branch,
        "conflict": conflict_document(result.number, result.conflict),
        "message": result.message,
        "remaining": result.remaining,
        "operation": result.operation,
    }
    shape |= without_none(escalated_to=result.escalated_to)
    return shape if result.continued is None else shape | {"continued": to_wire(result.continued)}


def _place(row: ConflictRow) -> dict[str, object]:
    return without_none(
        conversation=row.conversation,
        branch=row.branch,
        source_branch=row.source,
        target_branch=row.target,
        since=utc(row.since),
        recorded_at=utc(row.recorded_at),
        resolved_at=utc(row.resolved),
    )
