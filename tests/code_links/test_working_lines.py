"""Which lines of the working tree are in the last commit, and where."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.code_links import working_lines
from scopes.code_links.working_lines import map_lines, split_lines


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"", []),
        (b"\n", [""]),
        (b"one", ["one"]),
        (b"one\ntwo\n", ["one", "two"]),
        (b"one\r\ntwo\r\n", ["one", "two"]),
        (b"one\n\ntwo", ["one", "", "two"]),
        (b"a\x0cb\xe2\x80\xa8c\n", ["a\x0cb\u2028c"]),
        (b"\xff\n", ["\ufffd"]),
    ],
)
def test_lines_end_where_git_ends_them(data, lines):
    assert split_lines(data) == lines


@pytest.mark.parametrize(
    ("working", "committed", "expected"),
    [
        ("abc", "abc", {1: 1, 2: 2, 3: 3}),
        ("xabc", "abc", {2: 1, 3: 2, 4: 3}),
        ("abcx", "abc", {1: 1, 2: 2, 3: 3}),
        ("axc", "abc", {1: 1, 3: 3}),
        ("ac", "abc", {1: 1, 2: 3}),
        ("", "abc", {}),
        ("abc", "", {}),
        ("aab", "ab", {1: 1, 3: 2}),
        ("xaybz", "1a2b3", {2: 2, 4: 4}),
    ],
)
def test_equal_lines_are_mapped_in_order(working, committed, expected):
    assert map_lines(list(working), list(committed)) == expected


def test_of_a_very_large_change_only_the_equal_ends_are_mapped(monkeypatch):
    monkeypatch.setattr(working_lines, "MAX_COMPARED", 3)
    assert map_lines(list("axxmxxz"), list("ayymyyz")) == {1: 1, 7: 7}


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_mapped_lines_are_equal_and_keep_their_order(working, committed):
    found = sorted(map_lines(working, committed).items())
    assert all(working[own - 1] == committed[old - 1] for own, old in found)
    assert [old for _, old in found] == sorted({old for _, old in found})
