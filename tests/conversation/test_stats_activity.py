"""The time in which agents and tools worked."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scopes.conversation.stats import ActiveTime
from scopes.history.messages import MessageHead
from scopes.ids import MessageId
from scopes.model.message import Author, Message


def activity(*rows):
    """Add messages: each is its name, its parent's, its second, who says it, and how exact its time is."""
    told = ActiveTime()
    for name, parent, second, kind, *precision in rows:
        parents = () if parent is None else (parent,)
        head = MessageHead(MessageId(name), name, parents, kind, kind, "plain", second, "", ())
        extra = {"precision": precision[0]} if precision else {}
        told.add(head, Message(id=MessageId(name), author=Author(kind, kind), parts=(), time="now", extra=extra))
    return told.seconds()


def test_work_goes_from_a_prompt_to_the_last_answer_before_the_next():
    rows = (("a", None, 0, "human"), ("b", "a", 10, "agent"), ("c", "b", 15, "tool"), ("d", "c", 30, "agent"))
    assert activity(*rows) == 30
    assert activity(*rows, ("e", "d", 5000, "human"), ("f", "e", 5001, "agent")) == 31


def test_what_the_harness_puts_in_ends_no_pause():
    assert activity(("a", None, 0, "agent"), ("b", "a", 900, "injected"), ("c", "b", 905, "agent")) == 5


def test_work_side_by_side_counts_once():
    rows = (("a", None, 0, "human"), ("b", "a", 10, "agent"), ("c", "b", 100, "tool"))
    beside = (("x", "root", 11, "injected"), ("y", "x", 50, "agent"), ("z", "y", 120, "agent"))
    assert activity(*rows, *beside) == 120


def test_copied_times_tell_nothing():
    assert activity(("a", None, 0, "human", "restamped"), ("b", "a", 9, "agent", "exact")) is None
    assert activity(("a", None, 0, "human", "exact"), ("b", "a", 9, "agent", "none")) is None


def test_a_clock_that_ran_backwards_tells_nothing():
    assert activity(("a", None, 9, "human"), ("b", "a", 0, "agent")) is None


def test_without_agents_nothing_is_known():
    assert activity() is None
    assert activity(("a", None, 0, "human"), ("b", "a", 9, "human")) is None


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=12))
def test_the_stretches_are_a_union(pairs):
    """Law: a second in which several worked is one second."""
    rows = []
    for number, (one, other) in enumerate(pairs):
        start, end = sorted((one, other))
        rows += [(f"p{number}", None, start, "human"), (f"a{number}", f"p{number}", end, "agent")]
    assert activity(*rows) == len({second for one, other in pairs for second in range(*sorted((one, other)))})
