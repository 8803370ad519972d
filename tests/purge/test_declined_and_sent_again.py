"""Two people disagree about a purge: one keeps the message and sends it again, and both read what they can do."""

from __future__ import annotations

import os
import shutil

import pytest

from scopes.conversation.undo import list_operations
from scopes.errors import Corrupt
from scopes.purge.accept import OfferChoice, accept_purges
from scopes.purge.decline import decline_purges
from scopes.purge.purge import purge
from scopes.purge.purged_values import FILE
from scopes.purge.selection import PurgeRequest
from scopes.store.config import find_machine_id
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, fetch_from, machine, pull_from, push_to

WORD = "Xylophone-Quarantine-4711"
NAME = "conv-001"


@pytest.fixture
@recalled
def drawn(repository, bare):
    add(repository, bare)
    made = history(repository, f"main: a {WORD} b")
    push_to(repository)
    return made


@pytest.fixture
@recalled
def theirs(repository, drawn, bare, tmp_path, places):
    """Another machine, with a message of its own, which is offered what was purged meanwhile."""
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    say(store, f"{NAME}/main", "theirs")
    purge(repository, PurgeRequest(conversation=NAME, messages=(drawn.ids[WORD],)), places)
    push_to(repository)
    fetch_from(store)
    return store


@pytest.fixture
@recalled
def kept(theirs):
    """The other machine keeps the message, joins what was purged with it, and sends all of it."""
    decline_purges(theirs)
    pull_from(theirs)
    (row,) = push_to(theirs).conversations
    assert row.status == "updated"
    return theirs


@pytest.mark.slow
def test_who_declines_reads_what_it_means_for_others_and_how_to_change_it(theirs):
    (note,) = decline_purges(theirs).notes
    assert note.text == "stores that have purged it no longer accept the conversation with it from you: conv-001"
    assert note.hint == "to remove it after all: scopes purge --accept conv-001; then: scopes push"
    assert decline_purges(theirs, OfferChoice("origin")).operation is None


@pytest.mark.slow
def test_who_has_purged_it_is_not_sent_to_a_push_that_has_nothing_to_replace(repository, kept):
    with pytest.raises(
        Corrupt,
        match=r"its newest message is by \S+; get the rest without it: scopes pull conv-001 --purged; then: scopes push --purged",
    ):
        fetch_from(repository)
    assert push_to(repository, purged=True).conversations == ()
    say(repository, f"{NAME}/main", "ours")
    (row,) = push_to(repository, NAME).conversations
    assert (row.status, "scopes pull conv-001 --purged" in row.reason) == ("refused", True)


def test_what_is_refused_for_the_second_time_is_a_note_unless_it_is_named(repository, kept):
    history(kept, "main: other", conversation="conv-002")
    push_to(kept)
    first = fetch_from(repository)
    assert ([row.status for row in first.conversations], first.exit_code) == (["unacceptable", "new"], 7)
    for _ in range(2):
        say(kept, "conv-002", "more")
        say(kept, NAME, "more that is kept")
        push_to(kept)
        second = fetch_from(repository)
        assert ([row.conversation for row in second.conversations], second.exit_code) == (["conv-002"], 0)
        assert len(second.refused_before) == 1
        assert second.notes[0].text.startswith("conv-001 of origin is still not taken: message ")
        assert "its newest message is by carol; get the rest without it: scopes pull conv-001" in second.notes[0].hint
    with pytest.raises(Corrupt, match="was purged here"):
        fetch_from(repository, NAME)


@pytest.mark.parametrize("is_new", [True, False], ids=["with news", "nothing new"])
def test_a_dry_run_says_what_force_would_replace_there(repository, kept, bare, is_new):
    with pytest.raises(Corrupt):
        fetch_from(repository)
    if is_new:
        say(repository, f"{NAME}/main", "ours")
        (row,) = push_to(repository, NAME, dry_run=True).conversations
        assert (row.status, "scopes pull conv-001 --purged" in row.reason) == ("refused", True)
    preview = push_to(repository, NAME, force=True, drops_unmerged=True, dry_run=True)
    done = push_to(repository, NAME, force=True, drops_unmerged=True)
    assert [row.status for row in preview.conversations] == [row.status for row in done.conversations] == ["updated"]
    (would,), (was,) = ([note.text for note in each.notes if "replaced" in note.text] for each in (preview, done))
    assert would == was.replace("had", "has", 1).replace("was replaced", "would be replaced")


def test_it_is_an_error_again_once_it_was_replaced_there_and_comes_back(repository, kept):
    with pytest.raises(Corrupt):
        fetch_from(repository)
    assert fetch_from(repository).exit_code == pull_from(repository).exit_code == 0
    push_to(repository, NAME, force=True, drops_unmerged=True)
    assert fetch_from(repository).notes == ()
    pull_from(kept)
    say(kept, NAME, "once more")
    push_to(kept)
    with pytest.raises(Corrupt, match="was purged here"):
        fetch_from(repository)


