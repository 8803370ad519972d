from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from scopes.render.view import Span
from scopes.render.wrap import truncate_line, truncate_text, wrap_line, wrap_sentence
from tests.cli.test_hints import PLACEHOLDER, TO_RUN, all_strings
from tests.render.rendering import seen_lines
from tests.render.test_renderings import EVERY_SAMPLE

COMMAND = re.compile(
    r"""(?:^|(?<=[:,;·] )|(?<= or )|(?<=\()) *(?:scopes [a-z-]|pip install )"""
    r"""(?:'[^']*'|"[^"]*"|(?! [(·]|[,;](?: |$)|\)).)*[,;)]?"""
)


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
        ("in /usr/share/doc/scopes", ["in", "/usr/", "share/doc/", "scopes"]),
        ("              ", ["          ", "    "]),
    ],
)
def test_lines_break_before_words_and_inside_long_ones(line, rows):
    assert list(wrap_line(line, 10)) == rows


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        ("take a side:    scopes show conv-001 --json", ["take a side:", "scopes show conv-001 --json"]),
        ("undo: scopes undo, or stop: scopes a b c d e f g", ["undo: scopes undo, or stop:", "scopes a b c d e f g"]),
        ("then: scopes rename conv-001 --title 'a, b; c' now", ["then:", "scopes rename conv-001 --title 'a, b; c' now"]),
        ("see: scopes merge conv-001 --continue (or --abort)", ["see:", "scopes merge conv-001 --continue", "(or --abort)"]),
        ("scopes log conv-001 · scopes context conv-001", ["scopes log conv-001 ·", "scopes context conv-001"]),
        ("for exact counts: scopes fetch, or pip install 'a[b]' c", ["for exact counts: scopes fetch, or", "pip install 'a[b]' c"]),
        ("a bug in scopes that nobody has seen before today", ["a bug in scopes that nobody has seen", "before today"]),
    ],
)  # fmt: skip
def test_a_command_is_never_broken(line, rows):
    """Copied up to the end of the row, `--take source` ran without `--continue`."""
    assert list(wrap_sentence(line, 36)) == rows


def commands_of(row):
    """Return the commands to run in a row of a screen; rows of tables are cut, not broken."""
    return [] if "│" in row else [match[0].strip(" ,;)") for match in COMMAND.finditer(row.strip())]


@pytest.mark.parametrize("sample", EVERY_SAMPLE)
def test_every_command_on_a_screen_of_80_columns_is_in_one_row(sample):
    rows = seen_lines(EVERY_SAMPLE[sample], 80)
    wide = [command for row in seen_lines(EVERY_SAMPLE[sample], 5000) for command in commands_of(row)]
    assert [command for command in wide if not any(command in row for row in rows)] == []


def test_every_command_in_a_string_of_the_program_stays_in_one_row():
    """Errors, hints and notes are broken at words: not inside of `scopes conflicts resolve ... --continue`."""
    broken = []
    for path, text in all_strings():
        for line in text.replace(PLACEHOLDER, "conv-034/conflict-resolution").splitlines():
            rows = list(wrap_sentence(f"hint: {line}", 80))
            mentions = [f"scopes {mention.strip(' .:')}" for mention in TO_RUN.findall(line)]
            broken += [(path, mention) for mention in mentions if not any(mention in row for row in rows)]
    assert broken == []


texts = st.text(st.sampled_from("ab 日é🚀\u0301"), max_size=60)


@given(texts, st.integers(4, 30))
def test_no_row_is_wider_than_the_terminal(line, width):
    assert all(cell_len(row) <= width for row in wrap_line(line, width))


@given(texts, st.integers(4, 30))
def test_wrapping_loses_nothing_but_blanks(line, width):
    assert "".join(wrap_line(line, width)).replace(" ", "") == line.replace(" ", "")


def plain(spans):
    """The text of spans."""
    return "".join(span.text for span in spans)


def test_a_line_that_fits_is_unchanged():
    assert truncate_line(("ab", Span("cd", "id")), 4) == (Span("ab"), Span("cd", "id"))


def test_a_longer_line_ends_in_an_ellipsis_and_keeps_its_styles():
    assert truncate_line(("ab", Span("cde", "id")), 4) == (Span("ab"), Span("c…", "id"))


@given(
    st.lists(st.text(max_size=8) | st.sampled_from(["日本語", "e\u0301", "\x1b[2J"]), max_size=5), st.integers(1, 20)
)
def test_no_line_is_wider_than_the_room(parts, width):
    assert cell_len(plain(truncate_line(tuple(parts), width))) <= width


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


@pytest.mark.parametrize("sign", ["👨\u200d👩\u200d👧\u200d👦", "🇩🇪", "👍🏽", "👩🏽\u200d💻"])
@pytest.mark.parametrize("tail", [False, True])
def test_a_sign_of_several_characters_is_kept_whole_or_not_at_all(sign, tail):
    """D13: ZWJ emoji were split."""
    for width in range(1, 12):
        shown = truncate_text(f"ab{sign}cd{sign}efgh", width, tail=tail)
        assert shown.replace(sign, "").strip("abcdefgh… ") == ""


@given(st.text(max_size=30) | st.sampled_from(["日本語/日本語.py"]), st.integers(1, 20), st.booleans())
def test_truncated_text_fits(value, width, tail):
    assert cell_len(truncate_text(value, width, tail=tail)) <= width


@pytest.mark.parametrize("text", ["x", "漢", "e\u0301", "a/b", "https://a.b/", "👩\u200d🔬"])
def test_a_word_of_any_length_is_cut_as_a_short_one_is(text):
    """Each row was cut from all that was left: a name of 100,000 characters took seconds."""
    rows = list(wrap_line(text * 20_000, 40))
    assert "".join(rows) == text * 20_000
    assert rows[:3] == list(wrap_line(text * 400, 40))[:3]
