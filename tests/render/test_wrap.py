from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from scopes.render.wrap import wrap_line


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("", [""]),
        ("short", ["short"]),
        ("exactly 10", ["exactly 10"]),
        ("one two three", ["one two", "three"]),
        ("abcdefghijklm", ["abcdefghij", "klm"]),
        ("ab abcdefghijklm x", ["ab", "abcdefghij", "klm x"]),
        ("  two two two", ["  two two", "two"]),
        ("日本語日本語", ["日本語日本", "語"]),
        ("ten chars.     ", ["ten chars."]),
        ("              ", ["          ", "    "]),
    ],
)
def test_lines_break_before_words_and_inside_long_ones(line, rows):
    assert list(wrap_line(line, 10)) == rows


texts = st.text(st.sampled_from("ab 日é🚀\u0301"), max_size=60)


@given(texts, st.integers(4, 30))
def test_no_row_is_wider_than_the_terminal(line, width):
    assert all(cell_len(row) <= width for row in wrap_line(line, width))


@given(texts, st.integers(4, 30))
def test_folding_loses_nothing_but_blanks(line, width):
    assert "".join(wrap_line(line, width)).replace(" ", "") == line.replace(" ", "")
