"""Carrying a decision about a conflict into the state: one side's claims, both, or a value that nobody had said."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from scopes.errors import Invalid, Refused
from scopes.merge.conflict_keys import MESSAGES, PROPOSALS, group_of, per_agent, shown_key, value_field
from scopes.merge.detection import Disagreement, find_disagreements
from scopes.merge.divergence import Divergence, find_divergence
from scopes.merge.in_progress import InProgress
from scopes.merge.plan import apply_choice
from scopes.merge.replay import divergence_of
from scopes.model import canonical
from scopes.model.claims import parts_hash
from scopes.model.conflict import Choice, Conflict
from scopes.model.message import text_parts
from scopes.model.path_encoding import encode_component
from scopes.store.graph import list_new_commits
from scopes.store.repository import Repository, read_commit
from scopes.store.trees import Change

_URGENCIES = ("low", "normal", "high", "critical")


def find_disagreement(repository: Repository, pending: InProgress, conflict: Conflict) -> Disagreement:
    """Find what a recorded conflict is about, from the tips that were to be joined.

    Raises:
        Refused: those tips disagree on nothing of that kind, so that the record was written by somebody else.
    """
    divergence = _divergence(repository, pending)
    contests = () if divergence is None else find_disagreements(repository, divergence)
    for contest in contests:
        if (contest.key, contest.type) == (conflict.key, conflict.type):
            return contest
    raise Refused(
        f"conflict {conflict.id} does not come from the {pending.kind} that waits on {pending.branch}",
        hint=f"take that {pending.kind} back: scopes conv {pending.kind} {pending.conversation} --abort",
    )


def _divergence(repository: Repository, pending: InProgress) -> Divergence | None:
    if pending.kind == "merge":
        return find_divergence(repository, repository, pending.target_tip, pending.source_tip, unrelated=True)
    stopped = read_commit(repository, pending.source_tip)
    beside = list_new_commits(repository, pending.target_tip, stopped.oid)
    return divergence_of(repository, pending.target_tip, stopped, beside)


def resolved_changes(
    repository: Repository, contest: Disagreement, choice: Choice, value: Any, actor: str
) -> dict[str, Change]:
    """Return what a resolution makes of the paths of a subject, as changes of the target's state.

    Raises:
        Invalid: the subject has no place for such a value.
    """
    if choice == "both" and group_of(contest.key) == MESSAGES:
        raise Invalid("a message cannot say two things", hint="take a side, or write what it says: --value TEXT")
    shared = contest.target.keys() & contest.source.keys() if choice == "both" else ()
    if _holds_one_value(contest.key) and any(contest.target[path].new != contest.source[path].new for path in shared):
        raise Invalid(
            f"{shown_key(contest.key)} holds one value", hint="take a side, or say it anew: --value 'as we agreed'"
        )
    if choice != "value":
        return apply_choice(repository, contest.target, contest.source, choice)
    paths: Mapping[str, Any] = {**contest.target, **contest.source}
    path, claim = _claim_of_value(contest.key, value, actor)
    changes: dict[str, Change] = dict.fromkeys(paths)
    changes[path] = canonical.dump(claim)
    return changes


def _holds_one_value(key: str) -> bool:
    return value_field(key) is not None or group_of(key) == PROPOSALS


def read_value(key: str, text: str) -> Any:
    """Read a value as somebody types it: JSON where a subject takes any value and the text is that, else the text.

    Raises:
        Invalid: it is JSON that cannot be stored.
    """
    if value_field(key) is not None or group_of(key) == MESSAGES:
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    canonical.dump(value)
    return value


def _claim_of_value(key: str, value: Any, actor: str) -> tuple[str, Any]:
    """Make the claim that holds a value of one's own, and the path that it stands at."""
    group, field = group_of(key), value_field(key)
    if group == "priorities" and value not in _URGENCIES:
        raise Invalid(f"{value!a} is no urgency", hint="one of: " + ", ".join(_URGENCIES))
    if (field is not None or group == MESSAGES) and not value.strip():
        what = f"the {field} of {shown_key(key)}" if field is not None else "what a message says instead"
        raise Invalid(f"{what} cannot be empty", hint="for example: --value 'as we agreed'")
    if field is not None:
        agent = f"/{encode_component(actor)}" if per_agent(key) else ""
        return f"{key}{agent}=", {field: value}
    if group == MESSAGES:
        return f"{key}=", {"amended": parts_hash(text_parts(value))}
    if group == PROPOSALS:
        return f"entities/{key.partition('/')[2]}=", {"value": value}
    raise Invalid(f"{shown_key(key)} takes no value of its own", hint="take a side: --take source or --take target")