@pytest.mark.every_case("one has nothing to send, and the other one has")
@pytest.mark.parametrize("is_new", [True, False], ids=["with news", "nothing new"])
def test_who_has_purged_it_may_leave_it_out_there_by_force(repository, kept, bare, tmp_path, is_new):
    if is_new:
        say(repository, f"{NAME}/main", "ours")
    (row,) = push_to(repository, NAME, force=True, drops_unmerged=True).conversations
    assert (row.status, row.reason) == ("updated", None)
    assert push_to(repository).unchanged == 1
    fetch_from(reader := machine(tmp_path / "reader.git", bare, author="erin"))
    assert find_word(WORD, reader.path) == []
    assert texts(reader, NAME) == texts(repository, NAME)
    older = [note for note in fetch_from(kept).notes if "has less of" in note.text]
    if not is_new:
        (note,) = older
        mine = find_machine_id(repository.config)
        assert (
            note.text
            == f"origin has less of {NAME} than before: it has messages that were purged on the machine {mine}"
        )
        assert f"scopes purge --accept {NAME}" in note.hint
        assert "backup" not in note.hint
    assert "theirs" in texts(kept, NAME)


def test_a_push_of_everything_leaves_out_nothing_by_force(repository, kept):
    say(repository, f"{NAME}/main", "ours")
    (row,) = push_to(repository, force=True).conversations
    assert (row.status, f"scopes push {NAME} --force" in row.reason) == ("refused", True)


@pytest.mark.slow
def test_force_replaces_what_a_backup_from_before_the_list_of_values_brought_back(
    repository, drawn, bare, tmp_path, places
):
    """A purge of an earlier version has no file with the values that remotes had."""
    shutil.copytree(bare, tmp_path / "backup.git")
    purge(repository, PurgeRequest(conversation=NAME, messages=(drawn.ids[WORD],)), places)
    push_to(repository)
    os.unlink(f"{repository.path}/{FILE}")
    shutil.rmtree(bare)
    shutil.copytree(tmp_path / "backup.git", bare)
    assert [row.status for row in push_to(repository, NAME, force=True, drops_unmerged=True).conversations] == [
        "updated"
    ]
    fetch_from(reader := machine(tmp_path / "reader.git", bare, author="erin"))
    assert find_word(WORD, reader.path) == []


def test_what_the_remote_has_still_is_to_be_replaced_there(repository, drawn, places):
    purge(repository, PurgeRequest(conversation=NAME, messages=(drawn.ids[WORD],)), places)
    with pytest.raises(Corrupt, match="replace it there: scopes push --purged"):
        fetch_from(repository)
    (row,) = push_to(repository, purged=True).conversations
    assert row.status == "updated"
    assert fetch_from(repository).exit_code == 0


def test_the_fetch_that_takes_lists_alone_is_not_recorded_as_that_of_a_conversation(repository, kept):
    with pytest.raises(Corrupt):
        fetch_from(repository)
    subjects = [each.summary for each in list_operations(repository).operations]
    assert "fetch what others have purged from origin" in subjects
    assert not any(each.startswith("fetch 1 conversation") for each in subjects)


@pytest.mark.slow
def test_once_the_other_one_accepts_after_all_both_have_everything_but_the_message(repository, kept, tmp_path, places):
    say(repository, f"{NAME}/main", "ours")
    accept_purges(kept, places._replace(index_directory=str(tmp_path / "index")), OfferChoice(conversation=NAME))
    (row,) = push_to(kept).conversations
    assert row.status == "updated"
    pull_from(repository)
    push_to(repository)
    pull_from(kept)
    assert texts(kept, f"{NAME}/main") == texts(repository, f"{NAME}/main")
    assert {"a", "[purged]", "b", "theirs", "ours"} <= {*texts(kept, f"{NAME}/main")}
    assert find_word(WORD, repository.path, kept.path) == []


@pytest.mark.parametrize("has_more", [False, True])
def test_who_keeps_it_joins_what_a_third_one_has_sent_without_it(kept, bare, tmp_path, places, has_more):
    """A pull said that all is up to date, and a push that the remote has other messages."""
    third = machine(tmp_path / "third.git", bare, author="erin")
    fetch_from(third)
    accept_purges(third, places._replace(index_directory=str(tmp_path / "index")))
    if has_more:
        say(third, f"{NAME}/main", "more")
    push_to(third)
    push_to(kept)
    pull_from(kept)
    pushed = push_to(kept)
    assert [(row.status, row.diverged) for row in pushed.conversations] == [("updated", ())]
    assert pull_from(kept).branches == ()
    assert ("more" in texts(kept, f"{NAME}/main")) == has_more
