"""What a context can be made of, as it is read from the store."""

from __future__ import annotations

import pytest

from scopes.context.collect import ReadLimits, collect, find_sessions
from scopes.conversation.amend import amend
from scopes.conversation.new import new
from scopes.errors import NotFound
from tests.context.building import talk
from tests.support.history import history, say


def gathered(repository, where="conv-001", **extent):
    return collect(repository, find_sessions(repository, where, None, None), ReadLimits(**extent))


def said(material):
    return [turn.content for turn in material.turns]


def touched(repository, *names, conversation="conv-001", op="edit", **fields):
    say(repository, conversation, "x", files=[{"path": name, "op": op, **fields} for name in names])


def test_turns_are_oldest_first_with_their_real_numbers(repository):
    """S1-26."""
    history(repository, "main: a b c")
    assert [(turn.number, turn.content) for turn in gathered(repository).turns] == [(1, "a"), (2, "b"), (3, "c")]


@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_no_more_messages_are_read_than_could_fit_and_the_others_are_counted(repository, most):
    history(repository, "main: a b c")
    material = gathered(repository, max_messages=most)
    assert said(material) == ["a", "b", "c"][max(0, 3 - most) :]
    assert (material.messages, material.unread) == (3, max(0, 3 - most))


def test_what_a_program_put_in_is_no_unread_turn(repository):
    new(repository)
    say(repository, "conv-001", "reminder", author={"name": "claude", "kind": "injected"})
    say(repository, "conv-001", "hello")
    assert gathered(repository, max_messages=1).unread == 0


def test_of_several_compactions_the_last_counts(repository):
    new(repository)
    for number in (1, 2):
        talk(repository, 2)
        say(repository, "conv-001", f"summary {number}", kind="compaction", context_root=True)
    say(repository, "conv-001", "after")
    material = gathered(repository)
    assert (said(material), material.summary, material.filtered) == (["after"], "summary 2", 5)
    assert gathered(repository, include_all=True).summary is None


def test_a_summary_that_begins_nothing_is_a_turn(repository):
    new(repository)
    say(repository, "conv-001", "before")
    say(repository, "conv-001", "in short", kind="summary")
    assert said(gathered(repository)) == ["before", "in short"]


def test_an_amended_message_is_read_as_it_is_now(repository):
    drawn = history(repository, "main: a b")
    amend(repository, "conv-001", drawn.ids["a"], "better", author="carol")
    assert said(gathered(repository)) == ["better", "b"]


def test_the_last_touched_file_comes_first_and_the_order_inside_a_turn_stays(repository):
    """S1-3."""
    new(repository)
    touched(repository, "c", "a")
    touched(repository, "a", "b")
    assert [(file.path, file.turn) for file in gathered(repository).files] == [("a", 2), ("b", 2), ("c", 1)]


@pytest.mark.parametrize(("op", "known"), [("read", "sha256:00"), ("mention", "sha256:00"), ("edit", None)])
def test_reading_a_file_leaves_its_hash_and_an_edit_does_not(repository, op, known):
    new(repository)
    touched(repository, "a", content_hash="sha256:00")
    touched(repository, "a", op=op)
    assert [file.content_hash for file in gathered(repository).files] == [known]


def test_a_later_hash_takes_the_place_of_an_earlier_one(repository):
    new(repository)
    touched(repository, "a", content_hash="sha256:00")
    touched(repository, "a", content_hash="sha256:11")
    assert [file.content_hash for file in gathered(repository).files] == ["sha256:11"]


def test_a_renamed_file_is_known_by_both_names(repository):
    new(repository)
    say(repository, "conv-001", "x", files=[{"path": "new", "op": "rename", "from": "old"}])
    assert {file.path for file in gathered(repository).files} == {"new", "old"}


def test_files_of_now_have_no_recorded_content(repository):
    new(repository)
    call = {"type": "tool_call", "call_id": "c", "input": {"file_path": "a", "content": "text"}}
    result = {"type": "tool_result", "call_id": "c", "output": "done"}
    say(repository, "conv-001", "x", parts=[call, result], files=[{"path": "a", "op": "create"}])
    contents = [gathered(repository, as_recorded=wanted).files[0].content for wanted in (False, True)]
    assert contents == [None, "text"]


def test_where_nothing_was_recorded_nothing_is_said_of_it(repository):
    new(repository)
    touched(repository, "a")
    assert gathered(repository, as_recorded=True).notes == []


def test_one_session_is_not_named_in_its_turns_and_several_are(repository):
    for number in (1, 2):
        new(repository)
        talk(repository, 1, conversation=f"conv-00{number}", work_item="SHOP-1")
    places = find_sessions(repository, None, "SHOP-1", None)
    assert [turn.named for turn in collect(repository, places, ReadLimits()).turns] == [True, True]
    assert [turn.named for turn in gathered(repository).turns] == [False]


def test_a_message_is_looked_for_inside_the_conversation_that_is_named(repository):
    drawn = history(repository, "main: a b")
    history(repository, "main: other")
    [place] = find_sessions(repository, "conv-001", None, drawn.ids["a"])
    assert (place.conversation, said(collect(repository, [place], ReadLimits()))) == ("conv-001", ["a"])


@pytest.mark.parametrize(("where", "work_item"), [(None, None), (None, "SHOP-9"), ("conv-404", None)])
def test_what_is_not_there_is_not_found_with_a_way_out(repository, where, work_item):
    """S1-23."""
    history(repository, "main: a")
    with pytest.raises(NotFound) as refusal:
        find_sessions(repository, where, work_item, None)
    assert refusal.value.hint
