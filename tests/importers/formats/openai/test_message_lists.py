"""The list of messages in a conversation: positions, and how far a damaged list is parsed."""

from __future__ import annotations

import pytest

from scopes.importers.formats.openai.message_lists import read_message_list

HI = '{"role":"user","content":"Hi"}'
YES = '{"role":"assistant","content":"Yes"}'


def places(text, start=0):
    """Return the texts of a conversation's elements."""
    found = read_message_list(text, start)
    return None if found is None else [text[element.start : element.end] for element in found.elements]


@pytest.mark.parametrize(
    "text",
    [
        f"[{HI},{YES}]",
        f" [ {HI} ,\n{YES} ] "[1:],
        f'{{"messages":[{HI},{YES}]}}',
        f'{{"traj": [{HI}, {YES}], "trial": 0}}',
        f'{{"info":{{"messages":[1]}},"messages":[{HI},{YES}],"traj":[]}}',
    ],
)
def test_a_conversation_is_an_array_or_an_object_that_holds_one(text):
    assert places(text) == [HI, YES]


def test_other_members_of_the_object_are_read():
    text = f'{{"task_id":7,"info":{{"x":1}},"traj":[{HI}],"reward":0.5,"done":true,"none":null,"name":"tea"}}'
    assert read_message_list(text).members == {"task_id": 7, "reward": 0.5, "done": True, "none": None, "name": "tea"}


def test_long_members_of_the_object_are_left_out():
    assert read_message_list(f'{{"prompt":"{"x" * 5000}","messages":[{HI}]}}').members == {}


@pytest.mark.parametrize(
    "text",
    [
        "[1,2]",
        '[{"n":1}]',
        '{"messages":[1]}',
        '{"messages":{}}',
        '{"messages":"x"}',
        "{}",
        "7",
        '"x"',
        "",
        HI,
        "[" + HI[:9],
        "tea",
        '{"messages":[',
    ],
)
def test_a_document_without_messages_is_not_a_conversation(text):
    assert places(text) is None


@pytest.mark.parametrize("text", ["[]", '{"messages":[]}'])
def test_an_empty_list_is_a_conversation(text):
    assert places(text) == []


def test_a_conversation_can_begin_anywhere_in_a_text():
    assert places(f"xx[{HI}]", 2) == [HI]


@pytest.mark.parametrize("tail", ["", ",", ',{"role":', ",{]", " tea", "]]"[:0] + "}"])
def test_a_truncated_conversation_is_read_to_its_end(tail):
    """C-21."""
    found = read_message_list(f"[{HI}{tail}")
    assert ([element.value for element in found.elements], found.complete) == (
        [{"role": "user", "content": "Hi"}],
        False,
    )


@pytest.mark.parametrize("tail", ["", ',"x":', ',"x"', ",7:1}", "]"])
def test_an_object_truncated_after_its_list_is_incomplete(tail):
    assert not read_message_list(f'{{"messages":[{HI}]{tail}').complete


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ('{"a":' * 300 + "1" + "}" * 300, "nested too deeply"),
        ('{"n":' + "9" * 5000 + "}", "an integer has too many digits"),
        ('{"s":"\udcff"}', "not valid UTF-8"),
    ],
)
def test_an_invalid_element_has_a_position_and_a_problem(element, problem):
    """C-23, C-24, C-27."""
    found = read_message_list(f"[{HI},{element},{YES}]")
    assert [item.problem for item in found.elements] == [None, problem, None]
    assert places(f"[{HI},{element},{YES}]")[1] == element


def test_a_number_too_long_outside_the_list_makes_the_object_incomplete():
    assert not read_message_list(f'{{"messages":[{HI}],"n":1{"0" * 4400}').complete
