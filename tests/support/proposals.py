"""Create proposals, decide about them, and set accepted values as the resolution of a conflict does."""

from __future__ import annotations

from dataclasses import replace

from scopes.conversation.append import append
from scopes.history.handles import StoreHandle
from scopes.history.messages import plain_message
from scopes.history.transaction import append_as_operation
from scopes.merge.compare import state_of
from scopes.model.canonical_json import decode_component
from scopes.model.message import Author
from scopes.proposals.list import list_proposals
from scopes.proposals.proposal import read_value, value_claim, value_path
from scopes.proposals.review import (
    Feedback,
    NewChange,
    accept_proposal,
    apply_proposal,
    create_proposal,
    give_feedback,
    reject_proposal,
    rollback_proposal,
    try_proposal,
)
from scopes.store.objects import walk_blobs
from scopes.store.transactions import exclusive_write

ENTITY = "task/42"
CAROL = Author("carol", "human")
MOVES = {
    "accept": lambda r, name, where=None: accept_proposal(r, where, name, author=CAROL),
    "accept only": lambda r, name, where=None: accept_proposal(r, where, name, author=CAROL, apply=False),
    "reject": lambda r, name, where=None: reject_proposal(r, where, name, reason="too-risky", author=CAROL),
    "modify": lambda r, name, where=None: accept_proposal(r, where, name, values={"status": "m"}, author=CAROL),
    "apply": lambda r, name, where=None: apply_proposal(r, where, name, author=CAROL),
    "rollback": lambda r, name, where=None: rollback_proposal(r, where, name, author=CAROL),
    "feedback": lambda r, name, where=None: give_feedback(r, where, name, Feedback("fine", 4), author=CAROL),
    "test": lambda r, name, where=None: try_proposal(r, where, name),
}
"""What can be done with a proposal, by verb: given the store, its id and where it is looked for."""


def create(
    repository,
    *changes,
    entity=ENTITY,
    agent="planner",
    where="conv-001",
    as_appended=False,
    changes_document=None,
    **options,
):
    """Create a proposal; a change is a NewChange or `field=text`."""
    planned = [NewChange(c.partition("=")[0], "set", c.partition("=")[2]) if isinstance(c, str) else c for c in changes]
    if not as_appended:
        branch = StoreHandle(repository).branch(where)
        return create_proposal(branch, entity, planned, author=Author(agent), **options)
    entity_type, _, entity_id = entity.partition("/")
    changed = [{"field_path": each.field, "operation": "update", "after": each.value} for each in planned]
    payload = {"entity_type": entity_type, "entity_id": entity_id, "changes": changes_document or changed}
    return append(repository, where, replace(plain_message(agent, "", kind="proposal"), payload=payload))


def accepted_value(repository, field, value, *, where="conv-001", entity=ENTITY):
    """Set the accepted value of a field."""
    branch = StoreHandle(repository).branch(where)
    path = value_path(*entity.split("/"), field)
    message = plain_message("carol", f"{field} is {value}", kind="notice")
    changes = {path: value_claim(value)}
    with exclusive_write(repository):
        append_as_operation(
            repository, branch.conversation.id, branch.name, message, "resolve", "set", state_changes=changes
        )


def values(repository, where="conv-001", entity=ENTITY):
    """Return the accepted values of an entity on a branch, by field."""
    tip = StoreHandle(repository).branch(where).tip
    prefix = value_path(*entity.split("/"), "")[: -len("%=")]
    state = state_of(repository, tip)
    paths = [path for path, _ in walk_blobs(repository, state)] if state is not None else []
    return {
        decode_component(path[len(prefix) : -1]): read_value(repository, state, path)
        for path in paths
        if path.startswith(prefix)
    }


def states(repository, where="conv-001"):
    """Return the states of all proposals, oldest first by time of creation."""
    rows = list_proposals(repository, where, include_closed=True).proposals
    return [row.proposal.state for row in sorted(rows, key=lambda row: order_of(repository, where, row.proposal.id))]


def order_of(repository, where, proposal):
    """Return the position of a message in the history of all branches."""
    handle = StoreHandle(repository).conversation(where.partition("/")[0])
    ids = [head.id for branch in handle.branches() for head in reversed(list(branch.headers()))]
    return ids.index(proposal)
