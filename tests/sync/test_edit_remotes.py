"""A remote is renamed, moved to another address and shown; what is known about it follows, or is forgotten."""

from __future__ import annotations

import pytest

from scopes.conversation.store import get_setting, set_setting
from scopes.conversation.undo import undo
from scopes.errors import Invalid, NotFound, Refused
from scopes.history.messages import message_id_of
from scopes.history.names import resolve_revision
from scopes.purge.on_remotes import read_values
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.config import DEFAULT_REMOTE, find_default
from scopes.store.objects import read_commit
from scopes.store.operations import walk_operations
from scopes.store.refs import PURGED, REMOTE_SOURCES, REMOTES
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import remove_remote
from scopes.sync.edit_remotes import rename_remote, set_remote_address, show_remote
from scopes.sync.local_conversations import Selection
from scopes.sync.purged_lists import SENT
from scopes.sync.push import push
from scopes.sync.remotes import list_remotes, resolve_remote
from tests.support.history import history, say, texts
from tests.support.original_files import import_session
from tests.support.recalled import recalled
from tests.support.remotes import add, connection, fetch_from, machine, make_bare, push_to
from tests.support.store import git, make_store


def last_message(repository, name):
    """Return the id of the last message of a branch."""
    return message_id_of(read_commit(repository, resolve_revision(repository, name).oid))


def move(repository, name, address, **options):
    """Give a remote another address."""
    return set_remote_address(repository, name, parse_address(address), connection(), **options)


def test_a_renamed_remote_keeps_what_is_known_about_it(ours):
    push_to(ours)
    before = ours.list_refs(f"{REMOTES}origin/")
    renamed = rename_remote(ours, "origin", "team")
    assert (renamed.name, renamed.before, renamed.change, renamed.default) == ("team", "origin", "renamed", True)
    assert list(ours.list_refs(f"{REMOTES}team/").values()) == list(before.values())
    assert ours.list_refs(f"{REMOTES}origin/") == {}
    assert push_to(ours).unchanged == 1
    assert resolve_revision(ours, "conv-001/team/main").oid


def test_a_renamed_remote_stays_the_default_and_so_does_the_setting(repository, tmp_path):
    add(repository, "/a", "a")
    add(repository, "/ab", "ab")
    rename_remote(repository, "a", "z")
    assert find_default(repository.path, None) == "z"
    set_setting(repository, str(tmp_path), DEFAULT_REMOTE, "ab", level="store")
    assert rename_remote(repository, "ab", "usb").default
    assert get_setting(repository.config, DEFAULT_REMOTE).value == "usb"


def test_a_rename_leaves_remotes_whose_names_begin_alike(ours, tmp_path):
    add(ours, make_bare(tmp_path / "other.git"), "origin2")
    push_to(ours)
    push_to(ours, remote="origin2")
    rename_remote(ours, "origin", "r")
    assert {ref.split("/")[3] for ref in ours.list_refs(REMOTES)} == {"r", "origin2"}


@pytest.mark.parametrize(
    ("name", "new", "error"),
    [
        ("missing", "x", NotFound),
        ("origin", "a/b", Invalid),
        ("origin", "team", Refused),
        ("origin", "bundle", Refused),
    ],
)
def test_a_rename_that_is_refused_changes_nothing(ours, name, new, error):
    add(ours, "/b", "team")
    before = list_remotes(ours)
    with pytest.raises(error):
        rename_remote(ours, name, new)
    assert list_remotes(ours) == before


def test_a_remote_may_get_its_own_name_in_other_letters(repository):
    add(repository, "/a", "Team")
    assert rename_remote(repository, "Team", "team").name == "team"


def test_what_was_purged_is_replaced_on_the_remote_under_its_new_name(ours, tmp_path):
    push_to(ours)
    purged = last_message(ours, "conv-001/fix")
    purge(ours, PurgeRequest(conversation="conv-001", messages=(purged,)), Places(str(tmp_path / "index")))
    rename_remote(ours, "origin", "team")
    assert list(read_values(ours.path)) == ["team"]
    pushed = push_to(ours, remote="team", purged=True)
    assert [row.status for row in pushed.conversations] == ["updated"]
    assert ours.find_ref(SENT + "team") == ours.find_ref(PURGED) is not None
    rename_remote(ours, "team", "usb")
    assert (ours.find_ref(SENT + "team"), ours.find_ref(SENT + "usb")) == (None, ours.find_ref(PURGED))


def test_at_a_new_address_everything_is_pushed_that_is_not_there(ours, tmp_path):
    push_to(ours)
    empty = make_bare(tmp_path / "empty.git")
    moved = move(ours, "origin", empty)
    assert (moved.change, moved.conversations, moved.address) == ("moved", 0, empty)
    assert ours.list_refs(REMOTES) == {}
    assert [row.status for row in push_to(ours).conversations] == ["new"]
    assert len(git(empty, "for-each-ref").splitlines()) == 1


def test_a_repository_that_was_moved_is_known_at_its_new_address(ours, bare, tmp_path):
    push_to(ours)
    git(tmp_path, "clone", "-q", "--mirror", bare, str(tmp_path / "moved.git"))
    moved = move(ours, "origin", str(tmp_path / "moved.git"))
    assert moved.conversations == 1
    assert push_to(ours).unchanged == 1


def push_known(repository):
    return push(repository, resolve_remote(repository, None), Selection(), connection())


@pytest.fixture
@recalled
def two_on_origin(ours, bare, tmp_path):
    """A store with two conversations on its remote, of which one is on another one, too, where it was for a while."""
    history(ours, "main: x")
    push_to(ours)
    move(ours, "origin", make_bare(tmp_path / "other.git"))
    push_to(ours, "conv-001")
    return ours


