from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from scopes.render.text.fitting import fit
from scopes.render.view import Span


def text(spans):
    """The text of spans."""
    return "".join(span.text for span in spans)


def test_a_line_that_fits_stays_as_it_is():
    assert fit(("ab", Span("cd", "id")), 4) == (Span("ab"), Span("cd", "id"))


def test_a_longer_line_ends_in_an_ellipsis_and_keeps_its_styles():
    assert fit(("ab", Span("cde", "id")), 4) == (Span("ab"), Span("c…", "id"))


@given(
    st.lists(st.text(max_size=8) | st.sampled_from(["日本語", "e\u0301", "\x1b[2J"]), max_size=5), st.integers(1, 20)
)
def test_no_line_is_wider_than_the_room(parts, width):
    assert cell_len(text(fit(tuple(parts), width))) <= width
