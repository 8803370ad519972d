"""The list of conversations as text."""

from __future__ import annotations

import pytest

from scopes.conversation.list import ConversationList
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import SUMMARIES

LIST = ConversationList(conversations=SUMMARIES, projects={"/work/shop/src": "shop"})
PROMPT = "Fix unsupported protocol scheme in git-sync requests that are redirected, and test it"
SESSION = SUMMARIES[0]._replace(
    participants=("Explore", "claude-code", "user"), agent="claude-code", directory="/work/git-sync", messages=376,
    branches=1, title=PROMPT,
)  # fmt: skip
SESSIONS = ConversationList(conversations=(SESSION, SESSION), projects={"/work/git-sync": "git-sync"})


def headings(result, width):
    return seen_lines(result, width)[3].split()[1:-1]


def test_the_list_is_the_specified_box(at_one_moment):
    """S4-53."""
    bare = [row._replace(title=None, opening=None, messages=None, agent=None) for row in LIST.conversations]
    assert seen_lines(ConversationList(conversations=tuple(bare[:2]))) == [
        "╭─────────────────────────────────────────────────────╮",
        "│ Active Conversations                                │",
        "├─────────────────────────────────────────────────────┤",
        "│ ID        Participants           Branches  Activity │",
        "│ conv-001  code-analyzer,test-r…  3         2m ago   │",
        "│ conv-002  general-purpose        1         4m ago   │",
        "╰─────────────────────────────────────────────────────╯",
    ]


def test_the_columns_of_the_specification_come_first_and_the_title_takes_the_rest(at_one_moment):
    assert headings(SESSIONS, 80) == ["ID", "Participants", "Branches", "Activity", "Title"]
    assert headings(SESSIONS, 100) == ["ID", "Participants", "Branches", "Activity", "Project", "Title"]
    assert PROMPT in seen(SESSIONS, 200)


@pytest.mark.parametrize("width", [60, 70, 80, 120, 200])
def test_the_box_is_as_wide_as_the_terminal(at_one_moment, width):
    crowd = SUMMARIES[0]._replace(participants=tuple(f"agent-{n:02d}" for n in range(30)), agent=None)
    lines = seen_lines(ConversationList(conversations=(crowd, SESSION)), width)
    assert {len(line) for line in lines} == {width}
    assert all(line.startswith("│ conv-001  ") for line in lines[4:-1])


def test_a_column_without_values_is_not_shown(at_one_moment):
    assert "Project" not in seen(ConversationList(conversations=SUMMARIES), 200)
    assert "Title" not in seen(ConversationList(conversations=SUMMARIES[2:]), 200)


def test_given_titles_are_bold_and_prompts_are_not(at_one_moment):
    given, prompt = SESSION._replace(title="Given"), SESSION._replace(title=None, opening="Asked")
    shown = seen(ConversationList(conversations=(given, prompt)), color=True)
    assert "\x1b[1mGiven\x1b[0m" in shown
    assert "\x1b[1mAsked" not in shown
    assert "Asked" in shown


def test_a_title_in_a_pipe_is_one_line_of_at_most_200_characters():
    """U18: `list | head` printed titles of 500 characters."""
    row = SESSION._replace(title="word\n" * 100)
    title = piped(ConversationList(conversations=(row,))).rstrip("\n").split("\t")[4]
    assert title == ("word " * 100)[:199] + "…"


def test_a_limited_list_tells_how_many_there_are(at_one_moment):
    limited = ConversationList(conversations=(SESSION,), more=360)
    assert seen_lines(limited)[-1] == "1 of 361 · all: scopes list --all"
    assert len(piped(limited).splitlines()) == 1


def test_a_filter_without_a_match_is_not_an_empty_store():
    assert seen_lines(ConversationList(conversations=(), filtered=True)) == ["No conversation matches."]


def test_the_first_prompt_is_shown_instead_of_a_missing_title(at_one_moment):
    row = SUMMARIES[1]._replace(opening="List the files", title=None)
    assert "List the files" in seen(ConversationList(conversations=(row,)))


def test_a_piped_list_is_a_row_each_with_the_whole_time():
    """S4-53: plain TSV when not a terminal."""
    rows = [row.split("\t") for row in piped(LIST).splitlines()]
    assert rows[0] == ["conv-001", "code-analyzer,test-runner", "3", "2025-12-31T23:58:00Z", "Login fails on Safari"]
    assert rows[2] == ["login-bug", "", "1", "2025-10-01T12:00:00Z", ""]


def test_rows_may_end_in_nul():
    assert piped(LIST, nul=True).count("\0") == 3
    assert "\n" not in piped(LIST, nul=True)


def test_an_empty_list_prints_a_sentence_on_a_terminal_and_nothing_in_a_pipe():
    nothing = ConversationList(conversations=())
    assert seen_lines(nothing) == [
        "There are no conversations yet.",
        "import the sessions of your agents: scopes import, or start one: scopes new",
    ]
    assert seen_lines(nothing, hints=False) == ["There are no conversations yet."]
    assert piped(nothing) == ""
