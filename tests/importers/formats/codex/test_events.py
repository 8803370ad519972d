"""Events of a thread: interruption, error, compaction, rollback, title."""

from __future__ import annotations

import pytest

from tests.importers.formats.codex.rollouts import THREAD, Rollout, kinds, messages_of, read, texts
from tests.importers.reading import drafts

ABORTED = "<turn_aborted>\nStopped."


def tree(rollout):
    """Return the text of every message with the text of its parent."""
    found = messages_of(rollout)
    names = {draft.key: "".join(texts(draft)) for draft in found}
    return [(names[draft.key], names.get(draft.parent)) for draft in found]


def test_an_interruption_is_one_message():
    """The notice to the model and the event report the same interruption."""
    found = messages_of(Rollout().say("I look").user(ABORTED).event("turn_aborted", reason="interrupted"))
    assert [(draft.kind, draft.author.kind, draft.status) for draft in found] == [
        ("answer", "agent", "interrupted"),
        ("interrupt", "injected", "interrupted"),
    ]
    assert len(found[1].spans) == 2


def test_an_interruption_without_a_notice_is_one_message():
    found = messages_of(Rollout().call("c1").output("c1").event("turn_aborted", reason="replaced"))
    assert (found[2].kind, found[2].author.kind, texts(found[2])) == ("interrupt", "system", ["replaced"])


def test_an_error_shown_to_the_user_is_a_message():
    found = messages_of(Rollout().user("Hi").event("error", message="stream disconnected", codex_error_info="other"))[1]
    assert (found.kind, found.author.kind, found.status, texts(found)) == (
        "error",
        "system",
        "error",
        ["stream disconnected"],
    )


def test_an_error_that_is_reported_twice_is_one_message():
    rollout = Rollout().event("error", message="gone").event("task_complete", error={"message": "gone"})
    assert kinds(rollout) == "error"
    assert kinds(rollout.event("error", message="again")) == "error error"


def test_a_compaction_stays_linear_and_starts_the_context():
    """Context building starts there."""
    history = [{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Sell tea"}]}]
    rollout = (
        Rollout()
        .user("Sell tea")
        .say("Done")
        .add("compacted", {"message": "We sell tea.", "replacement_history": history})
    )
    rollout.event("context_compacted").user("And milk")
    found = messages_of(rollout)
    assert [draft.kind for draft in found] == ["prompt", "answer", "compaction", "prompt"]
    assert [draft.context_root for draft in found] == [False, False, True, False]
    assert [draft.parent for draft in found[1:]] == [draft.key for draft in found[:3]]


def test_a_compaction_by_the_provider_is_a_compaction():
    found = messages_of(Rollout().say("Done").item("compaction", encrypted_content="c2VhbGVk").say("On"))
    assert [(draft.kind, draft.context_root) for draft in found] == [
        ("answer", False),
        ("compaction", True),
        ("answer", False),
    ]


def test_the_answer_used_for_a_compaction_is_a_summary():
    """Codex 0.169 marks it."""
    rollout = Rollout().user("Hi").say("Hello").event("task_started")
    rollout.say("We greeted.").records[-1]["metadata"] = {"compaction_output": True}
    assert kinds(rollout) == "prompt answer summary"


def test_a_rollback_makes_a_branch():
    """Rolled back messages stay; later ones follow the message before them."""
    rollout = (
        Rollout().user("a").say("b").user("c").say("d").event("thread_rolled_back", num_turns=1).user("e").say("f")
    )
    assert tree(rollout) == [("a", None), ("b", "a"), ("c", "b"), ("d", "c"), ("e", "b"), ("f", "e")]


def test_the_message_rolled_back_to_is_active():
    events = read(Rollout().user("a").say("b").user("c").event("thread_rolled_back", num_turns=1))
    assert events[-1].active == drafts(events)[1].key
    assert events[-1].open == drafts(events)[2].key


@pytest.mark.parametrize(("count", "parent"), [(9, None), (0, "b"), (-1, "b"), ("1", "b"), (None, "b"), (True, "b")])
def test_a_rollback_by_an_invalid_number_goes_to_the_beginning_or_nowhere(count, parent):
    rollout = Rollout().user("a").user("b").event("thread_rolled_back", num_turns=count).user("c")
    assert tree(rollout)[-1] == ("c", parent)


def test_the_last_name_of_a_thread_is_its_title():
    rollout = Rollout().event("thread_name_updated", thread_id=THREAD, thread_name="Tea").user("Hi")
    assert read(rollout)[-1].title == "Tea"
    assert read(rollout.event("thread_name_updated", thread_name="Tea shop"))[-1].title == "Tea shop"


@pytest.mark.parametrize("record", ["inter_agent_communication", "response_item"])
def test_text_from_one_agent_to_another_is_a_message(record):
    payload = {"type": "agent_message", "author": "/root/emmy", "recipient": "/root", "content": "I found it"}
    found = messages_of(Rollout().add(record, payload))[0]
    assert (found.author.name, found.author.kind, texts(found)) == ("/root/emmy", "agent", ["I found it"])
    assert found.extra == {"recipient": "/root"}
