"""`push --force` says what it leaves out, and never drops what nobody has seen here; unsent branches are refused."""

from __future__ import annotations

import pytest

from scopes.conversation.new_rename_delete import delete_branch
from scopes.errors import Invalid, NotFound, Refused
from scopes.history.names import list_branch_tips
from scopes.sync.delete_on_remote import delete_on_remote
from scopes.sync.local_conversations import Selection
from scopes.sync.push import push
from scopes.sync.remotes import resolve_remote
from tests.cli.running import PRODUCT, scopes
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import clone_to, connection, fetch_from, push_to
from tests.support.store import assert_sound, open_store

NAME = "conv-001"


@pytest.fixture
@recalled
def theirs(ours, bare, tmp_path):
    """Another machine that has what was pushed: conv-001 with the branches main, fix and idea."""
    history(ours, "main: x y")
    push_to(ours)
    clone_to(tmp_path / "theirs", bare)
    return open_store(tmp_path / "theirs")


def named(theirs, text):
    """Return the name in the other store of the conversation with a text in its main branch."""
    found = [name for name in ("conv-001", "conv-002") if text in texts(theirs, f"{name}/main")]
    (name,) = found
    return name


def delete_branch_there(store, name):
    """Delete a branch from the remote."""
    done = delete_on_remote(store, resolve_remote(store, None), [name], connection())
    assert [row.status for row in done.names] == ["deleted"]


def test_own_messages_of_a_branch_that_was_deleted_there_are_refused(ours, theirs):
    name = named(theirs, "a")
    say(theirs, f"{name}/fix", "unsent")
    delete_branch_there(ours, f"{NAME}/fix")
    done = push_to(theirs, name)
    (row,) = done.conversations
    assert (row.status, row.unsent, row.messages, done.exit_code, done.unchanged) == ("refused", ("fix",), 0, 1, 0)
    assert "somebody has deleted fix on the remote: 1 message is not sent" in row.reason
    assert row.reason.endswith(f"scopes push {name}/fix --force")
    assert push_to(theirs, name).exit_code == 1  # and each time until something is done


def test_a_deleted_branch_without_own_messages_is_no_failure(ours, theirs):
    delete_branch_there(ours, f"{NAME}/fix")
    fetch_from(theirs)
    done = push_to(theirs)
    assert (done.exit_code, done.conversations) == (0, ())
    assert done.notes[0].hint.startswith(f"send it again: scopes push {named(theirs, 'a')}/fix --force; ")


def test_what_else_is_new_is_sent_and_the_exit_code_says_that_something_was_not(ours, theirs):
    name = named(theirs, "a")
    say(theirs, f"{name}/fix", "unsent")
    say(theirs, f"{name}/main", "sent")
    delete_branch_there(ours, f"{NAME}/fix")
    done = push_to(theirs, name)
    (row,) = done.conversations
    assert (row.status, row.unsent, row.messages, done.exit_code) == ("updated", ("fix",), 1, 1)


def test_one_branch_is_sent_again_and_no_other(ours, theirs):
    name = named(theirs, "a")
    say(theirs, f"{name}/fix", "unsent")
    delete_branch_there(ours, f"{NAME}/fix")
    say(ours, f"{NAME}/main", "ours")
    push_to(ours)
    push_to(theirs, name)  # fetches it
    say(theirs, f"{name}/main", "behind theirs")
    done = push_to(theirs, f"{name}/fix", force=True)
    assert done.conversations[0].replaced == ()
    fetch_from(ours)
    assert texts(ours, f"{NAME}/fix")[-1] == "unsent"
    assert "ours" in texts(ours, f"{NAME}/main")
    assert_sound(ours)


@pytest.mark.parametrize(
    ("name", "force", "error"),
    [(f"{NAME}/fix", False, Invalid), (f"{NAME}/nothing", True, NotFound), ("conv-9/fix", True, NotFound)],
)
@pytest.mark.every_case("each is a mistake of its own")
def test_a_branch_that_cannot_be_forced_is_an_error(ours, theirs, name, force, error):
    with pytest.raises(error):
        push_to(ours, name, force=force)


def test_force_refuses_to_leave_out_what_was_never_seen_here(ours, theirs):
    name = named(theirs, "a")
    say(theirs, f"{name}/main", "theirs")
    push_to(theirs)
    say(ours, f"{NAME}/main", "ours")
    done = push_to(ours, NAME, force=True, drops_unmerged=True)
    (row,) = done.conversations
    assert (row.status, done.exit_code) == ("refused", 1)
    assert "origin has 1 message that was not seen here before this push (1 on main)" in row.reason
    assert f"scopes log {NAME}/origin/main" in row.reason
    fetch_from(theirs)
    assert texts(theirs, f"{name}/main")[-1] == "theirs"
    again = push_to(ours, NAME, force=True, drops_unmerged=True)  # by now it is here, and was named
    assert [(each.status, each.replaced) for each in again.conversations] == [("updated", (("main", 1),))]
    fetch_from(theirs)
    assert texts(theirs, f"{name}/origin/main")[-1] == "ours"


