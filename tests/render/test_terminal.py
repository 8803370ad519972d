from __future__ import annotations

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


def test_rows_are_a_box_with_header_and_title():
    text = written(lambda v: v.rows([Column("Name")], [("x",)], title="Pets"))
    assert text == "╭──────╮\n│ Pets │\n├──────┤\n│ Name │\n│ x    │\n╰──────╯\n"


def test_hidden_columns_are_not_seen():
    assert "B" not in written(lambda v: v.rows([Column("A"), Column("B", hidden=True)], [("1", "2")], title="T"))


def test_exact_text_is_not_folded():
    assert written(lambda v: v.exact("word " * 20 + "\x1b\n")) == "word " * 20 + "^[\n"


def test_a_line_is_not_broken():
    assert written(lambda v: v.line("word " * 20, indent=2)) == "  " + "word " * 20 + "\n"


def test_the_further_rows_of_a_hanging_line_begin_below_its_text():
    start = ("  ", Span("ok", "good"), "  ")
    text = written(lambda v: v.hanging("make", " ", Span("word " * 7, "dim"), start=start, indent=2))
    assert text == "    ok  make word word word word word\n        word word \n"
    assert written(lambda v: v.hanging("a  b" + "c" * 50, hang=1)) == f"a\n b{'c' * 38}\n {'c' * 12}\n"
    assert written(lambda v: v.hanging("", start=start)) == "  ok  \n"


def test_a_sentence_is_wrapped_between_words():
    """Notes and outcomes were broken at the edge of the terminal, within words."""
    assert (
        written(lambda v: v.sentence("word " * 11, Span("last", "branch")))
        == "word word word word word word word word\nword word word last\n"
    )


def test_spans_are_painted():
    assert written(lambda v: v.line("on ", Span("main", "branch")), color=True) == "on \x1b[36mmain\x1b[0m\n"
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
