"""The list of conversations as text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.list_cached import ConversationList
from scopes.errors import Invalid
from tests.render.rendering import piped, seen, seen_lines
from tests.render.results import SUMMARIES

LIST = ConversationList(conversations=SUMMARIES)


def test_the_list_is_the_specified_box(at_one_moment):
    """S4-53."""
    lines = seen_lines(replace(LIST, conversations=tuple(row._replace(title=None) for row in LIST.conversations)))
    assert lines[0].startswith("╭──")
    assert lines[-1].endswith("──╯")
    assert lines[1].split()[1:-1] == ["Active", "Conversations"]
    assert lines[3].split()[1:-1] == ["ID", "Participants", "Branches", "Activity"]
    assert lines[4].split()[1:-1] == ["conv-001", "code-analyzer,test-runner", "3", "2m", "ago"]


def test_titles_get_the_remaining_room(at_one_moment):
    assert seen_lines(LIST)[3].split()[1:-1] == ["ID", "Participants", "Branches", "Activity", "Title"]
    assert "Login fails on Safari" in seen(LIST, 100)
    assert "Login fails on" in seen(LIST, 75)
    assert "Title" not in seen(LIST, 60)


def test_one_conversation_with_many_participants_leaves_room_for_titles(at_one_moment):
    crowd = SUMMARIES[0]._replace(participants=tuple(f"agent-{n:02d}" for n in range(30)))
    pair = SUMMARIES[0]._replace(participants=("codex", "user"))
    shown = seen_lines(ConversationList(conversations=(crowd, pair, pair)))
    assert "agent-00,agent-01,agen…" in shown[4]
    assert "Login fails on Sa" in shown[4]


def test_the_first_prompt_is_shown_instead_of_a_missing_title(at_one_moment):
    row = SUMMARIES[1]._replace(opening="List the files", title=None)
    assert "List the files" in seen(ConversationList(conversations=(row,)))


def test_many_participants_are_shortened_before_anything_else(at_one_moment):
    crowd = SUMMARIES[0]._replace(participants=tuple(f"agent-{n:02d}" for n in range(30)))
    row = seen_lines(ConversationList(conversations=(crowd,)))[4]
    assert len(row) == 80
    assert row.startswith("│ conv-001  agent-00,agent-01")
    assert row.endswith("…  3         2m ago   │")


def test_a_piped_list_is_a_row_each_with_the_whole_time():
    """S4-53: plain TSV when not a terminal."""
    rows = [row.split("\t") for row in piped(LIST).splitlines()]
    assert rows[0] == ["conv-001", "code-analyzer,test-runner", "3", "2025-12-31T23:58:00Z", "Login fails on Safari"]
    assert rows[2] == ["login-bug", "", "1", "2025-10-01T12:00:00Z", ""]


def test_rows_may_end_in_nul():
    assert piped(LIST, nul=True).count("\0") == 3
    assert "\n" not in piped(LIST, nul=True)


def test_a_template_may_ask_for_what_no_row_shows():
    shown = piped(LIST, template="{id} {messages} {active_branch} {uuid} {created_at} {source}")
    assert shown.splitlines()[0].split() == [
        "conv-001", "10", "analysis/conflict-resolution", SUMMARIES[0].uuid, SUMMARIES[0].created_at, "claude-code",
    ]  # fmt: skip
    assert shown.splitlines()[1] == "conv-002     "


def test_a_template_that_names_no_field_is_refused():
    with pytest.raises(Invalid, match="no field 'titel'") as refusal:
        piped(LIST, template="{titel}")
    assert "did you mean {title}?" in refusal.value.hint


def test_an_empty_list_prints_a_sentence_on_a_terminal_and_nothing_in_a_pipe():
    nothing = ConversationList(conversations=())
    assert seen_lines(nothing) == ["There are no conversations yet.", "create one: scopes conv new"]
    assert seen_lines(nothing, hints=False) == ["There are no conversations yet."]
    assert piped(nothing) == ""
