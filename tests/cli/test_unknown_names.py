"""`show` with a word that names no conversation: it shows the message that has this id, or says that nothing has it."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("word", ["conv-00x", "no-such-name", "abcdef12"])
def test_a_word_that_names_nothing_is_an_unknown_conversation(conversation, word):
    conversation.append("main", "hello")
    error = conversation.run_refused("show", word, code=4)
    assert error["message"] == f"there is no conversation '{word}'"


def test_the_id_of_a_message_shows_it(conversation):
    message = conversation.append("main", "hello")
    for word in (message, message[:8], f"{conversation.id}/{message}"):
        assert conversation.run("show", word, "--json")["id"] == message


def test_a_step_back_from_an_id_is_a_message_too(conversation):
    first, second = (conversation.append("main", text) for text in ("hello", "again"))
    assert conversation.run("show", f"{second}~1", "--json")["id"] == first
