"""A purge meets work on the same messages elsewhere: pull joins it, and an offer is seen whatever a fetch brings."""

from __future__ import annotations

import pytest

from scopes.cli.commands.purge import question_of
from scopes.conversation.branch import branch, rewind
from scopes.conversation.log import log
from scopes.conversation.new_rename_delete import rename_title
from scopes.errors import NotFound
from scopes.history.metadata import read_metadata
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.purge.accept import OfferChoice, accept_purges, count_unpublished, plan_accept
from scopes.purge.decline import decline_purges
from scopes.purge.purge import purge
from scopes.purge.purge_offers import list_purge_offers
from scopes.purge.selection import PurgeRequest
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, fetch_from, machine, pull_from, push_to
from tests.support.store import assert_sound

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
def theirs(drawn, bare, tmp_path):
    """Another machine, which has fetched the conversation and added a message."""
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    return store


def purge_word(store, drawn, places):
    return purge(store, PurgeRequest(conversation=NAME, messages=(drawn.ids[WORD],)), places)


@pytest.mark.parametrize("rebasing", [False, True])
def test_a_pull_leaves_a_branch_alone_until_its_offer_is_decided(repository, drawn, theirs, places, rebasing):
    purge_word(repository, drawn, places)
    push_to(repository)
    say(theirs, NAME, "news", author="dave")
    before = list_branch_tips(theirs, NAME)
    pulled = pull_from(theirs, rebasing=rebasing)
    assert [(each.state, pulled.exit_code) for each in pulled.branches] == [("refused", 1)]
    assert "scopes purge --accept removes it, scopes purge --decline keeps it" in pulled.branches[0].reason
    assert "purged elsewhere" in pulled.notes[0].text
    assert list_branch_tips(theirs, NAME) == before


@pytest.mark.slow
def test_a_pull_joins_branches_without_anything_that_is_offered(repository, drawn, theirs, places):
    branch(repository, NAME, name="side", start=drawn.ids["a"])
    push_to(repository)
    fetch_from(theirs)
    for store, author in ((repository, "carol"), (theirs, "dave")):
        say(store, f"{NAME}/side", f"by {author}", author=author)
    purge_word(repository, drawn, places)
    push_to(repository)
    say(theirs, f"{NAME}/main", "news", author="dave")
    states = {each.branch: each.state for each in pull_from(theirs).branches}
    assert states == {"main": "refused", "side": "merged"}
    assert texts(theirs, f"{NAME}/main")[1] == WORD


@pytest.mark.cases(1)
@pytest.mark.parametrize("rebasing", [False, True])
@pytest.mark.slow
def test_a_purged_conversation_is_not_joined_before_it_is_decided(repository, drawn, theirs, places, rebasing):
    say(repository, NAME, "ours")
    push_to(repository)
    say(theirs, NAME, "news", author="dave")
    fetch_from(theirs)
    purge(repository, PurgeRequest((NAME,)), places)
    push_to(repository)
    assert [each.state for each in pull_from(theirs, rebasing=rebasing).branches] == ["refused"]
    decline_purges(theirs)
    done = pull_from(theirs, rebasing=rebasing).branches
    assert [each.state for each in done] == ["rebased" if rebasing else "merged"]


@pytest.mark.cases(1)
@pytest.mark.parametrize("rebasing", [False, True])
@pytest.mark.slow
def test_a_pull_after_an_accept_has_nothing_to_join(repository, drawn, theirs, places, rebasing):
    purge_word(repository, drawn, places)
    push_to(repository)
    say(theirs, NAME, "news", author="dave")
    pull_from(theirs, rebasing=rebasing)
    done = accept_purges(theirs, places)
    assert (done.left, done.exit_code) == ((), 0)
    assert find_word(WORD, theirs.path) == []
    assert pull_from(theirs, rebasing=rebasing).branches == ()
    assert texts(theirs, NAME) == ["a", "[purged]", "b", "news"]
    assert push_to(theirs).exit_code == 0
    assert_sound(theirs)


