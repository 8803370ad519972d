"""A proposal to change fields of an entity (S4-24), as its message states it, with its state on a branch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from scopes.ids import AgentName, MessageId, Oid
from scopes.model import encoding
from scopes.model.encoding import leaf
from scopes.model.message import ENTITIES
from scopes.result import HIDDEN, INLINE, OMIT_EMPTY, confidence, named, shown, written_by
from scopes.store.objects import Objects, find_blob

PENDING: Final = "pending"
ACCEPTED: Final = "accepted"
REJECTED: Final = "rejected"
APPLIED: Final = "applied"
SUPERSEDED: Final = "superseded"
EXPIRED: Final = "expired"
WITHDRAWN: Final = "withdrawn"
STATES: Final = (PENDING, ACCEPTED, REJECTED, APPLIED, SUPERSEDED, EXPIRED, WITHDRAWN)
OPEN: Final = frozenset({PENDING, ACCEPTED})
REJECTION_REASONS: Final = (
    "incorrect-analysis", "unwanted-change", "poor-timing", "insufficient-context", "better-alternative-exists",
    "too-risky", "other",
)  # fmt: skip


class FieldChange(NamedTuple):
    """The change of one field; `before` and `after` are None if there is no value."""

    field: str
    operation: str
    before: Any
    after: Any

    def document(self) -> dict[str, object]:
        """Return the change as JSON; `before` and `after` are null if there is no value."""
        return self._asdict()

    @property
    def result(self) -> Any:
        """The value of the field when the change is applied to `before`."""
        if self.operation == "delete":
            return None
        if self.operation != "append":
            return self.after
        present = self.before if isinstance(self.before, list) else [] if self.before is None else [self.before]
        return [*present, self.after]


_DETAILS = (
    "confidence", "category", "request_type", "rationale", "impact_assessment", "context", "alternative_options",
    "required_approvals", "expires_at",
)  # fmt: skip


def _known_details(details: Mapping[str, Any]) -> dict[str, Any]:
    return {name: details[name] for name in _DETAILS if details.get(name) is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A proposal with its state on one branch.

    Attributes:
        written: The time of its message, in nanoseconds since 1970.
        details: The further fields of its document: rationale, confidence, category, impact_assessment, ...
        claims: What its message wrote below `state/proposals`, by path.
        state: One of STATES.
        superseded_by: The proposal of the same agent that took its place.
        modified: The values that a reviewer gave it instead, by field; they are in `changes` already.
        is_amended: True if its message has another text now: what was accepted is not what it says.
        is_retracted: True if its message was retracted.
        rolled_back: True if it was applied and taken back.
        approvals: Who has approved it, if it needs several approvals.
    """

    id: MessageId
    oid: Oid
    agent: AgentName
    time: str | None = field(metadata=named("created"))
    entity_type: str
    entity_id: str
    changes: tuple[FieldChange, ...]
    written: int = field(default=0, metadata=HIDDEN)
    details: Mapping[str, Any] = field(default_factory=dict, metadata=INLINE | written_by(_known_details))
    claims: Mapping[str, bytes] = field(default_factory=dict, metadata=HIDDEN)
    state: str = PENDING
    superseded_by: MessageId | None = None
    modified: Mapping[str, Any] = field(default_factory=dict, metadata=HIDDEN)
    is_amended: bool = field(default=False, metadata=HIDDEN)
    is_retracted: bool = field(default=False, metadata=HIDDEN)
    rolled_back: bool = field(default=False, metadata=OMIT_EMPTY)
    approvals: tuple[str, ...] = field(default=(), metadata=OMIT_EMPTY)

    @property
    @shown
    def entity(self) -> str:
        """Type and id of the entity, as people write them: `task/42`."""
        return f"{self.entity_type}/{self.entity_id}"

    @property
    def is_withdrawn(self) -> bool:
        """True if its message was amended or retracted; what was applied or rejected before stays that."""
        return self.is_amended or self.is_retracted

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that it changes."""
        return tuple(change.field for change in self.changes)

    @property
    def confidence(self) -> float | None:
        """The confidence of its author, between 0 and 1."""
        value = self.details.get("confidence")
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def certainty(self) -> str:
        """The confidence as a word and a number; empty if none is stated."""
        return "" if self.confidence is None else confidence(self.confidence)

    @property
    @shown
    def confidence_level(self) -> str | None:
        """The confidence as a word: `very-high`."""
        word, _, _ = self.certainty.partition(" (")
        return word.lower().replace(" ", "-") or None

    @property
    def shown_state(self) -> str:
        """The state, and whether it was rolled back."""
        return f"{self.state}, rolled back" if self.rolled_back else self.state

    @property
    def story(self) -> list[str]:
        """The changes, each as one line."""
        return list(map(describe_change, self.changes))

    @property
    def expires_at(self) -> str | None:
        """When it expires, as RFC 3339."""
        value = self.details.get("expires_at")
        return value if isinstance(value, str) else None

    @property
    def required_approvals(self) -> tuple[str, ...]:
        """Who has to approve it; nobody in particular if empty."""
        names = self.details.get("required_approvals")
        return tuple(map(str, names)) if isinstance(names, list) else ()


def value_path(entity_type: str, entity_id: str, name: str) -> str:
    """Return the path below `state/` of the accepted value of a field."""
    return leaf(ENTITIES, entity_type, entity_id, name)


def read_value(objects: Objects, state: Oid | None, path: str) -> Any:
    """Return an accepted value, given its path; None if there is none.

    If a merge kept the values of both sides, the result is the whole claim, which has them.
    """
    blob = None if state is None else find_blob(objects, state, path)
    claim: Any = None if blob is None else encoding.load(blob)
    match claim:
        case {"value": value, **rest} if not rest:
            return value
    return claim


def value_claim(value: Any) -> bytes | None:
    """Return the blob of an accepted value; None, which removes it, if there is no value."""
    return None if value is None else encoding.dump({"value": value})


def is_same(one: Any, other: Any) -> bool:
    """Return True if two values are the same JSON; `1` and `true` are not."""
    return encoding.dump(one) == encoding.dump(other)


def describe_change(change: FieldChange) -> str:
    """Return a change as one line: `status: "todo" -> "done"`."""
    return f"{change.field}: {show_value(change.before)} -> {show_value(change.result)}"


def show_value(value: Any) -> str:
    """Return a value as one line of JSON; `none` if there is none."""
    return "none" if value is None else encoding.dump(value).decode().rstrip("\n")
