"""Original files are in the repository that has their conversation, and what is done with a remote is done with them."""

from __future__ import annotations

import os

import pytest

from scopes.conversation.undo import undo
from scopes.importers.import_sources import import_sources
from scopes.purge.on_remotes import list_copies, read_values
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.store.refs import FETCHED_SOURCES, REMOTE_SOURCES, REMOTES
from scopes.sync.addresses import parse_address
from scopes.sync.change_remotes import remove_remote
from scopes.sync.delete_on_remote import delete_on_remote
from scopes.sync.edit_remotes import rename_remote, set_remote_address
from scopes.sync.local_conversations import list_roots
from scopes.sync.remotes import resolve_remote
from tests.importers.test_import_source import Several, write_several
from tests.support.every_byte import find_word
from tests.support.original_files import CREATED, exported, files_there, find_message, import_session
from tests.support.planted import KINDS
from tests.support.recalled import recalled
from tests.support.remotes import add, clone_to, connection, fetch_from, limited, machine, numbered, push_to
from tests.support.store import assert_sound, git, open_store, state_of

TOKEN = KINDS[1][1]
WORD = "Xylophone-Quarantine-4711"


def import_two(repository, bare, tmp_path):
    """Add the remote, and import two sessions."""
    add(repository, bare)
    import_session(repository, tmp_path / "session1.jsonl", "a b c", session="s1")
    import_session(repository, tmp_path / "session2.jsonl", "x y z", session="s2")
    return repository


@pytest.fixture
def alice(repository, bare, tmp_path):
    """A store with two imported sessions, whose remote takes one conversation in each repository."""
    return limited(import_two(repository, bare, tmp_path), 1)


@pytest.fixture
@recalled
def pushed_whole(repository, bare, tmp_path):
    """The same after a push, with the original files, to two repositories."""
    push_to(limited(import_two(repository, bare, tmp_path), 1), with_sources=True)
    return repository


@pytest.fixture
def sent(pushed_whole):
    """The same, which has to be opened again with its limit."""
    return limited(pushed_whole, 1)


@pytest.fixture
def repositories(bare):
    """The paths of the two repositories; the second one is there after a push."""
    return [bare, numbered(bare, 2)]


@pytest.fixture
def bob(bare, tmp_path):
    return machine(tmp_path / "bob", bare, "bob")


def send(store, *names, **options):
    return push_to(store, *names, with_sources=True, **options)


def sources_of(pushed):
    return [(row.conversation, row.status, row.files) for row in pushed.sources]


def roots_there(repositories):
    """Return the roots of the conversations whose files each repository has."""
    return [[ref.rpartition("/")[2] for ref in files_there(path)] for path in repositories]


def roots_of(store):
    """Return the roots of the conversations of a store, by their numbers."""
    return [root for root, _ in sorted(list_roots(store).items(), key=lambda item: item[1])]


def names_of(store, root):
    """Return the name of the conversation with a root."""
    return list_roots(store)[root]


def tracked(store, prefix=REMOTE_SOURCES):
    """Return the repositories and roots of what is known of remotes."""
    return sorted(tuple(ref.removeprefix(prefix).split("/")) for ref in store.list_refs(prefix))


def delete_there(store, *names):
    return [row.status for row in delete_on_remote(store, resolve_remote(store, None), names, connection()).names]


def move(store, address, *, probe=True):
    return set_remote_address(store, "origin", parse_address(address), connection(), probe=probe)


def mirror(repositories, directory):
    """Copy repositories into another directory, and return the paths."""
    os.mkdir(directory)
    paths = [str(directory / os.path.basename(path)) for path in repositories]
    for path, copy in zip(repositories, paths, strict=True):
        git(path, "clone", "-q", "--mirror", path, copy)
    return paths


# push


def test_files_go_to_the_repository_that_has_the_conversation(alice, repositories):
    pushed = send(alice)
    assert sources_of(pushed) == [("conv-001", "new", 1), ("conv-002", "new", 1)]
    first, second = roots_of(alice)
    assert roots_there(repositories) == [[first], [second]]
    assert tracked(alice) == [("origin", first), ("origin-2", second)]
    assert_sound(alice)


@pytest.mark.slow
def test_a_second_push_sends_nothing_to_any_repository(sent, repositories):
    before = [git(path, "for-each-ref") for path in repositories]
    assert send(sent).sources == ()
    assert [git(path, "for-each-ref") for path in repositories] == before


@pytest.mark.slow
def test_files_can_follow_a_conversation_into_a_closed_repository(alice, repositories, tmp_path):
    push_to(alice)
    assert roots_there(repositories) == [[], []]
    assert sources_of(send(alice, "conv-001")) == [("conv-001", "new", 1)]
    import_session(alice, tmp_path / "session1.jsonl", "a b c d", session="s1")
    assert sources_of(send(alice)) == [("conv-001", "updated", 1), ("conv-002", "new", 1)]
    assert list(map(len, roots_there(repositories))) == [1, 1]


