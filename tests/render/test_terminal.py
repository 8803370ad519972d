from __future__ import annotations

import re

import pytest
from rich.cells import cell_len

from scopes.render.terminal import MAX_MARKDOWN_CHARACTERS, TerminalView
from scopes.render.view import Column, Span


def written(say, *, width=40, color=False):
    """The text that a TerminalView writes when `say` uses it."""
    pieces: list[str] = []
    say(TerminalView(pieces.append, width=width, color=color))
    return "".join(pieces)


def test_a_terminal_view_is_a_terminal():
    view = TerminalView(print, width=63, color=True)
    assert view.terminal
    assert view.width == 63


def test_rows_are_columns_below_a_header_and_a_title():
    columns = [Column("Name"), Column("Legs", align="right")]
    assert written(lambda v: v.rows(columns, [("x", "4")], title="Pets")) == "Pets\nName  Legs\nx        4\n"


def test_a_table_can_be_in_a_box():
    text = written(lambda v: v.rows([Column("Name")], [("x",)], title="Pets", boxed=True))
    assert text == "╭──────╮\n│ Pets │\n├──────┤\n│ Name │\n│ x    │\n╰──────╯\n"


def test_flexible_cells_are_cut_and_all_others_are_whole():
    columns = [Column("ID"), Column("Text", flexible=True), Column("Path", paths=True)]
    text = written(lambda v: v.rows(columns, [("conv-001", "word " * 20, "src/a/very/long/path.py")]))
    assert "conv-001" in text
    assert "…" in text
    assert "".join(line[-10:].strip() for line in text.splitlines()[1:]).endswith("path.py")
    assert max(map(len, text.splitlines())) <= 40


@pytest.mark.parametrize("width", [60, 80, 100])
def test_wide_characters_keep_a_box_straight(width):
    texts = ["日本語のタイトルがここにあります" * 3, "a\u0301b" * 40, "👩‍👩‍👧 family " * 9, "x"]
    columns = [Column("Text", flexible=True)]
    lines = written(lambda v: v.rows(columns, [(text,) for text in texts], boxed=True), width=width).splitlines()
    assert {cell_len(line) for line in lines} == {width}


def test_a_line_that_is_cut_ends_in_an_ellipsis():
    assert written(lambda v: v.cut("word " * 20, indent=2)) == "  " + ("word " * 20)[:37] + "…\n"


def test_of_two_parts_of_a_line_the_right_one_is_whole():
    assert written(lambda v: v.pair(("word " * 20,), ("exit 1",))) == ("word " * 20)[:32] + "… exit 1\n"
    assert written(lambda v: v.pair(("a",), ("b",), at=10)) == "a" + " " * 29 + "b\n"


def test_a_paragraph_leaves_room_at_the_right_of_its_first_row_only():
    text = written(lambda v: v.paragraph("word " * 16, start=("> ",), end=("id",)))
    assert text.splitlines() == [
        "> word word word word word word word  id",
        "  word word word word word word word",
        "  word word",
    ]


def test_every_row_of_a_paragraph_and_of_a_body_has_its_style():
    rows = written(lambda v: v.paragraph("word " * 16, style="human"), color=True).splitlines()
    assert len(rows) == 2
    assert all("\x1b[1mword" in row for row in rows)
    assert written(lambda v: v.body("a\nb", style="dim"), color=True) == "\x1b[2ma\x1b[0m\n\x1b[2mb\x1b[0m\n"


def test_a_paragraph_says_if_it_was_longer():
    assert written(lambda v: v.line(str(v.paragraph("a\nb\nc", most=3)))) == "a\nb\nc\nTrue\n"
    assert written(lambda v: v.line(str(v.paragraph("a\nb\nc", most=2)))) == "a\nb\nFalse\n"


