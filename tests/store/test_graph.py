"""The order of commits and ancestry on drawn graphs, compared with git's results."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import NotFound
from scopes.ids import Oid
from scopes.store.graph import (
    drop_ancestors,
    is_ancestor,
    list_merge_bases,
    list_new_commits,
    split_histories,
    walk_newest_first,
    walk_oldest_first,
)
from scopes.store.packs import bulk_objects
from tests.support.examples import examples
from tests.support.store import (
    NOON,
    Process,
    git,
    loose_path,
    make_branch,
    open_store,
    outcome,
    read_bytes,
    write_bytes,
    write_chain,
    write_message,
)


@st.composite
def shapes(draw):
    """Draw a graph: for every commit its parents among those before it; and which are tips, which hidden."""
    size = draw(st.integers(1, 12))
    parents = [sorted(draw(st.sets(st.integers(0, n - 1), max_size=min(n, 3)))) if n else [] for n in range(size)]
    numbers = st.integers(0, size - 1)
    return parents, draw(st.lists(numbers, min_size=1, max_size=3)), draw(st.lists(numbers, max_size=2))


def draw_graph(repository, parents):
    commits = []
    for number, above in enumerate(parents):
        commits.append(write_message(repository, str(number), *(commits[p] for p in above)))
    return commits


def reachable(parents, tips, hidden):
    """Return what can be reached without passing a hidden commit."""
    found, stack = set(), [tip for tip in tips if tip not in hidden]
    while stack:
        number = stack.pop()
        if number not in found:
            found.add(number)
            stack += [p for p in parents[number] if p not in hidden]
    return found


on_store = settings(
    max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@on_store
@given(shapes())
def test_oldest_first_yields_every_commit_once_after_its_parents(repository, shape):
    parents, tips, hidden = shape
    commits = draw_graph(repository, parents)
    hide = {commits[n] for n in hidden}
    order = [commits.index(c.oid) for c in walk_oldest_first(repository, [commits[t] for t in tips], hide)]
    assert len(set(order)) == len(order)
    assert set(order) == reachable(parents, tips, hidden)
    assert all(order.index(p) < order.index(n) for n in order for p in parents[n] if p in order)


@on_store
@given(shapes())
def test_newest_first_is_oldest_first_reversed(repository, shape):
    parents, tips, hidden = shape
    commits = draw_graph(repository, parents)
    arguments = (repository, [commits[t] for t in tips], {commits[n] for n in hidden})
    assert list(walk_newest_first(*arguments)) == list(walk_oldest_first(*arguments))[::-1]


@on_store
@given(shapes())
def test_ancestry_agrees_with_git(repository, shape):
    parents, tips, _ = shape
    commits = draw_graph(repository, parents)
    tip = commits[tips[0]]
    above = set(git(repository, "rev-list", tip).split())
    assert {oid for oid in commits if is_ancestor(repository, oid, tip)} == above


def test_the_commits_of_each_side_of_a_merge_stay_together(repository):
    """The second parent's stretch stands above the first's."""
    base = write_message(repository, "base")
    first = write_message(repository, "f2", write_message(repository, "f1", base))
    second = write_message(repository, "s2", write_message(repository, "s1", base))
    tip = write_message(repository, "after", write_message(repository, "merge", first, second))
    output = [commit.subject for commit in walk_newest_first(repository, [tip])]
    assert output == ["after", "merge", "s2", "s1", "f2", "f1", "base"]


def test_the_last_of_several_tips_comes_first_and_duplicates_count_once(repository):
    one, two = write_message(repository, "one"), write_message(repository, "two")
    assert [c.subject for c in walk_newest_first(repository, [one, two, one])] == ["two", "one"]


def test_a_hidden_tip_yields_nothing(repository):
    one, two = write_chain(repository, "one", "two")
    assert list(walk_newest_first(repository, [two], {two})) == []
    assert [c.subject for c in walk_newest_first(repository, [two], {one})] == ["two"]
    assert list(walk_newest_first(repository, [])) == []


def test_the_first_commits_of_a_linear_history_are_yielded_before_the_others_are_read(repository):
    tips = write_chain(repository, *(str(n) for n in range(50)))

    class Counting:
        reads = 0

        def read(self, oid):
            self.reads += 1
            return repository.read(oid)

    counting = Counting()
    walk = walk_newest_first(counting, [tips[-1]])
    assert [next(walk).subject for _ in range(3)] == ["49", "48", "47"]
    assert counting.reads == 3


def test_a_history_deeper_than_the_recursion_limit_is_walked(repository):
    tips = write_chain(repository, *(str(n) for n in range(1500)))
    merge = write_message(repository, "merge", tips[-1], tips[700])
    assert len(list(walk_newest_first(repository, [merge]))) == 1501
    assert len(list(walk_oldest_first(repository, [merge]))) == 1501


@pytest.mark.parametrize("damage", ["truncated", "empty"])
def test_an_ancestry_check_ends_at_a_damaged_commit(repository, damage):
    """D-37: libgit2 1.9.7 would ask for ever (issue 7342)."""
    tips = write_chain(repository, *(str(n) for n in range(5)))
    path = loose_path(repository, tips[2])
    stored = read_bytes(path)
    write_bytes(path, stored[: len(stored) // 2] if damage == "truncated" else b"")
    code = outcome("from scopes.store.graph import is_ancestor\nprint(is_ancestor(open_store(path), *sys.argv[2:4]))")
    output = Process(code, repository.path, tips[0], tips[-1]).finish(timeout=10)
    assert output.startswith(f"corrupt|7|object {tips[2]} is damaged")


def test_ancestry_is_the_same_loose_packed_and_mixed(repository):
    tips = make_branch(repository, *(str(n) for n in range(5)))
    for _ in range(2):
        assert [is_ancestor(open_store(repository), tips[1], tip) for tip in tips] == [False, True, True, True, True]
        git(repository, "gc", "-q")
        git(repository, "update-ref", "refs/heads/x/y", write_message(repository, "on top", tips[-1]))
    assert is_ancestor(repository, tips[0], Oid(repository.find_ref("refs/heads/x/y")))


def test_ancestry_uses_a_pack_added_while_the_store_is_open(repository):
    base = write_message(repository, "base")
    tips = [base, write_message(repository, "loose", base)]
    assert is_ancestor(repository, tips[0], tips[1])
    for text in ("one", "two"):
        with bulk_objects(repository) as objects:
            tips.append(write_message(objects, text, tips[-1]))
        assert is_ancestor(repository, base, tips[-1])
        assert not is_ancestor(repository, tips[-1], base)


def test_a_missing_commit_is_not_found(repository):
    """D-40: what lies above it is still shown."""
    missing = Oid("1" * 40)
    tip = write_message(repository, "one", missing)
    walk = walk_newest_first(repository, [tip])
    assert next(walk).subject == "one"
    with pytest.raises(NotFound):
        next(walk)
    with pytest.raises(NotFound, match="is not in the store"):
        is_ancestor(repository, missing, tip)


on_store_of_graph = settings(
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


def draw_merges(repository, parents, times):
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


@on_store_of_graph
@given(graphs())
def test_all_merge_bases_are_found_whatever_the_commit_times(repository, graph):
    parents, times, one, two = graph
    commits = draw_merges(repository, parents, times)
    common = ancestors(parents, one) & ancestors(parents, two)
    best = {n for n in common if not any(n in ancestors(parents, other) - {other} for other in common)}
    found = list_merge_bases(repository, commits[one], commits[two])
    assert set(found) == {commits[n] for n in best}
    assert found == list_merge_bases(repository, commits[two], commits[one])
    assert list(found) == sorted(found)


@on_store_of_graph
@given(graphs())
def test_new_commits_are_listed_parents_first(repository, graph):
    parents, times, one, two = graph
    commits = draw_merges(repository, parents, times)
    alone = ancestors(parents, one) - ancestors(parents, two)
    bases = list_merge_bases(repository, commits[one], commits[two])
    for known in (bases, ()):
        order = [commits.index(c.oid) for c in list_new_commits(repository, commits[one], commits[two], known)]
        assert len(order) == len(alone)
        assert set(order) == alone
        assert all(order.index(p) < order.index(n) for n in order for p in parents[n] if p in order)


@on_store_of_graph
@given(graphs())
def test_split_histories_equals_merge_bases_and_new_commits(repository, graph):
    parents, times, one, two = graph
    commits = draw_merges(repository, parents, times)
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


def test_a_merge_base_of_a_missing_commit_is_not_found(repository):
    tip = write_message(repository, "one")
    with pytest.raises(NotFound, match="is not in the store"):
        list_merge_bases(repository, tip, Oid("1" * 40))
