"""Turns and files are read from the store, oldest turn first and last touched file first."""

from __future__ import annotations

import pytest

from scopes.context.collect import ReadLimits, collect, resolve_revisions
from scopes.conversation.append import amend
from scopes.conversation.new_rename_delete import new
from scopes.conversation.rebase import cherry_pick
from scopes.errors import NotFound
from scopes.model.message import Author
from tests.context.building import talk
from tests.support.history import history, say


def read(repository, where="conv-001", **limits):
    return collect(repository, resolve_revisions(repository, where, None, None), ReadLimits(**limits))


def contents(collected):
    return [turn.content for turn in collected.turns]


def touched(repository, *names, conversation="conv-001", op="edit", **fields):
    say(repository, conversation, "x", files=[{"path": name, "op": op, **fields} for name in names])


def test_turns_are_oldest_first_with_their_real_numbers(repository):
    """S1-26."""
    history(repository, "main: a b c")
    assert [(turn.number, turn.content) for turn in read(repository).turns] == [(1, "a"), (2, "b"), (3, "c")]


@pytest.mark.parametrize("limit", [0, 1, 2, 5])
def test_only_the_newest_messages_are_read_and_the_others_counted(repository, limit):
    history(repository, "main: a b c")
    collected = read(repository, max_messages=limit)
    assert contents(collected) == ["a", "b", "c"][max(0, 3 - limit) :]
    assert (collected.messages, collected.unread) == (3, max(0, 3 - limit))


def test_an_injected_message_is_not_an_unread_turn(repository):
    new(repository)
    say(repository, "conv-001", "reminder", author={"name": "claude", "kind": "injected"})
    say(repository, "conv-001", "hello")
    assert read(repository, max_messages=1).unread == 0


def test_reading_starts_after_the_last_of_several_compactions(repository):
    new(repository)
    for number in (1, 2):
        talk(repository, 2)
        say(repository, "conv-001", f"summary {number}", kind="compaction", context_root=True)
    say(repository, "conv-001", "after")
    collected = read(repository)
    assert (contents(collected), collected.summary, collected.filtered) == (["after"], "summary 2", 5)
    assert read(repository, include_all=True).summary is None


def test_a_summary_that_is_not_a_context_root_is_a_turn(repository):
    new(repository)
    say(repository, "conv-001", "before")
    say(repository, "conv-001", "in short", kind="summary")
    assert contents(read(repository)) == ["before", "in short"]


def test_an_amended_message_is_read_with_its_amendment(repository):
    drawn = history(repository, "main: a b")
    amend(repository, "conv-001", drawn.ids["a"], "better", author=Author("carol"))
    assert contents(read(repository)) == ["better", "b"]


def test_an_amendment_picked_without_its_original_keeps_its_text(repository):
    """M11."""
    drawn = history(repository, "main: a", "fix@a: b")
    amendment = amend(repository, "conv-001", drawn.ids["b"], "better", author=Author("carol"), branch="fix")
    cherry_pick(repository, "conv-001", [amendment.id], branch="main")
    assert contents(read(repository, "conv-001/main")) == ["a", "better"]
    assert contents(read(repository, "conv-001/fix")) == ["a", "better"]


def test_the_last_touched_file_comes_first_and_the_order_inside_a_turn_stays(repository):
    """S1-3."""
    new(repository)
    touched(repository, "c", "a")
    touched(repository, "a", "b")
    assert [(file.path, file.turn) for file in read(repository).files] == [("a", 2), ("b", 2), ("c", 1)]


@pytest.mark.parametrize(("op", "known"), [("read", "sha256:00"), ("mention", "sha256:00"), ("edit", None)])
def test_reading_a_file_keeps_its_hash_and_an_edit_does_not(repository, op, known):
    new(repository)
    touched(repository, "a", content_hash="sha256:00")
    touched(repository, "a", op=op)
    assert [file.content_hash for file in read(repository).files] == [known]


def test_a_later_hash_replaces_an_earlier_one(repository):
    new(repository)
    touched(repository, "a", content_hash="sha256:00")
    touched(repository, "a", content_hash="sha256:11")
    assert [file.content_hash for file in read(repository).files] == ["sha256:11"]


def test_a_renamed_file_is_listed_by_both_names(repository):
    new(repository)
    say(repository, "conv-001", "x", files=[{"path": "new", "op": "rename", "from": "old"}])
    assert {file.path for file in read(repository).files} == {"new", "old"}


def test_files_have_recorded_content_only_on_request(repository):
    new(repository)
    call = {"type": "tool_call", "call_id": "c", "input": {"file_path": "a", "content": "text"}}
    result = {"type": "tool_result", "call_id": "c", "output": "done"}
    say(repository, "conv-001", "x", parts=[call, result], files=[{"path": "a", "op": "create"}])
    contents = [read(repository, as_recorded=value).files[0].content for value in (False, True)]
    assert contents == [None, "text"]


def test_without_recorded_content_there_is_no_note(repository):
    new(repository)
    touched(repository, "a")
    assert read(repository, as_recorded=True).notes == []


def test_headings_name_the_conversation_only_if_there_are_several(repository):
    for number in (1, 2):
        new(repository)
        talk(repository, 1, conversation=f"conv-00{number}", work_item="SHOP-1")
    revisions = resolve_revisions(repository, None, "SHOP-1", None)
    assert [turn.named for turn in collect(repository, revisions, ReadLimits()).turns] == [True, True]
    assert [turn.named for turn in read(repository).turns] == [False]


def test_a_message_is_looked_up_in_the_given_conversation(repository):
    drawn = history(repository, "main: a b")
    history(repository, "main: other")
    [revision] = resolve_revisions(repository, "conv-001", None, drawn.ids["a"])
    assert (revision.conversation, contents(collect(repository, [revision], ReadLimits()))) == ("conv-001", ["a"])


@pytest.mark.parametrize(("where", "work_item"), [(None, None), (None, "SHOP-9"), ("conv-404", None)])
def test_a_missing_conversation_or_work_item_is_not_found_with_a_hint(repository, where, work_item):
    """S1-23."""
    history(repository, "main: a")
    with pytest.raises(NotFound) as refusal:
        resolve_revisions(repository, where, work_item, None)
    assert refusal.value.hint