def test_force_after_a_fetch_says_which_messages_it_leaves_out(ours, theirs):
    name = named(theirs, "a")
    say(theirs, f"{name}/main", "one")
    say(theirs, f"{name}/main", "two")
    push_to(theirs)
    say(ours, f"{NAME}/main", "ours")
    fetch_from(ours)
    confirmed = {"force": True, "drops_unmerged": True}
    previewed = push_to(ours, NAME, dry_run=True, **confirmed).conversations[0]
    sent = push_to(ours, NAME, **confirmed)
    assert sent.conversations[0].replaced == previewed.replaced == (("main", 2),)
    assert sent.exit_code == 0


def test_force_that_leaves_nothing_out_is_an_update(ours, theirs):
    say(ours, f"{NAME}/main", "ours")
    (row,) = push_to(ours, NAME, force=True).conversations
    assert (row.status, row.replaced) == ("updated", ())


def test_force_without_names_brings_no_deleted_branch_back(ours, theirs, bare, tmp_path):
    delete_branch_there(ours, f"{NAME}/fix")
    name = named(theirs, "a")
    fetch_from(theirs)
    for dry_run in (True, False):
        done = push(theirs, resolve_remote(theirs, None), Selection(), connection(), force=True, dry_run=dry_run)
        assert done.conversations == ()
        assert f"1 branch was deleted from origin: {name}/fix" in [note.text for note in done.notes]
    clone_to(tmp_path / "later", bare)
    assert "fix" not in list_branch_tips(open_store(tmp_path / "later"), named(open_store(tmp_path / "later"), "a"))


def test_a_named_conversation_is_forced_with_its_deleted_branches_and_says_so(ours, theirs):
    delete_branch_there(ours, f"{NAME}/fix")
    fetch_from(theirs)
    (row,) = push_to(theirs, named(theirs, "a"), force=True).conversations
    assert (row.status, row.restored) == ("updated", ("fix",))


def test_a_fetch_names_a_branch_that_was_deleted_there_once(ours, theirs):
    name = named(theirs, "a")
    delete_branch_there(ours, f"{NAME}/fix")
    done = fetch_from(theirs)
    (row,) = done.conversations
    assert (row.status, row.deleted) == ("updated", ("fix",))
    (note,) = done.notes
    assert note.text == f"1 branch was deleted on origin: {name}/fix"
    assert note.hint.endswith(f"scopes branch -D {name} fix")
    assert fetch_from(theirs).conversations == ()
    assert fetch_from(ours).notes == ()


@pytest.mark.slow
def test_no_push_repeats_a_deletion_to_whoever_did_it(ours, theirs):
    delete_branch_there(ours, f"{NAME}/fix")
    say(ours, f"{NAME}/main", "more")
    assert [note.text for note in push_to(ours).notes] == []
    fetch_from(theirs)
    (note,) = push_to(theirs).notes
    assert note.text == f"1 branch was deleted from origin: {named(theirs, 'a')}/fix"
    name = named(theirs, "a")
    assert note.hint.endswith(f"or delete it here, too: scopes branch -D {name} fix")
    with pytest.raises(Refused):  # no other branch has its messages
        delete_branch(theirs, name, "fix", dry_run=True)
    assert delete_branch(theirs, name, "fix", force=True, dry_run=True).branch == "fix"
    push_to(theirs, f"{named(theirs, 'a')}/fix", force=True)
    fetch_from(ours)
    assert texts(ours, f"{NAME}/fix")
    assert [note.text for note in push_to(ours).notes] == []
    say(ours, f"{NAME}/fix", "unsent")
    delete_branch_there(theirs, f"{named(theirs, 'a')}/fix")
    assert [row.unsent for row in push_to(ours).conversations] == [("fix",)]


def test_the_long_form_of_a_branch_names_it(ours, theirs):
    delete_branch_there(ours, f"{NAME}/refs/heads/fix")
    fetch_from(theirs)
    (row,) = push_to(theirs, f"{named(theirs, 'a')}/refs/heads/fix", force=True).conversations
    assert row.restored == ("fix",)


def test_the_option_of_git_that_force_is_already_is_pointed_to_it():
    done = scopes("push", "conv-001", "--force-with-lease", table=PRODUCT)
    assert (done.returncode, "did you mean --force?" in done.stderr) == (2, True)
