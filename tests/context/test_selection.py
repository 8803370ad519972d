"""Turns are selected for a number of tokens; in these tests a token is a word."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.context.selection import relax_cuts, select_newest, select_relevant
from scopes.context.turns import Turn, make_turn
from scopes.history.messages import MessageHeader
from scopes.model.message import Author, Message, Part

HEADING_WORDS = 5


def turn(number, words):
    """Return a turn with so many words after its heading."""
    head = MessageHeader(f"m{number}", "0" * 40, (), "carol", "human", "plain", 1, "", ())
    message = Message(id=head.id, author=Author("carol"), parts=())
    return Turn(number, "conv-001", head, message, "User", " ".join(["word"] * words))


def words(text):
    return len(text.split())


def turns(*lengths):
    return [turn(number, length) for number, length in enumerate(lengths, start=1)]


def test_a_block_includes_the_heading():
    assert words(turn(1, 3).block) == HEADING_WORDS + 3


def test_the_newest_are_kept_while_they_fit():
    selection = select_newest(turns(5, 5, 5), 20, words)
    assert (sorted(selection.kept), selection.used) == ([1, 2], 20)
    assert selection.dropped == {0: "older than what fits"}


def test_the_first_turn_that_does_not_fit_is_truncated_if_much_room_is_left():
    selection = select_newest(turns(100, 5), 40, words)
    assert (sorted(selection.kept), selection.truncated) == ([0, 1], 0)
    assert 36 <= selection.used <= 40


def test_no_turn_is_truncated_if_little_room_is_left():
    selection = select_newest(turns(100, 30), 36, words)
    assert (sorted(selection.kept), selection.truncated) == ([1], None)


def test_turns_older_than_the_first_that_does_not_fit_are_not_counted():
    counted = []
    select_newest(turns(*[5] * 100), 25, lambda text: counted.append(1) or words(text))
    assert len(counted) < 20


def test_the_best_turns_are_kept_and_those_that_do_not_fit_skipped():
    selection = select_relevant(turns(5, 500, 5, 5), {0: 0.9, 1: 1.0, 2: 0.1, 3: 0.8}, 20, words)
    assert sorted(selection.kept) == [0, 3]
    assert "did not fit" in selection.dropped[1]


def test_of_equal_scores_the_newer_turn_is_kept():
    assert sorted(select_relevant(turns(5, 5, 5), dict.fromkeys(range(3), 0.5), 10, words).kept) == [2]


def test_an_obviously_too_long_turn_is_not_counted_and_skipped():
    """S4-38: a message that does not fit is skipped and the scan goes on."""
    counted = []
    lengths = [500] * 300 + [5]
    scores = {position: 1.0 - position / 1000 for position in range(301)}
    selection = select_relevant(turns(*lengths), scores, 60, lambda text: counted.append(1) or words(text))
    assert 300 in selection.kept
    assert len(counted) < 100


def with_result(number, characters):
    """Return a turn with a tool result."""
    head = MessageHeader(f"m{number}", "0" * 40, (), "bash", "tool", "tool-results", 1, "", ())
    part = Part("tool_result", {"call_id": "1", "output": "word " * (characters // 5)})
    message = Message(id=head.id, author=Author("bash", "tool"), parts=(part,))
    return make_turn(number, "conv-001", head, message)


def test_tool_results_are_clipped_only_as_much_as_necessary():
    """S1-28."""
    given = [with_result(1, 20_000), with_result(2, 3_000), with_result(3, 500)]
    selection = select_newest(given, 3000, words)
    wider, selection = relax_cuts(given, selection, 3000, words)
    assert 0.85 * 3000 <= selection.used <= 3000
    assert [turn.clipped_at(selection.limit) for turn in wider] == [True, False, False]


def test_tool_results_that_fit_are_not_clipped():
    given = [with_result(1, 4_000), with_result(2, 500)]
    wider, selection = relax_cuts(given, select_newest(given, 3000, words), 3000, words)
    assert not any(turn.clipped_at(selection.limit) for turn in wider)
    assert "truncated" not in selection.kept[0]


@given(st.lists(st.integers(10, 9000), min_size=1, max_size=6), st.integers(0, 4000))
def test_relaxing_cuts_never_exceeds_the_room(lengths, room):
    given = [with_result(number, length) for number, length in enumerate(lengths, start=1)]
    before = select_newest(given, room, words)
    _, after = relax_cuts(given, before, room, words)
    assert after.used <= room
    # a whole text may be a word shorter than its beginning with the mark of a cut
    assert after.used >= before.used or after.limit > before.limit


@pytest.mark.parametrize("room", [0, 1, 5])
def test_without_room_nothing_is_kept(room):
    assert select_newest(turns(50), room, words).kept == {}


@given(st.lists(st.integers(0, 60), max_size=12), st.integers(0, 200))
def test_newest_turns_never_exceed_the_room_and_have_no_gap(lengths, room):
    drawn = turns(*lengths)
    selection = select_newest(drawn, room, words)
    assert sum(words(text) for text in selection.kept.values()) == selection.used <= room
    assert sorted(selection.kept) == list(range(len(drawn) - len(selection.kept), len(drawn)))
    assert set(selection.kept) | set(selection.dropped) == set(range(len(drawn)))


@given(st.lists(st.tuples(st.integers(0, 60), st.floats(0, 1)), max_size=12), st.integers(0, 200))
def test_relevant_turns_never_exceed_the_room_and_each_is_kept_or_dropped(drawn, room):
    made = turns(*(length for length, _ in drawn))
    selection = select_relevant(made, {p: value for p, (_, value) in enumerate(drawn)}, room, words)
    assert sum(words(text) for text in selection.kept.values()) == selection.used <= room
    assert set(selection.kept) | set(selection.dropped) == set(range(len(made)))
    assert not set(selection.kept) & set(selection.dropped)
