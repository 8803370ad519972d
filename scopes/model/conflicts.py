"""The record of a conflict: two branches changed one key of the state differently.

CONFLICT_TYPES is the table of all types; a new type is a row here and a rule in `merge/detection.py`. Whether two sides
agree depends on their values alone; the author and the message of a value are stored with it and not compared.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args

from scopes.clock import utc
from scopes.errors import Corrupt
from scopes.model import canonical_json
from scopes.model.canonical_json import without_none
from scopes.model.message import ANALYSES, DECISIONS, FILES, MESSAGES, METHODS, PRIORITIES, PROPOSALS, share_of

FORMAT_VERSION = 1
Choice: TypeAlias = str
"""The outcome of a resolution: one of CHOICES."""


class ConflictType(NamedTuple):
    """The properties of one type of conflict.

    `group` is the first component of the keys whose conflicts have this type unless a more specific rule applies.
    `value_field` is the field of a claim of that group that holds its value; if None, the value is the whole claim.
    `per_agent` is true if each agent has a claim of its own below the key.
    `automatic` is the resolution that the automatic strategy takes without asking; `severity` is low, medium or high.
    """

    severity: str
    group: str | None = None
    value_field: str | None = None
    per_agent: bool = False
    automatic: Choice | None = None


CONFLICT_TYPES: Final[Mapping[str, ConflictType]] = {
    "edit-edit": ConflictType("medium", group=MESSAGES),
    "delete-edit": ConflictType("high"),
    "delete-delete": ConflictType("low", automatic="target"),
    "add-add": ConflictType("low"),
    "structural": ConflictType("high"),
    "competing-proposals": ConflictType("high", group=PROPOSALS, per_agent=True),
    "contradictory-analysis": ConflictType("high", group=ANALYSES, value_field="finding", per_agent=True),
    "decision-disagreement": ConflictType("high", group=DECISIONS, value_field="decision"),
    "methodology-dispute": ConflictType("high", group=METHODS, value_field="approach", per_agent=True),
    "priority-disagreement": ConflictType("medium", group=PRIORITIES, value_field="urgency", per_agent=True),
    "resource-contention": ConflictType("low", group=FILES, automatic="both"),
    "unknown": ConflictType("medium"),
}
"""Every type of conflict (S4-13). A type that a newer version wrote has the properties of `unknown`."""
STATUSES: Final = ("open", "debate", "escalated", "resolved", "aborted")
ENDED: Final = frozenset({"resolved", "aborted"})
"""The statuses of conflicts that nobody can resolve any more; "aborted" is never stored."""
ConflictSide: TypeAlias = Literal["source", "target", "base", "both"]
SIDES: Final[tuple[str, ...]] = get_args(ConflictSide)
"""The sides that a resolution can take."""
CHOICES: Final = ("target", "source", "base", "both", "value")
_ID_LENGTH: Final = 12


class Position(NamedTuple):
    """The value of one side as JSON, the newest message that stated or chose it, its author, and their confidence."""

    value: Any
    message: str | None = None
    agent: str | None = None
    confidence: float | None = None


class Reused(NamedTuple):
    """The earlier resolution that was applied again: its conflict, its actor and its reason."""

    conflict: str
    actor: str
    reason: str


class EarlierResolution(NamedTuple):
    """How a conflict was resolved before: two equal values, in whatever order, about the same key.

    `choice` is the choice that gives this conflict the same outcome, or None if there is none. `values` are the values
    of the outcome. `time` is that of the message that resolved `conflict`, or None if that is unknown.
    """

    conflict: str
    choice: Choice | None
    values: tuple[Any, ...]
    actor: str
    reason: str
    time: str | None = None


class Resolution(NamedTuple):
    """How a conflict was resolved (S4-57); `value` is set only if `choice` is "value", `rejected` holds lost values.

    `reused` is the earlier resolution that this one repeats.
    """

    strategy: str
    choice: Choice
    reason: str
    actor: str
    rejected: tuple[Any, ...] = ()
    value: Any = None
    reused: Reused | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """One conflict (S4-12). A side has one position for each agent that set a value, the newest last.

    `key` is a path below `state/`, percent-encoded, without the agent. `earlier` is how it was resolved before,
    the newest first, one for each outcome; it is looked up when a conflict is shown, and not stored.
    """

    id: str
    type: str
    key: str
    base: tuple[Position, ...]
    source: tuple[Position, ...]
    target: tuple[Position, ...]
    automatic_resolution: Choice | None = None
    status: str = "open"
    resolution: Resolution | None = None
    earlier: tuple[EarlierResolution, ...] = ()

    @property
    def severity(self) -> str:
        """The severity of the conflict's type."""
        return CONFLICT_TYPES.get(self.type, CONFLICT_TYPES["unknown"]).severity


