"""The shape of a conflict in every JSON object that holds one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scopes.model.conflict import Conflict, Position, Resolution
from scopes.render.wire.fields import known

_NO_TEXTS: Mapping[str, str] = {}


def conflict_object(number: int, conflict: Conflict, texts: Mapping[str, str] = _NO_TEXTS) -> dict[str, object]:
    """Lay out a conflict (S4-12): null where a side has no position, or nothing could be taken without asking.

    `texts` says what the messages behind the positions say, by id.
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
    return shape


def _side(positions: Sequence[Position], texts: Mapping[str, str]) -> dict[str, object] | None:
    """Lay out what a side said last, with what else it says under `also`."""
    if not positions:
        return None
    *others, last = (_position(position, texts) for position in positions)
    return {**last, "also": others} if others else last


def _position(position: Position, texts: Mapping[str, str]) -> dict[str, object]:
    text = texts.get(position.message or "")
    beside = known(message=position.message, agent=position.agent, confidence=position.confidence, text=text)
    return {"value": position.value, **beside}


def _resolution(resolution: Resolution) -> dict[str, object]:
    """Lay out how a conflict ended (S4-57)."""
    shape: dict[str, object] = {"strategy": resolution.strategy, "choice": resolution.choice}
    if resolution.choice == "value":
        shape["value"] = resolution.value
    return shape | {
        "reason": resolution.reason,
        "actor": resolution.actor,
        "rejected": list(resolution.rejected),
    }
