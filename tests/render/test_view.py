from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.render.terminal import TerminalView
from scopes.render.view import Column, Span, View, clean_spans, plain_text
from tests.render.hostile import hostile_texts

COLUMNS = [Column("ID", "id"), Column("Last activity", "time", flexible=True)]


def written(say, **options):
    """The text that a View writes when `say` uses it."""
    pieces: list[str] = []
    say(View(pieces.append, **options))
    return "".join(pieces)


def test_rows_are_cells_between_tabs_without_header_or_title():
    rows = [("conv-001", "2m ago"), (Span("conv-002", "id"), ("5m", Span(" ago", "dim")))]
    assert written(lambda v: v.rows(COLUMNS, rows, title="Active")) == "conv-001\t2m ago\nconv-002\t5m ago\n"


def test_tabs_and_newlines_inside_a_cell_become_a_space():
    assert written(lambda v: v.rows(COLUMNS, [("a\tb", "c\r\nd")])) == "a b\tc d\n"


def test_rows_can_end_in_nul():
    assert written(lambda v: v.rows(COLUMNS, [("a", "b"), ("c", "d")]), end="\0") == "a\tb\0c\td\0"


def test_hidden_columns_are_not_written():
    assert (
        written(lambda v: v.rows([Column("A"), Column("B", hidden=True), Column("C")], [("1", "2", "3")])) == "1\t3\n"
    )


def test_exact_text_is_escaped_unless_the_view_is_unchanged():
    text = '{"a":"\x1b\u202e"}\n\n'
    assert written(lambda v: v.exact(text)) == '{"a":"^[<U+202E>"}\n\n'
    assert written(lambda v: v.exact(text), unchanged=True) == text


def test_a_row_is_written_before_the_next_one_is_made():
    pieces: list[str] = []

    def rows():
        yield ("a", "b")
        assert pieces == ["a\tb\n"]
        yield ("c", "d")

    View(pieces.append).rows(COLUMNS, rows())
    assert len(pieces) == 2


def test_a_row_with_a_missing_cell_is_an_error():
    with pytest.raises(IndexError):
        written(lambda v: v.rows(COLUMNS, [("a",)]))


def test_a_line_is_its_parts_after_the_indentation():
    assert written(lambda v: v.line("on ", Span("main", "branch"), indent=2)) == "  on main\n"


def test_a_line_stays_one_line():
    assert written(lambda v: v.line("a\nb")) == "a b\n"


def test_an_empty_line_is_a_newline():
    assert written(lambda v: v.line()) == "\n"


@pytest.mark.parametrize(("text", "shown"), [("", ""), ("a", "a\n"), ("a\n", "a\n"), ("a\n\n", "a\n\n"), ("\n", "\n")])
def test_a_body_ends_in_one_newline_even_if_the_text_has_one(text, shown):
    assert written(lambda v: v.body(text)) == shown


def test_an_indented_body_leaves_empty_lines_empty():
    assert written(lambda v: v.body("a\n\n\tb", indent=4)) == "    a\n\n    \tb\n"


def test_markdown_is_shown_with_its_marks():
    assert written(lambda v: v.markdown("# *Title*", indent=1)) == " # *Title*\n"


def test_a_hanging_line_is_one_row():
    assert written(lambda v: v.hanging("word " * 40, start=("ok ",), indent=2)) == f"  ok {'word ' * 40}\n"


def test_nothing_is_colored_unless_it_was_decided():
    def say(view):
        view.line(Span("x", "bad"))
        view.rows(COLUMNS, [("a", "b")])
        view.body("text", style="dim")

    assert "\x1b" not in written(say)
    assert written(say, color=True) == "\x1b[1;31mx\x1b[0m\n\x1b[33ma\x1b[0m\t\x1b[2mb\x1b[0m\n\x1b[2mtext\x1b[0m\n"


def test_a_span_keeps_its_style_in_a_styled_column():
    assert clean_spans(("a", Span("b", "good")), "id") == (Span("a", "id"), Span("b", "good"))


def test_a_column_is_a_field_in_lower_case_without_blanks():
    assert COLUMNS[1].field == "last_activity"


@given(st.lists(st.lists(hostile_texts, min_size=2, max_size=2), max_size=4))
def test_rows_split_back_into_as_many_rows_and_cells_as_went_in(rows):
    lines = written(lambda v: v.rows(COLUMNS, rows)).split("\n")[:-1]
    assert [line.split("\t") for line in lines] == [[plain_text(cell) for cell in row] for row in rows]


def test_remarks_go_to_the_notes_or_to_the_terminal():
    notes = []
    assert written(lambda v: v.aside("3 more"), write_note=notes.append) + written(lambda v: v.aside("3 more")) == ""
    assert notes == ["3 more"]
    pieces = []
    TerminalView(pieces.append, width=80, color=False).aside("3 more")
    assert pieces == ["3 more\n"]
