"""Format conflicts as JSON: list, show, resolve, and the conflicts of merges and replays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire
from scopes.render.wire.collaborations import argument_object
from scopes.render.wire.fields import utc
from scopes.render.wire.file_comparison import file_object
from scopes.render.wire.message import header_object

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from scopes.conversation.conflicts import ConflictList, ConflictResolved, ConflictView, FileChanges
    from scopes.merge.conflicts import ConflictRow
    from scopes.model.conflicts import Conflict, EarlierResolution, Position, Resolution

_NO_TEXTS: Mapping[str, str] = {}


def conflict_object(number: int, conflict: Conflict, texts: Mapping[str, str] = _NO_TEXTS) -> dict[str, object]:
    """Return a conflict (S4-12); a side without positions and an impossible automatic resolution are null.

    `texts` are the texts of the messages of the positions, by id.
    """
    shape: dict[str, object] = {
        "number": number,
        "id": conflict.id,
        "type": conflict.type,
        "severity": conflict.severity,
        "key": conflict.key,
        "status": conflict.status,
        "base": _side(conflict.base, texts),
        "source": _side(conflict.source, texts),
        "target": _side(conflict.target, texts),
        "automatic_resolution": conflict.automatic_resolution,
    }
    if conflict.resolution is not None:
        shape["resolution"] = _resolution(conflict.resolution)
    if conflict.earlier:
        shape["resolved_before"] = [_earlier(each) for each in conflict.earlier]
    return shape


@to_wire.register
def format_conflict_list(result: ConflictList) -> dict[str, object]:
    """Return the conflicts, each with its conversation and branch."""
    listed = [conflict_object(row.number, row.conflict) | _place(row) for row in result.conflicts]
    return without_none(kind="conflict-list", conversation=result.conversation, conflicts=listed)


@to_wire.register
def format_conflict_view(result: ConflictView) -> dict[str, object]:
    """Return a conflict with the texts of its messages, the messages since (`talk`), and what authors hold."""
    row = result.row
    shape = conflict_object(row.number, row.conflict, result.texts) | _place(row)
    shape["talk"] = [header_object(head) for head in result.talk]
    shape["positions"] = [argument_object(each) for each in result.positions]
    shape["sides"] = list(result.sides)
    file = None if result.file is None else _file_changes(result.file)
    escalated = without_none(escalated_to=result.escalated_to, escalated_at=result.escalated_at)
    return {"kind": "conflict", **shape, **escalated, **without_none(file=file)}


def _file_changes(changes: FileChanges) -> dict[str, object]:
    """Return what both sides made of a file, with the diffs that are known."""
    return file_object(changes.comparison) | without_none(
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
        "conflict": conflict_object(result.number, result.conflict),
        "message": result.message,
        "remaining": result.remaining,
        "operation": result.operation,
    }
    shape |= without_none(escalated_to=result.escalated_to)
    return shape if result.continued is None else shape | {"continued": to_wire(result.continued)}


def _side(positions: Sequence[Position], texts: Mapping[str, str]) -> dict[str, object] | None:
    """Return the last position of a side, with its other positions under `also`."""
    if not positions:
        return None
    *others, last = (_position(position, texts) for position in positions)
    return {**last, "also": others} if others else last


def _position(position: Position, texts: Mapping[str, str]) -> dict[str, object]:
    text = texts.get(position.message or "")
    origin = without_none(message=position.message, agent=position.agent, confidence=position.confidence, text=text)
    return {"value": position.value, **origin}


def _resolution(resolution: Resolution) -> dict[str, object]:
    """Return the resolution of a conflict (S4-57)."""
    shape: dict[str, object] = {"strategy": resolution.strategy, "choice": resolution.choice}
    if resolution.choice == "value":
        shape["value"] = resolution.value
    shape |= {
        "reason": resolution.reason,
        "actor": resolution.actor,
        "rejected": list(resolution.rejected),
    }
    if resolution.reused is not None:
        shape["reused"] = resolution.reused._asdict()
    return shape


def _earlier(earlier: EarlierResolution) -> dict[str, object]:
    """Return an earlier resolution; without a choice if none gives this conflict the same outcome."""
    return without_none(
        conflict=earlier.conflict,
        choice=earlier.choice,
        values=list(earlier.values),
        actor=earlier.actor,
        reason=earlier.reason,
        time=utc(earlier.time),
    )


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
