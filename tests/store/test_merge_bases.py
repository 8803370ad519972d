"""Merge bases and new commits on drawn graphs with wrong commit times, compared with git's results."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import NotFound
from scopes.ids import Oid
from scopes.store.graph import drop_ancestors, list_merge_bases, list_new_commits, split_histories
from tests.support.examples import examples
from tests.support.store import NOON, git, write_chain, write_message

on_store = settings(
    max_examples=examples(120), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@st.composite
def graphs(draw):
    """Draw the parents of every commit among the earlier ones, an arbitrary time for each, and two commits."""
    size = draw(st.integers(2, 14))
    parents = [sorted(draw(st.sets(st.integers(0, n - 1), max_size=min(n, 2)))) if n else [] for n in range(size)]
    times = draw(st.lists(st.integers(NOON, NOON + 20), min_size=size, max_size=size))
    numbers = st.integers(0, size - 1)
    return parents, times, draw(numbers), draw(numbers)


def draw_graph(repository, parents, times):
    commits = []
    for number, (above, time) in enumerate(zip(parents, times, strict=True)):
        commits.append(write_message(repository, str(number), *(commits[p] for p in above), time=time))
    return commits


def ancestors(parents, number):
    """Return a commit and all its ancestors."""
    found, stack = set(), [number]
    while stack:
        at = stack.pop()
        if at not in found:
            found.add(at)
            stack += parents[at]
    return found


@on_store
@given(graphs())
def test_all_merge_bases_are_found_whatever_the_commit_times(repository, graph):
    parents, times, one, two = graph
    commits = draw_graph(repository, parents, times)
    common = ancestors(parents, one) & ancestors(parents, two)
    best = {n for n in common if not any(n in ancestors(parents, other) - {other} for other in common)}
    found = list_merge_bases(repository, commits[one], commits[two])
    assert set(found) == {commits[n] for n in best}
    assert found == list_merge_bases(repository, commits[two], commits[one])
    assert list(found) == sorted(found)


@on_store
@given(graphs())
def test_new_commits_are_listed_parents_first(repository, graph):
    parents, times, one, two = graph
    commits = draw_graph(repository, parents, times)
    alone = ancestors(parents, one) - ancestors(parents, two)
    bases = list_merge_bases(repository, commits[one], commits[two])
    for known in (bases, ()):
        order = [commits.index(c.oid) for c in list_new_commits(repository, commits[one], commits[two], known)]
        assert len(order) == len(alone)
        assert set(order) == alone
        assert all(order.index(p) < order.index(n) for n in order for p in parents[n] if p in order)


@on_store
@given(graphs())
def test_split_histories_equals_merge_bases_and_new_commits(repository, graph):
    parents, times, one, two = graph
    commits = draw_graph(repository, parents, times)
    bases = list_merge_bases(repository, commits[one], commits[two])
    found = split_histories(repository, commits[one], commits[two])
    sides = (list_new_commits(repository, commits[a], commits[b], bases) for a, b in ((one, two), (two, one)))
    assert found == (bases, *sides)


def write_line(repository, base, side):
    tip = base
    for number in range(5):
        tip = write_message(repository, f"{side}{number}", tip)
    return tip


def keep(repository, *tips):
    for tip in tips:
        git(repository, "update-ref", f"refs/heads/x/{tip}", tip)


def test_a_criss_cross_merge_has_two_merge_bases_as_in_git(repository):
    root = write_message(repository, "root")
    left, right = write_message(repository, "left", root), write_message(repository, "right", root)
    one = write_message(repository, "one", left, right)
    two = write_message(repository, "two", right, left)
    expected = sorted(git(repository, "merge-base", "--all", one, two).split())
    assert list(list_merge_bases(repository, one, two)) == expected == sorted([left, right])
    assert drop_ancestors(repository, [root, left, right]) == tuple(expected)


def test_unrelated_histories_have_no_merge_base(repository):
    one, two = write_message(repository, "one"), write_message(repository, "two")
    assert list_merge_bases(repository, one, two) == ()
    assert [commit.subject for commit in list_new_commits(repository, one, two)] == ["one"]


def test_a_commit_is_its_own_merge_base_and_has_no_new_commits(repository):
    tips = write_chain(repository, "a", "b", "c")
    assert list_merge_bases(repository, tips[1], tips[1]) == (tips[1],)
    assert list_new_commits(repository, tips[1], tips[1], (tips[1],)) == ()
    assert list_new_commits(repository, tips[0], tips[2]) == ()


def test_a_missing_commit_is_not_found(repository):
    tip = write_message(repository, "one")
    with pytest.raises(NotFound, match="is not in the store"):
        list_merge_bases(repository, tip, Oid("1" * 40))
