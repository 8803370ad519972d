"""The lines of a unified diff: of two texts, and of texts that are too long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.conversation.diff import MAX_LINES, diff_lines
from tests.support.diffs import apply_lines
from tests.support.examples import examples

LINES = st.lists(st.sampled_from(["a", "b", "", "-a", "+b", "@@ c"]), max_size=12)


def test_the_lines_are_those_of_a_unified_diff_without_its_file_names():
    assert diff_lines(["a", "b"], ["a", "c"]) == ("@@ -1,2 +1,2 @@", " a", "-b", "+c")


@given(LINES)
def test_a_text_does_not_differ_from_itself(lines):
    assert diff_lines(lines, lines) == ()


@settings(max_examples=examples(400), deadline=None)
@given(LINES, LINES)
def test_the_diff_makes_the_new_text_of_the_old_one(old, new):
    assert apply_lines(old, diff_lines(old, new)) == new


@pytest.mark.parametrize(("count", "is_noted"), [(MAX_LINES, False), (MAX_LINES + 1, True)])
def test_a_text_that_was_not_compared_to_its_end_is_noted(count, is_noted):
    same = ["same"] * count
    notes = [line for line in diff_lines(same, ["other", *same[1:]]) if "only the first" in line]
    assert notes == ["@@ only the first 2,000 lines were compared @@"] * is_noted


def test_long_texts_of_repeated_lines_are_compared_in_bounded_time():
    left = [f"line {number * 7 % 150}" for number in range(100_000)]
    right = [f"line {number * 11 % 150}" for number in range(100_000)]
    before = time.process_time()
    diff_lines(left, right)
    assert time.process_time() - before < 20
