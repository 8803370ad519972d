"""The stretches of merged branches in a walk, and what each side of a merge added."""

from __future__ import annotations

import random

import pytest

from scopes.ids import Oid
from scopes.merge.lanes import LaneMap, lane_changes
from scopes.store.graph import walk_oldest_first
from scopes.store.objects import Commit, Identity


def drawn(text):
    """Return commits by name; `m=b,c` is a commit m with the parents b and c, in this order."""
    commits = {}
    for word in text.split():
        name, _, parents = word.partition("=")
        made = tuple(Oid(each) for each in parents.split(",") if each)
        commits[name] = Commit(Oid(name), Oid(""), made, Identity("a", "a@b"), 0, name)
    return commits


def walk(commits, tips, hidden=()):
    return list(walk_oldest_first(_Known(commits), [Oid(tip) for tip in tips], hidden))


class _Known:
    """Objects that are found by name, for walks."""

    def __init__(self, commits):
        self._commits = commits

    def commit(self, oid):
        return self._commits[oid]


@pytest.fixture(autouse=True)
def _read_from_memory(monkeypatch):
    monkeypatch.setattr("scopes.store.graph.read_commit", lambda objects, oid: objects.commit(oid))


def shown(commits, order, tips=()):
    """Return the walk with each lane in brackets."""
    found = LaneMap(order, [Oid(tip) for tip in tips])
    words = [commit.oid for commit in order]
    for lane in reversed(found.lanes):
        words[lane.start] = f"[{words[lane.start]}"
    for lane in found.lanes:
        words[lane.end - 1] += "]"
    for position, inside in enumerate(found.lanes_of()):
        expected = [n for n, lane in enumerate(found.lanes) if lane.start <= position < lane.end]
        assert list(inside) == expected
    return " ".join(words)


def lanes(text, *tips, hidden=()):
    commits = drawn(text)
    return shown(commits, walk(commits, tips, hidden), tips)


def test_a_history_without_merges_has_no_lanes():
    assert lanes("a b=a c=b", "c") == "a b c"
    assert LaneMap([]).lanes == ()


def test_a_lane_is_the_stretch_that_only_the_second_parent_has():
    assert lanes("a b=a x=a y=x m=b,y c=m", "c") == "a b [x y] m c"


def test_a_merge_without_fast_forward_has_a_lane_too():
    assert lanes("a x=a y=x m=a,y", "m") == "a [x y] m"


def test_lanes_nest():
    text = "a b=a x=a p=x y=x n=y,p m=b,n"
    assert lanes(text, "m") == "a b [x y [p] n] m"


def test_lanes_of_several_merges_follow_one_another():
    assert lanes("a x=a b=a m=b,x y=x c=m n=c,y", "n") == "a b [x] m c [y] n"


def test_a_criss_cross_merge_shows_every_commit_once():
    assert lanes("o a=o b=o m=a,b n=b,a t=m,n", "t") == "o a [b] m [n] t"


def test_an_octopus_has_a_lane_for_each_further_parent():
    assert lanes("o a=o b=o c=o m=a,b,c", "m") == "o a [b] [c] m"


def test_what_a_branch_of_its_own_reaches_is_no_lane():
    text = "o a=o b=o x=b m=a,b"
    assert lanes(text, "m", "x") == "o a [b] m x"
    assert lanes(text, "x", "m") == "o b x a m"


def test_a_merged_branch_is_a_lane_if_the_walk_has_nothing_else():
    commits = drawn("o a=o x=o y=x m=a,y b=m")
    assert shown(commits, walk(commits, ["b"], {"a", "o"})) == "[x y] m b"


def test_a_merge_of_what_the_walk_already_has_is_no_lane():
    text = "o a=o b=o m=a,b"
    assert lanes(text, "a", "b", "m") == "o a b m"


@pytest.mark.parametrize("seed", range(60))
def test_lanes_are_right_in_any_history(seed):
    chosen = random.Random(seed)
    commits = drawn("c0")
    for number in range(1, 40):
        parents = chosen.sample(range(max(0, number - 6), number), min(number, chosen.choice((1, 1, 2))))
        commits |= drawn(f"c{number}={','.join(f'c{p}' for p in parents)}")
    order = walk(commits, ["c39"])
    found = LaneMap(order)
    reach = {}
    for commit in order:
        reach[commit.oid] = {commit.oid}.union(*(reach[parent] for parent in commit.parents))
    for lane in found.lanes:
        merge = order[lane.merge]
        inside = {commit.oid for commit in order[lane.start : lane.end]}
        one, two = (reach[parent] for parent in merge.parents)
        assert inside <= two - one
        if lane.outer is not None:
            outer = found.lanes[lane.outer]
            assert outer.start <= lane.start < lane.end <= outer.end


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", ([], [])),
        ("", "ab", ([], ["a", "b"])),
        ("ab", "", (["b", "a"], [])),
        ("ab", "a", (["b"], [])),
        ("a", "b", (["a"], ["b"])),
        ("abc", "ad", (["c", "b"], ["d"])),
        ("a", "a", ([], [])),
    ],
)
def test_lanes_end_innermost_first_and_begin_outermost_first(before, after, expected):
    assert lane_changes(before, after) == expected
