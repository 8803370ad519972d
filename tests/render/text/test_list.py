"""The list of conversations as text."""

from __future__ import annotations

import pytest

from scopes.conversation.list import ConversationList
from scopes.render.view_options import ViewOptions
from scopes.render.wrap import count_cells
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import SUMMARIES
from tests.render.with_options import WithOptions

LIST = ConversationList(conversations=SUMMARIES, projects={"/work/shop/src": "shop"})
PROMPT = "Fix unsupported protocol scheme in git-sync requests that are redirected, and test it"
SESSION = SUMMARIES[0]._replace(
    participants=("Explore", "claude-code", "user"), agent="claude-code", directory="/work/git-sync", messages=376,
    branches=1, title=PROMPT,
)  # fmt: skip
SESSIONS = ConversationList(conversations=(SESSION, SESSION), projects={"/work/git-sync": "git-sync"})


def headings(result, width):
    return seen_lines(result, width)[3].split()[1:-1]


def cells_of_title(result, width):
    """Return how many cells of the title are shown."""
    row = seen_lines(result, width)[4]
    return len(row[row.index("Fix") : row.index("…") + 1]) if "…" in row else len(PROMPT)


def test_the_list_is_the_specified_box(at_one_moment):
    """S4-53."""
    bare = [row._replace(title=None, opening=None, messages=None) for row in LIST.conversations]
    lines = seen_lines(ConversationList(conversations=tuple(bare)))
    assert lines[0].startswith("╭──")
    assert lines[-1].endswith("──╯")
    assert lines[1].split()[1:-1] == ["Active", "Conversations"]
    assert lines[3].split()[1:-1] == ["ID", "Participants", "Branches", "Activity"]
    assert lines[4].split()[1:-1] == ["conv-001", "code-analyzer,test-runner", "3", "2m", "ago"]


def test_titles_come_first_and_get_the_room(at_one_moment):
    """D11."""
    assert headings(SESSIONS, 200) == ["ID", "Title", "Participants", "Project", "Msgs", "Branches", "Activity"]
    assert PROMPT in seen(SESSIONS, 200)
    assert "Explore,claude-code,user" in seen(SESSIONS, 200)
    assert headings(SESSIONS, 100) == ["ID", "Title", "Participants", "Project", "Msgs", "Br", "Activity"]
    assert "claude-code +2" in seen(SESSIONS, 100)


@pytest.mark.parametrize("width", [70, 75, 80, 90, 100, 120, 160])
def test_a_title_never_gets_fewer_than_thirty_cells(at_one_moment, width):
    """D11."""
    assert cells_of_title(SESSIONS, width) >= 30
    assert max(map(len, seen_lines(SESSIONS, width))) <= width


def test_other_columns_are_left_out_for_the_titles(at_one_moment):
    """D11: the project first, then the number of messages, then that of branches."""
    assert headings(SESSIONS, 88) == ["ID", "Title", "Participants", "Msgs", "Br", "Activity"]
    assert headings(SESSIONS, 78) == ["ID", "Title", "Participants", "Br", "Activity"]
    assert headings(SESSIONS, 72) == ["ID", "Title", "Participants", "Activity"]


def test_a_column_without_values_is_not_shown(at_one_moment):
    assert "Project" not in seen(ConversationList(conversations=SUMMARIES), 200)
    assert "Title" not in seen(ConversationList(conversations=SUMMARIES[2:]), 200)


def test_one_conversation_with_many_participants_leaves_room_for_titles(at_one_moment):
    crowd = SUMMARIES[0]._replace(participants=tuple(f"agent-{n:02d}" for n in range(30)), agent=None)
    pair = SUMMARIES[0]._replace(participants=("codex", "user"), agent="codex")
    shown = seen_lines(ConversationList(conversations=(crowd, pair, pair)))
    assert "agent-00 +29" in shown[4]
    assert "codex +1" in shown[5]
    assert "Login fails on Safari" in shown[4]


def test_every_participant_is_named_on_request(at_one_moment):
    shown = seen(WithOptions(SESSIONS, ViewOptions(participants=True)), 80)
    assert "Explore,claude-code,user" in shown


def test_wide_characters_keep_the_frame_straight(at_one_moment):
    rows = [
        SESSION._replace(title=text)
        for text in ("日本語のタイトルがここにあります" * 3, "a\u0301b" * 40, "👩‍👩‍👧 family " * 9, "x")
    ]
    for width in (60, 80, 100):
        shown = seen_lines(ConversationList(conversations=tuple(rows)), width)
        assert {count_cells(line) for line in shown} == {count_cells(shown[0])}
        assert count_cells(shown[0]) <= width


def test_a_limited_list_tells_how_many_there_are(at_one_moment):
    limited = ConversationList(conversations=(SESSION,), more=360)
    assert seen_lines(limited)[-1] == "1 of 361 conversations; all: scopes list --all"
    assert len(piped(limited).splitlines()) == 1


def test_a_filter_without_a_match_is_not_an_empty_store():
    assert seen_lines(ConversationList(conversations=(), filtered=True)) == ["No conversation matches."]


def test_the_first_prompt_is_shown_instead_of_a_missing_title(at_one_moment):
    row = SUMMARIES[1]._replace(opening="List the files", title=None)
    assert "List the files" in seen(ConversationList(conversations=(row,)))


def test_many_participants_on_request_are_shortened_before_ids_and_times(at_one_moment):
    crowd = SUMMARIES[0]._replace(participants=tuple(f"agent-{n:02d}" for n in range(30)))
    row = seen_lines(WithOptions(ConversationList(conversations=(crowd,)), ViewOptions(participants=True)))[4]
    assert len(row) == 80
    assert row.startswith("│ conv-001  Login")
    assert "agent-00,agent-01" in row
    assert row.endswith("…  2m ago   │")


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


@pytest.mark.parametrize("field", ["title", "opening"])
def test_a_title_or_first_prompt_is_whole_where_there_is_room_and_ends_in_an_ellipsis_where_not(field):
    row = SESSION._replace(**{"title": None, "opening": None, field: "x" * 72})
    shown = ConversationList(conversations=(row,), projects={})
    assert "x" * 72 in seen_lines(shown, 200)[4]
    assert "…" not in seen_lines(shown, 200)[4]
    assert "x…" in seen_lines(shown, 80)[4]
    assert "…" not in piped(shown)
