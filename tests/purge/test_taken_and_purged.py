"""`pull --purged`: whoever has purged something gets what others have added above it, without it, and loses nothing."""

from __future__ import annotations

import pytest

from scopes.conversation.append import amend
from scopes.conversation.verify import verify
from scopes.errors import Corrupt, Refused
from scopes.history.names import list_branch_tips
from scopes.model.message import Author
from scopes.purge.accept import accept_purges
from scopes.purge.decline import decline_purges
from scopes.purge.purge import Places, continue_purge, purge
from scopes.purge.selection import PurgeRequest
from scopes.sync import take_purged
from scopes.sync.local_conversations import Selection
from scopes.sync.pull import pull
from scopes.sync.remotes import resolve_remote
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, connection, fetch_from, machine, pull_from, push_to
from tests.support.store import git

WORD = "Xylophone-Quarantine-4711"
NAME = "conv-001"
DAVE = Author("dave", "human")


@pytest.fixture
@recalled
def theirs(repository, bare, tmp_path):
    """Another machine, which has pushed a message above one that was purged here meanwhile."""
    add(repository, bare)
    made = history(repository, f"main: a {WORD} b")
    push_to(repository)
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    say(store, f"{NAME}/main", "theirs")
    push_to(store)
    purge(repository, PurgeRequest(conversation=NAME, messages=(made.ids[WORD],)), Places(str(tmp_path / "index")))
    return store


def pull_purged(store, places, *names):
    return pull(store, resolve_remote(store, None), Selection(names), connection(), places=places)


def collect_garbage(bare):
    git(bare, "reflog", "expire", "--expire=now", "--all")
    git(bare, "gc", "-q", "--prune=now")


def test_a_refused_push_names_the_way_that_loses_nothing(repository, theirs):
    (row,) = push_to(repository, purged=True).conversations
    assert row.reason.startswith("the remote has newer messages above what was purged here: get them without it: ")
    assert f"scopes pull {NAME} --purged; then: scopes push --purged" in row.reason


def test_what_came_above_it_is_taken_without_it_and_replaces_it_there(repository, theirs, bare, tmp_path, places):
    say(repository, f"{NAME}/main", "ours")
    pulled = pull_purged(repository, places, NAME)
    assert ([row.state for row in pulled.branches], pulled.exit_code) == (["merged"], 0)
    assert {"a", "[purged]", "b", "theirs", "ours"} <= {*texts(repository, NAME)}
    assert "purged 1 message in what came" in pulled.notes[0].text
    assert find_word(WORD, repository.path) == []
    assert verify(repository).exit_code == 0
    assert [row.status for row in push_to(repository, purged=True).conversations] == ["updated"]
    collect_garbage(bare)
    assert find_word(WORD, bare) == []
    fetch_from(theirs)
    accept_purges(theirs, Places(str(tmp_path / "their index")))
    pull_from(theirs)
    push_to(theirs)
    assert list_branch_tips(theirs, NAME) == list_branch_tips(repository, NAME)
    assert fetch_from(repository).exit_code == 0


def test_what_somebody_keeps_and_sends_again_is_taken_without_it(repository, theirs, bare, places):
    push_to(repository)  # the list
    fetch_from(theirs)
    decline_purges(theirs)
    say(theirs, f"{NAME}/main", "kept")
    push_to(theirs)
    pull_purged(repository, places)
    assert texts(repository, NAME) == ["a", "[purged]", "b", "theirs", "kept"]
    assert [row.status for row in push_to(repository, purged=True).conversations] == ["updated"]
    collect_garbage(bare)
    assert find_word(WORD, bare, repository.path) == []


def test_what_they_have_made_of_it_is_purged_with_it(repository, theirs, places):
    index = texts(theirs, NAME).index(WORD)
    amend(theirs, NAME, f"main~{len(texts(theirs, NAME)) - 1 - index}", f"again {WORD}", author=DAVE)
    push_to(theirs)
    pull_purged(repository, places)
    assert texts(repository, NAME)[-2] == "theirs"
    assert find_word(WORD, repository.path) == []


def test_if_it_is_killed_in_between_a_purge_is_to_be_finished(repository, theirs, places, monkeypatch):
    index = texts(theirs, NAME).index(WORD)
    amend(theirs, NAME, f"main~{len(texts(theirs, NAME)) - 1 - index}", f"again {WORD}", author=DAVE)
    push_to(theirs)

    def die(*_words, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(take_purged, "remove", die)
    with pytest.raises(KeyboardInterrupt):
        pull_purged(repository, places)
    with pytest.raises(Refused, match="a purge was interrupted"):
        fetch_from(repository)
    continue_purge(repository, places)
    assert find_word(WORD, repository.path) == []
    push_to(repository, purged=True)
    pull_from(repository)
    assert texts(repository, NAME) == ["a", "[purged]", "b", "theirs", "[purged]"]


def test_nothing_is_purged_if_nothing_was_refused(repository, theirs, places, monkeypatch):
    pull_purged(repository, places)
    monkeypatch.setattr(take_purged, "remove", None)
    push_to(repository, purged=True)
    assert pull_purged(repository, places).notes == ()


def test_a_conversation_that_was_purged_as_a_whole_is_not_taken(repository, theirs, places):
    purge(repository, PurgeRequest((NAME,)), places)
    with pytest.raises(Corrupt, match="was purged here"):
        pull_purged(repository, places)
    assert find_word(WORD, repository.path) == []
