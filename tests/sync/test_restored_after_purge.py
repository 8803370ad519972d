"""A remote that is emptied or restored from a backup after a purge: the next push sends again what was purged."""

from __future__ import annotations

import shutil

import pytest

from scopes.history.names import conversation_ids
from scopes.purge.accept import plan_accept
from scopes.purge.on_remotes import list_copies
from scopes.purge.purge import Places, purge
from scopes.purge.purged_values import add_purged_values, list_replaced, read_purged_values
from scopes.purge.selection import PurgeRequest
from scopes.sync.change_remotes import remove_remote
from scopes.sync.purged_lists import ON_REMOTE
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, count_conversations, fetch_from, machine, make_bare, push_to
from tests.support.store import git

WORD = "Xylophone-Quarantine-4711"
NAME, OTHER = "conv-001", "conv-002"


@pytest.fixture
@recalled
def drawn(repository, bare):
    """A conversation with the word and another one, both pushed."""
    add(repository, bare)
    made = history(repository, f"main: a {WORD}")
    history(repository, "main: x")
    push_to(repository)
    return made


@pytest.fixture
@recalled
def backup(drawn, bare, tmp_path):
    """A copy of the remote with the word, which is older than what the remote has."""
    shutil.copytree(bare, tmp_path / "backup.git")
    return tmp_path / "backup.git"


def restore(backup, bare):
    shutil.rmtree(bare)
    shutil.copytree(backup, bare)


def make_anew(bare):
    shutil.rmtree(bare)
    make_bare(bare)


def purge_word(store, drawn, tmp_path):
    purge(store, PurgeRequest(conversation=NAME, messages=(drawn.ids[WORD],)), Places(str(tmp_path / "index")))


@pytest.fixture
@recalled
def restored(repository, drawn, backup, bare, tmp_path):
    """A remote that had got what a purge has rewritten, and was restored from that copy then."""
    purge_word(repository, drawn, tmp_path)
    push_to(repository)
    restore(backup, bare)
    return repository


def statuses(pushed):
    return {row.conversation: row.status for row in pushed.conversations}


def lists_on(bare):
    return git(bare, "for-each-ref", "--format=%(objectname)", ON_REMOTE).split()


def assert_clean(bare, tmp_path):
    """Check that somebody new gets nothing of it, and that the remote is left with nothing after its own gc."""
    fetch_from(reader := machine(tmp_path / "reader.git", bare))
    assert find_word(WORD, reader.path) == []
    git(bare, "reflog", "expire", "--expire=now", "--all")
    git(bare, "gc", "-q", "--prune=now")
    assert find_word(WORD, bare) == []


@pytest.mark.parametrize("options", [{}, {"purged": True}, {"force": True}], ids=["push", "purged", "force"])
def test_a_push_replaces_what_a_backup_brought_back(restored, bare, tmp_path, options):
    pushed = push_to(restored, **options)
    assert (statuses(pushed), pushed.exit_code) == ({NAME: "updated"}, 0)
    assert len(lists_on(bare)) == 1
    assert_clean(bare, tmp_path)


@pytest.mark.slow
def test_it_is_replaced_with_newer_messages_too(restored, bare, tmp_path):
    say(restored, NAME, "later")
    pushed = push_to(restored, NAME)
    assert (statuses(pushed), pushed.exit_code) == ({NAME: "updated"}, 0)
    assert_clean(bare, tmp_path)


@pytest.mark.slow
def test_it_is_replaced_also_if_the_remote_takes_something_else(restored, bare, tmp_path):
    say(restored, OTHER, "later")
    assert statuses(push_to(restored)) == {NAME: "updated", OTHER: "updated"}
    assert_clean(bare, tmp_path)


@pytest.mark.slow
def test_it_is_replaced_if_the_backup_is_older_than_what_was_purged(repository, drawn, backup, bare, tmp_path):
    say(repository, NAME, "later")
    push_to(repository)
    purge_word(repository, drawn, tmp_path)
    restore(backup, bare)
    pushed = push_to(repository)
    assert (statuses(pushed), pushed.exit_code) == ({NAME: "updated"}, 0)
    assert list_copies(repository.path) == ()
    assert_clean(bare, tmp_path)


def test_a_fetch_says_what_replaces_it(restored, bare, tmp_path):
    (row,) = [row for row in fetch_from(restored).conversations if row.status == "unacceptable"]
    assert row.reason.endswith("replace it there: scopes push --purged")


