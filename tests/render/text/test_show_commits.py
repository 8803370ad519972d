"""`show --commits` in a pipe: each row has the evidence of its whole link, so that a script may read any one."""

from __future__ import annotations

from dataclasses import replace

from scopes.code_links.link import CodeLink, Evidence, LinkedTurn
from scopes.conversation.commits import CommitRow, ConversationCommits
from tests.render.rendering import piped, seen

COMMIT = "1234567890" * 4
TURNS = (LinkedTurn(3, "c" * 26), LinkedTurn(4, "d" * 26), LinkedTurn(7, "e" * 26))
WROTE = CodeLink(
    commit=COMMIT, conversation="conv-001", message="e" * 26, turn=7, role="wrote", level="certain",
    evidence=(Evidence("content", "137 lines of 9 edits", share=1.0),), turns=TURNS,
)  # fmt: skip


def commits(*links):
    row = CommitRow(commit=COMMIT, subject="Add a parser", authored="2025-12-01T07:58:00Z", links=links)
    return ConversationCommits(conversation="conv-001", commits=(row,))


def rows(*links):
    return [line.split("\t") for line in piped(commits(*links)).splitlines()]


def test_each_row_of_several_turns_has_the_evidence_of_the_whole_link():
    found = rows(WROTE)
    assert [(row[4], row[6]) for row in found] == [(turn, "137 lines of 9 edits") for turn in ("3", "4", "7")]
    assert all(len(row) == 9 for row in found)


def test_the_rows_of_two_links_have_their_own_evidence():
    other = replace(WROTE, turns=TURNS[:2], evidence=(Evidence("content", "5 lines of 2 edits", share=0.1),))
    assert [row[6] for row in rows(WROTE, other)] == 3 * ["137 lines of 9 edits"] + 2 * ["5 lines of 2 edits"]


def test_a_link_of_one_turn_and_one_without_a_turn_have_their_evidence():
    none = replace(WROTE, turn=None, message=None, turns=())
    assert [(row[4], row[6]) for row in rows(replace(WROTE, turns=TURNS[:1]), none)] == [
        ("3", "137 lines of 9 edits"),
        ("", "137 lines of 9 edits"),
    ]


def test_a_terminal_has_one_line_for_the_link_with_all_its_turns():
    assert seen(commits(WROTE)).count("137 lines of 9 edits") == 1
    assert "in turns 3, 4, 7" in seen(commits(WROTE))
