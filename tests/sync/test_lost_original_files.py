"""Original files that a remote has lost are sent again; what was purged from them does not come back from a backup."""

from __future__ import annotations

import shutil

import pytest

from scopes.purge.on_remotes import list_copies
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.sync.git_transport import GitTransport
from tests.support.every_byte import find_word
from tests.support.history import history, say
from tests.support.original_files import CREATED, exported, files_there, find_message, import_session
from tests.support.remotes import add, fetch_from, machine, make_bare, push_to
from tests.support.store import git

WORD = "Xylophone-Quarantine-4711"


@pytest.fixture
def alice(repository, bare, tmp_path):
    """A store with an imported session with a word, which knows the remote."""
    add(repository, bare)
    message = {"id": "w", "parent": "b", "by": "bot", "say": WORD, "time": CREATED}
    import_session(repository, tmp_path / "session.jsonl", "a b", more=(message,))
    return repository


def send(store, **options):
    return push_to(store, with_sources=True, **options)


def sources_of(pushed):
    return [(row.status, row.files) for row in pushed.sources]


def keep_backup(bare, tmp_path):
    shutil.copytree(bare, tmp_path / "backup.git")
    return tmp_path / "backup.git"


def restore(backup, bare):
    shutil.rmtree(bare)
    shutil.copytree(backup, bare)


def delete_files(bare):
    for ref in git(bare, "for-each-ref", "--format=%(refname)", "refs/scopes/v1/s").split():
        git(bare, "update-ref", "-d", ref)


def purge_word(store, tmp_path):
    request = PurgeRequest(conversation="conv-001", messages=(find_message(store, WORD),))
    purge(store, request, Places(str(tmp_path / "index")))


def assert_clean(bare):
    git(bare, "reflog", "expire", "--expire=now", "--all")
    git(bare, "gc", "-q", "--prune=now")
    assert find_word(WORD, bare) == []


@pytest.mark.slow
def test_a_remote_that_was_made_anew_gets_them_with_the_conversations(alice, bare, tmp_path):
    send(alice)
    shutil.rmtree(bare)
    make_bare(bare)
    assert sources_of(send(alice, force=True)) == [("new", 1)]
    fetch_from(bob := machine(tmp_path / "bob", bare, "bob"))
    assert exported(bob) == exported(alice) != {}


def test_a_backup_from_before_the_files_gets_them(alice, bare, tmp_path):
    push_to(alice)
    backup = keep_backup(bare, tmp_path)
    send(alice)
    restore(backup, bare)
    assert sources_of(send(alice)) == [("new", 1)]
    assert sources_of(send(alice)) == []
    assert len(files_there(bare)) == 1


@pytest.mark.slow
def test_a_backup_with_fewer_files_gets_the_others(alice, bare, tmp_path):
    send(alice)
    backup = keep_backup(bare, tmp_path)
    import_session(alice, tmp_path / "part.jsonl", "h i", session="s1", part="helper")
    assert sources_of(send(alice)) == [("updated", 2)]
    restore(backup, bare)
    assert sources_of(send(alice)) == [("updated", 2)]
    fetch_from(bob := machine(tmp_path / "bob", bare, "bob"))
    assert exported(bob) == exported(alice)


def test_a_push_without_the_option_sends_none_again(alice, bare):
    send(alice)
    delete_files(bare)
    pushed = push_to(alice)
    assert (pushed.sources, pushed.exit_code, files_there(bare)) == ((), 0, [])


@pytest.mark.parametrize("is_wanted", [False, True], ids=["push", "with sources"])
@pytest.mark.slow
def test_a_purge_is_done_with_files_that_the_remote_has_lost(alice, bare, tmp_path, is_wanted):
    send(alice)
    purge_word(alice, tmp_path)
    delete_files(bare)
    pushed = push_to(alice, with_sources=is_wanted)
    assert (sources_of(pushed), pushed.exit_code) == ([("new", 1)] if is_wanted else [], 0)
    assert list_copies(alice.path) == ()
    assert_clean(bare)


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_wanted", [False, True], ids=["push", "with sources"])
@pytest.mark.slow
def test_what_was_purged_from_them_and_came_back_is_replaced(alice, bare, tmp_path, is_wanted):
    send(alice)
    backup = keep_backup(bare, tmp_path)
    purge_word(alice, tmp_path)
    push_to(alice)
    restore(backup, bare)
    pushed = push_to(alice, with_sources=is_wanted)
    assert (sources_of(pushed), pushed.exit_code) == ([("updated", 1)], 0)
    assert_clean(bare)


@pytest.mark.slow
@pytest.mark.parametrize("is_wanted", [False, True], ids=["push", "with sources"])
def test_what_came_back_from_several_pushes_before_the_purge_is_replaced(alice, bare, tmp_path, is_wanted):
    send(alice)
    backup = keep_backup(bare, tmp_path)
    for part in ("first", "second"):
        import_session(alice, tmp_path / f"{part}.jsonl", "h i", session="s1", part=part)
        send(alice)
    purge_word(alice, tmp_path)
    push_to(alice)
    restore(backup, bare)
    pushed = push_to(alice, with_sources=is_wanted)
    assert (sources_of(pushed), pushed.exit_code) == ([("updated", 3)], 0)
    assert_clean(bare)


def test_files_of_a_conversation_that_somebody_has_deleted_there_are_not_sent(alice, bare):
    send(alice)
    history(alice, "main: x")
    for ref in git(bare, "for-each-ref", "--format=%(refname)").split():
        git(bare, "update-ref", "-d", ref)
    assert send(alice).sources == ()
    assert files_there(bare) == []


def test_a_remote_is_not_asked_about_files_that_it_never_had(alice, bare, monkeypatch):
    push_to(alice, "conv-001")
    say(alice, "conv-001", "more")  # or the push asks whether the remote still has the conversation
    asked = []
    list_refs = GitTransport.list_refs
    monkeypatch.setattr(GitTransport, "list_refs", lambda self, each: asked.append(each) or list_refs(self, each))
    send(alice)
    assert asked == []
    assert len(files_there(bare)) == 1
