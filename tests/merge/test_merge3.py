"""The rule of a three-way merge, as a function of values."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scopes.merge.compare import merge3

values = st.sampled_from(["a", "b", "c", None])


def test_a_value_that_one_side_changed_is_taken():
    assert merge3("a", "b", "a", "conflict") == merge3("a", "a", "b", "conflict") == "b"


def test_equal_changes_do_not_conflict():
    assert merge3("a", "b", "b", "conflict") == "b"
    assert merge3("a", None, None, "conflict") is None


def test_different_changes_are_a_conflict():
    assert merge3("a", "b", "c", "conflict") == merge3(None, "b", "c", "conflict") == "conflict"


@given(values, values, values)
def test_the_sides_can_be_swapped(base, target, source):
    assert merge3(base, target, source, "conflict") == merge3(base, source, target, "conflict")
