"""Apply the manual resolution of a conflict to the state: one side's claims, both, or a new value."""

from __future__ import annotations

import json
from typing import Any

from scopes.errors import Invalid, Refused
from scopes.merge.conflict_keys import group_of, per_agent, shown_key, value_field
from scopes.merge.detection import Disagreement, find_disagreements
from scopes.merge.divergence import Divergence, find_divergence
from scopes.merge.in_progress import InProgress
from scopes.merge.plan import apply_choice
from scopes.merge.rewrite import divergence_of
from scopes.model import encoding
from scopes.model.claims import parts_hash
from scopes.model.conflicts import ENTITIES, MESSAGES, PRIORITIES, PROPOSALS, Choice, Conflict
from scopes.model.message import URGENCIES, text_parts
from scopes.model.path_encoding import encode_component
from scopes.store.graph import list_new_commits
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import BlobChange


def find_disagreement(repository: Repository, in_progress: InProgress, conflict: Conflict) -> Disagreement:
    """Detect the disagreement behind a recorded conflict again, from the tips of both sides.

    Raises:
        Refused: there is none, so the record was written by another program.
    """
    divergence = _divergence(repository, in_progress)
    for disagreement in () if divergence is None else find_disagreements(repository, divergence):
        if (disagreement.key, disagreement.type) == (conflict.key, conflict.type):
            return disagreement
    raise Refused(
        f"conflict {conflict.id} does not come from the {in_progress.kind} in progress on {in_progress.branch}",
        hint=f"abort the {in_progress.kind}: scopes conv {in_progress.kind} {in_progress.conversation} --abort",
    )


def _divergence(repository: Repository, in_progress: InProgress) -> Divergence | None:
    if in_progress.kind == "merge":
        return find_divergence(repository, repository, in_progress.target_tip, in_progress.source_tip, unrelated=True)
    stopped = read_commit(repository, in_progress.source_tip)
    new_in_target = list_new_commits(repository, in_progress.target_tip, stopped.oid)
    return divergence_of(repository, in_progress.target_tip, stopped, new_in_target)


def resolved_changes(
    repository: Repository, disagreement: Disagreement, choice: Choice, value: Any, actor: str
) -> dict[str, BlobChange]:
    """Return the changes to the target's state that apply a resolution; `value` is used for the choice "value".

    Raises:
        Invalid: the key cannot hold both values, or not this one.
    """
    key, target, source = disagreement.key, disagreement.target, disagreement.source
    if choice == "both" and group_of(key) == MESSAGES:
        raise Invalid("a message cannot have two texts", hint="take a side, or give it a new text: --value TEXT")
    shared = target.keys() & source.keys() if choice == "both" else ()
    if _has_single_value(key) and any(target[path].new != source[path].new for path in shared):
        hint = "take a side, or give a new value: --value 'as we agreed'"
        raise Invalid(f"{shown_key(key)} holds one value", hint=hint)
    if choice != "value":
        return apply_choice(repository, target, source, choice)
    path, claim = _claim_of_value(key, value, actor)
    changes: dict[str, BlobChange] = dict.fromkeys([*target, *source])
    changes[path] = encoding.dump(claim)
    return changes


def _has_single_value(key: str) -> bool:
    return value_field(key) is not None or group_of(key) == PROPOSALS


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


def _claim_of_value(key: str, value: Any, actor: str) -> tuple[str, Any]:
    """Return the path and the claim that set a key to a value."""
    group, field = group_of(key), value_field(key)
    if group == PRIORITIES and value not in URGENCIES:
        raise Invalid(f"{value!a} is not a valid urgency", hint="one of: " + ", ".join(URGENCIES))
    if (field is not None or group == MESSAGES) and not value.strip():
        what = f"the {field} of {shown_key(key)}" if field is not None else "the new text of a message"
        raise Invalid(f"{what} cannot be empty", hint="for example: --value 'as we agreed'")
    if field is not None:
        agent = f"/{encode_component(actor)}" if per_agent(key) else ""
        return f"{key}{agent}=", {field: value}
    if group == MESSAGES:
        return f"{key}=", {"amended": parts_hash(text_parts(value))}
    if group == PROPOSALS:
        return f"{ENTITIES}/{key.partition('/')[2]}=", {"value": value}
    raise Invalid(f"{shown_key(key)} cannot be set to a value", hint="take a side: --take source or --take target")
