"""A disagreement of two lines of history about one subject, as data: it is stored, talked about and resolved later.

What two sides say is an outcome; who said it, and in which message, stands beside it and does not count for whether
they agree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

from scopes.errors import Corrupt
from scopes.model import canonical

FORMAT_VERSION = 1
Severity: TypeAlias = str
"""low, medium or high."""
Choice: TypeAlias = str
"""What a resolution takes: one of CHOICES."""
Status: TypeAlias = str
"""How far a conflict has come: one of STATUSES."""

SEVERITIES: Final[Mapping[str, Severity]] = {
    "edit-edit": "medium",
    "delete-edit": "high",
    "delete-delete": "low",
    "add-add": "low",
    "structural": "high",
    "competing-proposals": "high",
    "contradictory-analysis": "high",
    "decision-disagreement": "high",
    "methodology-dispute": "high",
    "priority-disagreement": "medium",
    "resource-contention": "low",
    "unknown": "medium",
}
"""Every type of conflict with its severity (S4-13)."""
STATUSES: Final = ("open", "debate", "escalated", "resolved")
CHOICES: Final = ("target", "source", "base", "both", "value")
_LENGTH: Final = 12
_DAMAGED: Final = "the record of a conflict is damaged"


class Position(NamedTuple):
    """What one side says: a value as JSON, the last message that said so, its author, and how sure that one was."""

    value: Any
    message: str | None = None
    agent: str | None = None
    confidence: float | None = None


class Resolution(NamedTuple):
    """How a conflict ended (S4-57); `value` is only given where neither side was taken, `rejected` is what lost."""

    strategy: str
    choice: Choice
    reason: str
    actor: str
    rejected: tuple[Any, ...] = ()
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One disagreement (S4-12); a side on which several agents speak has several positions, the last said last.

    `key` is the path of the subject below `state/`, percent-encoded, without an agent.
    """

    id: str
    type: str
    key: str
    base: tuple[Position, ...]
    source: tuple[Position, ...]
    target: tuple[Position, ...]
    automatic_resolution: Choice | None = None
    status: Status = "open"
    resolution: Resolution | None = None

    @property
    def severity(self) -> Severity:
        """How much it matters; a type of a newer version counts as medium."""
        return SEVERITIES.get(self.type, "medium")


def conflict_id(kind: str, key: str, base: Sequence[Any], source: Any, target: Any) -> str:
    """Name a disagreement: 12 hexadecimal digits, the same whichever side is called the source.

    Nor does the order count in which several positions stood before: where two sides have merged each other there are
    two points that they come from, and neither is the first.
    """
    sides = sorted((canonical.dump(source), canonical.dump(target)))
    before = canonical.dump(sorted(base, key=canonical.dump))
    said = b"\0".join((b"conflict", kind.encode(), key.encode(), before, *sides))
    return hashlib.sha256(said).hexdigest()[:_LENGTH]


def encode_conflict(conflict: Conflict) -> bytes:
    """Write the record of a conflict as one line of canonical JSON."""
    document: dict[str, Any] = {
        "v": FORMAT_VERSION,
        "id": conflict.id,
        "type": conflict.type,
        "key": conflict.key,
        "base": [position_document(position) for position in conflict.base],
        "source": [position_document(position) for position in conflict.source],
        "target": [position_document(position) for position in conflict.target],
        "status": conflict.status,
    }
    if conflict.automatic_resolution is not None:
        document["automatic_resolution"] = conflict.automatic_resolution
    if conflict.resolution is not None:
        document["resolution"] = resolution_document(conflict.resolution)
    return canonical.dump(document)


def decode_conflict(data: bytes) -> Conflict:
    """Read the record of a conflict.

    Raises:
        Corrupt: it is none.
    """
    match canonical.load(data):
        case {"id": str(name), "type": str(kind), "key": str(key), "status": str(status), **rest}:
            automatic = rest.get("automatic_resolution")
            return Conflict(
                id=name,
                type=kind,
                key=key,
                base=_positions(rest.get("base")),
                source=_positions(rest.get("source")),
                target=_positions(rest.get("target")),
                automatic_resolution=automatic if isinstance(automatic, str) else None,
                status=status,
                resolution=_resolution(rest.get("resolution")),
            )
    raise Corrupt(_DAMAGED, hint="see: scopes verify")


def position_document(position: Position) -> dict[str, Any]:
    """Lay out a position; what is unknown is absent."""
    known = {"message": position.message, "agent": position.agent, "confidence": position.confidence}
    return {"value": position.value, **{key: value for key, value in known.items() if value is not None}}


def resolution_document(resolution: Resolution) -> dict[str, Any]:
    """Lay out a resolution."""
    document: dict[str, Any] = {
        "strategy": resolution.strategy,
        "choice": resolution.choice,
        "reason": resolution.reason,
        "actor": resolution.actor,
        "rejected": list(resolution.rejected),
    }
    return {**document, "value": resolution.value} if resolution.choice == "value" else document


def _positions(documents: object) -> tuple[Position, ...]:
    found = []
    for document in documents if isinstance(documents, list) else ():
        match document:
            case {"value": value, **rest}:
                message, agent, confidence = (rest.get(name) for name in ("message", "agent", "confidence"))
                found.append(
                    Position(
                        value,
                        message if isinstance(message, str) else None,
                        agent if isinstance(agent, str) else None,
                        float(confidence) if isinstance(confidence, int | float) else None,
                    )
                )
    return tuple(found)


def _resolution(document: object) -> Resolution | None:
    match document:
        case {"strategy": str(strategy), "choice": str(choice), "reason": str(reason), "actor": str(actor), **rest}:
            rejected = rest.get("rejected")
            return Resolution(
                strategy,
                choice,
                reason,
                actor,
                tuple(rejected) if isinstance(rejected, list) else (),
                rest.get("value"),
            )
    return None
