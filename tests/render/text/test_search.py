"""What was found, as it is seen."""

from __future__ import annotations

from dataclasses import replace

from scopes.search.snippet import Piece
from tests.render.results import DEEP, FOUND, HIT
from tests.render.showing import piped, seen, seen_lines


def test_a_match_is_marked_where_colours_are():
    assert "\x1b[1;32mlogin\x1b[0m" in seen(HIT, colour=True)


def test_a_snippet_takes_three_rows_at_most_and_every_row_fits():
    long = replace(DEEP, snippet=(Piece("word " * 400), Piece("login", found=True)), before=(), also=())
    lines = seen_lines(long, 60)
    assert len(lines) == 5
    assert all(len(line) <= 60 for line in lines[1:])


def test_the_marks_survive_the_breaking_of_rows():
    broken = replace(HIT, snippet=(Piece("so " * 18), Piece("login again", found=True)), after=())
    shown = seen(broken, 64, colour=True)
    assert "\x1b[1;32mlogin\x1b[0m" in shown
    assert "\x1b[1;32magain\x1b[0m" in shown


def test_a_message_without_text_has_no_empty_row():
    assert seen_lines(replace(HIT, snippet=(), after=()))[1:] == [""]


def test_a_row_in_a_pipe_is_one_line():
    assert piped(replace(HIT, snippet=(Piece("a\n\tb"), Piece("c\nd", found=True)))).split("\t")[6] == "a bc d\n"


def test_a_search_that_was_not_finished_says_so():
    assert "at least 2 found" in seen(replace(FOUND, hits=None))
