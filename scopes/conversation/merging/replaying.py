"""One message put on top of another commit: what it changed is merged into the state that it finds there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from scopes.conversation.heads import MESSAGE_FILE, read_message
from scopes.conversation.merging.plan import MergePlan, plan_of, write_state
from scopes.conversation.merging.settling import Policy
from scopes.conversation.merging.states import Divergence, diverged, state_of
from scopes.conversation.message_commit import write_commit_over
from scopes.ids import Oid
from scopes.store.objects import Commit
from scopes.store.repository import Objects, read_tree


@dataclass(frozen=True, slots=True)
class Replayed:
    """A message at its new place; with open conflicts its state still stands as the new parent has it there."""

    oid: Oid
    plan: MergePlan


def replay(objects: Objects, onto: Oid, commit: Commit, policy: Policy, beside: Sequence[Commit] = ()) -> Replayed:
    """Write a message over `onto`: the same bytes and id, the state merged three ways over its old parent's.

    `beside` are the commits of the new place that the old one has not, oldest first; they tell who said what there.
    """
    plan = plan_of(objects, divergence_of(objects, onto, commit, beside), policy)
    state = write_state(objects, plan)
    blob = read_tree(objects, commit.tree)[MESSAGE_FILE].oid
    message = read_message(objects, commit.oid)
    return Replayed(write_commit_over(objects, (onto,), message, blob, state, time=commit.time), plan)


def divergence_of(objects: Objects, onto: Oid, commit: Commit, beside: Sequence[Commit] = ()) -> Divergence:
    """Compare what one message changed with what its new place changed, over the message's old parent."""
    parent = commit.parents[0] if commit.parents else None
    base_state = None if parent is None else state_of(objects, parent)
    bases = () if parent is None else (parent,)
    return diverged(objects, onto, commit.oid, beside, (commit,), bases, base_state)
