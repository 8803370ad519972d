"""`show` with a word that names no conversation: a message is looked for only if the word can be one."""

from __future__ import annotations

import pytest

from scopes.cli.commands import show as command
from scopes.history import names as revisions


@pytest.fixture
def asked(monkeypatch):
    """Return a list of the words that were looked for among all messages."""
    words = []
    for name in ("names_revision", "find_copies"):
        original = getattr(command, name)
        monkeypatch.setattr(command, name, noting(words, original))
    return words


def noting(words, original):
    return lambda repository, text: words.append(text) or original(repository, text)


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


def test_the_beginning_of_an_id_that_two_messages_have_is_one_of_a_message(conversation, asked, monkeypatch):
    ids = [conversation.append("main", text) for text in ("hello", "again")]
    common = next(ids[0][:length] for length in range(4, 26) if ids[0][length] != ids[1][length])
    error = conversation.run_refused("show", common, code=4)
    assert error["message"] == f"'{common}' is a message, not a conversation"
    assert asked == [common]


def test_a_step_back_from_an_id_is_a_message_too(conversation, asked):
    conversation.append("main", "hello")
    second = conversation.append("main", "again")
    error = conversation.run_refused("show", f"{second}~1", code=4)
    assert error["message"] == f"'{second}~1' is a message, not a conversation"


def test_conversations_are_searched_once_for_a_word_that_may_be_an_id(conversation, monkeypatch):
    searched = []
    original = revisions._find_by_root
    monkeypatch.setattr(revisions, "_find_by_root", lambda *words: searched.append(words[1]) or original(*words))
    error = conversation.run_refused("show", "abcdef12", code=4)
    assert error["message"] == "there is no conversation 'abcdef12'"
    assert searched == ["abcdef12"]