def test_a_dry_run_says_what_would_leave_for_any_repository(alice, repositories):
    send(alice, "conv-001")
    before = state_of(alice)
    assert sources_of(send(alice, dry_run=True)) == [("conv-002", "new", 1)]
    assert state_of(alice) == before
    assert not os.path.exists(repositories[1])


def test_no_file_leaves_for_a_repository_that_cannot_be_opened(alice, repositories):
    os.mkdir(repositories[1])
    pushed = send(alice)
    assert [row.status for row in pushed.conversations] == ["new", "refused"]
    assert sources_of(pushed) == [("conv-001", "new", 1)]


def test_a_secret_in_a_file_of_a_later_repository_keeps_only_that_file_back(alice, repositories, tmp_path):
    secret = ({"environment": {"KEY": TOKEN}},)
    import_session(alice, tmp_path / "session2.jsonl", "x y z", session="s2", more=secret)
    pushed = send(alice)
    assert [(row.conversation, row.status) for row in pushed.sources] == [("conv-001", "new"), ("conv-002", "refused")]
    assert ([row.status for row in pushed.conversations], pushed.exit_code) == (["new", "new"], 1)
    assert (
        pushed.notes[0].text
        == "original files with a possible secret were not pushed; their conversations do not need them"
    )
    assert list(map(len, roots_there(repositories))) == [1, 0]


@pytest.mark.parametrize("dry_run", [False, True])
def test_a_file_of_conversations_in_several_repositories_leaves_with_all_of_them(repository, bare, tmp_path, dry_run):
    add(repository, bare)
    import_sources(repository, [write_several(tmp_path, "p q", "x y z")], (Several(),))
    store = limited(repository, 1)
    pushed = send(store, dry_run=dry_run)
    assert sources_of(pushed) == [("conv-001", "new", 1), ("conv-002", "new", 1)]
    assert [note.text for note in pushed.notes if "not pushed" in note.text] == []


@pytest.mark.slow
def test_a_file_stays_until_a_later_repository_has_its_other_conversation(repository, bare, tmp_path):
    add(repository, bare)
    import_sources(repository, [write_several(tmp_path, "p q", "x y z")], (Several(),))
    store = limited(repository, 1)
    pushed = send(store, "conv-001")
    assert pushed.sources == ()
    assert "1 original file of several conversations was not pushed: s0" in pushed.notes[0].text
    assert sources_of(send(store, "conv-002")) == [("conv-002", "new", 1)]
    assert sources_of(send(store, "conv-001")) == [("conv-001", "new", 1)]
    assert send(store).sources == ()


# fetch


@pytest.mark.slow
def test_a_fetch_gets_the_files_of_all_repositories_and_one_undo_takes_them_back(sent, bob):
    fetched = fetch_from(bob)
    for root in roots_of(sent):
        assert exported(bob, names_of(bob, root)) == exported(sent, names_of(sent, root)) != {}
    assert [note.text for note in fetched.notes] == [
        "original files of 2 conversations came, too: conv-001, conv-002",
    ]
    assert_sound(bob)
    undo(bob)
    assert bob.list_refs(FETCHED_SOURCES, REMOTE_SOURCES, REMOTES) == {}


@pytest.mark.slow
def test_a_fetch_of_one_conversation_gets_only_its_files_from_a_later_repository(sent, bob):
    _, second = roots_of(sent)
    fetch_from(bob, second)
    assert bob.list_refs(FETCHED_SOURCES).keys() == {f"{FETCHED_SOURCES}{second}"}
    assert tracked(bob) == [("origin-2", second)]


@pytest.mark.slow
def test_a_second_fetch_from_all_repositories_changes_nothing(sent, bob):
    fetch_from(bob)
    before = state_of(bob)
    assert fetch_from(bob).operation is None
    assert state_of(bob) == before


@pytest.mark.slow
def test_files_that_come_later_to_a_closed_repository_are_fetched(alice, bob):
    push_to(alice)
    fetch_from(bob)
    first, _ = roots_of(alice)
    send(alice, "conv-001")
    fetched = fetch_from(bob)
    assert (fetched.unchanged, fetched.operation is None) == (2, False)
    assert tracked(bob) == [("origin", first)]


def test_a_clone_has_the_files_of_all_repositories(sent, bare, tmp_path):
    clone_to(tmp_path / "clone", bare)
    store = open_store(tmp_path / "clone")
    assert [len(exported(store, name)) for name in ("conv-001", "conv-002")] == [1, 1]


@pytest.mark.parametrize("number", [0, 1], ids=["closed", "open"])
@pytest.mark.slow
def test_bad_files_in_one_repository_keep_nothing_else_back(sent, bob, repositories, number):
    path = repositories[number]
    (ref,) = files_there(path)
    git(path, "update-ref", ref, git(path, "for-each-ref", "--format=%(objectname)", "refs/scopes/v1/c").strip())
    fetched = fetch_from(bob)
    assert [row.status for row in fetched.conversations] == ["new", "new"]
    assert [note.text for note in fetched.notes if "are not acceptable" in note.text] != []
    assert tracked(bob) == [(["origin", "origin-2"][1 - number], roots_of(sent)[1 - number])]