def test_a_terminal_without_utf8_gets_signs_of_ascii():
    pieces: list[str] = []
    view = TerminalView(pieces.append, width=40, color=False, unicode=False)
    view.line("❯ → ✓ ✗ ● · │├└─")
    view.cut("word " * 20)
    assert "".join(pieces) == "> -> ok FAIL * - ||`-\n" + ("word " * 20)[:37] + "...\n"


def test_code_in_markdown_is_not_blue():
    text = written(lambda v: v.markdown("`code` [link](http://a)\n\n```python\nimport x\nx = 'y'\n```"), color=True)
    assert "\x1b[" in text
    assert not re.search(r"\x1b\[(?:\d+;)*[39]4[;m]", text)


def test_hidden_columns_are_not_seen():
    assert "B" not in written(lambda v: v.rows([Column("A"), Column("B", hidden=True)], [("1", "2")], title="T"))


def test_exact_text_is_not_folded():
    assert written(lambda v: v.exact("word " * 20 + "\x1b\n")) == "word " * 20 + "^[\n"


def test_a_line_is_not_broken():
    assert written(lambda v: v.line("word " * 20, indent=2)) == "  " + "word " * 20 + "\n"


def test_the_further_rows_of_a_hanging_line_begin_below_its_text():
    start = ("  ", Span("ok", "good"), "  ")
    text = written(lambda v: v.hanging("make", " ", Span("word " * 7, "dim"), start=start, indent=2))
    assert text == "    ok  make word word word word word\n        word word\n"
    assert written(lambda v: v.hanging("a  b" + "c" * 50, hang=1)) == f"a\n b{'c' * 38}\n {'c' * 12}\n"
    assert written(lambda v: v.hanging("", start=start)) == "  ok  \n"


def test_a_sentence_is_wrapped_between_words():
    """Notes and outcomes were broken at the edge of the terminal, within words."""
    assert (
        written(lambda v: v.sentence("word " * 11, Span("last", "branch")))
        == "word word word word word word word word\nword word word last\n"
    )


def test_spans_are_painted():
    assert written(lambda v: v.line("on ", Span("main", "branch")), color=True) == "on \x1b[32mmain\x1b[0m\n"
    cell = (Span("a", "warn"), Span("b", "warn"))
    assert "\x1b[33ma\x1b[0m\x1b[33mb\x1b[0m" in written(lambda v: v.rows([Column("N")], [(cell,)]), color=True)


def test_a_body_is_folded_with_its_indentation():
    assert written(lambda v: v.body("one two three four five six", indent=16)) == (
        " " * 16 + "one two three four five\n" + " " * 16 + "six\n"
    )


def test_tabs_in_a_body_are_expanded():
    assert written(lambda v: v.body("a\tb\n\tc")) == "a       b\n        c\n"


def test_an_empty_body_prints_nothing():
    assert written(lambda v: v.body("")) == ""
    assert written(lambda v: v.markdown("")) == ""


def test_a_deep_indentation_leaves_room_for_text():
    assert max(map(len, written(lambda v: v.body("word " * 30, indent=38)).split("\n"))) <= 38 + 20


def test_markdown_is_rendered_behind_the_indentation():
    text = written(lambda v: v.markdown("Some *text*\n\n- a\n- b\n", indent=4))
    assert "    Some text\n" in text
    assert "     • a\n" in text
    assert not any(line.isspace() for line in text.split("\n"))


def test_markdown_beyond_the_limit_is_not_rendered():
    filler = "x" * 98 + "\n\n"
    text = filler * (MAX_MARKDOWN_CHARACTERS // len(filler)) + "**tail**\n"
    shown = written(lambda v: v.markdown(text), width=120)
    assert shown.endswith("\n**tail**\n")
    assert shown.count("x") == text.count("x")


def test_a_single_line_beyond_the_limit_is_not_parsed():
    shown = written(lambda v: v.markdown("*a* " * (MAX_MARKDOWN_CHARACTERS // 4 + 1)))
    assert shown.startswith("*a* *a*")
