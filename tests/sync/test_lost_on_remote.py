"""A push asks before it says that a remote has everything: the remote may be empty, made anew, or an older copy."""

from __future__ import annotations

import shutil

import pytest

from scopes.errors import NotFound
from scopes.history.names import find_root_commit
from scopes.sync.change_remotes import remove_remote
from scopes.sync.delete_on_remote import delete_on_remote
from scopes.sync.edit_remotes import rename_remote
from scopes.sync.git_transport import GitTransport
from scopes.sync.local_conversations import Selection
from scopes.sync.lost_on_remote import note_older
from scopes.sync.pull import pull
from scopes.sync.push import push
from scopes.sync.remotes import resolve_remote
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import (
    add,
    clone_to,
    connection,
    count_conversations,
    fetch_from,
    limited,
    machine,
    make_bare,
    numbered,
    push_to,
)
from tests.support.store import git

NAME, OTHER = "conv-001", "conv-002"


@pytest.fixture
@recalled
def sent(ours):
    """A store with two conversations, both of which were pushed."""
    history(ours, "main: x", conversation=OTHER)
    push_to(ours)
    return ours


def make_anew(bare):
    shutil.rmtree(bare)
    make_bare(bare)


def push_known(store, **options):
    return push(store, resolve_remote(store, None), Selection(), connection(), **options)


def pull_from(store, *names):
    return pull(store, resolve_remote(store, None), Selection(names), connection())


def states(pushed):
    return {each.conversation: each.status for each in pushed.conversations}


def delete_there(bare, root):
    ref = next(ref for ref in git(bare, "for-each-ref", "--format=%(refname)").split() if ref.endswith(root))
    git(bare, "update-ref", "-d", ref)


def test_a_push_to_a_remote_that_was_made_anew_does_not_say_that_it_has_everything(sent, bare):
    make_anew(bare)
    pushed = push_known(sent)
    assert (pushed.unchanged, pushed.exit_code) == (0, 1)
    assert states(pushed) == {NAME: "refused", OTHER: "refused"}
    assert "no longer has any conversation that it had" in pushed.notes[0].text
    assert pushed.notes[0].hint == "if nobody has deleted them on purpose, send all of them again: scopes push --force"
    assert count_conversations(bare) == 0


def test_the_push_that_is_advised_sends_all_of_it_again(sent, bare, tmp_path):
    make_anew(bare)
    push_known(sent)
    assert states(push_known(sent, force=True)) == {NAME: "new", OTHER: "new"}
    assert push_known(sent).unchanged == 2
    clone_to(tmp_path / "clone.git", bare)
    assert count_conversations(bare) == 2


def test_a_remote_that_is_gone_is_an_error(sent, bare):
    shutil.rmtree(bare)
    with pytest.raises(NotFound, match="there is no directory"):
        push_known(sent)


def test_a_conversation_that_was_deleted_there_is_named(sent, bare):
    pushed = push_to(sent)
    assert (pushed.unchanged, pushed.conversations) == (2, ())
    delete_there(bare, find_root_commit(sent, OTHER))
    pushed = push_to(sent)
    assert (pushed.unchanged, states(pushed), pushed.exit_code) == (1, {OTHER: "deleted"}, 0)
    assert f"scopes push {OTHER} --force" in pushed.conversations[0].reason
    assert states(push_to(sent, OTHER)) == {OTHER: "refused"}
    assert states(push_to(sent, OTHER, force=True)) == {OTHER: "new"}


def test_another_repository_in_its_place_is_no_deletion(sent, bare, tmp_path):
    make_anew(bare)
    theirs = machine(tmp_path / "theirs.git", bare)
    history(theirs, "main: q")
    push_to(theirs)
    pushed = push_known(sent)
    assert (states(pushed), pushed.exit_code) == ({NAME: "refused", OTHER: "refused"}, 1)
    assert states(push_known(sent, force=True)) == {NAME: "new", OTHER: "new"}
    assert count_conversations(bare) == 3


