"""What was made without the content of a purged message stays, and what others say of somebody's message counts not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scopes.conversation.append import append
from scopes.conversation.merge import MergeOptions, merge
from scopes.conversation.new_rename_delete import new
from scopes.conversation.rebase import cherry_pick
from scopes.errors import Refused
from scopes.history.messages import plain_message, read_message
from scopes.memory.summaries import list_summaries
from scopes.memory.summarize import summarize
from scopes.model.message import Author
from scopes.purge.accept import accept_purges, plan_accept
from scopes.purge.purge import Places, purge
from scopes.purge.selection import PurgeRequest
from tests.memory.talking import WORDS
from tests.support.every_byte import find_word
from tests.support.history import history, say, texts
from tests.support.recalled import recalled
from tests.support.remotes import add, fetch_from, machine, push_to

WORD = "Xylophone-Quarantine-4711"
SECRET = f"The {WORD} opens all doors of the building in the north wing. Lunch was pasta."
NAME = "conv-001"
ERIN = Author("erin", "human")


@pytest.fixture
@recalled
def drawn(repository, bare):
    """A conversation that a remote has."""
    add(repository, bare)
    made = history(repository, "main: a secret b")
    push_to(repository)
    return made


def purge_message(store, message, places, conversation=NAME):
    return purge(store, PurgeRequest(conversation=conversation, messages=(message,)), places)


@pytest.fixture
@recalled
def spoken(repository, drawn):
    """A message with a secret, above others, and pushed."""
    made = say(repository, NAME, SECRET).id
    say(repository, NAME, "The windows of the south wing are cleaned in spring by another company.")
    push_to(repository)
    return made


@pytest.mark.cases(1)
@pytest.mark.parametrize("compact", [False, True])
def test_a_summary_that_was_made_after_the_purge_stays_everywhere(repository, bare, places, spoken, tmp_path, compact):
    theirs = machine(tmp_path / "theirs.git", bare, author="dave")
    fetch_from(theirs)
    purge_message(repository, spoken, places)
    made = summarize(repository, NAME, WORDS, ratio=0.6, compact=compact)
    push_to(repository, purged=True)
    fetch_from(theirs)
    assert {each.message for each in plan_accept(theirs).messages} == {spoken}
    accept_purges(theirs, Places(str(tmp_path / "theirs-index")))
    assert fetch_from(theirs).exit_code == 0
    merge(theirs, NAME, "origin/main", target="main")
    assert texts(theirs, NAME)[-1] == made.text
    push_to(theirs, purged=True)
    assert fetch_from(repository).exit_code == 0
    done = purge_message(repository, spoken, places)
    assert (done.messages, [note for note in done.notes if made.id[:8] in (note.hint or "")]) == (0, [])
    assert texts(repository, NAME)[-1] == made.text


@pytest.mark.parametrize("compact", [False, True])
def test_what_was_purged_is_no_source_of_a_summary(repository, places, spoken, compact):
    purge_message(repository, spoken, places)
    made = summarize(repository, NAME, WORDS, ratio=1, compact=compact)
    sources = read_message(repository, made.oid).extra["summarizes"]["messages"]
    assert (spoken in sources, len(sources), made.messages) == (False, 4, 4)
    assert "[purged]" not in made.text
    (row,) = list_summaries(repository, NAME).summaries
    assert (row.messages, row.newer) == (4, 0)


def test_a_purged_message_is_no_news_for_a_summary(repository, places, spoken):
    summarize(repository, NAME, WORDS)
    later = say(repository, NAME, f"A second {WORD} opens the doors of the building in the south wing as well.").id
    assert [
        (row.newer, found.uncovered) for found in [list_summaries(repository, NAME)] for row in found.summaries
    ] == [(1, 1)]
    purge_message(repository, later, places)
    found = list_summaries(repository, NAME)
    assert ([row.newer for row in found.summaries], found.uncovered) == ([0], 0)
    with pytest.raises(Refused, match="no new messages"):
        summarize(repository, NAME, WORDS)


def test_a_summary_made_after_the_purge_may_be_picked_where_its_sources_are_not(repository, places, spoken):
    purge_message(repository, spoken, places)
    made = summarize(repository, NAME, WORDS, ratio=0.6)
    other = new(repository).id
    cherry_pick(repository, other, [made.id])
    assert purge_message(repository, spoken, places).messages == 0
    assert texts(repository, other) == [made.text]


def test_a_summary_of_several_messages_goes_with_the_one_that_it_had_whole(repository, places, spoken):
    say(repository, NAME, "Nothing else happened on that day in the building.")
    purge_message(repository, spoken, places)
    later = say(repository, NAME, f"A second {WORD} opens the doors of the building in the south wing as well.").id
    assert WORD in summarize(repository, NAME, WORDS, ratio=0.9).text
    assert purge_message(repository, later, places).messages == 2
    assert find_word(WORD, repository.path) == []


def test_a_copy_of_another_message_that_says_it_was_made_from_a_purged_one_destroys_nothing(
    repository, drawn, bare, places, tmp_path
):
    theirs = machine(tmp_path / "theirs.git", bare, author="erin")
    fetch_from(theirs)
    other = new(theirs).id
    secret = drawn.ids["secret"]
    append(theirs, other, replace(plain_message(ERIN, "x"), id=drawn.ids["a"], amends=secret))
    summary = {"summarizes": {"messages": [secret]}}
    append(theirs, other, replace(plain_message(ERIN, "y"), id=drawn.ids["b"], extra=summary))
    push_to(theirs)
    fetch_from(repository)
    done = purge_message(repository, secret, places)
    assert done.messages == 1
    assert "2 other messages name it as a source, and may have nothing of it" in [note.text for note in done.notes]
    assert texts(repository, NAME) == ["a", "[purged]", "b"]


def test_a_copy_with_other_words_of_an_amendment_goes_with_it_if_it_says_the_same(repository, drawn, places):
    """A copy that was redacted has other words, and says the same of where it is from."""
    first = replace(plain_message(ERIN, f"not {WORD}"), amends=drawn.ids["secret"])
    append(repository, NAME, first)
    append(repository, new(repository).id, replace(first, parts=plain_message(ERIN, f"no {WORD}").parts))
    assert purge_message(repository, drawn.ids["secret"], places).messages == 2
    assert find_word(WORD, repository.path) == []


def decide(repository, where, topic, value):
    return say(repository, where, "", kind="decision", decision={"topic": topic, "decision": value}).id


@pytest.mark.parametrize("value", ["no", "80"])
def test_a_merge_about_another_topic_stays_although_it_rejected_an_equal_value(repository, places, value):
    made = history(repository, "main: a", "side@a: x")
    lunch = decide(repository, NAME, "lunch", value)
    decide(repository, f"{NAME}/side", "use tabs", "yes")
    tabs = decide(repository, f"{NAME}/main", "use tabs", value)
    options = MergeOptions(strategy="theirs", message="Merge after the long talk")
    merge(repository, made.conversation, "side", target="main", options=options)
    assert purge_message(repository, lunch, places).messages == 1
    assert texts(repository, NAME)[-1] == "Merge after the long talk"
    assert purge_message(repository, tabs, places).messages == 2
    assert texts(repository, NAME)[-1] == "[purged]"
