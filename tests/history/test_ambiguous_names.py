"""A whole id means its message, whatever somebody calls a branch or tag; other names of two meanings are refused."""

from __future__ import annotations

import pytest

from scopes.conversation.branch import branch, tag
from scopes.conversation.new_rename_delete import new, rename_branch, rename_conversation
from scopes.errors import Ambiguous, Invalid
from scopes.history.names import list_branch_tips, resolve_revision, resolve_with_latest
from scopes.history.transaction import Transaction
from scopes.model.message import Author
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from tests.support.history import history, texts
from tests.support.random_ids import spread_ids  # noqa: F401 - messages have different ids


@pytest.fixture
def places(tmp_path):
    """The index and the other caches of a store, and the directory of logs."""
    return Places(str(tmp_path / "index"), (str(tmp_path / "contexts"),), str(tmp_path / "state"))


@pytest.fixture
def drawn(repository):
    """A conversation in which the message `a` is the one that another name points away from."""
    return history(repository, "main: a b c", "fix@a: d")


def call(repository, name, kind, oid):
    """Name a branch or a tag as somebody's changed program may have sent it."""
    tx = Transaction(repository, "conv-001")
    if kind == "branch":
        tx.create_branch(name, oid)
    else:
        tx.set_tag(name, oid)
    tx.commit(kind, f"create {name}")


CAROL = Author("carol", "human")
KINDS = pytest.mark.parametrize("kind", ["branch", "tag"])
FORMS = pytest.mark.parametrize("form", ["{}", "conv-001/{}", "{}~0"])


@KINDS
@FORMS
def test_a_whole_id_always_means_its_message(repository, drawn, kind, form):
    for name, others in ((drawn.ids["a"], drawn.oids["b"]), (drawn.oids["c"], drawn.oids["b"])):
        call(repository, name, kind, others)
        meant = drawn.oids["a"] if name == drawn.ids["a"] else name
        assert resolve_revision(repository, form.format(name), "conv-001").oid == meant
        assert resolve_revision(repository, form.format(name)).oid == meant
        assert resolve_with_latest(repository, form.format(name)).oid == meant


def test_a_whole_id_is_not_a_branch_that_is_named_after_its_conversation_and_it(repository, drawn):
    call(repository, f"conv-001/{drawn.ids['a']}", "branch", drawn.oids["b"])
    assert resolve_revision(repository, f"conv-001/{drawn.ids['a']}", "conv-001").oid == drawn.oids["a"]


def test_a_whole_id_is_not_a_longer_branch_or_a_conversation(repository, drawn):
    call(repository, f"{drawn.ids['a']}-x", "branch", drawn.oids["b"])
    history(repository, "main: other", conversation=f"{drawn.ids['a']}-y")
    assert resolve_revision(repository, drawn.ids["a"], "conv-001").oid == drawn.oids["a"]
    assert resolve_revision(repository, drawn.ids["a"]).oid == drawn.oids["a"]


@KINDS
def test_a_purge_of_a_whole_id_removes_that_message(repository, drawn, places, kind):
    call(repository, drawn.ids["a"], kind, drawn.oids["b"])
    purge(repository, PurgeRequest(conversation="conv-001", messages=(drawn.ids["a"],)), places)
    assert texts(repository, "conv-001/main") == ["[purged]", "b", "c"]


def test_the_long_forms_mean_one_thing_each(repository, drawn):
    name = drawn.ids["a"][:8]
    call(repository, name, "branch", drawn.oids["b"])
    call(repository, name, "tag", drawn.oids["c"])
    for form, meant in (("heads", "b"), ("tags", "c")):
        for text in (f"refs/{form}/{name}", f"conv-001/refs/{form}/{name}"):
            assert resolve_revision(repository, text, "conv-001").oid == drawn.oids[meant]
        assert resolve_revision(repository, f"conv-001/refs/{form}/{name}~1").oid != drawn.oids[meant]


def test_two_names_of_one_message_are_not_ambiguous(repository, drawn):
    call(repository, drawn.ids["a"][:8], "tag", drawn.oids["a"])
    assert resolve_revision(repository, drawn.ids["a"][:8], "conv-001").oid == drawn.oids["a"]


def test_a_branch_is_renamed_whatever_it_is_called(repository, drawn):
    call(repository, drawn.ids["a"], "branch", drawn.oids["b"])
    assert rename_branch(repository, "conv-001", drawn.ids["a"], "mine").new == "mine"


@pytest.mark.parametrize("name", ["a" * 26, "0123456789abcdef0123456789abcdef01234567", "refs/heads/x"])
def test_a_new_name_is_not_like_an_id_or_a_long_form(repository, drawn, name):
    for create in (
        lambda: branch(repository, "conv-001", name=name),
        lambda: tag(repository, "conv-001", name),
        lambda: rename_branch(repository, "conv-001", "fix", name),
        lambda: rename_conversation(repository, "conv-001", name),
        lambda: new(repository, conversation_id=name),
    ):
        with pytest.raises(Invalid, match="is not a valid"):
            create()
    assert sorted(list_branch_tips(repository, "conv-001")) == ["fix", "main"]


@KINDS
def test_an_exact_name_comes_before_the_prefix_of_an_id(repository, drawn, kind):
    name = drawn.ids["a"][:8]
    call(repository, name, kind, drawn.oids["b"])
    for text, where in ((name, "conv-001"), (f"conv-001/{name}", None)):
        assert resolve_revision(repository, text, where).oid == drawn.oids["b"]


def test_a_prefix_of_a_message_and_of_a_branch_is_refused(repository, drawn):
    name = drawn.ids["a"][:8]
    call(repository, f"{name}-x", "branch", drawn.oids["b"])
    with pytest.raises(Ambiguous, match=f"'{name}' matches several: a message and {name}-x"):
        resolve_revision(repository, name, "conv-001")
