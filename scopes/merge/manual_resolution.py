"""Apply the manual resolution of a conflict to the state: one side's claims, both, or a new value."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from scopes.errors import Invalid
from scopes.history.messages import message_id_of, read_body
from scopes.ids import Oid
from scopes.merge.apply_resolution import BOTH, apply_choice, set_value
from scopes.merge.conflict_keys import can_have_value, decoded_key, group_of, per_agent, value_field
from scopes.merge.detection import Disagreement, find_disagreements
from scopes.merge.divergence import Divergence, PathChange, changes_on, find_divergence, state_of
from scopes.merge.in_progress import HELD, InProgress
from scopes.merge.rewrite import divergence_of
from scopes.merge.statements import can_state
from scopes.model import encoding
from scopes.model.claims import ENTITIES, MESSAGES, PROPOSALS, content_hash
from scopes.model.conflicts import SIDES, Choice, Conflict, Position
from scopes.model.path_encoding import encode_component
from scopes.store.graph import list_new_commits, walk_newest_first
from scopes.store.objects import BLOB
from scopes.store.repository import Objects, Repository, read_commit
from scopes.store.trees import BlobChange


def find_disagreement(
    repository: Repository, in_progress: InProgress, conflict: Conflict, objects: Objects | None = None
) -> Disagreement:
    """Detect the disagreement behind a recorded conflict again, from the tips of both sides.

    A branch that only holds the record has the values in the record: the disagreement is made from these, and their
    claims are written to `objects` (default: the repository, under its lock).
    """
    divergence = None if in_progress.kind == HELD else _divergence(repository, in_progress)
    for disagreement in () if divergence is None else find_disagreements(repository, divergence):
        if (disagreement.key, disagreement.type) == (conflict.key, conflict.type):
            return disagreement
    return _disagreement_of_record(repository, objects or repository, in_progress.tip, conflict)


def changes_made_since(repository: Repository, in_progress: InProgress, key: str) -> dict[str, BlobChange]:
    """Return the changes that undo what messages on the conflict-resolution branch claimed about a key.

    Without them "take target" would keep such a claim, which neither side has made.
    """
    before, after = (state_of(repository, tip) for tip in (in_progress.target_tip, in_progress.tip))
    changes = changes_on(repository, before, after, [key]).get(key, {})
    return {path: change.old for path, change in changes.items()}


def _disagreement_of_record(repository: Repository, objects: Objects, tip: Oid, conflict: Conflict) -> Disagreement:
    """Make the disagreement that a record describes, from the values of its positions."""
    base, target, source = (
        _claims_of_positions(repository, objects, tip, conflict.key, positions)
        for positions in (conflict.base, conflict.target, conflict.source)
    )
    if group_of(conflict.key) == MESSAGES:  # a side that only answered the message has not changed it
        target, source = target or base, source or base
    changes = [
        {path: PathChange(base.get(path), side.get(path)) for path in {**base, **side}} for side in (target, source)
    ]
    return Disagreement(conflict.key, conflict.type, changes[0], changes[1])


def _claims_of_positions(
    repository: Repository, objects: Objects, tip: Oid, key: str, positions: Iterable[Position]
) -> dict[str, Oid]:
    found = {}
    for position in positions:
        claim = _claim_of_position(repository, tip, key, position)
        if claim is not None:
            agent = f"/{encode_component(position.agent or '')}" if per_agent(key) else ""
            is_entity = group_of(key) == PROPOSALS and isinstance(claim, dict) and claim.keys() == {"value"}
            path = f"{ENTITIES}/{key.partition('/')[2]}=" if is_entity else f"{key}{agent}="
            found[path] = objects.write(BLOB, encoding.dump(claim))
    return found


def _claim_of_position(repository: Repository, tip: Oid, key: str, position: Position) -> Any:
    """Return the claim with the value of a position, the inverse of `claim_value`; None if a message made no claim."""
    value, field = position.value, value_field(key)
    if isinstance(value, dict) and value.keys() == {BOTH}:
        return value
    if field is not None:
        return {field: value}
    if group_of(key) == PROPOSALS and not (isinstance(value, dict) and value.keys() & {"operation", "value"}):
        return {"operation": "update", "after": value}
    if group_of(key) == MESSAGES and isinstance(value, str):
        for commit in walk_newest_first(repository, [tip]):
            if message_id_of(commit) == position.message:
                message = read_body(repository, commit)
                return None if message.amends is None else {"amended": content_hash(message)}
        return None
    return value


def _divergence(repository: Repository, in_progress: InProgress) -> Divergence | None:
    target, source = in_progress.target_tip, in_progress.source_tip
    if in_progress.kind == "merge":
        return find_divergence(repository, repository, target, source, unrelated=True)
    stopped = read_commit(repository, source)
    new_in_target = tuple(list_new_commits(repository, target, source))
    stating = tuple(commit for commit in new_in_target if can_state(commit))
    return divergence_of(repository, target, stopped, new_in_target, stating)


def list_sides(disagreement: Disagreement, conflict: Conflict) -> tuple[str, ...]:
    """Return the sides that can be taken: `base` only if there is a value, `both` only if the key can hold both."""
    return tuple(side for side in SIDES if _find_obstacle(disagreement, conflict, side) is None)


def _find_obstacle(disagreement: Disagreement, conflict: Conflict, side: str) -> str | None:
    """Return why a conflict cannot take a side; None if it can."""
    if side == "base" and not conflict.base:
        return f"{decoded_key(conflict.key)} has no value at the merge base"
    return _find_obstacle_to_both(disagreement) if side == BOTH else None


def _find_obstacle_to_both(disagreement: Disagreement) -> str | None:
    """Return why a key cannot hold the values of both sides; None if it can."""
    key, target, source = disagreement.key, disagreement.target, disagreement.source
    if group_of(key) == MESSAGES:
        return "a message cannot have two texts"
    has_one_value = value_field(key) is not None or group_of(key) == PROPOSALS
    if has_one_value and any(target[path].new != source[path].new for path in target.keys() & source.keys()):
        return f"{decoded_key(key)} holds one value"
    return None


def require_side(disagreement: Disagreement, conflict: Conflict, side: str) -> None:
    """Check that a conflict can take a side.

    Raises:
        Invalid: it cannot; the hint names the sides that it can take.
    """
    sides = list_sides(disagreement, conflict)
    if side in sides:
        return
    obstacle = _find_obstacle(disagreement, conflict, side)
    hint = f"take {', '.join(sides[:-1])} or {sides[-1]}"
    hint += " (ours is target, theirs is source)" if obstacle is None else ""
    if can_have_value(disagreement.key):
        hint += ", or give a new value: --value 'as we agreed'"
    raise Invalid(obstacle or f"{side!a} is not a valid side of a conflict", hint=hint)


def resolved_changes(
    repository: Repository, disagreement: Disagreement, conflict: Conflict, choice: Choice, *, value: Any, actor: str
) -> dict[str, BlobChange]:
    """Return the changes to the target's state that apply a resolution; `value` is used for the choice "value".

    Raises:
        Invalid: the key cannot be set to a value, or not to this one.
    """
    target, source = disagreement.target, disagreement.source
    if choice != "value":
        return apply_choice(repository, target, source, choice)
    if not can_have_value(disagreement.key):
        sides = ", ".join(list_sides(disagreement, conflict))
        raise Invalid(
            f"{decoded_key(disagreement.key)} cannot be set to a value", hint=f"take a side with --take: {sides}"
        )
    return set_value(disagreement, value, actor)


def read_value(key: str, text: str) -> Any:
    """Parse a value from the command line: as JSON if the key can hold any value and the text is JSON, else as text.

    Raises:
        Invalid: the JSON cannot be stored.
    """
    if value_field(key) is not None or group_of(key) == MESSAGES:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    encoding.dump(value)
    return value
