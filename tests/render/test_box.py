from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from scopes.render.box import draw_box, fit_widths
from scopes.render.view import Column, Span
from scopes.render.wrap import truncate_spans
from tests.render.hostile import OUR_COLORS, hostile_texts

COLUMNS = [Column("ID", "id"), Column("Participants", flexible=True), Column("Branches"), Column("Activity", "time")]
ROWS = [("conv-001", "code-analyzer,test-runner", "3", "2m ago"), ("conv-002", "general-purpose", "1", "5m ago")]
WIDE = [("conv-003", "日本語エージェント 🚀", "1", "1h ago"), ("conv-004", "⚠️ e\u0301 ❤️", "2", "2026-01-31")]


def box(rows, *, width=80, title="Active Conversations", color=False):
    return list(draw_box(COLUMNS, rows, title=title, width=width, color=color))


def test_a_titled_box_looks_as_in_the_specification():
    """S4-53."""
    assert box(ROWS) == [
        "╭─────────────────────────────────────────────────────────╮",
        "│ Active Conversations                                    │",
        "├─────────────────────────────────────────────────────────┤",
        "│ ID        Participants               Branches  Activity │",
        "│ conv-001  code-analyzer,test-runner  3         2m ago   │",
        "│ conv-002  general-purpose            1         5m ago   │",
        "╰─────────────────────────────────────────────────────────╯",
    ]


def test_without_a_title_the_rule_is_below_the_header():
    lines = box(ROWS[:1], title=None)
    assert [line[0] for line in lines] == ["╭", "│", "├", "│", "╰"]
    assert "Participants" in lines[1]


def test_a_box_without_rows_has_its_header():
    assert len(box([])) == 5


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("title", [None, "Active", "a title " * 40])
def test_every_line_is_equally_wide_and_fits(width, title):
    lines = box(ROWS + WIDE, width=width, title=title)
    assert len({cell_len(line) for line in lines}) == 1
    assert cell_len(lines[0]) <= width


def test_a_narrow_box_shortens_the_flexible_column_first():
    lines = box(ROWS, width=50)
    assert "conv-001" in lines[4]
    assert "code-ana" in lines[4]
    assert "… " in lines[4]
    assert "2m ago" in lines[4]


def test_numbers_can_be_right_aligned():
    lines = list(draw_box([Column("N", align="right")], [("1",), ("100",)], title=None, width=80, color=False))
    assert lines[3:5] == ["│   1 │", "│ 100 │"]


def test_colors_do_not_move_anything():
    colored = box(ROWS + WIDE, color=True)
    assert [OUR_COLORS.sub("", line) for line in colored] == box(ROWS + WIDE)
    assert "\x1b[33mconv-001\x1b[0m" in colored[4]


def test_an_ellipsis_has_the_style_of_what_it_shortens():
    assert truncate_spans((Span("ab", "id"), Span("cdef", "time")), 4) == (Span("ab", "id"), Span("c…", "time"))


def test_a_wide_character_is_not_split():
    shown = "".join(span.text for span in truncate_spans((Span("日本語"),), 4))
    assert cell_len(shown) <= 4
    assert shown.startswith("日")
    assert shown.endswith("…")


@pytest.mark.parametrize(
    ("wanted", "flexible", "available", "widths"),
    [
        ([3, 4], [False, False], 10, [3, 4]),
        ([8, 30], [False, True], 20, [8, 12]),
        ([8, 30, 30], [False, True, True], 28, [8, 10, 10]),
        ([30, 30], [False, True], 20, [14, 6]),
        ([30, 30], [False, False], 20, [10, 10]),
        ([30, 30], [True, True], 1, [1, 1]),
    ],
)
def test_widths_are_taken_from_the_widest_flexible_column_first(wanted, flexible, available, widths):
    assert fit_widths(wanted, flexible, available) == widths


@given(
    st.lists(st.tuples(st.integers(0, 300), st.booleans()), min_size=1, max_size=8),
    st.integers(8, 200),
)
def test_columns_fit_wherever_one_cell_each_fits(columns, available):
    wanted, flexible = [width for width, _ in columns], [is_flexible for _, is_flexible in columns]
    widths = fit_widths(wanted, flexible, available)
    assert sum(widths) <= available
    assert all(width <= most for width, most in zip(widths, wanted, strict=True))


@given(
    st.lists(st.lists(hostile_texts, min_size=4, max_size=4), max_size=3), st.sampled_from([40, 80, 200]), hostile_texts
)
def test_hostile_cells_cannot_break_the_box(rows, width, title):
    lines = box(rows, width=width, title=title)
    assert len(lines) == len(rows) + 5
    assert len({cell_len(line) for line in lines}) == 1
    assert cell_len(lines[0]) <= width