def conflict_id(kind: str, key: str, base: Sequence[Any], source: Any, target: Any) -> str:
    """Compute the id of a conflict: 12 hexadecimal digits, the same after source and target change places.

    The order of the base values does not count either: after a criss-cross merge there are two merge bases, and neither
    is the first.
    """
    sides = sorted((canonical_json.dump(source), canonical_json.dump(target)))
    before = canonical_json.dump(sorted(base, key=canonical_json.dump))
    content = b"\0".join((b"conflict", kind.encode(), key.encode(), before, *sides))
    return hashlib.sha256(content).hexdigest()[:_ID_LENGTH]


def conflict_document(number: int, conflict: Conflict, texts: Mapping[str, str] | None = None) -> dict[str, object]:
    """Return the JSON of a conflict (S4-12); a side without positions and an impossible automatic resolution are null.

    `texts` are the texts of the messages of the positions, by id.
    """
    document: dict[str, object] = {
        "number": number,
        "id": conflict.id,
        "type": conflict.type,
        "severity": conflict.severity,
        "key": conflict.key,
        "status": conflict.status,
        "base": _side(conflict.base, texts or {}),
        "source": _side(conflict.source, texts or {}),
        "target": _side(conflict.target, texts or {}),
        "automatic_resolution": conflict.automatic_resolution,
    }
    if conflict.resolution is not None:
        document["resolution"] = _resolution(conflict.resolution)
    if conflict.earlier:
        document["resolved_before"] = [_earlier(each) for each in conflict.earlier]
    return document


def number_conflicts(conflicts: Sequence[Conflict], before: int = 0) -> list[dict[str, object]]:
    """Return the JSON of conflicts, numbered from 1; `before` are listed before them."""
    return [conflict_document(number, each) for number, each in enumerate(conflicts, before + 1)]


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


def encode_conflict(conflict: Conflict) -> bytes:
    """Encode a conflict as one line of canonical JSON."""
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
    return canonical_json.dump(document)


def decode_conflict(data: bytes) -> Conflict:
    """Decode a conflict.

    Raises:
        Corrupt: the data is not a conflict record.
    """
    match canonical_json.load(data):
        case {"id": str(identity), "type": str(kind), "key": str(key), "status": str(status), **rest}:
            automatic = rest.get("automatic_resolution")
            return Conflict(
                id=identity,
                type=kind,
                key=key,
                base=_positions(rest.get("base")),
                source=_positions(rest.get("source")),
                target=_positions(rest.get("target")),
                automatic_resolution=automatic if isinstance(automatic, str) else None,
                status=status,
                resolution=decode_resolution(rest.get("resolution")),
            )
    raise Corrupt("the record of a conflict is damaged", hint="see: scopes verify")


def position_document(position: Position) -> dict[str, Any]:
    """Return a position as a JSON object; unknown fields are left out."""
    known = position._asdict()
    del known["value"]
    return {"value": position.value, **{key: value for key, value in known.items() if value is not None}}


def resolution_document(resolution: Resolution) -> dict[str, Any]:
    """Return a resolution as a JSON object."""
    document: dict[str, Any] = {
        "strategy": resolution.strategy,
        "choice": resolution.choice,
        "reason": resolution.reason,
        "actor": resolution.actor,
        "rejected": list(resolution.rejected),
    }
    if resolution.choice == "value":
        document["value"] = resolution.value
    if resolution.reused is not None:
        document["reused"] = resolution.reused._asdict()
    return document


def _positions(documents: object) -> tuple[Position, ...]:
    positions = []
    for document in documents if isinstance(documents, list) else ():
        match document:
            case {"value": value, **rest}:
                given = (rest.get(name) for name in ("message", "agent"))
                message, agent = (text if isinstance(text, str) else None for text in given)
                positions.append(Position(value, message, agent, share_of(rest.get("confidence"))))
    return tuple(positions)


def decode_resolution(document: object) -> Resolution | None:
    """Decode a resolution; None if it is not one."""
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
                _reused(rest.get("reused")),
            )
    return None


def _reused(document: object) -> Reused | None:
    match document:
        case {"conflict": str(conflict), "actor": str(actor), "reason": str(reason)}:
            return Reused(conflict, actor, reason)
    return None
