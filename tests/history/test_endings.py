"""How a turn ended without a whole answer: from the message itself, and for a prompt from what follows it."""

from __future__ import annotations

import pytest

from scopes.history.messages import MessageHeader
from scopes.history.sessions import Following, ending_of, is_unanswered, last_of_turn, may_have_ending
from scopes.model.message import Author, Message, text_parts


def message(kind="answer", run=None, **fields):
    author = Author("user", "human") if kind == "prompt" else Author("stub")
    extra = {} if run is None else {"acp": {"session": "s", "run": run}}
    return Message(id="m", author=author, parts=text_parts("text"), kind=kind, extra=extra, **fields)


def head(oid, kind, *parents):
    return MessageHeader(
        id=oid, oid=oid, parents=parents, author="x", author_kind="agent", kind=kind, time=0, subject="s", to=()
    )


@pytest.mark.parametrize(
    ("fields", "ending"),
    [
        ({}, None),
        ({"status": "failed"}, None),
        ({"stop_reason": "end_turn"}, None),
        ({"status": "interrupted"}, "interrupted"),
        ({"status": "partial"}, "interrupted"),
        ({"kind": "interrupt"}, "interrupted"),
        ({"stop_reason": "cancelled"}, "cancelled"),
        ({"status": "cancelled"}, "cancelled"),
    ],
)
def test_a_message_says_how_its_turn_ended(fields, ending):
    """S3-24: the same words for imported turns and for those behind `scopes acp`."""
    assert ending_of(message(**fields)) == ending


def test_a_prompt_without_an_answer_is_unanswered_if_no_later_one_of_its_run_may_have_it():
    prompt = message("prompt", "a")
    assert is_unanswered(prompt, [])
    assert is_unanswered(prompt, [message("prompt", "b")])
    assert not is_unanswered(prompt, [message("prompt", "b"), message("prompt", "a")])


@pytest.mark.parametrize("other", [message("answer", "a"), message("prompt"), message("prompt", 7)])
def test_what_is_no_prompt_of_a_proxy_is_not_unanswered(other):
    """A transcript may have prompts that were queued, and one that a person wrote waits for nobody."""
    assert not is_unanswered(other, [])


def test_the_last_message_of_a_turn_is_known_in_a_walk_that_comes_to_it_after_what_follows():
    walk = [head("p3", "prompt", "a2"), head("a2", "answer", "a1"), head("a1", "answer", "p1"), head("p1", "prompt")]
    following = Following(["p3"], is_live=True)
    assert [following.visit(each) for each in walk] == [(), (), None, None]


def test_a_prompt_that_another_one_follows_names_it_and_where_the_walk_began_nothing_is_known():
    walk = [head("p3", "prompt", "p2"), head("p2", "prompt", "p1"), head("p1", "prompt")]
    following = Following([], is_live=True)
    assert [following.visit(each) for each in walk] == [None, ("p3",), ("p2",)]


def test_in_a_conversation_that_is_imported_only_an_interrupt_and_the_tip_are_looked_at():
    """Every answer that a prompt follows would have to be read; they are whole there."""
    walk = [
        head("a3", "answer", "p3"), head("p3", "prompt", "a2"), head("a2", "answer", "i1"), head("i1", "interrupt", "a1"),
        head("a1", "answer", "p1"), head("p1", "prompt"),
    ]  # fmt: skip
    following = Following(["a3"], is_live=False)
    assert [following.visit(each) for each in walk] == [(), None, None, None, (), None]


@pytest.mark.parametrize(
    ("kind", "body", "found"),
    [
        ("answer", b'{"status":"interrupted"}', True),
        ("answer", b'{"stop_reason":"cancelled"}', True),
        ("answer", b'{"text":"it was cancelled"}', False),
        ("prompt", b'{"acp":{"run":"a"}}', True),
        ("prompt", b'{"text":"acp"}', False),
    ],
)
def test_what_has_no_word_for_an_ending_is_not_decoded(kind, body, found):
    assert may_have_ending(kind, body) == found


@pytest.mark.parametrize(
    ("kind", "following", "found"),
    [
        ("answer", {"x": "prompt"}, ()),
        ("answer", {"x": "interrupt"}, ()),
        ("answer", {"x": "prompt", "y": "answer"}, None),
        ("tool-results", {}, ()),
        ("tool-results", {"x": "answer"}, None),
        ("prompt", {"x": "prompt", "y": "answer"}, None),
        ("prompt", {"x": "prompt", "y": "prompt"}, ("x", "y")),
        ("plain", {}, None),
    ],
)
def test_a_turn_that_goes_on_on_any_branch_has_not_ended(kind, following, found):
    assert last_of_turn(kind, following) == found
