"""What a session holds of messages: results follow their calls, and what it cannot hold is text, or is counted."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.handover.session import NO_RESULT, list_turns
from scopes.merge.plan import SCOPES
from scopes.model.message import Author, Part
from tests.handover.native_sessions import AGENT, HUMAN, SHOP, TOOL, call, message, result, text

INJECTED, SYSTEM = Author("user", "injected"), Author("claude-code", "system")


def roles(found):
    return [turn.role for turn in found.turns]


def test_a_conversation_becomes_prompts_answers_and_results():
    found = list_turns(SHOP)
    assert roles(found) == ["user", "assistant", "results", "assistant"]
    assert [turn.message for turn in found.turns] == [each.id for each in SHOP]
    assert [(each.id, each.is_error) for each in found.turns[2].results] == [("toolu_01", False), ("toolu_02", True)]
    assert (found.flattened, found.dropped) == ({}, {})


def test_a_call_without_a_result_gets_one_that_says_so():
    found = list_turns([SHOP[0], SHOP[1]])
    assert [each.text for each in found.turns[2].results] == [NO_RESULT, NO_RESULT]


def test_a_late_result_follows_its_call():
    """Interfaces of models refuse a call whose result is not directly after it."""
    late = message(5, TOOL, result("toolu_02", "late"))
    found = list_turns([SHOP[0], SHOP[1], message(2, TOOL, result("toolu_01", "first")), SHOP[3], late])
    assert roles(found) == ["user", "assistant", "results", "assistant"]
    assert [each.text for each in found.turns[2].results] == ["first", "late"]
    assert found.turns[2].message == message(2, TOOL).id


def test_a_result_in_the_message_of_its_call_follows_it():
    found = list_turns([SHOP[0], message(1, AGENT, call("c1"), result("c1", "there"))])
    assert [each.text for each in found.turns[2].results] == ["there"]


def test_a_result_without_a_call_is_a_text():
    found = list_turns([SHOP[0], message(1, TOOL, result("gone", "42"))])
    assert found.turns[1].text == "[result of a call that is not recorded]\n42"
    assert found.flattened == {"results without a call": 1}


def test_an_id_that_was_used_twice_is_another_one_the_second_time():
    messages = [SHOP[0], message(1, AGENT, call("c1")), message(2, TOOL, result("c1", "one"))]
    messages += [message(3, AGENT, call("c1")), message(4, TOOL, result("c1", "two"))]
    found = list_turns(messages)
    first, second = (turn.results[0] for turn in found.turns if turn.role == "results")
    assert (first.id, first.text, second.text) == ("c1", "one", "two")
    assert second.id == found.turns[3].calls[0].id != "c1"


@pytest.mark.parametrize("name", ["a b", "", "\N{SNOWMAN}", "x" * 65])
def test_an_id_that_an_interface_would_refuse_is_replaced(name):
    found = list_turns([SHOP[0], message(1, AGENT, call(name, "my tool!")), message(2, TOOL, result(name, "there"))])
    (made,) = found.turns[1].calls
    assert made.id.isascii()
    assert 0 < len(made.id) <= 64
    assert made.name == "my_tool_"
    if name:
        assert found.turns[2].results[0] == (made.id, "my_tool_", "there", False)


def test_the_input_of_a_call_is_always_an_object():
    parts = [
        Part("tool_call", {"call_id": "c1", "name": "apply_patch", "input_text": "*** Begin Patch"}),
        Part("tool_call", {"call_id": "c2", "name": "list", "input": [1]}),
        Part("tool_call", {"call_id": "c3", "name": "none"}),
    ]
    (answer,) = [turn for turn in list_turns([SHOP[0], message(1, AGENT, *parts)]).turns if turn.calls]
    assert [each.input for each in answer.calls] == [{"input": "*** Begin Patch"}, {"input": [1]}, {}]


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("a", "a"),
        ([{"type": "text", "text": "a"}, {"type": "image", "source": {}}, "b", {"x": 1}], 'a\n[image]\nb\n{"x": 1}'),
        ({"ok": True}, '{"ok": true}'),
        (None, NO_RESULT),
        ("", NO_RESULT),
    ],
)
def test_a_result_is_a_text_whatever_was_recorded(output, expected):
    found = list_turns([SHOP[0], message(1, AGENT, call("c1")), message(2, TOOL, result("c1", output))])
    assert found.turns[2].results[0].text == expected


def test_reasoning_is_left_out_or_quoted():
    answer = message(1, AGENT, Part("reasoning", {"text": "first\nthen"}), text("done"))
    assert list_turns([SHOP[0], answer]).turns[1].parts == ("done",)
    assert list_turns([SHOP[0], answer]).dropped == {"reasoning": 1}
    quoted = list_turns([SHOP[0], answer], reasoning=True)
    assert quoted.turns[1].parts == ("> first\n> then", "done")
    assert quoted.flattened == {"reasoning": 1}


def test_an_answer_with_nothing_but_reasoning_is_left_out():
    found = list_turns([SHOP[0], message(1, AGENT, Part("reasoning", {"text": "hm", "opaque": "c2ln"})), SHOP[3]])
    assert roles(found) == ["user", "assistant"]
    assert found.dropped == {"reasoning": 1, "messages without content": 1}


def test_an_image_is_named():
    found = list_turns([message(0, HUMAN, text("look"), Part("image", {"media_type": "image/png", "data": "AA=="}))])
    assert found.turns[0].parts == ("look", "[image: image/png]")
    assert found.flattened == {"images and files": 1}


def test_what_an_agent_injects_is_left_out_because_the_next_one_injects_its_own():
    messages = [
        message(0, INJECTED, text("<environment_context>")),
        SHOP[0],
        message(2, SYSTEM, text("be kind")),
        SHOP[3],
    ]
    found = list_turns(messages)
    assert [turn.text for turn in found.turns] == ["hide the prices", "done, in a.py"]
    assert found.dropped == {"injected messages": 2}


def test_what_a_merge_joined_is_in_the_history():
    found = list_turns([SHOP[0], message(1, SCOPES, text("Merged branch fix."))])
    assert found.turns[1].text == "Merged branch fix."


def test_a_compaction_is_a_prompt_whoever_wrote_it():
    found = list_turns([message(0, SYSTEM, text("so far"), kind="compaction"), SHOP[3]])
    assert [(turn.role, turn.text) for turn in found.turns] == [("user", "so far"), ("assistant", "done, in a.py")]


def test_a_document_without_a_text_is_written_as_json():
    decided = message(1, AGENT, kind="decision", payload={"topic": "db", "decision": "SQLite"})
    asked = message(0, HUMAN, kind="priority", payload={"task": "login", "urgency": "high"})
    found = list_turns([asked, decided])
    assert found.turns[0].text == '{"priority": {"task": "login", "urgency": "high"}}'
    assert found.turns[1].text == '{"decision": {"topic": "db", "decision": "SQLite"}}'


def test_a_history_begins_with_a_prompt():
    found = list_turns([SHOP[3]])
    assert [(turn.role, turn.message) for turn in found.turns] == [("user", None), ("assistant", SHOP[3].id)]


PARTS = st.sampled_from(["text", "call", "result", "reasoning", "image"])
AUTHORS = st.sampled_from([HUMAN, AGENT, TOOL, INJECTED])


@given(
    shapes=st.lists(
        st.tuples(AUTHORS, st.lists(st.tuples(PARTS, st.sampled_from(["c1", "c2"])), max_size=4)), max_size=6
    )
)
def test_whatever_was_recorded_the_turns_are_a_history_that_interfaces_take(shapes):
    make = {
        "text": text, "call": call, "result": result,
        "reasoning": lambda name: Part("reasoning", {"text": name}), "image": lambda name: Part("image", {"path": name}),
    }  # fmt: skip
    messages = [message(n, who, *(make[kind](name) for kind, name in parts)) for n, (who, parts) in enumerate(shapes)]
    turns = list_turns(messages).turns
    assert not turns or turns[0].role == "user"
    for before, turn in zip([None, *turns], turns, strict=False):
        asked = [each.id for each in before.calls] if before is not None else []
        assert [each.id for each in turn.results] == asked
        assert turn.results or turn.parts
    ids = [each.id for turn in turns for each in turn.calls]
    assert len(ids) == len(set(ids))