def test_an_offer_is_seen_although_another_branch_has_the_purged_copy(repository, drawn, theirs, places, tmp_path):
    branch(theirs, NAME, name="side", start="main")
    say(theirs, f"{NAME}/side", "on the side", author="dave")
    purge_word(theirs, drawn, places)
    push_to(theirs)
    say(repository, f"{NAME}/main", "own news")
    assert "1 message was purged elsewhere" in fetch_from(repository).notes[0].text
    assert [each.message for each in plan_accept(repository).messages] == [drawn.ids[WORD]]
    assert [tuple(each)[:3] for row in list_purge_offers(repository, str(tmp_path)).offers for each in row.here] == [
        (NAME, 1, "undecided")
    ]
    assert accept_purges(repository, places).left == ()
    assert find_word(WORD, repository.path) == []


@pytest.fixture
@recalled
def declined(repository, drawn, theirs, places):
    """The other machine, which has fetched the purge and keeps the message."""
    purge_word(repository, drawn, places)
    push_to(repository)
    say(theirs, NAME, "news", author="dave")
    fetch_from(theirs)
    decline_purges(theirs)
    return theirs


def test_a_pull_after_a_decline_joins_without_a_conflict(declined):
    assert [(each.state, each.conflicts) for each in pull_from(declined).branches] == [("merged", 0)]


def test_a_log_shows_what_stays_of_a_purge_where_nobody_keeps_it(repository, drawn, places):
    purge_word(repository, drawn, places)
    assert [each.head.subject for each in log(repository, NAME).items] == ["b", "[purged]", "a"]


def test_a_rebase_does_not_leave_out_what_was_declined(declined):
    before = list_branch_tips(declined, NAME)
    (done,) = pull_from(declined, rebasing=True).branches
    assert done.state == "refused"
    assert "scopes pull without --rebase merges and keeps it" in done.reason
    assert list_branch_tips(declined, NAME) == before


def test_what_only_undo_reaches_is_offered_and_removed_too(repository, drawn, theirs, places):
    purge_word(repository, drawn, places)
    push_to(repository)
    rewind(theirs, NAME, count=2)
    assert [each.message for each in plan_after_fetch(theirs).messages] == [drawn.ids[WORD]]
    accept_purges(theirs, places)
    assert find_word(WORD, theirs.path) == []
    assert fetch_from(theirs).notes == ()


def plan_after_fetch(store):
    fetch_from(store)
    return plan_accept(store)


def test_the_first_note_of_a_fetch_is_the_offer_and_nothing_else_names_that_conversation(
    repository, drawn, theirs, places
):
    purge_word(repository, drawn, places)
    push_to(repository)
    say(theirs, NAME, "news", author="dave")
    (note,) = fetch_from(theirs).notes
    assert "1 message was purged elsewhere" in note.text
    assert "--accept" in note.hint


@pytest.mark.slow
def test_an_offer_leaves_the_note_about_another_conversation_that_differs(repository, drawn, theirs, places):
    history(repository, "main: x")
    push_to(repository)
    push_to(repository, "conv-002")
    fetch_from(theirs)
    for store, author in ((repository, "carol"), (theirs, "dave")):
        say(store, "conv-002/main", f"by {author}", author=author)
    purge_word(repository, drawn, places)
    push_to(repository)
    say(theirs, NAME, "news", author="dave")
    notes = fetch_from(theirs).notes
    assert "purged elsewhere" in notes[0].text
    assert "1 branch differs from origin: conv-002/main" in notes[1].text


def test_an_accept_after_a_decline_says_how_to_change_it(repository, drawn, theirs, places):
    purge_word(repository, drawn, places)
    push_to(repository)
    fetch_from(theirs)
    decline_purges(theirs)
    for accept in (lambda: plan_accept(theirs), lambda: accept_purges(theirs, places)):
        with pytest.raises(NotFound) as error:
            accept()
        assert error.value.hint == f"you have declined it; to change that: scopes purge --accept {NAME}"
    assert accept_purges(theirs, places, OfferChoice(conversation=NAME)).messages == 1
    assert find_word(WORD, theirs.path) == []


