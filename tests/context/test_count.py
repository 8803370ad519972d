"""`tokens count` counts a text or the messages of a branch; counts are cached."""

from __future__ import annotations

import pytest

from scopes.context.count import count_conversation, count_text
from scopes.conversation.new_rename_delete import new
from scopes.errors import NotFound
from scopes.tokens.count import TokenizerChoice
from tests.context.building import built, put, talk
from tests.support.history import history, say


class Refusing:
    """A tokenizer whose encoding must not be loaded."""

    method = "exact"

    def __init__(self, name):
        self.name = name

    def count(self, text):
        raise AssertionError(f"{text!r} was counted again")


def delete_contexts(tmp_path):
    for entry in (tmp_path / "cache" / "contexts").iterdir():
        entry.unlink()


def test_a_text_is_counted_with_its_characters(estimate):
    result = count_text("notes.md", "one two é".encode(), estimate)
    assert (result.what, result.tokens, result.characters, result.method) == ("notes.md", 4, 9, "estimate")
    assert result.notes == estimate.notes


def test_invalid_utf8_is_counted_with_a_note(estimate):
    result = count_text("x", b"a\xff", estimate)
    assert result.notes[-1].text == "x is not valid UTF-8"


def test_a_replacement_character_in_the_text_gives_no_note(estimate):
    assert count_text("x", "a\ufffd".encode(), estimate).notes == estimate.notes


def test_a_branch_is_counted_from_its_first_message(repository, exact, tmp_path):
    history(repository, "main: one two", "fix@one: three four five")
    result = [
        count_conversation(repository, where, exact, str(tmp_path)) for where in ("conv-001/main", "conv-001/fix")
    ]
    assert [(each.what, each.messages) for each in result] == [("conv-001/main", 2), ("conv-001/fix", 4)]
    assert [each.tokens for each in result] == [2, 4]


def test_tokens_are_counted_by_category_of_part(repository, exact, tmp_path):
    new(repository)
    parts = [
        {"type": "reasoning", "text": "hmm well"},
        {"type": "tool_call", "name": "bash", "call_id": "1", "input": {"command": "ls"}},
        {"type": "tool_result", "call_id": "1", "output": [{"type": "text", "text": "one two three"}]},
        {"type": "image", "data": "aGVsbG8=", "media_type": "image/png"},
    ]
    say(repository, "conv-001", "look here", parts=parts)
    result = count_conversation(repository, "conv-001", exact, str(tmp_path))
    assert dict(result.parts or {}) == {"text": 2, "reasoning": 3, "tool_input": 7, "tool_result": 3}
    assert result.tokens == 15


def test_an_unknown_conversation_is_not_found(repository, estimate, tmp_path):
    with pytest.raises(NotFound):
        count_conversation(repository, "conv-009", estimate, str(tmp_path))


@pytest.mark.parametrize("options", [{}, {"task": "session cookie", "explain": True}, {"max_tokens": 600}])
def test_an_unchanged_history_is_counted_without_the_encoding(repository, exact, tmp_path, options):
    """S1-30: a context of the same messages needs no encoding, even if the cache of contexts was deleted."""
    new(repository)
    talk(repository, 30)
    put(tmp_path, "auth.py", "import session\n")
    say(repository, "conv-001", "changed", files=[{"path": "auth.py", "op": "edit"}])
    first = built(repository, exact, tmp_path, **options)
    delete_contexts(tmp_path)
    again = built(repository, TokenizerChoice(Refusing(exact.tokenizer.name), ()), tmp_path, **options)
    assert (again.formatted_history, again.tokens_used) == (first.formatted_history, first.tokens_used)


def test_an_unchanged_conversation_is_counted_without_the_encoding(repository, exact, tmp_path):
    new(repository)
    talk(repository, 5)
    first = count_conversation(repository, "conv-001", exact, str(tmp_path))
    refusing = TokenizerChoice(Refusing(exact.tokenizer.name), ())
    assert count_conversation(repository, "conv-001", refusing, str(tmp_path)) == first
