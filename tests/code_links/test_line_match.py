"""How sure it is which edit wrote a line: levels from the line, its neighbours, and the conversation of the commit."""

from __future__ import annotations

import pytest

from scopes.code_links.edit_index import IndexedEdit
from scopes.code_links.line_hash import hash_line, hash_short
from scopes.code_links.line_match import (
    FEW_EDITS,
    CommitContext,
    EditMatch,
    LineMatch,
    context_of,
    follows_others,
    hash_neighbours,
    is_changed_line,
    judge,
)
from scopes.code_links.link import CodeLink, CommitId, Evidence
from scopes.code_links.project_commits import ProjectCommit
from scopes.ids import ConversationId, MessageId, Oid

NOW = 1_000_000.0
HOUR = 3600.0


def line(number):
    return f"this is line number {number}"


def edit(conversation="conv-001", hours_before=1.0):
    return IndexedEdit(
        1, ConversationId(conversation), 1, MessageId("m"), Oid("o"), "c1", "Edit", "/p/a.py", NOW - hours_before * HOUR,
        frozenset(),
    )  # fmt: skip


def match(conversation="conv-001", *, has_line=True, shared=4, neighbours=4, hours_before=1.0):
    return EditMatch(edit(conversation, hours_before), has_line, shared, neighbours)


LINKED = CommitContext(NOW, ConversationId("conv-001"), frozenset({"conv-001", "conv-002"}))
UNLINKED = CommitContext(NOW)


def test_line_and_neighbours_of_the_linked_conversation_are_certain():
    assert judge([match()], LINKED) == "certain"
    assert judge([match(shared=2)], LINKED) == "certain"


def test_a_line_without_neighbours_is_certain_if_the_commit_is_linked():
    assert judge([match(shared=0, neighbours=0)], LINKED) == "certain"


def test_the_age_of_an_edit_of_the_linked_conversation_does_not_matter():
    assert judge([match(hours_before=500)], LINKED) == "certain"


def test_a_line_with_less_than_half_of_the_neighbours_is_likely_if_few_edits_have_it():
    weak = match(shared=1)
    assert judge([weak], LINKED) == "likely"
    assert judge([weak] * FEW_EDITS, LINKED) == "likely"
    assert judge([weak] * (FEW_EDITS + 1), LINKED) == "commit-only"


def test_without_a_linked_conversation_a_recent_edit_is_likely():
    assert judge([match()], UNLINKED) == "likely"
    assert judge([match(shared=1)], UNLINKED) == "likely"


def test_without_a_linked_conversation_an_old_edit_is_a_candidate_only():
    assert judge([match(hours_before=7)], UNLINKED) == "unsure"


def test_since_tells_how_old_an_edit_of_an_uncommitted_line_may_be():
    assert judge([match(hours_before=50)], CommitContext(NOW, since=NOW - 60 * HOUR)) == "likely"
    assert judge([match(hours_before=1)], CommitContext(NOW, since=NOW - HOUR / 2)) == "unsure"


def test_another_conversation_that_wrote_a_part_of_the_commit_is_the_other_session():
    assert judge([match("conv-002")], LINKED) == "other-session"
    assert judge([match("conv-002"), match(has_line=False, shared=1)], LINKED) == "other-session"


@pytest.mark.parametrize(
    "other",
    [match("conv-003"), match("conv-002", shared=1), match("conv-002", hours_before=49)],
    ids=["no part of the commit", "few neighbours", "too old"],
)
def test_another_conversation_needs_a_part_of_the_commit_neighbours_and_time(other):
    assert judge([other], LINKED) == "commit-only"


def test_another_session_needs_a_commit_that_is_linked():
    context = CommitContext(NOW, None, frozenset({"conv-002"}))
    assert judge([match("conv-002", hours_before=20)], context) == "unsure"


def test_neighbours_without_the_line_are_near():
    assert judge([match(has_line=False, shared=2)], LINKED) == "near"
    assert judge([match(has_line=False, shared=2)], UNLINKED) == "near"
    assert judge([match(has_line=False, shared=2, hours_before=7)], UNLINKED) == "unsure"
    assert judge([match(has_line=False, shared=1)], LINKED) == "commit-only"


def test_no_neighbour_at_all_is_not_near():
    assert judge([match(has_line=False, shared=0, neighbours=0)], LINKED) == "commit-only"


def test_without_any_match_only_the_commit_is_known_or_nothing():
    assert judge([], LINKED) == "commit-only"
    assert judge([], UNLINKED) == "none"


def test_the_surest_level_wins():
    assert judge([match("conv-002"), match(), match(has_line=False)], LINKED) == "certain"


def added(*numbers):
    return {number: line(number) for number in numbers}


def hashes(*numbers):
    return frozenset(hash_line(line(number)) for number in numbers)


def test_neighbours_are_the_lines_up_to_six_away_that_the_commit_added():
    found = hash_neighbours(added(3, 4, 9, 10, 11, 15, 16, 17), 10)
    assert found.line == hash_line(line(10))
    assert found.neighbours == hashes(4, 9, 11, 15, 16)


def test_a_line_is_no_neighbour_of_itself_also_if_it_is_there_twice():
    assert hash_neighbours({10: line(1), 11: line(1), 12: line(2)}, 10).neighbours == hashes(2)


def test_lines_that_are_too_short_are_no_neighbours():
    assert hash_neighbours({10: line(10), 11: "}", 12: ""}, 10).neighbours == frozenset()


def test_a_short_line_is_recognized_by_the_neighbours_next_to_it():
    found = hash_neighbours({8: line(8), 9: line(9), 10: "}", 11: "", 12: line(12), 13: line(13)}, 10)
    assert found.line is None
    assert found.nearest == hashes(9, 12)
    assert found.neighbours == hashes(8, 9, 12, 13)


