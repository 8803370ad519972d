"""Turn the outcome of a resolution into changes of the state: one side's claims, both, the base, or a new value."""

from __future__ import annotations

from typing import Any

from scopes.errors import Invalid
from scopes.ids import Oid
from scopes.merge.conflict_keys import decoded_key, group_of, per_agent, value_field
from scopes.merge.detection import Disagreement
from scopes.merge.divergence import PathChange, PathChanges
from scopes.model import encoding
from scopes.model.claims import ENTITIES, MESSAGES, PRIORITIES, PROPOSALS, parts_hash
from scopes.model.conflicts import Choice, Resolution
from scopes.model.message import URGENCIES, text_parts
from scopes.model.path_encoding import encode_component
from scopes.store.repository import Objects
from scopes.store.trees import BlobChange, read_blob

BOTH = "both"


def apply_resolution(objects: Objects, disagreement: Disagreement, resolution: Resolution) -> dict[str, BlobChange]:
    """Return the changes to the target's state that apply a resolution which needs no checks."""
    if resolution.choice != "value":
        return apply_choice(objects, disagreement.target, disagreement.source, resolution.choice)
    actor = resolution.actor if resolution.reused is None else resolution.reused.actor
    return set_value(disagreement, resolution.value, actor)


def set_value(disagreement: Disagreement, value: Any, actor: str) -> dict[str, BlobChange]:
    """Return the changes to the target's state that replace the claims of both sides by a value.

    Raises:
        Invalid: the key cannot have this value.
    """
    path, claim = _claim_of_value(disagreement.key, value, actor)
    changes: dict[str, BlobChange] = dict.fromkeys([*disagreement.target, *disagreement.source])
    changes[path] = encoding.dump(claim)
    return changes


def apply_choice(objects: Objects, target: PathChanges, source: PathChanges, choice: Choice) -> dict[str, BlobChange]:
    """Return the changes to the target's state that apply a resolution to the paths of one key."""
    changes: dict[str, BlobChange] = {}
    for path in target.keys() | source.keys():
        in_target, in_source = target.get(path), source.get(path)
        change = in_target or in_source
        old = None if change is None else change.old
        match choice:
            case "target":
                changes[path] = old if in_target is None else in_target.new
            case "source":
                changes[path] = old if in_source is None else in_source.new
            case "base":
                changes[path] = old
            case "both":
                changes[path] = _keep_both(objects, in_target, in_source)
    return changes


def _keep_both(objects: Objects, target: PathChange | None, source: PathChange | None) -> BlobChange:
    """Return a value that holds the claims of both sides, in an order that does not depend on the side."""
    if target is None or source is None or target.new == source.new:
        return (target or source or PathChange(None, None)).new
    claims = [claim for change in (target, source) for claim in _read_claims(objects, change.new)]
    unique = {encoding.dump(claim): claim for claim in claims}
    return encoding.dump({BOTH: [unique[data] for data in sorted(unique)]})


def _read_claims(objects: Objects, blob: Oid | None) -> list[Any]:
    if blob is None:
        return [None]
    claim: Any = encoding.load(read_blob(objects, blob))
    match claim:
        case {"both": list(several), **rest} if not rest:
            return several
    return [claim]


def _claim_of_value(key: str, value: Any, actor: str) -> tuple[str, Any]:
    """Return the path and the claim that set a key to a value."""
    group, field = group_of(key), value_field(key)
    if group == PRIORITIES and value not in URGENCIES:
        raise Invalid(f"{value!a} is not a valid urgency", hint="one of: " + ", ".join(URGENCIES))
    if (field is not None or group == MESSAGES) and not value.strip():
        what = f"the {field} of {decoded_key(key)}" if field is not None else "the new text of a message"
        raise Invalid(f"{what} cannot be empty", hint="for example: --value 'as we agreed'")
    if field is not None:
        agent = f"/{encode_component(actor)}" if per_agent(key) else ""
        return f"{key}{agent}=", {field: value}
    if group == MESSAGES:
        return f"{key}=", {"amended": parts_hash(text_parts(value))}
    if group == PROPOSALS:
        return f"{ENTITIES}/{key.partition('/')[2]}=", {"value": value}
    raise Invalid(f"{decoded_key(key)} cannot be set to a value", hint="take a side: --take source or --take target")
