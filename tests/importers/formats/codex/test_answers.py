"""Grouping items into messages: an answer of the model, a set of results, a prompt."""

from __future__ import annotations

from tests.importers.formats.codex.rollouts import Rollout, closed_messages, messages_of, texts, tokens


def results(draft):
    return [part.fields.get("call_id") for part in draft.parts]


def test_the_items_of_one_answer_are_one_message():
    answer = messages_of(Rollout().user("Hi").think("Hm").say("I look.").call("c1").call("c2"))[1]
    assert [part.type for part in answer.parts] == ["reasoning", "text", "tool_call", "tool_call"]
    assert len(answer.spans) == 4


def test_the_results_of_one_answer_are_one_message():
    found = messages_of(Rollout().call("c1").call("c2").output("c2").output("c1"))
    assert [draft.kind for draft in found] == ["answer", "tool-results"]
    assert results(found[1]) == ["c2", "c1"]
    assert found[1].reply_to == found[0].key


def test_a_call_between_results_begins_a_new_answer():
    """Calls and results interleave; the later calls are an answer of their own."""
    found = messages_of(Rollout().call("c1").output("c1").call("c2").output("c2"))
    assert [draft.kind for draft in found] == ["answer", "tool-results"] * 2
    assert [draft.reply_to for draft in found] == [None, found[0].key, None, found[2].key]


def test_a_result_after_a_later_answer_still_names_its_call():
    found = messages_of(Rollout().call("c1").call("c2").output("c2").call("c3").output("c1").output("c3"))
    assert results(found[3]) == ["c1", "c3"]
    assert found[3].reply_to == found[0].key


def test_an_answer_does_not_continue_after_its_usage():
    """A usage record ends an answer of the API."""
    found = messages_of(Rollout().say("One").count(tokens(10)).say("Two").count(tokens(30)))
    assert [(texts(draft), draft.usage["input_uncached"]) for draft in found] == [(["One"], 10), (["Two"], 20)]


def test_an_answer_continues_after_a_repeated_usage():
    rollout = Rollout().say("One").count(tokens(10)).say("Two").count(tokens(10)).call("c1")
    assert [len(draft.parts) for draft in messages_of(rollout)] == [1, 2]


def test_no_message_changes_after_the_next_one_starts():
    """Storage, open messages: closed by the first record of another message."""
    rollout = (
        Rollout()
        .turn()
        .user("Hi")
        .think()
        .call("c1")
        .count(tokens(10))
        .event("exec_command_end", call_id="c1", exit_code=1)
    )
    rollout.output("c1").event("exec_command_end", call_id="c1", exit_code=2).count(tokens(30)).say("Hm").user(
        "<turn_aborted>\n"
    )
    rollout.event("turn_aborted", reason="interrupted").call("c2").event("error", message="x").output("c2").user("More")
    data, whole = rollout.data(), messages_of(rollout)
    for end in (place + 1 for place, byte in enumerate(data) if byte == ord("\n")):
        before = closed_messages(data[:end])
        assert before == whole[: len(before)]