@pytest.fixture
@recalled
def others_first(sent, bare, tmp_path):
    """The remote was made anew, somebody else has pushed to it, and this store has fetched that."""
    make_anew(bare)
    theirs = machine(tmp_path / "theirs.git", bare)
    history(theirs, "main: q")
    push_to(theirs)
    return fetch_from(sent)


def test_a_fetch_says_that_a_remote_was_made_anew(others_first, sent):
    assert [row.status for row in others_first.conversations] == ["new"]
    note = others_first.notes[0]
    assert "emptied or recreated, or is another repository" in note.text
    assert note.hint == "if nobody has deleted them on purpose, send all of them again: scopes push --force"
    assert note in fetch_from(sent).notes


def test_a_fetch_says_that_a_remote_was_emptied(sent, bare):
    make_anew(bare)
    assert "emptied or recreated" in fetch_from(sent).notes[0].text


@pytest.mark.slow
def test_a_push_after_that_fetch_says_so_too_and_does_not_call_it_deletion(others_first, sent, bare):
    pushed = push_to(sent)
    assert (states(pushed), pushed.exit_code) == ({NAME: "refused", OTHER: "refused"}, 1)
    assert others_first.notes[0] in pushed.notes
    assert states(push_known(sent, force=True)) == {NAME: "new", OTHER: "new"}
    assert count_conversations(bare) == 3
    assert fetch_from(sent).notes == ()


def test_it_is_forgotten_with_the_remote_and_kept_under_its_new_name(others_first, sent, bare):
    rename_remote(sent, "origin", "team")
    assert "team no longer has any" in fetch_from(sent, remote="team").notes[0].text
    remove_remote(sent, "team")
    add(sent, bare, "team")
    assert fetch_from(sent, remote="team").notes == ()


def test_one_of_two_that_somebody_has_deleted_is_no_loss_of_all(sent, bare):
    delete_there(bare, find_root_commit(sent, OTHER))
    assert [note.text for note in fetch_from(sent).notes] == [f"1 conversation was deleted on origin: {OTHER}"]
    assert fetch_from(sent).notes == ()
    assert states(push_to(sent)) == {OTHER: "deleted"}


def test_a_deletion_is_left_alone_once_it_was_accepted(sent, bare):
    delete_there(bare, find_root_commit(sent, OTHER))
    delete_on_remote(sent, resolve_remote(sent, None), [OTHER], connection())
    assert states(push_to(sent)) == {}


@pytest.mark.slow
def test_all_of_it_is_asked_for_also_if_a_new_message_meets_an_empty_remote(sent, bare):
    say(sent, NAME, "news")
    make_anew(bare)
    assert states(push_known(sent)) == {NAME: "refused", OTHER: "refused"}
    assert states(push_known(sent, force=True)) == {NAME: "new", OTHER: "new"}


def test_an_older_copy_of_the_remote_gets_what_it_lacks(sent, bare, tmp_path):
    shutil.copytree(bare, tmp_path / "backup.git")
    say(sent, NAME, "news")
    push_known(sent)
    shutil.rmtree(bare)
    shutil.move(tmp_path / "backup.git", bare)
    assert states(push_known(sent)) == {NAME: "updated"}
    theirs = machine(tmp_path / "theirs.git", bare)
    fetch_from(theirs)
    assert texts(theirs, NAME)[-1] == "news"


@pytest.mark.slow
def test_new_messages_go_to_an_older_copy_of_the_remote(sent, bare, tmp_path):
    shutil.copytree(bare, tmp_path / "backup.git")
    say(sent, NAME, "news")
    push_known(sent)
    shutil.rmtree(bare)
    shutil.move(tmp_path / "backup.git", bare)
    say(sent, NAME, "more")
    assert states(push_known(sent)) == {NAME: "updated"}
    assert push_known(sent).unchanged == 2