# the remote


@pytest.mark.slow
def test_deleting_a_conversation_deletes_its_files_in_its_repository_only(sent, bob, repositories):
    fetch_from(bob)
    first, second = roots_of(sent)
    assert delete_there(bob, names_of(bob, second)) == ["deleted"]
    assert roots_there(repositories) == [[first], []]
    assert tracked(bob) == [("origin", first)]
    assert exported(bob, names_of(bob, second)) == exported(sent, "conv-002")


def test_files_are_deleted_from_a_repository_that_is_not_known_here(sent, bob, repositories):
    first, second = roots_of(sent)
    assert delete_there(bob, second[:12]) == ["deleted"]
    assert roots_there(repositories) == [[first], []]


@pytest.mark.slow
def test_files_of_a_conversation_that_no_repository_has_any_more_are_deleted(sent, repositories):
    first, _ = roots_of(sent)
    (ref,) = git(repositories[1], "for-each-ref", "--format=%(refname)", "refs/scopes/v1/c").split()
    git(repositories[1], "update-ref", "-d", ref)
    assert delete_there(sent, "conv-002") == ["absent"]
    assert roots_there(repositories) == [[first], []]


@pytest.mark.slow
def test_what_was_deleted_is_sent_again_by_its_name_with_its_files(sent, repositories):
    delete_there(sent, "conv-001")
    store = limited(sent, 2)
    assert sources_of(send(store, "conv-001")) == [("conv-001", "new", 1)]
    assert list(map(len, roots_there(repositories))) == [0, 2]


@pytest.mark.slow
def test_a_renamed_remote_knows_the_files_of_all_repositories(sent):
    first, second = roots_of(sent)
    rename_remote(sent, "origin", "work")
    assert tracked(sent) == [("work", first), ("work-2", second)]
    assert send(sent).sources == ()


def test_a_removed_remote_is_forgotten_with_the_files_of_all_repositories(sent, bob):
    fetch_from(bob)
    remove_remote(bob, "origin")
    assert tracked(bob) == tracked(bob, REMOTES) == []
    assert len(exported(bob, "conv-001")) == len(exported(bob, "conv-002")) == 1


@pytest.mark.slow
def test_files_that_are_not_at_another_address_are_forgotten_and_sent_again(sent, repositories, tmp_path):
    first, second = roots_of(sent)
    copies = mirror(repositories, tmp_path / "mirror")
    (ref,) = files_there(copies[1])
    git(copies[1], "update-ref", "-d", ref)
    assert move(sent, copies[0]).conversations == 2
    assert tracked(sent) == [("origin", first)]
    assert tracked(sent, REMOTES) == [("origin", first), ("origin-2", second)]
    assert sources_of(send(sent)) == [("conv-002", "new", 1)]
    assert roots_there(copies) == [[first], [second]]


@pytest.mark.slow
def test_another_address_that_nobody_asks_keeps_what_is_known_of_files(sent, repositories, tmp_path):
    before = tracked(sent)
    move(sent, mirror(repositories, tmp_path / "mirror")[0], probe=False)
    assert tracked(sent) == before
    assert send(sent).sources == ()


# purge


@pytest.mark.cases(1)
@pytest.mark.parametrize("options", [{}, {"purged": True}], ids=["push", "purged"])
@pytest.mark.slow
def test_a_push_replaces_what_was_purged_in_a_later_repository(alice, repositories, tmp_path, options):
    record = {"id": "w", "parent": "z", "by": "bot", "say": WORD, "time": CREATED}
    import_session(alice, tmp_path / "session2.jsonl", "x y z", session="s2", more=(record,))
    send(alice)
    message = find_message(alice, WORD, "conv-002")
    purge(alice, PurgeRequest(conversation="conv-002", messages=(message,)), Places(str(tmp_path / "index")))
    assert {name: len(refs) for name, refs in read_values(alice.path).items()} == {"origin-2": 2}
    pushed = push_to(alice, **options)
    assert sources_of(pushed) == [("conv-002", "updated", 1)]
    git(repositories[1], "gc", "-q", "--prune=now")
    assert [find_word(WORD, path) for path in repositories] == [[], []]
    assert list_copies(alice.path) == ()


@pytest.mark.slow
def test_files_of_a_conversation_that_was_purged_are_deleted_in_a_later_repository(sent, repositories, tmp_path):
    first, _ = roots_of(sent)
    purge(sent, PurgeRequest(conversations=("conv-002",)), Places(str(tmp_path / "index")))
    push_to(sent, purged=True)
    assert roots_there(repositories) == [[first], []]
    assert read_values(sent.path) == {}
