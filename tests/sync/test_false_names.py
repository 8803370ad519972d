"""Other writers can add refs that end in the root of a conversation: they are neither it, nor do they hide it."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import delete
from scopes.errors import NotFound
from scopes.store.refs import REMOTES
from scopes.sync.delete_on_remote import delete_on_remote
from scopes.sync.fetch_manifests import fetch_manifests
from scopes.sync.manifest_list import read_manifest_list
from scopes.sync.names import find_own_name, parse_remote_ref
from scopes.sync.remotes import resolve_remote
from tests.support.forged_remotes import Forger
from tests.support.history import history
from tests.support.recalled import recalled
from tests.support.remotes import EVERYTHING, connection, fetch_from, machine, push_to
from tests.support.store import git


@pytest.fixture
def forger(sent, bare):
    """A remote with a pushed conversation, ready to be changed."""
    return Forger(bare)


@pytest.fixture(params=["209912", "000001"], ids=["after it", "before it"])
def false_ref(request, forger):
    """A ref with the conversation under another project and month, sorted before or after its own one."""
    project = "f" * 12 if request.param == "209912" else "0" * 12
    name = f"refs/scopes/v1/c/{project}/{request.param}/{forger.root}"
    forger.point(forger.manifest_oid, name)
    return name


@pytest.fixture
@recalled
def victim(forger, bare, tmp_path):
    """A store that has the conversation."""
    store = machine(tmp_path / "victim", bare)
    fetch_from(store)
    return store


def refs_there(forger):
    """Return the refs of conversations on the remote."""
    return git(forger.bare, "for-each-ref", "--format=%(refname)", "refs/scopes/v1/c").split()


def delete_there(store, name):
    """Delete from the remote, and return what became of it."""
    (row,) = delete_on_remote(store, resolve_remote(store, None), [name], connection()).names
    return row.status


@pytest.mark.every_case("the refs are sorted")
def test_deleted_means_that_nothing_is_left_of_the_conversation(ours, forger, false_ref):
    history(ours, "main: other")
    push_to(ours, "conv-002")
    assert delete_there(ours, "conv-001") == "deleted"
    (left,) = refs_there(forger)
    assert not left.endswith(forger.root)
    assert not ours.find_ref(f"{REMOTES}origin/{forger.root}")


def test_what_is_not_here_is_deleted_under_all_names_by_its_id(forger, false_ref, bare, tmp_path):
    store = machine(tmp_path / "nothing", bare)
    assert delete_there(store, forger.root[:12]) == "deleted"
    assert refs_there(forger) == []


def test_what_was_deleted_here_before_is_deleted_under_all_names(ours, forger, false_ref):
    delete(ours, "conv-001")
    assert delete_there(ours, "conv-001") == "deleted"
    assert refs_there(forger) == []


def test_a_branch_is_deleted_from_the_conversation_only(ours, forger, false_ref):
    assert delete_there(ours, "conv-001/fix") == "deleted"
    assert git(forger.bare, "rev-parse", false_ref).strip() == forger.manifest_oid
    assert git(forger.bare, "rev-parse", forger.ref).strip() != forger.manifest_oid


def test_nothing_is_deleted_if_the_conversation_has_moved(ours, forger, false_ref):
    forger.publish(meta=forger.meta_tree(b"title", content=b"New\n"))
    assert delete_there(ours, "conv-001") == "refused"
    assert refs_there(forger) == sorted([forger.ref, false_ref])


@pytest.mark.every_case("the refs are sorted")
def test_a_fetch_does_not_take_the_false_name_as_unchanged(victim, forger, false_ref):
    done = fetch_from(victim)
    assert sorted(row.status for row in done.conversations) == ["unacceptable"]
    assert (done.unchanged, done.exit_code) == (1, 7)
    assert "does not belong to the ref" in done.conversations[0].reason


@pytest.mark.every_case("the refs are sorted")
def test_the_list_of_manifests_keeps_the_conversation(forger, false_ref, bare, tmp_path):
    store, index = machine(tmp_path / "reader", bare), str(tmp_path / "index")
    for new in (1, 0):
        remote = resolve_remote(store, None)
        done = fetch_manifests(store, remote, EVERYTHING, connection(), index)
        assert (done.total, done.new, list(done.refused)) == (1, new, [forger.root])
        (row,) = read_manifest_list(index, remote).conversations.values()
        assert row.name.ref == forger.ref


def test_a_beginning_of_an_id_that_several_refs_end_in_is_not_ambiguous(forger, false_ref, bare, tmp_path):
    store = machine(tmp_path / "reader", bare)
    done = fetch_from(store, forger.root[:12])
    assert sorted(row.status for row in done.conversations) == ["new", "unacceptable"]
    with pytest.raises(NotFound):
        fetch_from(store, "0" * 12)


def test_only_the_root_tells_the_name_of_a_conversation(ours, forger):
    assert find_own_name(ours, forger.root) == parse_remote_ref(forger.ref)
    assert find_own_name(ours, "0" * 40) is None
    assert find_own_name(ours, forger.tip) is None
