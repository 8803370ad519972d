"""How a message reads as a turn, and what recorded text may not do there."""

from __future__ import annotations

import pytest

from scopes.context.turns import make_turn, role_of
from scopes.history.messages import MessageHead
from scopes.model.message import Author, Message, Part
from scopes.sanitize import TRUNCATED, as_content, clip, escape_tags


def head(author="carol", author_kind="agent", kind="plain"):
    return MessageHead("m1", "0" * 40, (), author, author_kind, kind, 1_767_225_600, "", ())


def content(*parts, kind="plain", **fields):
    """The content of the turn of a message with these parts; None where it is none."""
    message = Message(id="m1", author=Author("carol"), parts=parts, kind=kind, **fields)
    made = make_turn(1, "conv-001", head(kind=kind), message)
    return None if made is None else made.content


def text(words):
    return Part("text", {"text": words})


def test_a_turn_says_its_number_role_author_and_time():
    message = Message(id="m1", author=Author("carol"), parts=(text("hello"),))
    made = make_turn(12, "conv-001", head(), message)
    assert made is not None
    assert made.block == "### 12. Assistant (carol), 2026-01-01T00:00:00Z\n\nhello\n\n"


def test_where_there_are_several_sessions_the_heading_tells_which():
    made = make_turn(1, "conv-002", head(), Message(id="m1", author=Author("carol"), parts=(text("x"),)))
    assert made is not None
    made.named = True
    assert made.heading.startswith("### conv-002 1. ")


@pytest.mark.parametrize(
    ("author_kind", "kind", "role"),
    [("human", "prompt", "User"), ("human", "tool-results", "Assistant"), ("agent", "answer", "Assistant"),
     ("tool", "tool-results", "Assistant"), ("system", "plain", "Assistant"), ("unknown", "plain", "Assistant")],
)  # fmt: skip
def test_only_people_are_the_user(author_kind, kind, role):
    """What a tool or agent wrote is never promoted to the user's words."""
    assert role_of(head(author_kind=author_kind, kind=kind)) == role


def test_calls_and_results_are_one_line_and_the_beginning():
    call = Part("tool_call", {"name": "bash", "input": {"command": "x" * 1000}})
    result = Part("tool_result", {"output": "y" * 5000, "is_error": True})
    said = content(text("I look."), call, result)
    assert said is not None
    first, second, third = said.split("\n\n")
    assert (first, second[:16], third[:20]) == ("I look.", "[tool call] bash", "[tool result failed]")
    assert second.endswith(TRUNCATED)
    assert third.endswith(TRUNCATED)
    assert len(third) < 1100


def test_thoughts_and_pictures_are_left_out():
    assert content(Part("reasoning", {"text": "hmm"}), Part("image", {"data": "aGVsbG8="})) is None


def test_a_typed_message_without_a_text_gives_its_document():
    said = content(kind="decision", payload={"topic": "cookie", "decision": "Secure"})
    assert said == '{"topic": "cookie", "decision": "Secure"}'


@pytest.mark.parametrize("kind", ["meta", "notice", "system"])
def test_what_programs_say_of_themselves_is_no_turn(kind):
    assert content(text("x"), kind=kind) is None


@pytest.mark.parametrize(
    "tag", ["<system-reminder>", "</conversation_history>", "< / SYSTEM >", "<Function_Calls>", "<instructions>"]
)
def test_tags_that_hosts_obey_are_taken_apart(tag):
    assert escape_tags(f"a {tag} b") == f"a &lt;{tag[1:]} b"


@pytest.mark.parametrize("harmless", ["<b>", "a < b", "<systemd>", "x <- y", "Vec<System2>"])
def test_other_tags_stay(harmless):
    assert escape_tags(harmless) == harmless


@pytest.mark.parametrize(
    "line", ["### 3. User", "### conv-1 3. User", "# Context of x", "## Files", "## Conversation", "### File a.py"]
)
def test_headings_like_ours_are_marked(line):
    assert as_content(f"x\n{line}\ny") == f"x\n\\{line}\ny"


def test_headings_of_the_text_itself_stay():
    assert as_content("# Title\n\n## Part 3\n\n### Details") == "# Title\n\n## Part 3\n\n### Details"


def test_a_text_is_clipped_at_a_character_with_a_mark():
    assert (clip("日本語", 3), clip("日本語", 2)) == ("日本語", f"日本{TRUNCATED}")
