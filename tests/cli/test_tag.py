"""`tag`: the words in its order and in git's, and names that are ids (U11)."""

from __future__ import annotations

import pytest


@pytest.fixture
def talk(conversation):
    """A conversation with two messages on main; `first` and `last` are their ids."""
    conversation.first, conversation.last = (conversation.append("main", text) for text in ("one", "two"))
    return conversation


def tagged(talk, *words):
    """Tag a message, and return the name of the tag and the id of its message."""
    name = talk.run("tag", *words, "--json")["name"]
    return name, talk.run("cat", f"{talk.id}/{name}", "--json")["id"]


@pytest.mark.every_case("each is another order of the words")
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["good"], "last"),
        (["{id}", "good"], "last"),
        (["good", "{first}"], "first"),
        (["{first}", "good"], "first"),
        (["good", "main~1"], "first"),
        (["{id}", "good", "{short}"], "first"),
        (["{id}", "{short}", "good"], "first"),
        (["{id}/main", "good", "{id}/main~1"], "first"),
    ],
)
def test_the_message_and_the_name_are_distinguished(talk, words, message):
    names = {"id": talk.id, "first": talk.first, "short": talk.first[:8]}
    assert tagged(talk, *(word.format(**names) for word in words)) == ("good", getattr(talk, message))


def test_without_a_word_the_tags_of_the_latest_conversation_are_listed_and_one_is_deleted(talk):
    talk.run("tag", "good")
    assert [row["name"] for row in talk.run("tag", "--json")["tags"]] == ["good"]
    assert talk.run("tag", talk.id, "--json") == talk.run("tag", "--json")
    talk.run("tag", "-d", "good")
    assert talk.run("tag", "--json")["tags"] == []


def test_the_id_of_a_message_is_no_name_of_a_tag(talk):
    for words in ((talk.first[:8],), (talk.id, talk.first[:8]), (talk.id, talk.first[:8], talk.last)):
        error = talk.run_refused("tag", *words, code=2)
        assert error["message"] == f"'{talk.first[:8]}' is not a valid tag name: a message has this id"
    assert talk.run("tag", "--json")["tags"] == []


def test_an_unknown_conversation_is_named(talk):
    assert "no conversation 'conv-9'" in talk.run_refused("tag", "conv-9", "good", code=4)["message"]
    assert "no conversation 'conv-9'" in talk.run_refused("tag", "conv-9", "good", "main", code=4)["message"]
