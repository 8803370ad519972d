"""`show` with a word that names no conversation: a message is looked for only if the word can be one."""

from __future__ import annotations

import pytest

from scopes.cli.commands import show as command


@pytest.fixture
def asked(monkeypatch):
    """Return a list of the words that were looked for among all messages."""
    words = []
    original = command.names_revision
    monkeypatch.setattr(
        command, "names_revision", lambda repository, text: words.append(text) or original(repository, text)
    )
    return words


@pytest.mark.parametrize("word", ["conv-00x", "no-such-name"])
def test_a_word_that_is_no_id_is_not_looked_for_among_the_messages(conversation, asked, word):
    error = conversation.run_refused("show", word, code=4)
    assert error["message"] == f"there is no conversation '{word}'"
    assert asked == []


def test_the_id_of_a_message_is_named_as_one(conversation, asked):
    message = conversation.append("main", "hello")
    error = conversation.run_refused("show", message, code=4)
    assert error["message"] == f"'{message}' is a message, not a conversation"
    assert error["hint"] == f"print it: scopes cat {message}"
    assert asked == [message]