@pytest.mark.slow
def test_a_purged_conversation_that_came_back_is_deleted_again(repository, drawn, backup, bare, tmp_path):
    purge(repository, PurgeRequest((NAME,)), Places(str(tmp_path / "index")))
    push_to(repository, purged=True)
    restore(backup, bare)
    pushed = push_to(repository, purged=True)
    assert f"1 purged conversation was deleted on the remote: {pushed.purged[0][:12]}" in [
        note.text for note in pushed.notes
    ]
    assert (count_conversations(bare), len(lists_on(bare))) == (1, 1)


@pytest.mark.slow
def test_a_plain_push_names_a_purged_conversation_that_came_back(repository, drawn, backup, bare, tmp_path):
    purge(repository, PurgeRequest((NAME,)), Places(str(tmp_path / "index")))
    assert push_to(repository, purged=True).exit_code == 0
    assert push_to(repository).notes == ()
    restore(backup, bare)
    (note,) = push_to(repository).notes
    assert note.text == "1 purged conversation is still on the remote"
    assert note.hint == "delete it there, too: scopes push --purged"
    assert count_conversations(bare) == 2


@pytest.mark.cases(1)
@pytest.mark.parametrize("probe", [True, False], ids=["asked", "not asked"])
@pytest.mark.slow
def test_it_is_replaced_by_a_store_that_has_added_the_remote_again(repository, drawn, backup, bare, tmp_path, probe):
    purge_word(repository, drawn, tmp_path)
    push_to(repository)
    remove_remote(repository, "origin")
    restore(backup, bare)
    add(repository, bare, probe=probe)
    pushed = push_to(repository)
    assert (statuses(pushed)[NAME], pushed.exit_code) == ("updated", 0)
    assert_clean(bare, tmp_path)


def test_what_somebody_has_written_above_it_is_not_replaced(repository, drawn, bare, tmp_path):
    fetch_from(theirs := machine(tmp_path / "theirs.git", bare), drawn.root)
    purge_word(repository, drawn, tmp_path)
    say(theirs, NAME, "theirs")
    push_to(theirs)
    pushed = push_to(repository, purged=True)
    assert (statuses(pushed), pushed.exit_code) == ({NAME: "refused"}, 1)
    assert texts(theirs, NAME)[-1] == "theirs"


@pytest.mark.cases(1)
@pytest.mark.parametrize("is_sent", [True, False], ids=["sent", "not sent"])
@pytest.mark.slow
def test_the_list_goes_with_the_conversations_to_a_remote_that_was_emptied(repository, drawn, bare, tmp_path, is_sent):
    fetch_from(theirs := machine(tmp_path / "theirs.git", bare), drawn.root)
    purge_word(repository, drawn, tmp_path)
    if is_sent:
        push_to(repository)
    make_anew(bare)
    pushed = push_to(repository, force=True)
    assert (set(statuses(pushed).values()), pushed.exit_code) == ({"new"}, 0)
    assert (count_conversations(bare), len(lists_on(bare))) == (2, 1)
    fetch_from(theirs)
    assert [each.message for each in plan_accept(theirs).messages] == [drawn.ids[WORD]]
    assert statuses(push_to(theirs, NAME, force=True)) == {NAME: "refused"}
    assert_clean(bare, tmp_path)


@pytest.mark.slow
def test_the_list_goes_again_although_nothing_else_does(repository, drawn, bare, tmp_path):
    purge_word(repository, drawn, tmp_path)
    push_to(repository)
    git(bare, "update-ref", "-d", git(bare, "for-each-ref", "--format=%(refname)", ON_REMOTE).strip())
    assert push_to(repository).unchanged == len(conversation_ids(repository))
    assert len(lists_on(bare)) == 1


def test_the_values_that_are_kept_are_those_that_a_purge_has_rewritten(repository, drawn, bare, tmp_path):
    say(repository, NAME, "later")
    push_to(repository)
    (ref,) = [ref for ref in git(bare, "for-each-ref", "--format=%(refname)").split() if ref.endswith(drawn.root)]
    newest, first = git(bare, "rev-parse", ref, f"{ref}^1").split()
    purge_word(repository, drawn, tmp_path)
    assert read_purged_values(repository.path) == {ref: {newest, first}}
    add_purged_values(repository, {ref: [first]})
    assert read_purged_values(repository.path) == {ref: {newest, first}}


def test_a_value_that_a_rewritten_one_still_has_below_it_is_not_purged(repository, drawn, bare):
    say(repository, OTHER, "later")
    push_to(repository)
    values = git(bare, "for-each-ref", "--format=%(objectname)", "refs/scopes/v1/c").split()
    newest = next(each for each in values if git(bare, "cat-file", "-p", f"{each}^1").count("Scopes-Kind: manifest"))
    first = git(bare, "rev-parse", f"{newest}^1").strip()
    assert list_replaced(repository, newest, None) == {newest, first}
    assert list_replaced(repository, newest, first) == {newest}
