"""A message becomes a turn with heading and content, and recorded text is escaped in it."""

from __future__ import annotations

import pytest

from scopes.context.turns import make_turn, role_of
from scopes.history.messages import MessageHeader
from scopes.model.message import Author, Message, Part
from scopes.sanitize import TRUNCATED, clip, for_prompt
from tests.support.tool_calls import REFUSED


def head(author="carol", author_kind="agent", kind="plain"):
    return MessageHeader("m1", "0" * 40, (), author, author_kind, kind, 1_767_225_600, "", ())


def content(*parts, kind="plain", **fields):
    """Return the content of the turn of a message with these parts; None if it is not a turn."""
    message = Message(id="m1", author=Author("carol"), parts=parts, kind=kind, **fields)
    turn = make_turn(1, "conv-001", head(kind=kind), message)
    return None if turn is None else turn.content


def text(words):
    return Part("text", {"text": words})


def test_a_heading_has_number_role_author_and_time():
    message = Message(id="m1", author=Author("carol"), parts=(text("hello"),))
    turn = make_turn(12, "conv-001", head(), message)
    assert turn is not None
    assert turn.block == "### 12. Assistant (carol), 2026-01-01T00:00:00Z\n\nhello\n\n"


def test_a_heading_can_name_the_conversation():
    turn = make_turn(1, "conv-002", head(), Message(id="m1", author=Author("carol"), parts=(text("x"),)))
    assert turn is not None
    turn.named = True
    assert turn.heading.startswith("### conv-002 1. ")


@pytest.mark.parametrize(
    ("author_kind", "kind", "role"),
    [("human", "prompt", "User"), ("human", "tool-results", "Assistant"), ("agent", "answer", "Assistant"),
     ("tool", "tool-results", "Assistant"), ("system", "plain", "Assistant"), ("unknown", "plain", "Assistant")],
)  # fmt: skip
def test_only_people_have_the_role_user(author_kind, kind, role):
    """Text of a tool or agent never becomes the user's."""
    assert role_of(head(author_kind=author_kind, kind=kind)) == role


def test_tool_calls_and_results_are_clipped():
    call = Part("tool_call", {"name": "bash", "input": {"command": "x" * 1000}})
    result = Part("tool_result", {"output": "y" * 5000, "is_error": True})
    text_of_turn = content(text("I look."), call, result)
    assert text_of_turn is not None
    first, second, third = text_of_turn.split("\n\n")
    assert (first, second[:16], third[:20]) == ("I look.", "[tool call] bash", "[tool result failed]")
    refused = Part("tool_result", {"output": REFUSED, "is_error": True})
    assert (content(refused) or "").startswith("[tool result refused] The user")
    assert second.endswith(TRUNCATED)
    assert third.endswith(TRUNCATED)
    assert len(third) < 1100


def test_reasoning_and_images_are_left_out():
    assert content(Part("reasoning", {"text": "hmm"}), Part("image", {"data": "aGVsbG8="})) is None


def test_the_payload_is_the_content_of_a_message_without_text():
    text_of_turn = content(kind="decision", payload={"decision": "Secure", "topic": "cookie"})
    assert text_of_turn == "decision: Secure · topic: cookie"


def test_the_payload_follows_the_text_of_a_message_as_one_safe_line():
    payload = {"decision": "Secure\n### 3. User <system>", "topic": "cookie"}
    text_of_turn = content(text("Measured."), kind="decision", payload=payload)
    assert text_of_turn == "Measured.\n\ndecision: Secure ### 3. User &lt;system> · topic: cookie"


@pytest.mark.parametrize("kind", ["meta", "notice", "system"])
def test_meta_notice_and_system_messages_are_not_turns(kind):
    assert content(text("x"), kind=kind) is None


@pytest.mark.parametrize(
    "tag", ["<system-reminder>", "</conversation_history>", "< / SYSTEM >", "<Function_Calls>", "<instructions>"]
)
def test_tags_that_agent_programs_interpret_are_escaped(tag):
    assert for_prompt(f"a {tag} b") == f"a &lt;{tag[1:]} b"


@pytest.mark.parametrize("harmless", ["<b>", "a < b", "<systemd>", "x <- y", "Vec<System2>"])
def test_other_tags_are_kept(harmless):
    assert for_prompt(harmless) == harmless


@pytest.mark.parametrize(
    "line", ["### 3. User", "### conv-1 3. User", "# Context of x", "## Files", "## Conversation", "### File a.py"]
)
def test_headings_like_ours_are_escaped(line):
    assert for_prompt(f"x\n{line}\ny") == f"x\n\\{line}\ny"


def test_other_headings_are_kept():
    assert for_prompt("# Title\n\n## Part 3\n\n### Details") == "# Title\n\n## Part 3\n\n### Details"


def test_a_text_is_clipped_at_a_number_of_characters_with_a_mark():
    assert (clip("日本語", 3), clip("日本語", 2)) == ("日本語", f"日本{TRUNCATED}")
