"""`tag`: fixed names of messages."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import delete_tag, list_tags, rewind, switch, tag
from scopes.conversation.show import cat
from scopes.conversation.undo import list_operations, undo
from scopes.errors import Invalid, NotFound, Refused
from scopes.history.names import resolve_revision
from tests.support.history import history, say
from tests.support.store import git, refs


def test_a_tag_names_the_active_tip_or_the_given_message(repository):
    drawn = history(repository, "main: a b", "fix@a: c")
    assert tag(repository, "conv", "now").oid == drawn.oids["b"]
    assert tag(repository, "conv-001", "then", "main~1").oid == drawn.oids["a"]
    assert tag(repository, "conv-001", "there", drawn.ids["c"]).oid == drawn.oids["c"]
    switch(repository, "conv-001", "fix")
    assert tag(repository, "conv-001", "here").oid == drawn.oids["c"]


def test_a_tag_does_not_move_with_its_branch(repository):
    drawn = history(repository, "main: a b")
    tag(repository, "conv-001", "v1")
    say(repository, "conv-001", "c")
    rewind(repository, "conv-001", count=3)
    assert resolve_revision(repository, "conv-001/v1").oid == drawn.oids["b"]
    assert cat(repository, "conv-001/v1").message.text == "b"


@pytest.mark.parametrize("name", ["v1", "release/1.0", "日本", "a" * 200, "100%", "x=y", "mains"])
def test_a_tag_name_follows_the_rules_of_branch_names(repository, name):
    history(repository, "main: a")
    tag(repository, "conv-001", name)
    assert [found for found, _ in list_tags(repository, "conv-001").tags] == [name]
    assert git(repository, "fsck", "--strict") == ""


def test_tags_are_listed_by_name_with_their_messages(repository):
    history(repository, "main: a b")
    assert list_tags(repository, "conv-001").tags == ()
    for name, where in (("zeta", "main"), ("alpha", "main~1"), ("mid/dle", "main")):
        tag(repository, "conv-001", name, where)
    assert [(name, head.subject) for name, head in list_tags(repository, "conv").tags] == [
        ("alpha", "a"), ("mid/dle", "b"), ("zeta", "b"),
    ]  # fmt: skip


def test_tags_belong_to_one_conversation(repository):
    history(repository, "main: a")
    history(repository, "main: b")
    for conversation in ("conv-001", "conv-002"):
        tag(repository, conversation, "v1")
    assert cat(repository, "conv-001/v1").message.text == "a"
    assert cat(repository, "conv-002/v1").message.text == "b"


def test_a_tag_that_exists_is_not_moved(repository):
    drawn = history(repository, "main: a b")
    tag(repository, "conv-001", "v1", "main~1")
    with pytest.raises(Refused, match="tag 'v1' already exists in conv-001") as refusal:
        tag(repository, "conv-001", "v1")
    assert refusal.value.hint == "move it: scopes tag -f conv-001 v1 MESSAGE"
    delete_tag(repository, "conv-001", "v1")
    assert tag(repository, "conv-001", "v1").oid == drawn.oids["b"]


def test_a_tag_is_deleted_and_undo_restores_it(repository):
    drawn = history(repository, "main: a")
    tag(repository, "conv-001", "v1")
    deleted = delete_tag(repository, "conv", "v1")
    assert (deleted.tag, deleted.oid) == ("v1", None)
    assert list_tags(repository, "conv-001").tags == ()
    assert undo(repository).target.summary == "remove tag v1 in conv-001"
    assert resolve_revision(repository, "conv-001/v1").oid == drawn.oids["a"]


@pytest.mark.parametrize("name", ["v", "v12", "", "V1", "../x", "a\0b"])
def test_a_tag_is_deleted_only_by_its_full_name(repository, name):
    history(repository, "main: a")
    tag(repository, "conv-001", "v1")
    with pytest.raises(NotFound, match="there is no tag") as refusal:
        delete_tag(repository, "conv-001", name)
    assert refusal.value.hint == "list them: scopes tag conv-001"


def test_an_invalid_tag_name_or_message_is_refused(repository):
    history(repository, "main: a")
    before = refs(repository)
    for name, message, refused in (
        ("a..b", None, Invalid),
        ("", None, Invalid),
        ("v1", "", Invalid),
        ("v1", "nope", NotFound),
        ("v1", "main~9", NotFound),
    ):
        with pytest.raises(refused) as refusal:
            tag(repository, "conv-001", name, message)
        assert refusal.value.hint
    assert refs(repository) == before


def test_tagging_is_one_operation(repository):
    history(repository, "main: a")
    made = tag(repository, "conv-001", "v1")
    last = list_operations(repository).operations[0]
    assert (last.id, last.kind, last.summary) == (made.operation, "tag", "tag v1 in conv-001")


def test_a_tag_cannot_have_the_name_of_a_branch(repository):
    """It could never be resolved: branches take precedence in revisions."""
    history(repository, "main: a")
    with pytest.raises(Refused, match="is a branch"):
        tag(repository, "conv-001", "main")