def test_a_plan_says_how_many_messages_of_a_conversation_are_on_no_remote(repository, drawn, theirs, places):
    say(theirs, NAME, "mine alone", author="dave")
    purge(repository, PurgeRequest((NAME,)), places)
    push_to(repository)
    fetch_from(theirs)
    plan = plan_accept(theirs)
    assert plan.conversations == (NAME,)
    assert count_unpublished(theirs, plan.conversations) == 1
    assert plan.notes[0].text == "1 message of these conversations is on no remote"
    assert question_of(plan, 1) == (
        f"remove 1 conversation ({NAME}), with 1 message that no remote has, for good? This cannot be undone."
    )


def test_a_plan_is_silent_about_conversations_whose_messages_are_all_published(repository, drawn, theirs, places):
    purge(repository, PurgeRequest((NAME,)), places)
    push_to(repository)
    fetch_from(theirs)
    plan = plan_accept(theirs)
    assert [note for note in plan.notes if "on no remote" in note.text] == []
    assert question_of(plan) == f"remove 1 conversation ({NAME}) for good? This cannot be undone."


def test_a_purge_names_the_remotes_in_its_notes_for_scripts_too(repository, drawn, places):
    done = purge_word(repository, drawn, places)
    assert [note.text for note in done.notes if "the remote origin" in note.text]
    assert "scopes push origin --purged; on the server: git reflog expire" in done.notes[0].hint


@pytest.mark.slow
def test_a_push_without_purged_names_a_purged_conversation_that_is_there_still(repository, drawn, places):
    history(repository, "main: x")
    purge(repository, PurgeRequest((NAME,)), places)
    pushed = push_to(repository)
    assert pushed.notes[-1].text == "1 purged conversation is still on the remote"
    assert pushed.notes[-1].hint == "delete it there, too: scopes push --purged"
    assert "is still" not in str(push_to(repository, purged=True).notes)
    assert push_to(repository).notes == ()


def test_a_title_that_quoted_it_does_not_come_back_with_the_messages_of_somebody_who_has_not_decided(
    repository, drawn, theirs, places
):
    """The title was of another conversation, so nothing holds its messages back."""
    other = history(repository, "main: x").conversation
    rename_title(repository, other, f"About {WORD} again")
    push_to(repository)
    fetch_from(theirs)
    named = next(name for name in conversation_ids(theirs) if read_metadata(theirs, name).title is not None)
    purge_word(repository, drawn, places)
    push_to(repository, purged=True)
    say(theirs, f"{named}/main", "news")
    push_to(theirs, named)
    fetch_from(repository)
    pull_from(repository)
    assert texts(repository, other)[-1] == "news"
    assert read_metadata(repository, other).title is None
    assert find_word(WORD, repository.path) == []
    fetch_from(theirs)
    assert read_metadata(theirs, named).title is None


@pytest.mark.cases(1)
@pytest.mark.parametrize("rebasing", [False, True])
@pytest.mark.slow
def test_a_pull_after_an_accept_takes_what_a_fetch_had_brought_before(repository, drawn, theirs, places, rebasing):
    """The accepted purge leaves a branch that is only behind that of the remote."""
    purge_word(repository, drawn, places)
    say(repository, f"{NAME}/main", "four")
    push_to(repository, purged=True)
    fetch_from(theirs)
    accept_purges(theirs, places)
    assert texts(theirs, NAME)[-1] == "b"
    (branch,) = pull_from(theirs, rebasing=rebasing).branches
    assert (branch.state, texts(theirs, NAME)[-1]) == ("fast-forward", "four")
    assert pull_from(theirs, rebasing=rebasing).branches == ()
