"""Properties of merges, on histories drawn by hypothesis: two branches diverge and are merged."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from scopes.conversation.branch import branch
from scopes.conversation.conflicts import list_conflicts, resolve_conflict
from scopes.conversation.merge import MergeConflicted, MergeOptions, UpToDate, abort_merge, continue_merge, merge
from scopes.conversation.undo import undo
from scopes.history.names import list_branch_tips
from scopes.merge.compare import state_of
from scopes.model.message import Author
from scopes.store.objects import walk_blobs
from tests.support.examples import examples
from tests.support.history import history, say
from tests.support.store import assert_sound

BRANCHES = ("main", "fix")
ORDERS = (BRANCHES, BRANCHES[::-1])
CONTESTED = frozenset({"decisions", "analyses", "methods", "priorities", "proposals"})

on_store = settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
agents = st.sampled_from(["carol", "dave"])
words = st.sampled_from(["x", "y"])
topics = st.sampled_from(["auth", "data/base", "ui"])


@st.composite
def claims(draw):
    """Draw one message in the form of `append --jsonl`."""
    word, topic = draw(words), draw(topics)
    return draw(
        st.sampled_from(
            [
                {},
                {"kind": "decision", "decision": {"topic": topic, "decision": word}},
                {
                    "kind": "analysis",
                    "analysis": {"subject": topic, "aspect": "risk", "finding": word, "confidence": 0.5},
                },
                {"kind": "method", "method": {"goal": topic, "approach": word}},
                {"files": [{"path": f"src/{topic}.py", "op": "edit", "content_hash": f"sha256:{word}"}]},
            ]
        )
    )


steps = st.tuples(st.sampled_from(BRANCHES), agents, claims())


def draw_history(repository, below, above):
    """Append messages, fork, append to both branches; return the conversation."""
    conversation = history(repository, "main: a").conversation
    for _, agent, fields in below:
        say(repository, f"{conversation}/main", "below", author=agent, **fields)
    branch(repository, conversation, name="fix", start="main", switch=False)
    for place, agent, fields in above:
        say(repository, f"{conversation}/{place}", f"on {place}", author=agent, **fields)
    return conversation


def states(repository, conversation, name):
    """Return the state of a branch: blob by path."""
    state = state_of(repository, list_branch_tips(repository, conversation)[name])
    return {} if state is None else dict(walk_blobs(repository, state))


def both_ways(repository, below, above):
    """Merge fix into main and, in the same history drawn once more, main into fix."""
    outcomes = []
    for source, target in (("fix", "main"), ("main", "fix")):
        conversation = draw_history(repository, below, above)
        outcomes.append((merge(repository, conversation, source, target=target), conversation, target))
    return outcomes


@on_store
@given(st.lists(steps, max_size=4), st.lists(steps, max_size=8))
def test_both_directions_have_equal_conflicts_and_equal_state(repository, below, above):
    """P11, S4-19: the direction of the merge does not matter."""
    (one, first, main), (two, second, fix) = both_ways(repository, below, above)
    assert [(c.type, c.key, c.id, c.status) for c in one.conflicts] == [
        (c.type, c.key, c.id, c.status) for c in two.conflicts
    ]
    assert isinstance(one, MergeConflicted) == isinstance(two, MergeConflicted)
    if not isinstance(one, MergeConflicted):
        assert states(repository, first, main) == states(repository, second, fix)
    assert_sound(repository)


@on_store
@given(st.lists(steps, max_size=4), st.lists(steps, max_size=8))
def test_a_merge_stops_exactly_at_the_keys_with_different_outcomes(repository, below, above):
    conversation = draw_history(repository, below, above)
    expected = contested(below, above)
    done = merge(repository, conversation, "fix", target="main")
    assert {c.key for c in done.conflicts if c.status != "resolved"} == expected
    assert isinstance(done, MergeConflicted) == bool(expected)


def contested(below, above):
    """Compute the keys that both branches changed to different values."""
    base = last_claims(below)
    ends = {name: last_claims([*below, *(step for step in above if step[0] == name)]) for name in BRANCHES}
    moved = {name: {s for s, value in ends[name].items() if base.get(s) != value} for name in BRANCHES}
    stated = {name: set(last_claims([step for step in above if step[0] == name])) for name in BRANCHES}
    found = set()
    for subject in {place[:2] for name in BRANCHES for place in moved[name]}:
        here, there = (counted(ends[one], subject, moved[one], stated[one], moved[two]) for one, two in ORDERS)
        if not here or not there:
            continue
        crossed = any(here[place] != there[place] for place in here.keys() & there.keys())
        if crossed or set(here.values()) != set(there.values()):
            found.add("/".join(subject))
    return found


def counted(ends, subject, moved, stated, moved_by_other):
    """Return what a side changed, with what it stated again: all, or what the other side changed."""
    here = {place for place in moved if place[:2] == subject}
    again = {place for place in stated - moved if place[:2] == subject}
    return {place: ends[place] for place in here | (again & moved_by_other if here else again)}


def last_claims(steps):
    """Return the last claim of every key: group, subject, agent."""
    places = {}
    for _, agent, fields in steps:
        match fields:
            case {"decision": {"topic": topic, "decision": word}}:
                places["decisions", encoded(topic), ""] = word
            case {"analysis": {"subject": topic, "finding": word}}:
                places["analyses", f"{encoded(topic)}/risk", agent] = word
            case {"method": {"goal": topic, "approach": word}}:
                places["methods", encoded(topic), agent] = word
    return places


def encoded(name):
    return name.replace("/", "%2F")


@on_store
@given(st.lists(steps, max_size=4), st.lists(steps, max_size=8))
def test_a_merged_branch_is_up_to_date_and_undo_restores_every_ref(repository, below, above):
    """P9."""
    conversation = draw_history(repository, below, above)
    before = view(repository)
    done = merge(repository, conversation, "fix", target="main")
    if isinstance(done, MergeConflicted):
        abort_merge(repository, conversation)
        assert without_meta(view(repository)) == without_meta(before)
        undo(repository)
        assert list_conflicts(repository, conversation).conflicts
    elif not isinstance(done, UpToDate):
        again = merge(repository, conversation, "fix", target="main")
        assert isinstance(again, UpToDate)
    if not isinstance(done, UpToDate):
        undo(repository)
        assert view(repository) == before


def view(repository):
    return {ref: oid for ref, oid in repository.list_refs().items() if ref != "refs/scopes/operations"}


def without_meta(refs):
    return {ref: oid for ref, oid in refs.items() if not ref.startswith("refs/scopes/meta/")}


METHODS = [{"kind": "method", "method": {"goal": "data/base", "approach": word}} for word in "xy"]


@on_store
@given(st.lists(steps, max_size=3), st.lists(steps, max_size=5), st.lists(steps, max_size=3), st.booleans())
@example(  # several positions before, whose commits have no order of their own
    below=[("main", "dave", METHODS[1]), ("main", "carol", {}), ("main", "dave", {})],
    above=[("main", "dave", METHODS[0]), ("fix", "carol", METHODS[1])],
    after=[("main", "dave", METHODS[0])],
    turned=False,
)
@pytest.mark.slow
def test_a_criss_cross_merge_gives_the_same_result_in_both_directions(repository, below, above, after, turned):
    """Both sides merged the other's old tip and continued; no resolved conflict is asked again."""
    outcomes = []
    for source, target in (("fix", "main"), ("main", "fix")):
        conversation = draw_history(repository, below, above)
        old = list_branch_tips(repository, conversation)
        for name, other in (("main", "fix"), ("fix", "main")):
            merge(
                repository,
                conversation,
                old[other],
                target=name,
                options=MergeOptions(strategy="ours", fast_forward=False),
            )
        for place, agent, fields in after:
            say(repository, f"{conversation}/{place}", "after", author=agent, **fields)
        outcomes.append((merge(repository, conversation, source, target=target), conversation, target))
    (one, first, main), (two, second, fix) = outcomes
    assert [(c.type, c.key, c.id) for c in one.conflicts] == [(c.type, c.key, c.id) for c in two.conflicts]
    if not isinstance(one, MergeConflicted):
        assert states(repository, first, main) == states(repository, second, fix)


@settings(on_store, max_examples=examples(20))
@given(st.lists(steps, max_size=3), st.lists(steps, max_size=6), st.sampled_from(["source", "target"]), st.booleans())
def test_no_conflict_is_a_dead_end_for_a_branch_that_holds_it(repository, below, above, take, aborted):
    """From a branch that began at open conflicts some commands lead to a state without any."""
    conversation = draw_history(repository, below, above)
    stopped = merge(repository, conversation, "fix", target="main")
    if not isinstance(stopped, MergeConflicted):
        return
    branch(repository, conversation, name="talk", start=stopped.branch, switch=False)
    say(repository, f"{conversation}/talk", "more")
    if aborted:
        abort_merge(repository, conversation)
    for row in list_conflicts(repository, conversation).conflicts:
        resolve_conflict(repository, conversation, row.conflict.id, take=take, author=Author("judge"))
    if not aborted:
        continue_merge(repository, conversation)
    merge(repository, conversation, "talk", target="main")
    assert not list_conflicts(repository, conversation).conflicts
