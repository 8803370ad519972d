"""Search results as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.history.messages import NO_TEXT
from scopes.model.message import Author, Message, Part
from scopes.render.table import render_text
from scopes.render.view import View, ViewOptions
from scopes.search.run import Neighbor, Search
from scopes.search.text import Piece
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import CALL, DEEP, FOUND, HIT
from tests.render.with_options import WithOptions

AROUND = ViewOptions(around=True)


def test_a_match_is_bold_also_when_it_is_wrapped():
    broken = replace(HIT, snippet=(Piece("so " * 18), Piece("login again", found=True)), after=())
    shown = seen(broken, 64, color=True)
    assert "\x1b[1mlogin again\x1b[0m" in shown


def test_a_snippet_takes_three_rows_at_most_and_every_row_fits():
    long = replace(DEEP, snippet=(Piece("word " * 400), Piece("login", found=True)), before=(), also=())
    lines = seen_lines(long, 60)
    assert len(lines) == 4
    assert all(len(line) <= 60 for line in lines)


def test_the_hits_of_a_conversation_are_below_each_other_and_the_best_one_is_first():
    again = replace(HIT, head=CALL, before=(), after=())
    shown = seen_lines(answer(replace(HIT, after=()), replace(DEEP, before=(), after=()), again))
    assert [line.split(" ")[0] for line in shown if line and not line.startswith(" ")] == [
        HIT.conversation, DEEP.conversation, "3",
    ]  # fmt: skip
    assert shown[-1] == "3 in 2 conversations · searched 1,234 messages of 14 conversations"


def test_a_row_in_a_pipe_is_one_line():
    assert piped(replace(HIT, snippet=(Piece("a\n\tb"), Piece("c\nd", found=True)))).split("\t")[6] == "a bc d\n"


def test_a_search_that_was_not_finished_prints_a_note():
    assert "2 of more than 2: -n" in seen(replace(FOUND, hits=None))


def asides(result):
    """Return the notes written next to the rows of a pipe."""
    notes = []
    render_text(result, View(lambda _text: None, write_note=notes.append))
    return notes


def answer(*hits, **coverage):
    """Make an answer of these hits."""
    covered = replace(FOUND, **{"shown": len(hits), "hits": len(hits), **coverage})
    return Search(items=(*hits, covered), hits=hits, coverage=covered)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (answer(HIT), ""),
        (answer(HIT, hits=243), "1 of 243: -n · searched 1,234 messages of 14 conversations"),
        (
            answer(HIT, hits=None),
            "1 of more than 1: -n · searched 1,234 messages of 14 conversations",
        ),
        (answer(), "0 found · searched 1,234 messages of 14 conversations"),
        (
            answer(HIT, searched=FOUND.searched._replace(unreadable=2)),
            "0 conversations and 2 messages cannot be read and were left out.",
        ),
    ],
)
def test_a_pipe_gets_notes_about_what_the_rows_do_not_show(result, expected):
    assert asides(result) == [expected] * bool(expected)


def test_rows_around_a_hit_count_from_it():
    rows = [row.split("\t") for row in piped(WithOptions(answer(HIT, DEEP), AROUND)).splitlines()]
    assert [(row[0], row[3][:6]) for row in rows] == [
        ("0", "prompt"),
        ("1", "callit"),
        ("-1", "callit"),
        ("0", "secure"),
    ]
    assert piped(WithOptions(answer(replace(HIT, after=())), AROUND)).startswith("0\tconv-001\t")
    assert piped(answer(replace(HIT, after=()))).startswith("conv-001\t")


def test_a_neighbor_without_text_is_summarized_as_in_a_log():
    parts = (Part("tool_call", {"call_id": "1", "name": "Bash", "input": {"command": "pytest -q"}}),)
    silent = Neighbor(
        CALL._replace(subject=NO_TEXT), Message(id=CALL.id, author=Author("planner"), kind="answer", parts=parts)
    )
    result = WithOptions(answer(replace(HIT, after=(silent,))), AROUND)
    assert "pytest -q" in seen(result)
    assert "pytest -q" in piped(result).splitlines()[1]
    assert NO_TEXT not in seen(result) + piped(result)


@pytest.mark.parametrize(
    ("author", "kind", "part", "tools", "shown"),
    [
        (("tool", "tool"), "tool-results", "tool_result", ("bash",), "  ← bash "),
        (("tool", "tool"), "tool-results", "tool_result", (), "  ← a call "),
        (("claude", "agent"), "answer", "tool_input", ("read",), "  claude → read "),
        (("claude", "agent"), "answer", "text", ("read",), "  claude "),
        (("carol", "human"), "prompt", "text", (), "  ❯ carol "),
    ],
)
def test_a_hit_names_its_author_and_kind_once_and_the_tool(author, kind, part, tools, shown):
    """It read `tool · tool-results · tool result`, and the title had no room."""
    head = HIT.head._replace(author=author[0], author_kind=author[1], kind=kind)
    line = seen_lines(replace(HIT, head=head, part=part, tools=tools, before=()), 80)[0]
    assert shown in line
    assert "tool-results" not in line
