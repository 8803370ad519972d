"""What was made from a purged message is treated as its amendments are: on receiving, holding back and offering."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.conversation.new_rename_delete import new
from scopes.conversation.rebase import cherry_pick
from scopes.errors import NotFound
from scopes.history.messages import plain_message
from scopes.history.names import conversation_ids
from scopes.memory.decision_candidates import accept_candidate, list_candidates
from scopes.memory.summarize import summarize
from scopes.model.message import Author
from scopes.purge.accept import accept_purges, plan_accept
from scopes.purge.purge import Places, purge
from scopes.purge.purge_offers import list_purge_offers
from scopes.purge.selection import PurgeRequest
from tests.memory.talking import WORDS
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, fetch_from, machine, push_to

WORD = "Xylophone-Quarantine-4711"
SECRET = f"We decided to use the {WORD} for all doors. Lunch was pasta."
NAME = "conv-001"
ERIN = Author("erin", "human")


@pytest.fixture
@recalled
def spoken(repository, bare):
    """A message of which somebody else will make something; there is a second conversation, too."""
    add(repository, bare)
    history(repository, "main: a")
    history(repository, "main: x")
    made = say(repository, NAME, SECRET).id
    push_to(repository)
    return made


@pytest.fixture
@recalled
def theirs(spoken, bare, tmp_path):
    store = machine(tmp_path / "theirs.git", bare, author="erin")
    fetch_from(store)
    return store


def summarize_there(store):
    return summarize(store, NAME, WORDS, ratio=0.6).id


def accept_there(store):
    (candidate,) = list_candidates(store, NAME).candidates
    return accept_candidate(store, NAME, candidate.id, author=ERIN).id


MAKE = pytest.mark.parametrize("make", [summarize_there, accept_there])


def list_refusals(repository):
    """Fetch, and return why conversations are not acceptable."""
    return [row.reason for row in fetch_from(repository).conversations if row.status == "unacceptable"]


def purge_and_push(repository, message, places):
    purge(repository, PurgeRequest(conversation=NAME, messages=(message,)), places)
    push_to(repository, purged=True)


@pytest.mark.cases(1)
@MAKE
def test_it_is_refused_in_a_conversation_that_does_not_have_the_message(
    repository, places, spoken, theirs, make, tmp_path
):
    made = make(theirs)
    other = new(theirs).id
    cherry_pick(theirs, other, [made])
    purge_and_push(repository, spoken, places)
    fetch_from(theirs)
    assert [row.messages for row in list_purge_offers(theirs, str(tmp_path)).offers[0].here] == [2, 1]
    (row,) = [row for row in push_to(theirs, other).conversations if row.conversation == other]
    assert row.status == "new"  # it began there
    (reason,) = list_refusals(repository)
    assert f"message {made[:8]} in it was made from one that was purged here" in reason
    assert find_word(WORD, repository.path) == []
    accept_purges(theirs, Places(str(tmp_path / "theirs-index")))
    push_to(theirs, purged=True)
    assert fetch_from(repository).exit_code == 0
    assert texts(repository, other) == ["[purged]"]
    assert find_word(WORD, repository.path, theirs.path) == []


@pytest.mark.cases(1)
@MAKE
@pytest.mark.slow
def test_a_conversation_from_elsewhere_is_held_back_with_it(repository, places, spoken, theirs, make):
    cherry_pick(theirs, "conv-002", [make(theirs)])
    purge_and_push(repository, spoken, places)
    fetch_from(theirs)
    (row,) = push_to(theirs, "conv-002").conversations
    assert (row.status, "what was purged elsewhere" in row.reason) == ("refused", True)
    assert fetch_from(repository).exit_code == 0
    assert find_word(WORD, repository.path) == []


def test_an_accepted_decision_above_a_tombstone_is_refused(repository, places, spoken, theirs, tmp_path):
    """It cannot have been accepted after the purge: nothing can be accepted from what is left."""
    candidate = list_candidates(theirs, NAME).candidates[0].id
    purge_and_push(repository, spoken, places)
    fetch_from(theirs)
    accept_purges(theirs, Places(str(tmp_path / "theirs-index")))
    append(theirs, NAME, replace(plain_message(ERIN, f"use the {WORD}"), extra={"accepts": candidate}))
    push_to(theirs)
    (reason,) = list_refusals(repository)
    assert "was made from one that was purged here" in reason
    assert find_word(WORD, repository.path) == []


def test_what_an_older_version_has_taken_is_offered_to_who_purged_it(repository, places, spoken):
    purge_and_push(repository, spoken, places)
    left = replace(plain_message(ERIN, f"about the {WORD}"), extra={"summarizes": {"messages": [spoken]}})
    append(repository, "conv-002", left)
    assert [each.message for each in plan_accept(repository).messages] == [left.id]
    accept_purges(repository, places)
    assert find_word(WORD, repository.path) == []


@pytest.mark.slow
def test_summaries_that_were_made_after_the_purge_come_and_go(repository, bare, places, spoken, theirs, tmp_path):
    """Also where they were picked into a conversation without what they were made from."""
    purge_and_push(repository, spoken, places)
    fetch_from(theirs)
    accept_purges(theirs, Places(str(tmp_path / "theirs-index")))
    say(repository, NAME, "The windows of the south wing are cleaned in spring by another company.")
    first = summarize(repository, NAME, WORDS, ratio=0.6)
    say(repository, NAME, "The doors are painted in the summer by the same company as before.")
    second = summarize(repository, NAME, WORDS, ratio=0.6, compact=True)
    other = new(repository).id
    cherry_pick(repository, other, [first.id, second.id])
    for store in (repository, theirs):
        with pytest.raises(NotFound, match="nothing that was purged elsewhere is here"):
            plan_accept(store)
    assert {row.status for row in push_to(repository).conversations} == {"updated", "new"}
    assert fetch_from(theirs).exit_code == 0
    assert texts(theirs, other) == [first.text, second.text]
    assert len(conversation_ids(theirs)) == 3
    fresh = machine(tmp_path / "fresh.git", bare, author="dave")
    assert fetch_from(fresh).notes == ()
    with pytest.raises(NotFound, match="nothing that was purged elsewhere is here"):
        plan_accept(fresh)


def test_a_chain_of_summaries_is_followed_in_what_came(repository, places, spoken, theirs, tmp_path):
    made = summarize_there(theirs)
    chain = {"summarizes": {"messages": [made]}}
    again = replace(plain_message(ERIN, f"again {WORD}"), extra=chain)
    append(theirs, NAME, again)
    other = new(theirs).id
    cherry_pick(theirs, other, [made])
    third = new(theirs).id
    cherry_pick(theirs, third, [again.id])
    purge_and_push(repository, spoken, places)
    push_to(theirs, other)
    push_to(theirs, third)
    assert len(list_refusals(repository)) == 2
    assert find_word(WORD, repository.path) == []
