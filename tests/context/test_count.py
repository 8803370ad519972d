"""`tokens count`: a text, or a branch of a conversation."""

from __future__ import annotations

import pytest

from scopes.context.count import count_conversation, count_text
from scopes.conversation.new import new
from scopes.errors import NotFound
from tests.support.history import history, say


def test_a_text_is_counted_with_its_characters(estimate):
    seen = count_text("notes.md", "one two é".encode(), estimate)
    assert (seen.what, seen.tokens, seen.characters, seen.method) == ("notes.md", 4, 9, "estimate")
    assert seen.notes == estimate.notes


def test_what_is_no_utf8_is_counted_with_a_note(estimate):
    seen = count_text("x", b"a\xff", estimate)
    assert seen.notes[-1].text == "x is not valid UTF-8"


def test_a_replacement_character_of_the_text_itself_is_no_trouble(estimate):
    assert count_text("x", "a\ufffd".encode(), estimate).notes == estimate.notes


def test_a_branch_is_counted_from_its_beginning(repository, exact, tmp_path):
    history(repository, "main: one two", "fix@one: three four five")
    seen = [count_conversation(repository, where, exact, str(tmp_path)) for where in ("conv-001/main", "conv-001/fix")]
    assert [(each.what, each.messages) for each in seen] == [("conv-001/main", 2), ("conv-001/fix", 4)]
    assert [each.tokens for each in seen] == [2, 4]


def test_the_tokens_are_told_by_kind_of_part(repository, exact, tmp_path):
    new(repository)
    parts = [
        {"type": "reasoning", "text": "hmm well"},
        {"type": "tool_call", "name": "bash", "call_id": "1", "input": {"command": "ls"}},
        {"type": "tool_result", "call_id": "1", "output": [{"type": "text", "text": "one two three"}]},
        {"type": "image", "data": "aGVsbG8=", "media_type": "image/png"},
    ]
    say(repository, "conv-001", "look here", parts=parts)
    seen = count_conversation(repository, "conv-001", exact, str(tmp_path))
    assert dict(seen.parts or {}) == {"text": 2, "reasoning": 3, "tool_input": 7, "tool_result": 3}
    assert seen.tokens == 15


def test_a_conversation_that_is_not_there_is_refused(repository, estimate, tmp_path):
    with pytest.raises(NotFound):
        count_conversation(repository, "conv-009", estimate, str(tmp_path))
