"""The order of commits and ancestry on drawn graphs, compared with git's results."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.errors import NotFound
from scopes.ids import Oid
from scopes.store.graph import is_ancestor, walk_newest_first, walk_oldest_first
from scopes.store.packs import bulk_objects
from tests.support.examples import examples
from tests.support.store import (
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
