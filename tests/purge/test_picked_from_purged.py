"""Messages of a purged conversation do not come back by a fetch, out of others into which somebody has picked them."""

from __future__ import annotations

import pytest

from scopes.conversation.rebase import cherry_pick
from scopes.errors import NotFound
from scopes.history.names import conversation_ids, list_branch_tips
from scopes.history.sources import hash_of, read_purged
from scopes.importers.identity import MIN_TEXT
from scopes.memory.summarize import summarize
from scopes.purge.accept import accept_purges, plan_accept
from scopes.purge.purge import Places, purge
from scopes.purge.redact import redact
from scopes.purge.selection import PurgeRequest
from scopes.store.graph import walk_oldest_first
from scopes.sync.format_check import PurgedHere
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.memory.talking import WORDS
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.planted import KINDS
from tests.support.recalled import recalled
from tests.support.remotes import add, fetch_from, machine, push_to

WORD = "Xylophone-Quarantine-4711"
SECRET = f"The {WORD} opens all doors of the building in the north wing. Lunch was pasta."
NAME, OTHER = "conv-001", "conv-002"
WHOLE = PurgeRequest(conversations=(NAME,))


@pytest.fixture
@recalled
def spoken(repository, bare):
    """A message of a conversation that a remote has."""
    history(repository, "main: a")
    made = say(repository, NAME, SECRET).id
    add(repository, bare)
    push_to(repository)
    return made


@pytest.fixture
@recalled
def theirs(spoken, bare, tmp_path):
    """Another machine that has it, and a conversation of its own."""
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(store)
    history(store, "main: own", conversation=OTHER, author="dave")
    return store


@pytest.fixture
@recalled
def picked(theirs, spoken):
    cherry_pick(theirs, OTHER, [spoken])
    return spoken


@pytest.fixture
def there(tmp_path):
    return Places(str(tmp_path / "theirs-index"))


def is_listed(store, message):
    return hash_of(message) in read_purged(store).messages


def take_from(repository, theirs):
    """Push what the other machine has, and fetch it here."""
    push_to(theirs, OTHER)
    return fetch_from(repository)


def test_a_picked_message_is_refused_until_who_has_picked_it_accepts(repository, theirs, picked, places, there):
    purge(repository, WHOLE, places)
    push_to(repository, purged=True)
    with pytest.raises(
        PurgedHere,
        match=f"message {picked[:8]} in it was purged here; its newest .* scopes pull [0-9a-f]+ --purged",
    ):
        take_from(repository, theirs)
    fetch_from(theirs)
    plan = plan_accept(theirs)
    assert ([each.message for each in plan.messages], plan.conversations) == ([picked], (NAME,))
    accept_purges(theirs, there)
    take_from(repository, theirs)
    assert texts(repository, conversation_ids(repository)[0]) == ["own", "[purged]"]
    assert find_word(WORD, repository.path, theirs.path) == []


def test_a_summary_of_a_purged_conversation_is_refused(repository, theirs, places):
    made = summarize(theirs, NAME, WORDS, ratio=0.6)
    assert WORD in made.text
    cherry_pick(theirs, OTHER, [made.id])
    purge(repository, WHOLE, places)
    with pytest.raises(PurgedHere, match=f"message {made.id[:8]} in it was made from one that was purged here"):
        take_from(repository, theirs)
    assert find_word(WORD, repository.path) == []


def test_a_conversation_with_a_picked_message_is_held_back_until_that_is_decided(
    repository, theirs, picked, places, bare, tmp_path
):
    third = machine(tmp_path / "third.git", bare, author="erin")
    push_to(theirs, OTHER)
    fetch_from(third)
    purge(repository, WHOLE, places)
    push_to(repository, purged=True)
    fetch_from(third)
    copy = next(name for name in conversation_ids(third) if "own" in texts(third, name))
    say(third, copy, "news", author="erin")
    (row,) = push_to(third, copy).conversations
    assert "it has what was purged elsewhere" in (row.reason or "")


@pytest.mark.parametrize("keep", ["pick", "redacted copy", "summary"])
def test_what_is_kept_here_on_purpose_is_neither_listed_nor_offered(repository, spoken, places, keep):
    history(repository, "main: kept", conversation=OTHER)
    if keep == "pick":
        cherry_pick(repository, OTHER, [spoken])
    elif keep == "summary":
        made = summarize(repository, NAME, WORDS, ratio=0.6)
        cherry_pick(repository, OTHER, [made.id])
    else:
        say(repository, NAME, f"the token is {KINDS[1][1]} as you know")
        redact(repository, NAME)
    before = {name: texts(repository, name) for name in conversation_ids(repository) if name != NAME}
    purge(repository, WHOLE, places)
    assert not is_listed(repository, spoken)
    assert {name: texts(repository, name) for name in conversation_ids(repository)} == before
    with pytest.raises(NotFound, match="nothing that was purged elsewhere is here"):
        plan_accept(repository)


def test_a_purge_of_a_conversation_lists_its_messages_and_counts_none(repository, spoken, places):
    done = purge(repository, WHOLE, places)
    assert is_listed(repository, spoken)
    assert (done.messages, done.conversations) == (0, 1)


def test_of_imported_messages_those_are_listed_that_no_other_session_has_by_chance(repository, places, tmp_path):
    """Their ids are hashes of what was said up to there."""
    records = session_records("s1", "a b secret c")
    records[2]["say"] = "Because the cache is keyed by name, " * (MIN_TEXT // 30)
    import_demo(repository, write_transcript(tmp_path / "s1.jsonl", *records))
    messages = [
        commit.message_id for commit in walk_oldest_first(repository, list_branch_tips(repository, NAME).values())
    ]
    purge(repository, WHOLE, places)
    assert [is_listed(repository, each) for each in messages if each] == [False, True, True, True]
