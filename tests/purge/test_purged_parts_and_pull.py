"""Parts of a message that were purged elsewhere and are kept here: all views show the message whole after a pull."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend
from scopes.conversation.branch import branch
from scopes.conversation.log import log
from scopes.conversation.show import cat
from scopes.model.message import Author
from scopes.purge.accept import OfferChoice, accept_purges, plan_accept
from scopes.purge.decline import decline_purges
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from tests.support.every_byte import find_word
from tests.support.history import history, say
from tests.support.recalled import recalled
from tests.support.remotes import add, fetch_from, machine, pull_from, push_to
from tests.support.store import assert_sound

WORD = "Xylophone-Quarantine-4711"
NAME = "conv-001"
AGENT = {"name": "claude", "kind": "agent"}
CALL = {"type": "tool_call", "call_id": "c1", "name": "Write", "input": {"file_path": "/app/.env", "content": WORD}}
WORDS = {"type": "text", "text": "I wrote the settings."}


@pytest.fixture(params=[[WORDS, CALL], [CALL, WORDS], [CALL]], ids=["after words", "before words", "alone"])
@recalled
def answer(request, repository, bare):
    """The id of a pushed message with a call that has the word."""
    add(repository, bare)
    history(repository, "main: a")
    made = say(repository, NAME, "", author=AGENT, parts=request.param)
    say(repository, NAME, "b")
    push_to(repository)
    return made.id


@pytest.fixture
@recalled
def theirs(answer, bare, tmp_path):
    """Another machine, which has fetched the conversation and added a message."""
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    say(store, NAME, "news", author="dave")
    return store


@pytest.fixture
@recalled
def offered(repository, answer, theirs, places):
    """What the other machine is offered: the file was purged, and parts of the message went with it."""
    done = purge(repository, PurgeRequest(file=".env"), places)
    assert done.messages == 1
    push_to(repository)
    fetch_from(theirs)
    return theirs


def amend_message(store, message, text):
    return amend(store, f"{NAME}/main", message, text, author=Author("dave", "human")).id


def shown(store, where=NAME, **options):
    """Return everything that a log shows of the messages, as one text for each."""
    return [f"{entry.head.subject} {entry.message}" for entry in log(store, where, **options).items]


def assert_whole(store, message, where=NAME):
    for options in ({}, {"oldest_first": True}, {"all_branches": True}, {"results": True}):
        (one,) = {text for text in shown(store, where, **options) if str(message) in text}
        assert WORD in one, options
    assert WORD in str(cat(store, message).message)


@pytest.mark.parametrize("text", [f"the file has {WORD} in it", "nothing of it is here"])
def test_an_amendment_goes_if_it_has_a_line_of_the_part(repository, answer, places, text):
    made = amend_message(repository, answer, text)
    purge(repository, PurgeRequest(file=".env"), places)
    assert find_word(WORD, repository.path) == []
    kept = text in str(cat(repository, made).message)
    assert kept is (WORD not in text)
    assert_sound(repository)


@pytest.mark.slow
def test_an_amendment_made_elsewhere_is_offered_with_the_part(repository, answer, theirs, places, tmp_path):
    made = amend_message(theirs, answer, f"the file has {WORD} in it")
    purge(repository, PurgeRequest(file=".env"), places)
    push_to(repository)
    fetch_from(theirs)
    assert {each.message: each.parts for each in plan_accept(theirs).messages} == {answer: 1, made: None}
    accept_purges(theirs, places._replace(index_directory=str(tmp_path / "index")))
    assert find_word(WORD, theirs.path) == []
    assert push_to(theirs).exit_code == 0
    assert [note.text for note in fetch_from(repository).notes] == []


@pytest.mark.slow
def test_an_amendment_that_comes_after_the_purge_is_named(repository, answer, offered, places, tmp_path):
    accept_purges(offered, places._replace(index_directory=str(tmp_path / "index")))
    made = amend_message(offered, answer, f"the file has {WORD} in it")
    assert push_to(offered).exit_code == 0
    [note] = [note for note in fetch_from(repository).notes if "in part" in note.text]
    assert note.text == f"{NAME} has a message that was made from one that was purged here in part: {made[:8]}"
    assert note.hint.endswith(f"scopes purge {NAME} {made[:8]}")


def test_a_branch_that_has_only_the_purged_copy_shows_that(repository, offered, answer):
    decline_purges(offered)
    pull_from(offered)
    branch(offered, NAME, name="theirs", start="origin/main")
    assert WORD not in " ".join(shown(offered, f"{NAME}/theirs"))
    assert WORD not in " ".join(shown(repository))


def test_who_accepts_after_all_has_nothing_of_it(offered, answer, tmp_path, places):
    decline_purges(offered)
    pull_from(offered)
    accept_purges(offered, places._replace(index_directory=str(tmp_path / "index")), OfferChoice(conversation=NAME))
    assert find_word(WORD, offered.path) == []
    assert WORD not in " ".join(shown(offered))
    assert_sound(offered)


def test_the_parts_are_counted_in_the_offer(offered, answer):
    (one,) = plan_accept(offered).messages
    assert (one.message, one.parts) == (answer, 1)
