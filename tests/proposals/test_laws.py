"""The laws of proposals, for commands in any order."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.new import new
from scopes.errors import Conflicted, Invalid, Refused
from scopes.model.message import Author
from scopes.proposals.apply import apply_proposal, rollback_proposal, try_proposal
from scopes.proposals.list import list_proposals
from scopes.proposals.review import accept_proposal, modify_proposal, reject_proposal
from scopes.proposals.steps import TRANSITIONS
from tests.proposals.support import create, values
from tests.support.examples import examples
from tests.support.store import files_of, make_store

CAROL = Author("carol", "human")
MOVES = {
    "accept": lambda r, name: accept_proposal(r, None, name, author=CAROL),
    "accept only": lambda r, name: accept_proposal(r, None, name, author=CAROL, apply=False),
    "reject": lambda r, name: reject_proposal(r, None, name, reason="too-risky", author=CAROL),
    "modify": lambda r, name: modify_proposal(r, None, name, {"status": "m"}, author=CAROL),
    "apply": lambda r, name: apply_proposal(r, None, name, author=CAROL),
    "rollback": lambda r, name: rollback_proposal(r, None, name, author=CAROL),
    "test": lambda r, name: try_proposal(r, None, name, author=CAROL),
}
FOLLOWING = {**TRANSITIONS, "pending": TRANSITIONS["pending"] | TRANSITIONS["accepted"]}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from(["planner", "writer"]), st.sampled_from(["a", "b"])),
        st.tuples(st.sampled_from(sorted(MOVES)), st.integers(0, 4), st.none()),
    ),
    min_size=3,
    max_size=12,
)


def by_id(repository):
    rows = list_proposals(repository, "conv-001", include_closed=True).rows
    return {row.proposal.id: row.proposal for row in rows}


@given(steps=STEPS)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_states_follow_the_table_whatever_the_order_of_commands(tmp_path_factory, steps):
    """S4-58, S4-60: a refused command changes nothing; a test leaves every file; a rollback restores every value.

    A proposal that is applied when it is accepted takes two steps at once.
    """
    repository = make_store(tmp_path_factory.mktemp("law") / "store.git")
    new(repository)
    made, values_before = [], {}
    for verb, which, text in steps:
        before, files = by_id(repository), files_of(repository.path)
        present = values(repository)
        if verb == "create":
            with suppress(Invalid):
                made.append(create(repository, f"status={text}", agent=which).id)
        elif made:
            name = made[which % len(made)]
            try:
                done = MOVES[verb](repository, name)
            except (Refused, Conflicted):
                assert files_of(repository.path) == files
                continue
            if verb == "test":
                assert files_of(repository.path) == files
            elif verb == "rollback":
                assert values(repository) == values_before[name]
            elif done.proposal.state == "applied":
                values_before[name] = present
        after = by_id(repository)
        for name, proposal in before.items():
            old, state = proposal.state, after[name].state
            assert old == state or state in FOLLOWING.get(old, ()), (verb, old, state)