def test_back_at_the_old_address_a_push_knows_what_is_there(two_on_origin, bare):
    moved = move(two_on_origin, "origin", bare)
    assert (moved.conversations, moved.notes) == (2, ())
    say(two_on_origin, "conv-002", "news")
    assert [(each.conversation, each.status) for each in push_known(two_on_origin).conversations] == [
        ("conv-002", "updated")
    ]


def test_a_remote_that_is_added_again_is_known_with_its_original_files(ours, bare, tmp_path):
    import_session(ours, tmp_path / "session.jsonl", "a b")
    push_to(ours, with_sources=True)
    tracked = ours.list_refs(REMOTES, REMOTE_SOURCES)
    remove_remote(ours, "origin")
    assert ours.list_refs(REMOTES, REMOTE_SOURCES) == {}
    add(ours, bare, probe=True)
    assert ours.list_refs(REMOTES, REMOTE_SOURCES) == tracked
    say(ours, "conv-001", "news")
    assert len(push_known(ours).conversations) == 1


@pytest.mark.slow
def test_what_was_never_fetched_is_noted_and_not_taken_as_known(two_on_origin, bare, tmp_path):
    theirs = machine(tmp_path / "theirs.git", bare)
    fetch_from(theirs)
    say(theirs, "conv-002", "theirs")
    push_to(theirs)
    (note,) = move(two_on_origin, "origin", bare).notes
    assert note.text == "1 conversation of this store is there, with something that was never fetched: conv-002"
    assert note.hint == "get it: scopes fetch"
    fetch_from(two_on_origin)
    assert texts(two_on_origin, "conv-002") == ["x", "theirs"]


def test_an_address_that_nobody_asks_is_kept_with_what_is_known(ours):
    push_to(ours)
    move(ours, "origin", "/srv/moved.git", probe=False)
    assert resolve_remote(ours, "origin").address.text == "/srv/moved.git"
    assert len(ours.list_refs(REMOTES)) == 1


def test_an_address_that_does_not_answer_changes_nothing(ours, bare, tmp_path):
    push_to(ours)
    with pytest.raises(NotFound):
        move(ours, "origin", str(tmp_path / "missing.git"))
    assert resolve_remote(ours, "origin").address.text == bare
    assert len(ours.list_refs(REMOTES)) == 1


@pytest.mark.parametrize("probe", [True, False])
def test_a_store_is_no_new_address(ours, bare, tmp_path, probe):
    history(make_store(tmp_path / "theirs"), "main: a")
    with pytest.raises(Refused, match="is a scopes store"):
        move(ours, "origin", str(tmp_path / "theirs"), probe=probe)
    assert resolve_remote(ours, "origin").address.text == bare


def test_a_new_address_with_code_or_hooks_is_noted(ours, tmp_path):
    path = make_bare(tmp_path / "code.git")
    tree = git(path, "hash-object", "-w", "-t", "tree", "--stdin", stdin=b"").strip()
    config = ("-c", "user.name=x", "-c", "user.email=x@y")
    git(path, "update-ref", "refs/heads/main", git(path, *config, "commit-tree", tree, "-m", "code").strip())
    hook = tmp_path / "code.git" / "hooks" / "update"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o700)
    notes = [note.text for note in move(ours, "origin", path).notes]
    assert ("code" in notes[0], "do not run" in notes[1], len(notes)) == (True, True, 2)


def test_a_new_address_that_takes_nothing_is_noted(ours, tmp_path):
    path = make_bare(tmp_path / "full.git")
    git(path, "config", "receive.maxInputSize", "1")
    assert "did not take a ref of scopes" in move(ours, "origin", path).notes[0].text


def test_other_branches_are_refused_where_conversations_are_to_be_branches(ours, bare, tmp_path):
    path = make_bare(tmp_path / "code.git")
    push_to(ours)
    git(path, "fetch", "-q", bare, "+refs/scopes/v1/c/*:refs/heads/other/*")
    with pytest.raises(Refused, match="has other branches"):
        set_remote_address(ours, "origin", parse_address(path)._replace(as_branches=True), connection())
    assert resolve_remote(ours, "origin").address.text == bare


def test_branches_stay_branches_at_a_new_address(repository):
    add(repository, "/a")
    set_remote_address(repository, "origin", parse_address("/b")._replace(as_branches=True), connection(), probe=False)
    move(repository, "origin", "/c", probe=False)
    assert resolve_remote(repository, "origin").address.as_branches


def test_changes_of_remotes_are_not_undone(ours):
    """An undo would bring back what was known about a remote that is not in the list any more."""
    push_to(ours)
    rename_remote(ours, "origin", "team")
    say(ours, "conv-001/main", "x")
    remove_remote(ours, "team")
    undone = undo(ours)
    assert undone.target.kind == "append"
    assert ours.list_refs(REMOTES) == {}


def test_a_named_change_of_a_remote_is_not_undone_either(ours):
    push_to(ours)
    rename_remote(ours, "origin", "team")
    operation = next(each for _, each in walk_operations(ours) if each.kind == "remote")
    with pytest.raises(Refused, match="a change of a remote cannot be undone") as caught:
        undo(ours, operation.id)
    assert "remote add, rename or set-url" in caught.value.hint


def test_a_remote_is_shown_with_what_it_has_and_what_it_lacks(ours, bare):
    shown = show_remote(ours, None)
    assert (shown.conversations, shown.here, shown.not_shared, shown.default) == (0, 0, 1, True)
    push_to(ours)
    history(ours, "main: z")
    shown = show_remote(ours, "origin")
    assert (shown.address, shown.transport, shown.as_branches) == (bare, "directory", False)
    assert (shown.conversations, shown.here, shown.not_shared) == (1, 1, 1)
    with pytest.raises(NotFound):
        show_remote(ours, "missing")