def test_a_push_that_sends_something_does_not_ask_twice(sent, monkeypatch):
    asked = []
    list_refs = GitTransport.list_refs
    monkeypatch.setattr(GitTransport, "list_refs", lambda self, each: asked.append(each) or list_refs(self, each))
    say(sent, NAME, "news")
    assert states(push_known(sent)) == {NAME: "updated"}
    assert asked == []
    push_known(sent)
    assert len(asked) == 1


def make_older(store, bare, tmp_path):
    """Put a backup in the place of the remote, from before the last message."""
    shutil.copytree(bare, tmp_path / "backup.git")
    say(store, NAME, "news")
    push_known(store)
    shutil.rmtree(bare)
    shutil.move(tmp_path / "backup.git", bare)


@pytest.mark.parametrize("get", [fetch_from, pull_from], ids=["fetch", "pull"])
@pytest.mark.parametrize("others", [False, True], ids=["empty", "with others"])
@pytest.mark.slow
def test_a_fetch_of_a_name_says_that_a_remote_was_made_anew(sent, bare, tmp_path, get, others):
    make_anew(bare)
    if others:
        theirs = machine(tmp_path / "theirs.git", bare)
        history(theirs, "main: q")
        push_to(theirs)
    with pytest.raises(NotFound, match="no longer has any conversation that it had") as error:
        get(sent, NAME)
    assert error.value.hint == "if nobody has deleted them on purpose, send all of them again: scopes push --force"
    if not others:
        theirs = machine(tmp_path / "theirs.git", bare)
        history(theirs, "main: q")
        push_to(theirs)
    assert "no longer has any conversation that it had" in fetch_from(sent).notes[0].text
    assert states(push_known(sent, force=True)) == {NAME: "new", OTHER: "new"}
    assert get(sent, NAME).exit_code == 0


def test_a_fetch_of_a_name_that_somebody_has_deleted_there_says_so(sent, bare):
    delete_there(bare, find_root_commit(sent, OTHER))
    with pytest.raises(NotFound, match=f"origin does not have {OTHER} any more") as error:
        fetch_from(sent, NAME, OTHER)
    assert error.value.hint == f"to have it there again: scopes push {OTHER} --force"
    assert states(push_to(sent, OTHER, force=True)) == {OTHER: "new"}


def test_a_fetch_of_a_name_that_was_never_there_says_what_is_there(sent):
    history(sent, "main: own", conversation="conv-003")
    with pytest.raises(NotFound, match="origin does not have conv-003") as error:
        fetch_from(sent, "conv-003")
    assert error.value.hint.startswith("it has: ")


def test_a_remote_of_several_repositories_says_so_too(ours, bare):
    store = limited(ours, 1)
    history(store, "main: x", conversation=OTHER)
    push_to(store)
    make_anew(numbered(bare, 2))
    with pytest.raises(NotFound, match="origin-2 no longer has any conversation that it had"):
        fetch_from(store, OTHER)
    assert fetch_from(store, NAME).exit_code == 0


@pytest.mark.parametrize("get", [fetch_from, pull_from], ids=["fetch", "pull"])
@pytest.mark.parametrize("names", [(), (NAME,)], ids=["everything", "by name"])
def test_a_fetch_names_what_a_remote_has_less_of_than_it_had(sent, bare, tmp_path, get, names):
    make_older(sent, bare, tmp_path)
    (note,) = [note for note in get(sent, *names).notes if "has less of" in note.text]
    assert note.text == f"origin has less of 1 conversation than before: {NAME}"
    assert note.hint.endswith(f"send what it lacks: scopes push {NAME}")
    assert states(push_to(sent, NAME)) == {NAME: "updated"}
    assert [note for note in get(sent, *names).notes if "has less of" in note.text] == []


def test_many_are_named_by_their_number(sent):
    names = [f"conv-{number:03d}" for number in range(1, 31)]
    (note,) = note_older(sent, names, "origin", "")
    assert "less of 30 conversations" in note.text
    assert note.hint.endswith("scopes push")
    assert note_older(sent, [None], "origin", "") == ()