def test_a_short_line_at_the_edge_has_one_nearest_neighbour_or_none():
    assert hash_neighbours({10: "}", 11: line(11)}, 10).nearest == hashes(11)
    assert hash_neighbours({10: "}"}, 10) == (None, frozenset(), frozenset(), None)


def test_a_line_that_the_commit_did_not_add_has_its_neighbours_only():
    assert hash_neighbours(added(9), 10) == (None, hashes(9), hashes(9), None)


def link(conversation, level="certain", share=None, role="wrote"):
    return CodeLink(
        commit=CommitId("a" * 40), conversation=ConversationId(conversation), role=role, level=level,
        evidence=(Evidence("content", share=share),),
    )  # fmt: skip


def test_the_context_of_a_commit_has_its_conversation_and_those_with_a_share():
    commit = ProjectCommit(CommitId("a" * 40), "Alice", NOW, NOW, "Add")
    links = [link("conv-001", role="made"), link("conv-002", share=0.5), link("conv-003", "candidate", share=0.01)]
    found = context_of(commit, links)
    assert found[:5] == (NOW, "conv-001", frozenset({"conv-002"}), None, None)
    assert (found.writers, found.likely_writers, found.is_made) == (frozenset(), frozenset(), True)
    assert context_of(commit, links[2:]).linked is None


def test_all_that_surely_wrote_a_commit_which_nobody_made_agree_with_it():
    """A person squashed the commits of several sessions, or committed the work of two windows."""
    commit = ProjectCommit(CommitId("a" * 40), "Alice", NOW, NOW, "Squash")
    links = [link("conv-001", share=0.6), link("conv-002", share=0.3), link("conv-003", "likely", share=0.06)]
    context = context_of(commit, links)
    assert context.writers == {"conv-001", "conv-002"}
    levels = [judge([match(name)], context) for name in ("conv-001", "conv-002", "conv-003")]
    assert levels == ["certain", "certain", "likely"]
    assert judge([match("conv-003", shared=0)] * (FEW_EDITS + 1), context) == "commit-only"
    assert judge([match("conv-002")], context_of(commit, [link("conv-001", role="made"), *links])) == "other-session"


def test_a_commit_that_was_rewritten_has_the_time_of_that():
    at_once = ProjectCommit(CommitId("a" * 40), "Alice", NOW, NOW + 3, "Add")
    amended = ProjectCommit(CommitId("a" * 40), "Alice", NOW, NOW + HOUR, "Add")
    assert context_of(at_once, []).rewritten is None
    assert context_of(amended, []).rewritten == NOW + HOUR


def test_a_short_line_that_no_edit_around_it_has_was_changed():
    """`SIZE = 8`, where the session wrote `SIZE = 40`; another short line of the edit is its own."""
    around = EditMatch(edit()._replace(shorts=frozenset({hash_short("pass")})), has_line=False, shared=3, neighbours=4)
    near = LineMatch("near", (around,))
    assert is_changed_line("SIZE = 8", near)
    assert not is_changed_line("    pass", near)
    assert not is_changed_line("SIZE = 8", LineMatch("certain", (around,)))


@pytest.mark.parametrize("text", ["", "}", "    ", line(1)])
def test_only_short_lines_with_a_letter_or_digit_are_called_changed(text):
    assert not is_changed_line(text, LineMatch("near", (match(),)))


@pytest.mark.parametrize(
    ("text", "level", "follows"),
    [
        ("}", "certain", True),
        ("", "none", True),
        ("pass", "commit-only", True),
        ("return", "commit-only", False),  # no edit has it
        ("return", "none", False),
        ("return", "likely", False),
        ("SIZE = 8", "near", False),  # it was changed
        (line(1), "none", False),
    ],
)
def test_a_line_follows_others_if_it_is_too_short_to_have_an_answer(text, level, follows):
    found = EditMatch(edit()._replace(shorts=frozenset({hash_short("pass")})), has_line=False, shared=3, neighbours=4)
    assert follows_others(text, LineMatch(level, (found,))) == follows


def test_no_line_is_of_another_session_if_a_call_of_that_session_made_the_commit_too():
    """A fix-up of a second session: the answer named the commit that it made, and said that another session made it."""
    commit = ProjectCommit(CommitId("a" * 40), "Alice", NOW, NOW, "Values")
    wrote = link("conv-002", share=0.5)
    by_call = [link("conv-001", role="made"), link("conv-002", role="made"), wrote]
    assert judge([match("conv-002")], context_of(commit, by_call)) == "certain"
    assert judge([match("conv-002")], context_of(commit, [by_call[0], wrote])) == "other-session"


def test_who_amended_a_commit_is_linked_to_it_as_who_made_it():
    def made(conversation, level, recorded_at):
        return CodeLink(
            commit=CommitId("a" * 40), conversation=ConversationId(conversation), role="made", level=level,
            evidence=(Evidence("recorded"),), recorded_at=recorded_at,
        )  # fmt: skip

    commit = ProjectCommit(CommitId("a" * 40), "Alice", NOW, NOW, "Values")
    at = "2026-01-01T00:00:00Z"
    links = [made("conv-001", "certain", at), made("conv-002", "likely", at), made("conv-003", "candidate", at)]
    context = context_of(commit, links)
    assert context.makers == {"conv-001", "conv-002"}
    assert [judge([match(name)], context) for name in ("conv-001", "conv-002", "conv-003")] == [
        "certain", "certain", "commit-only",
    ]  # fmt: skip
