"""Wrapping help texts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scopes.cli.text_wrap import blocks, columns, fill


def test_a_paragraph_is_wrapped_and_its_line_ends_do_not_matter():
    assert fill("one two\nthree four", 9) == ["one two", "three", "four"]


def test_paragraphs_are_separated_by_one_empty_line():
    assert fill("one\n\ntwo\n\n\nthree", 80) == ["one", "", "two", "", "three"]


def test_indented_lines_are_not_wrapped():
    text = "Write:\n  one    two\n  three\nand go on."
    assert fill(text, 80) == ["Write:", "  one    two", "  three", "", "and go on."]


def test_a_paragraph_marked_with_a_backspace_is_not_wrapped():
    assert fill("before\n\n\b\na   b\nc", 80) == ["before", "", "a   b", "c"]


def test_long_words_such_as_paths_are_not_broken():
    assert fill("see /a/very/long/path-with-hyphens/indeed now", 10) == [
        "see",
        "/a/very/long/path-with-hyphens/indeed",
        "now",
    ]


def test_blocks_mark_verbatim_lines():
    assert list(blocks("a\nb\n c\nd")) == [(False, ["a", "b"]), (True, [" c"]), (False, ["d"])]


def test_columns_put_a_long_label_on_a_line_of_its_own():
    lines = columns([("-x", "short"), ("--a-very-long-option-name NAME", "text")], 80)
    assert lines == ["  -x                      short", "  --a-very-long-option-name NAME", " " * 26 + "text"]


def test_columns_wrap_the_explanation_under_itself():
    lines = columns([("-x", "one two three fourteen fifteen")], 42)
    assert lines == ["  -x                      one two three", " " * 26 + "fourteen fifteen"]


def test_an_empty_text_is_only_a_label():
    assert columns([("-x", "")], 80) == ["  -x"]


@given(st.text(alphabet="ab \n", max_size=80), st.integers(min_value=10, max_value=40))
def test_wrapping_keeps_every_word_in_its_order(text, width):
    assert " ".join(fill(text, width)).split() == text.split()
