"""The laws of proposals, for commands in any order."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.conversation.branch import branch
from scopes.conversation.merge import abort_merge, merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.verify import verify
from scopes.errors import Conflicted, Invalid, NotFound, Refused
from scopes.proposals.list import list_proposals
from scopes.proposals.proposal import TRANSITIONS
from tests.support.examples import examples
from tests.support.proposals import MOVES, create, values
from tests.support.store import files_of, make_store

FOLLOWING = {**TRANSITIONS, "pending": TRANSITIONS["pending"] | TRANSITIONS["accepted"]}
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("create"), st.sampled_from(["planner", "writer"]), st.sampled_from(["a", "b"])),
        st.tuples(st.sampled_from(sorted(MOVES)), st.integers(0, 4), st.none()),
    ),
    min_size=3,
    max_size=12,
)


def by_id(repository, branch="main"):
    rows = list_proposals(repository, f"conv-001/{branch}", include_closed=True).proposals
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
            elif verb == "feedback":
                assert values(repository) == present
            elif done.proposal.state == "applied":
                values_before[name] = present
        after = by_id(repository)
        for name, proposal in before.items():
            old, state = proposal.state, after[name].state
            assert old == state or state in FOLLOWING.get(old, ()), (verb, old, state)


ON_BRANCHES = st.lists(
    st.tuples(
        st.sampled_from(["main", "fix"]), st.sampled_from(["create", "merge", *sorted(MOVES)]), st.integers(0, 3)
    ),
    min_size=4,
    max_size=14,
)


@given(steps=ON_BRANCHES)
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_merge_takes_each_state_from_one_of_the_branches(tmp_path_factory, steps):
    """S4-58: or the proposal expires, is superseded, or both sides say so; accepted values come from one of them too."""
    repository = make_store(tmp_path_factory.mktemp("law") / "store.git")
    new(repository)
    branch(repository, "conv-001", name="fix", switch=False)
    made = []
    for where, verb, number in steps:
        other = "fix" if where == "main" else "main"
        if verb == "create":
            with suppress(Invalid):
                agent, value = ("planner", "writer")[number % 2], "ab"[number // 2]
                made.append(create(repository, f"status={value}", agent=agent, where=f"conv-001/{where}").id)
        elif verb == "merge":
            sides = [by_id(repository, name) for name in (where, other)]
            present = [values(repository, f"conv-001/{name}").get("status") for name in (where, other)]
            if getattr(merge(repository, "conv-001", other, target=where), "conflicts", ()):
                abort_merge(repository, "conv-001")
                continue
            for name, proposal in by_id(repository, where).items():
                before = {side[name].state for side in sides if name in side}
                assert proposal.state in {*before, "expired", "superseded"}, (name, before)
                assert proposal.state in before or not before <= {"applied", "rejected", "accepted"}
            assert values(repository, f"conv-001/{where}").get("status") in present
        elif made:
            with suppress(Refused, Conflicted, NotFound):
                MOVES[verb](repository, made[number % len(made)], f"conv-001/{where}")
    assert verify(repository).exit_code == 0
