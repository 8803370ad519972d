from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from scopes.render.view import Span
from scopes.render.wrap import truncate_line, truncate_text


def text(spans):
    """The text of spans."""
    return "".join(span.text for span in spans)


def test_a_line_that_fits_stays_as_it_is():
    assert truncate_line(("ab", Span("cd", "id")), 4) == (Span("ab"), Span("cd", "id"))


def test_a_longer_line_ends_in_an_ellipsis_and_keeps_its_styles():
    assert truncate_line(("ab", Span("cde", "id")), 4) == (Span("ab"), Span("c…", "id"))


@given(
    st.lists(st.text(max_size=8) | st.sampled_from(["日本語", "e\u0301", "\x1b[2J"]), max_size=5), st.integers(1, 20)
)
def test_no_line_is_wider_than_the_room(parts, width):
    assert cell_len(text(truncate_line(tuple(parts), width))) <= width


@pytest.mark.parametrize(
    ("tail", "width", "expected"),
    [
        (False, 9, "/src/a.py"),
        (False, 6, "/src/…"),
        (False, 1, "…"),
        (True, 9, "/src/a.py"),
        (True, 6, "…/a.py"),
        (True, 1, "…"),
    ],
)
def test_a_text_is_shortened_at_its_end_or_a_path_at_its_start(tail, width, expected):
    assert truncate_text("/src/a.py", width, tail=tail) == expected


@given(st.text(max_size=30) | st.sampled_from(["日本語/日本語.py"]), st.integers(1, 20), st.booleans())
def test_what_is_shortened_fits(value, width, tail):
    assert cell_len(truncate_text(value, width, tail=tail)) <= width
