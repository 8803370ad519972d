"""`cat`: one message, whole."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.cat import cat
from scopes.conversation.new import new
from scopes.conversation.tag import tag
from scopes.errors import Invalid, NotFound
from tests.conversation.stores import git
from tests.support.history import history, say


@pytest.mark.parametrize(
    ("place", "word"), [("conv-001", "c"), ("conv-001/main~1", "b"), ("conv-001/fix", "d"), ("conv-001/v1", "a")]
)
def test_a_message_is_read_by_its_place_or_tag(repository, place, word):
    history(repository, "main: a b c", "fix@b: d")
    tag(repository, "conv-001", "v1", "main~2")
    assert cat(repository, place).message.text == word


def test_a_message_is_read_by_id_anywhere_or_in_one_conversation(repository):
    first, second = history(repository, "main: a"), history(repository, "main: b")
    assert cat(repository, second.ids["b"][:8]).conversation == "conv-002"
    assert cat(repository, second.ids["b"][:8], conversation="conv-002").message.text == "b"
    with pytest.raises(NotFound, match="there is no"):
        cat(repository, second.ids["b"][:8], conversation="conv-001")
    assert cat(repository, first.oids["a"][:8], conversation="conv-001").head.id == first.ids["a"]


def test_a_view_says_where_the_message_was_found(repository):
    drawn = history(repository, "main: a b")
    seen = cat(repository, "conv/ma")
    assert (seen.conversation, seen.branch, seen.head.oid) == ("conv-001", "main", drawn.oids["b"])
    assert cat(repository, drawn.ids["a"]).branch is None


def test_the_stored_line_is_what_git_keeps(repository):
    """S0-9: `cat --raw` and `git show` print the same JSON."""
    new(repository)
    said = say(repository, "conv-001", "héllo\n", work_item="T-1", files=[{"path": "a.py", "op": "edit"}])
    seen = cat(repository, said.id)
    assert seen.stored.decode() == git(repository, "show", f"{said.oid}:message.json")
    assert json.loads(seen.stored)["work_item"] == "T-1"
    assert seen.stored.endswith(b"}\n")
    assert seen.stored.count(b"\n") == 1


def test_a_conversation_without_messages_has_none_to_read(repository):
    new(repository)
    with pytest.raises(NotFound, match="conv-001/main has no message here") as refusal:
        cat(repository, "conv-001")
    assert refusal.value.hint == 'add one: scopes conv append conv-001 "..."'


def test_the_commit_that_a_conversation_begins_with_is_no_message(repository):
    drawn = history(repository, "main: a")
    for place in ("conv-001~1", drawn.root[:12]):
        with pytest.raises(NotFound, match="has no message here"):
            cat(repository, place)


def test_an_empty_or_unknown_name_is_refused(repository):
    history(repository, "main: a")
    with pytest.raises(Invalid, match="the message is not named"):
        cat(repository, "")
    with pytest.raises(NotFound, match="there is no conversation or message 'zzzzzzz'") as refusal:
        cat(repository, "zzzzzzz")
    assert "begin a conversation: scopes conv new" in refusal.value.hint
    with pytest.raises(NotFound, match="there is no conversation 'nope'"):
        cat(repository, "main", conversation="nope")
