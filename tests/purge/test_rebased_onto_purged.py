"""What was made of a purged message is found wherever a copy of it is: above a tombstone, too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.conversation.branch import branch
from scopes.conversation.conflicts import resolve_conflict
from scopes.conversation.merge import merge
from scopes.conversation.rebase import cherry_pick, rebase
from scopes.conversation.verify import verify
from scopes.errors import NotFound
from scopes.history.messages import plain_message
from scopes.memory.summarize import summarize
from scopes.model.message import Author
from scopes.purge.accept import accept_purges, plan_accept
from scopes.purge.decline import decline_purges
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from scopes.sync.format_check import PurgedHere
from tests.memory.talking import WORDS
from tests.support.decisions import decide
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, fetch_from, machine, push_to

WORD = "Xylophone-Quarantine-4711"
SECRET = f"The {WORD} opens all doors of the building in the north wing. Lunch was pasta."
NAME = "conv-001"
CAROL = Author("carol", "human")


@pytest.fixture
@recalled
def spoken(repository, bare):
    """A message that a remote has, and others."""
    history(repository, "main: a")
    made = say(repository, NAME, SECRET).id
    say(repository, NAME, "The windows of the south wing are cleaned in spring by another company.")
    add(repository, bare)
    push_to(repository)
    return made


@pytest.fixture
@recalled
def theirs(spoken, bare, tmp_path):
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    return store


@pytest.fixture
def places_there(tmp_path):
    return Places(str(tmp_path / "theirs-index"))


def purge_and_push(repository, message, places):
    purge(repository, PurgeRequest(conversation=NAME, messages=(message,)), places)
    push_to(repository, purged=True)


def rebase_there(store, _):
    rebase(store, NAME, onto="origin/main", branch="main")
    assert texts(store, NAME)[1] == "[purged]"


def pick_there(store, made):
    branch(store, NAME, name="w", start="origin/main")
    cherry_pick(store, NAME, [made], branch="w")
    assert texts(store, f"{NAME}/w")[1] == "[purged]"


MOVE = pytest.mark.parametrize("move", [rebase_there, pick_there])


@MOVE
@pytest.mark.parametrize("compact", [False, True])
def test_a_summary_that_was_moved_onto_the_purged_history_is_held_back_and_offered(
    repository, places, places_there, spoken, theirs, move, compact
):
    made = summarize(theirs, NAME, WORDS, ratio=0.6, compact=compact)
    assert WORD in made.text
    purge_and_push(repository, spoken, places)
    fetch_from(theirs)
    move(theirs, made.id)
    (row,) = push_to(theirs).conversations
    assert "what was purged elsewhere" in (row.reason or "")
    assert fetch_from(repository).exit_code == 0
    assert {each.message for each in plan_accept(theirs).messages} == {spoken, made.id}
    accept_purges(theirs, places_there)
    assert find_word(WORD, theirs.path) == []
    push_to(theirs)
    assert fetch_from(repository).exit_code == 0
    assert find_word(WORD, repository.path) == []


def test_who_has_purged_it_takes_no_summary_that_was_moved(repository, places, spoken, theirs):
    made = summarize(theirs, NAME, WORDS, ratio=0.6)
    purge_and_push(repository, spoken, places)
    fetch_from(theirs)
    rebase_there(theirs, made.id)
    decline_purges(theirs)
    push_to(theirs)
    with pytest.raises(PurgedHere, match=f"message {made.id[:8]} in it was made from one that was purged here"):
        fetch_from(repository)
    assert find_word(WORD, repository.path) == []


def test_a_summary_that_names_what_is_a_tombstone_below_it_goes(repository, places, spoken):
    """As one that came before, or that a version wrote which names what was purged."""
    purge_and_push(repository, spoken, places)
    left = replace(plain_message(CAROL, f"about the {WORD}"), extra={"summarizes": {"messages": [spoken]}})
    append(repository, NAME, left)
    assert [each.message for each in plan_accept(repository).messages] == [left.id]
    assert purge(repository, PurgeRequest(conversation=NAME, messages=(spoken,)), places).messages == 1
    assert find_word(WORD, repository.path) == []


@pytest.mark.slow
def test_a_summary_made_after_the_purge_stays_wherever_it_is_moved(
    repository, bare, places, spoken, theirs, places_there, tmp_path
):
    purge_and_push(repository, spoken, places)
    fetch_from(theirs)
    accept_purges(theirs, places_there)
    made = summarize(theirs, NAME, WORDS, ratio=0.6)
    say(repository, NAME, "A later message of somebody else.")
    push_to(repository)
    fetch_from(theirs)
    rebase(theirs, NAME, onto="origin/main", branch="main")
    again = summarize(theirs, NAME, WORDS, ratio=0.6, include_all=True, compact=True)
    push_to(theirs)
    assert fetch_from(repository).exit_code == 0
    fresh = machine(tmp_path / "fresh.git", bare, author="erin")
    fetch_from(fresh)
    for store in (repository, theirs, fresh):
        with pytest.raises(NotFound, match="nothing that was purged elsewhere is here"):
            plan_accept(store)
    assert purge(theirs, PurgeRequest(conversation=NAME, messages=(spoken,)), places_there).messages == 0
    assert texts(theirs, NAME)[-2:] == [made.text, again.text]


@pytest.fixture
@recalled
def resolved(repository, bare, tmp_path):
    """Two stores that have resolved the same conflict, each by itself."""
    made = history(repository, "main: a", "side@a: x")
    secret = decide(repository, f"{made.conversation}/side", "qzmarlin-77", topic="pin").id
    decide(repository, f"{made.conversation}/main", "none at all", topic="pin")
    add(repository, bare)
    push_to(repository)
    theirs = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(theirs)
    return secret, theirs


def resolve(store, reason):
    merge(store, NAME, "side", target="main")
    return resolve_conflict(store, NAME, "1", take="target", reason=reason, author=CAROL, continue_after=True).message


@pytest.mark.parametrize("reason", ["we said so", ""])
@pytest.mark.parametrize("is_picked", [True, False])
def test_a_resolution_goes_also_where_its_record_was_joined_with_a_purged_one(
    repository, places, places_there, resolved, is_picked, reason
):
    secret, theirs = resolved
    resolve(repository, reason)
    made = resolve(theirs, reason)
    purge_and_push(repository, secret, places)
    fetch_from(theirs)
    if is_picked:
        branch(theirs, NAME, name="w", start="origin/main")
        cherry_pick(theirs, NAME, [made], branch="w")
    else:
        merge(theirs, NAME, "origin/main", target="main")
    assert made in {each.message for each in plan_accept(theirs).messages}
    accept_purges(theirs, places_there)
    assert find_word("qzmarlin-77", theirs.path) == []
    assert verify(theirs).exit_code == 0


def test_a_resolution_made_after_the_purge_stays(repository, places, resolved):
    secret, _ = resolved
    merge(repository, NAME, "side", target="main")
    purge_and_push(repository, secret, places)
    made = resolve_conflict(
        repository, NAME, "1", take="target", reason="we said so", author=CAROL, continue_after=True
    )
    with pytest.raises(NotFound, match="nothing that was purged elsewhere is here"):
        plan_accept(repository)
    assert purge(repository, PurgeRequest(conversation=NAME, messages=(secret,)), places).messages == 0
    assert "Resolved decisions/pin: took target (we said so)" in texts(repository, NAME)
    assert made.exit_code == 0
