"""`stats`: counts of messages, authors, tools, files, tokens and working time."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.new_rename_delete import new
from scopes.conversation.stats import Counts, stats
from scopes.errors import NotFound
from scopes.history.activity import Tokens
from scopes.history.messages import MessageHeader, plain_message
from scopes.ids import MessageId
from scopes.model.message import Author, Message
from tests.support.history import history, say
from tests.support.tool_calls import REFUSED, call_tool


def test_messages_of_all_branches_are_counted_once(repository):
    history(repository, "main: a b", "fix@a: c", "same:")
    seen = stats(repository, "conv")
    assert (seen.conversation, seen.branches, seen.messages, seen.characters) == ("conv-001", 3, 3, 3)


def test_one_branch_can_be_counted(repository):
    """D7."""
    history(repository, "main: a b", "fix@a: c d")
    found = stats(repository, "conv-001/fix")
    assert (found.conversation, found.branch, found.branches, found.messages) == ("conv-001", "fix", 1, 3)


def test_names_are_sorted_by_count_then_by_name(repository):
    new(repository)
    for author in ("dave", "carol", "erin", "dave", "carol", "dave"):
        say(repository, "conv-001", "x", author=author, kind="system" if author == "erin" else "plain")
    seen = stats(repository, "conv-001")
    assert list(seen.authors.items()) == [("dave", 3), ("carol", 2), ("erin", 1)]
    assert list(seen.kinds.items()) == [("plain", 5), ("system", 1)]
    say(repository, "conv-001", "x", author="erin")
    assert list(stats(repository, "conv-001").authors) == ["dave", "carol", "erin"]


def test_tools_models_and_files_are_counted(repository):
    new(repository)
    calls = [{"type": "tool_call", "name": "bash", "call_id": str(n), "input": {}} for n in range(2)]
    say(
        repository,
        "conv-001",
        "x",
        parts=[*calls, {"type": "tool_call"}],
        model="m1",
        files=[{"path": "a", "op": "edit"}],
    )
    say(repository, "conv-001", "y", model="m1", files=[{"path": "a", "op": "read"}, {"path": "b", "op": "read"}])
    seen = stats(repository, "conv-001")
    assert (seen.tool_calls, seen.tools) == (3, {"bash": 2, "unknown": 1})
    assert (seen.models, seen.files) == ({"m1": 2}, 2)


def test_the_duration_is_from_the_earliest_to_the_latest_time(repository):
    new(repository)
    for time in ("2026-02-01T12:01:00Z", "2026-02-01T12:00:00Z", "2026-02-01T12:00:30Z"):
        say(repository, "conv-001", "x", time=time)
    seen = stats(repository, "conv-001")
    assert (seen.first, seen.last, seen.duration_seconds) == ("2026-02-01T12:00:00Z", "2026-02-01T12:01:00Z", 60)


def test_characters_are_counted_not_bytes(repository):
    history(repository, "main: é日🎉")
    assert stats(repository, "conv-001").characters == 3


def test_an_empty_conversation_has_no_times(repository):
    """None means unknown, not 0."""
    new(repository)
    seen = stats(repository, "conv-001")
    assert (seen.messages, seen.first, seen.last, seen.duration_seconds) == (0, None, None, None)
    assert (seen.authors, seen.tools) == ({}, {})


def spend(repository, name, model="m1", **usage):
    """Append a message with token usage."""
    say(repository, "conv-001", name, model=model, kind="answer", usage=usage)


def test_tokens_are_added_up_by_model(repository):
    new(repository)
    spend(repository, "a", input_uncached=3, output=5)
    spend(repository, "b", input_uncached=4, cache_read=100, output=6, reasoning=2)
    spend(repository, "c", model="m2", input_uncached=1000)
    seen = stats(repository, "conv-001")
    assert list(seen.tokens_by_model) == ["m2", "m1"]
    assert seen.tokens_by_model["m1"] == Tokens(2, 7, 100, None, 11, 2)
    assert seen.tokens == Tokens(3, 1007, 100, None, 11, 2)


def test_tokens_of_a_message_on_several_branches_count_once(repository):
    history(repository, "main: a")
    spend(repository, "b", output=7)
    branch(repository, "conv-001", name="fix", start="main")
    spend(repository, "c", output=1)
    assert stats(repository, "conv-001").tokens == Tokens(2, output=8)


def test_failed_calls_are_counted_by_tool(repository):
    new(repository)
    calls = [{"type": "tool_call", "name": name, "call_id": name} for name in ("bash", "read")]
    say(repository, "conv-001", "x", parts=calls)
    results = [
        {"type": "tool_result", "call_id": name, "output": "", "is_error": failed}
        for name, failed in (("bash", True), ("read", False), ("gone", True), (None, "yes"))
    ]
    say(repository, "conv-001", "y", parts=results)
    seen = stats(repository, "conv-001")
    assert (seen.tools, seen.tool_errors) == ({"bash": 1, "read": 1}, {"bash": 1, "unknown": 1})


def test_refused_calls_are_counted_apart_from_failed_ones(repository):
    new(repository)
    call_tool(repository, "conv-001/main", "Bash", {"command": "rm x"}, output=REFUSED, is_error=True)
    call_tool(repository, "conv-001/main", "Bash", {"command": "ls"}, output="no", is_error=True)
    seen = stats(repository, "conv-001")
    assert (seen.tool_errors, seen.tool_refusals) == ({"Bash": 1}, {"Bash": 1})


def test_files_that_were_only_read_are_not_counted_as_changed(repository):
    new(repository)
    say(repository, "conv-001", "x", files=[{"path": "a", "op": "read"}, {"path": "b", "op": "edit"}])
    seen = stats(repository, "conv-001")
    assert (seen.files, seen.files_changed) == (2, 1)


def test_the_whole_store_is_counted_by_default(repository):
    history(repository, "main: a b", conversation="one")
    history(repository, "main: c", "fix@c: d", conversation="two")
    seen = stats(repository)
    assert (seen.conversation, seen.conversations, seen.branches, seen.messages) == (None, 2, 3, 4)
    assert (seen.first, seen.last) == (stats(repository, "one").first, stats(repository, "two").last)


def test_an_empty_store_has_nothing_to_count(repository):
    seen = stats(repository)
    assert (seen.conversations, seen.messages, seen.tokens, seen.first) == (0, 0, None, None)


def test_an_unknown_conversation_is_refused(repository):
    with pytest.raises(NotFound) as refusal:
        stats(repository, "nope")
    assert refusal.value.hint


def test_messages_copied_from_a_session_that_was_not_imported_give_a_note(repository):
    """Their calls are counted but their tokens are not, so the note explains the difference."""
    history(repository, "main: a")
    assert stats(repository, "conv-001").notes == ()
    copied = replace(plain_message("codex", "x"), extra={"precision": "restamped"})
    append(repository, "conv-001", copied)
    (note,) = stats(repository, "conv-001").notes
    assert note.text.startswith("1 of the messages were copied from a session that was not imported")


def active_seconds(*rows):
    """Return the active time of messages: (name, parent, second, kind of author[, precision of the time])."""
    messages = []
    for name, parent, second, kind, *precision in rows:
        parents = () if parent is None else (parent,)
        head = MessageHeader(MessageId(name), name, parents, kind, kind, "plain", second, "", ())
        extra = {"precision": precision[0]} if precision else {}
        message = Message(id=MessageId(name), author=Author(kind, kind), parts=(), time="now", extra=extra)
        messages.append((head, message))
    counts = Counts()
    counts.add_conversation(messages)
    return counts.active_seconds


def test_active_time_is_from_a_prompt_to_the_last_answer_before_the_next():
    rows = (("a", None, 0, "human"), ("b", "a", 10, "agent"), ("c", "b", 15, "tool"), ("d", "c", 30, "agent"))
    assert active_seconds(*rows) == 30
    assert active_seconds(*rows, ("e", "d", 5000, "human"), ("f", "e", 5001, "agent")) == 31


def test_injected_messages_do_not_count_as_active_time():
    assert active_seconds(("a", None, 0, "agent"), ("b", "a", 900, "injected"), ("c", "b", 905, "agent")) == 5


def test_parallel_work_counts_once():
    rows = (("a", None, 0, "human"), ("b", "a", 10, "agent"), ("c", "b", 100, "tool"))
    other_rows = (("x", "root", 11, "injected"), ("y", "x", 50, "agent"), ("z", "y", 120, "agent"))
    assert active_seconds(*rows, *other_rows) == 120


def test_copied_times_are_ignored():
    assert active_seconds(("a", None, 0, "human", "restamped"), ("b", "a", 9, "agent", "exact")) is None
    assert active_seconds(("a", None, 0, "human", "exact"), ("b", "a", 9, "agent", "none")) is None


def test_a_time_before_that_of_the_parent_is_ignored():
    assert active_seconds(("a", None, 9, "human"), ("b", "a", 0, "agent")) is None


def test_without_agents_the_active_time_is_unknown():
    assert active_seconds() is None
    assert active_seconds(("a", None, 0, "human"), ("b", "a", 9, "human")) is None


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=12))
def test_active_time_is_the_union_of_the_intervals(pairs):
    """Law: a second in which several agents work counts once."""
    rows = []
    for number, (one, other) in enumerate(pairs):
        start, end = sorted((one, other))
        rows += [(f"p{number}", None, start, "human"), (f"a{number}", f"p{number}", end, "agent")]
    assert active_seconds(*rows) == len({second for one, other in pairs for second in range(*sorted((one, other)))})
