"""`push --delete` removes from the remote what was last seen there; nobody brings it back without asking for it."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.branch import branch, tag
from scopes.conversation.new_rename_delete import delete, delete_branch
from scopes.errors import Corrupt, Invalid, NotFound, Refused
from scopes.history.names import list_branch_tips
from scopes.store.refs import REMOTES
from scopes.sync import delete_on_remote as module
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import add_remote, remove_remote
from scopes.sync.delete_on_remote import delete_on_remote
from scopes.sync.deleted_there import FILE, read_deleted
from scopes.sync.local_conversations import list_roots
from scopes.sync.remotes import resolve_remote
from tests.support.git_servers import serve_http
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, clone_to, connection, fetch_from, machine, make_bare, push_to
from tests.support.store import assert_sound, git, open_store, write_bytes


def delete_there(store, *names, remote=None):
    """Delete from the remote, and return what became of each name."""
    done = delete_on_remote(store, resolve_remote(store, remote), names, connection())
    return [row.status for row in done.names]


def kept(bare):
    """Return the roots of the conversations that the remote has."""
    return {
        ref.rpartition("/")[2] for ref in git(bare, "for-each-ref", "--format=%(refname)", "refs/scopes/v1/c").split()
    }


def root_of(store, conversation):
    """Return the root of a conversation."""
    return next(root for root, name in list_roots(store).items() if name == conversation)


@pytest.fixture
@recalled
def pushed(ours):
    """Two conversations, conv-001 with the branches main and fix, which were pushed."""
    history(ours, "main: x y")
    push_to(ours)
    return ours


@pytest.fixture
@recalled
def theirs(pushed, bare, tmp_path):
    """Another machine that has both."""
    clone_to(tmp_path / "theirs", bare)
    return open_store(tmp_path / "theirs")


def branches_there(bare):
    """Return how many branches each conversation of the remote has."""
    refs = git(bare, "for-each-ref", "--format=%(refname)", "refs/scopes/v1/c").split()
    return sorted(len(json.loads(git(bare, "show", f"{ref}:manifest.json"))["branches"]) for ref in refs)


def test_several_branches_of_a_conversation_are_deleted_by_one_push(pushed, bare):
    for name in ("one", "two"):
        branch(pushed, "conv-001", name=name)
    push_to(pushed)
    assert branches_there(bare) == [1, 4]
    assert delete_there(pushed, "conv-001/one", "conv-002", "conv-001/two") == ["deleted"] * 3
    assert branches_there(bare) == [2]
    push_to(pushed)
    assert branches_there(bare) == [2]
    assert {"one", "two"} <= list_branch_tips(pushed, "conv-001").keys()


def test_of_several_branches_none_is_deleted_if_one_cannot_be(pushed, bare):
    with pytest.raises(Refused, match="conv-001/main is main or the only branch"):
        delete_there(pushed, "conv-001/fix", "conv-001/main")
    with pytest.raises(Invalid, match="conv-001/fix and conv-001 are one conversation"):
        delete_there(pushed, "conv-001/fix", "conv-001")
    assert branches_there(bare) == [1, 2]


def named_there(theirs, ours):
    """Return the name that conv-001 of one store has in another."""
    return list_roots(theirs)[root_of(ours, "conv-001")]


def test_a_conversation_is_deleted_there_and_kept_here(pushed, bare):
    done = delete_on_remote(pushed, resolve_remote(pushed, None), ["conv-001"], connection())
    assert ([row.status for row in done.names], done.exit_code) == (["deleted"], 0)
    assert "stores that have fetched it keep it" in done.notes[0].text
    assert kept(bare) == {root_of(pushed, "conv-002")}
    assert texts(pushed, "conv-001/main") == ["a", "b"]
    assert_sound(pushed)


def test_a_push_of_everything_does_not_send_it_again_and_names_it(pushed, bare):
    delete_there(pushed, "conv-001")
    say(pushed, "conv-001/main", "more")
    say(pushed, "conv-002/main", "z")
    done = push_to(pushed)
    assert [row.conversation for row in done.conversations] == ["conv-002"]
    assert done.notes[0] == (
        "1 conversation was deleted from origin: conv-001",
        "send one again by its name: scopes push conv-001",
    )
    assert kept(bare) == {root_of(pushed, "conv-002")}


def test_a_push_by_its_name_sends_it_again_and_from_then_on_as_any_other(pushed, bare):
    delete_there(pushed, "conv-001")
    assert [row.status for row in push_to(pushed, "conv-001").conversations] == ["new"]
    assert read_deleted(pushed.path, "origin") == set()
    say(pushed, "conv-001/main", "more")
    assert [row.conversation for row in push_to(pushed).conversations] == ["conv-001"]


def test_another_repository_under_the_name_of_a_removed_remote_gets_it(pushed, tmp_path):
    delete_there(pushed, "conv-001")
    remove_remote(pushed, "origin")
    add(pushed, make_bare(tmp_path / "second.git"))
    assert [row.status for row in push_to(pushed).conversations] == ["new", "new"]


def test_another_remote_still_gets_it(pushed, tmp_path):
    add(pushed, make_bare(tmp_path / "backup.git"), "backup")
    delete_there(pushed, "conv-001", remote="origin")
    assert [row.status for row in push_to(pushed, remote="backup").conversations] == ["new", "new"]


def test_somebody_who_has_it_keeps_it_and_does_not_send_it_again(pushed, theirs, bare):
    delete_there(pushed, "conv-001")
    name = named_there(theirs, pushed)
    assert fetch_from(theirs).conversations == ()
    done = push_to(theirs)
    assert ([row.status for row in done.conversations], done.exit_code) == (["deleted"], 0)
    assert done.conversations[0].reason.endswith(f"to leave it out from now on: scopes push --delete {name}")
    say(theirs, f"{name}/main", "news")
    (row,) = push_to(theirs).conversations
    assert (row.status, "somebody has deleted it on the remote" in row.reason) == ("refused", True)
    assert row.reason.endswith(f"to have it there again: scopes push {name} --force")
    assert kept(bare) == {root_of(pushed, "conv-002")}
    assert texts(theirs, f"{name}/main") == ["a", "b", "news"]


def test_with_force_somebody_else_has_it_there_again(pushed, theirs, bare):
    delete_there(pushed, "conv-001")
    name = named_there(theirs, pushed)
    say(theirs, f"{name}/main", "news")
    assert [row.status for row in push_to(theirs, name, force=True).conversations] == ["new"]
    fetch_from(pushed)
    assert texts(pushed, "conv-001/main") == ["a", "b", "news"]


@pytest.mark.slow
def test_after_somebody_else_has_sent_it_again_new_messages_go_there_as_of_any_other(pushed, theirs, bare):
    delete_there(pushed, "conv-001")
    fetch_from(pushed)
    assert read_deleted(pushed.path, "origin") == {root_of(pushed, "conv-001")}
    say(theirs, name := named_there(theirs, pushed), "theirs")
    push_to(theirs, name, force=True)
    fetch_from(pushed)
    assert read_deleted(pushed.path, "origin") == set()
    say(pushed, "conv-001/main", "ours")
    done = push_to(pushed)
    assert [(row.conversation, row.status) for row in done.conversations] == [("conv-001", "updated")]
    fetch_from(theirs)
    assert texts(theirs, name)[-2:] == ["theirs", "ours"]


def test_after_it_was_sent_again_unchanged_it_is_not_left_out_either(pushed, theirs):
    delete_there(pushed, "conv-001")
    push_to(theirs, named_there(theirs, pushed), force=True)
    fetch_from(pushed)
    done = push_to(pushed)
    assert (done.conversations, done.unchanged, done.notes) == ((), 2, ())


def test_what_was_deleted_here_too_does_not_come_back_with_a_fetch(pushed, theirs):
    delete(pushed, "conv-001")
    assert delete_there(pushed, "conv-001") == ["deleted"]
    name = named_there(theirs, pushed) if "conv-001" in list_roots(pushed).values() else "conv-001"
    for each in list_roots(theirs).values():
        say(theirs, f"{each}/main", "news")
    push_to(theirs, name, force=True)
    fetch_from(pushed)
    assert list(list_roots(pushed).values()) == ["conv-002"]


def test_what_the_remote_has_moved_on_is_refused_and_kept(pushed, theirs, bare):
    say(theirs, f"{named_there(theirs, pushed)}/main", "news")
    push_to(theirs)
    done = delete_on_remote(pushed, resolve_remote(pushed, None), ["conv-001", "conv-002"], connection())
    assert ([row.status for row in done.names], done.exit_code) == (["refused", "deleted"], 1)
    assert "see it first: scopes fetch" in done.names[0].reason
    fetch_from(pushed)
    assert delete_there(pushed, "conv-001") == ["deleted"]
    assert kept(bare) == set()


def test_a_push_between_the_look_and_the_deletion_wins(pushed, theirs, bare, monkeypatch):
    name, plan = named_there(theirs, pushed), module._plan

    def overtaken(*arguments):
        say(theirs, f"{name}/main", "news")
        push_to(theirs)
        return plan(*arguments)

    monkeypatch.setattr(module, "_plan", overtaken)
    assert delete_there(pushed, "conv-001") == ["refused"]
    assert root_of(pushed, "conv-001") in kept(bare)


def test_what_somebody_else_has_deleted_is_absent_and_forgotten(pushed, theirs):
    delete_there(theirs, named_there(theirs, pushed))
    assert delete_there(pushed, "conv-001") == ["absent"]
    assert [ref for ref in pushed.list_ref_names(REMOTES) if root_of(pushed, "conv-001") in ref] == []
    assert root_of(pushed, "conv-001") in read_deleted(pushed.path, "origin")


def test_one_that_was_never_here_is_deleted_by_its_root(pushed, bare, tmp_path):
    other = machine(tmp_path / "other", bare)
    assert delete_there(other, root_of(pushed, "conv-001")[:10]) == ["deleted"]
    assert kept(bare) == {root_of(pushed, "conv-002")}


@pytest.mark.parametrize(
    ("names", "error"),
    [(["conv-009"], NotFound), (["0123456789ab"], NotFound), (["conv-001", "conv-001/fix"], Invalid),
     (["conv-001/nothing"], NotFound), (["conv-002", "conv-001/main"], Refused), (["conv-002/main"], Refused)],
)  # fmt: skip
@pytest.mark.every_case("each is a mistake of its own")
def test_a_mistake_deletes_nothing(pushed, bare, names, error):
    before = kept(bare)
    with pytest.raises(error):
        delete_there(pushed, *names)
    assert kept(bare) == before


@pytest.mark.parametrize(("name", "status"), [("conv-001", "deleted"), ("conv-001/fix", "deleted")])
def test_a_dry_run_changes_nothing_there_and_here(pushed, bare, name, status):
    before = git(bare, "for-each-ref"), pushed.list_refs()
    done = delete_on_remote(pushed, resolve_remote(pushed, None), [name], connection(), dry_run=True)
    assert ([row.status for row in done.names], done.dry_run) == ([status], True)
    assert (git(bare, "for-each-ref"), pushed.list_refs()) == before


def test_a_branch_is_deleted_there_and_kept_here(pushed, bare, tmp_path):
    assert delete_there(pushed, "conv-001/fix") == ["deleted"]
    assert set(list_branch_tips(pushed, "conv-001")) == {"main", "fix"}
    clone_to(tmp_path / "later", bare)
    later = open_store(tmp_path / "later")
    assert set(list_branch_tips(later, list_roots(later)[root_of(pushed, "conv-001")])) == {"main"}
    assert_sound(later)


@pytest.mark.slow
def test_no_push_of_other_messages_brings_a_branch_back(pushed, theirs, bare, tmp_path):
    delete_there(pushed, "conv-001/fix")
    for store, name in ((pushed, "conv-001"), (theirs, named_there(theirs, pushed))):
        fetch_from(store)
        say(store, f"{name}/main", f"of {name}")
        say(store, f"{name}/fix", "more")
        done = push_to(store, name)
        assert [row.status for row in done.conversations] == ["updated"]
        assert f"1 branch was deleted from origin: {name}/fix" in [note.text for note in done.notes]
        fetch_from(pushed)
    clone_to(tmp_path / "later", bare)
    later = open_store(tmp_path / "later")
    assert set(list_branch_tips(later, list_roots(later)[root_of(pushed, "conv-001")])) == {"main"}


def test_the_note_quotes_the_name_of_a_branch_for_a_shell(pushed):
    name = "conv-001/x;touch${IFS}made;$(id)"
    branch(pushed, "conv-001", name=name.partition("/")[2])
    push_to(pushed, "conv-001")
    assert delete_there(pushed, name) == ["deleted"]
    say(pushed, "conv-001/main", "more")
    say(pushed, name, "more")
    (note,) = [note for note in push_to(pushed, "conv-001").notes if "deleted from origin" in note.text]
    assert f"scopes push '{name}' --force; or" in note.hint


def test_with_force_a_branch_is_sent_again(pushed, theirs):
    delete_there(pushed, "conv-001/fix")
    push_to(pushed, "conv-001", force=True)
    assert delete_there(theirs, f"{named_there(theirs, pushed)}/fix") == ["refused"]
    fetch_from(theirs)
    assert delete_there(theirs, f"{named_there(theirs, pushed)}/fix") == ["deleted"]


def test_a_new_branch_is_sent_after_one_was_deleted(pushed, theirs):
    delete_there(pushed, "conv-001/fix")
    branch(pushed, "conv-001", name="idea")
    push_to(pushed)
    assert "idea" in {each.name for row in fetch_from(theirs).conversations for each in row.branches}


def test_the_rules_of_the_server_hold(repository, bare):
    history(repository, "main: a")
    add_remote(repository, "origin", parse_address(bare)._replace(as_branches=True), connection(), probe=False)
    push_to(repository)
    git(bare, "config", "receive.denyDeletes", "true")
    done = delete_on_remote(repository, resolve_remote(repository, None), ["conv-001"], connection())
    assert (done.names[0].status, "deletion prohibited" in done.names[0].reason) == ("refused", True)
    assert (done.notes, read_deleted(repository.path, "origin")) == ((), set())
    git(bare, "config", "receive.denyDeletes", "false")
    assert delete_there(repository, "conv-001") == ["deleted"]


def test_it_is_deleted_over_http_too(pushed, bare, tmp_path):
    git(bare, "config", "http.receivepack", "true")
    with serve_http(tmp_path) as server:
        other = machine(tmp_path / "other", f"{server.address}/bare.git")
        fetch_from(other)
        assert delete_there(other, "conv-001", "conv-002") == ["deleted", "deleted"]
    assert kept(bare) == set()


@pytest.mark.parametrize("data", [b"", b"{", b"[" * 99_999])
def test_a_damaged_record_is_named(pushed, tmp_path, data):
    write_bytes(f"{pushed.path}/{FILE}", data)
    with pytest.raises(Corrupt, match=FILE):
        push_to(pushed)


def test_a_delete_here_says_which_remotes_still_have_it(pushed):
    tag(pushed, "conv-001", "v1", "main")
    note = delete_branch(pushed, "conv-001", "fix", force=True).notes[0]
    assert note.hint == "delete it there, too: scopes push origin --delete conv-001/fix"
    assert delete(pushed, "conv-001").notes[0].text == "origin still has conv-001"
    delete_there(pushed, "conv-002")
    assert delete(pushed, "conv-002").notes == ()
