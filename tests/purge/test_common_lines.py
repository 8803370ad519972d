"""After a purge: which other messages have the same text, and which only have a line that agents write everywhere."""

from __future__ import annotations

import pytest

from scopes.memory.add import add as add_entry
from scopes.memory.store import Memory
from scopes.purge.purge import note_alike, plan_purge, purge
from scopes.purge.selection import PurgeRequest
from tests.support.history import history, say

COMMON = "Whenever you read a file, consider whether it does harm."
OWN = "the password of the database is on the yellow paper"


@pytest.fixture
def purged(repository, places):
    """Return a function that says texts in three other conversations, and purges a message with two lines."""

    def run(*others):
        target = history(repository, "main: a").conversation
        leaked = say(repository, target, f"{OWN}\n{COMMON}")
        names = [history(repository, f"main: x{number}").conversation for number in range(3)]
        spoken = [say(repository, names[number % 3], text).id for number, text in enumerate(others)]
        done = purge(repository, PurgeRequest(conversation=target, messages=(leaked.id,)), places)
        return done, spoken

    return run


def test_a_line_that_messages_of_several_conversations_have_is_not_the_same_text(purged):
    done, spoken = purged(*[f"file {number}\n{COMMON}" for number in range(10)])
    assert (done.copies, done.left, done.exit_code) == ((), (), 0)
    assert done.notes == ()
    (note,) = note_alike(done.alike)
    assert note.text == "10 other messages have only lines of it that many messages have"
    assert spoken[0][:8] in note.hint


def test_a_line_that_few_messages_have_is_the_same_text(purged):
    done, spoken = purged(*[f"file {number}\n{COMMON}" for number in range(9)])
    assert {each.message for each in done.copies} == {*spoken}
    assert [note.text for note in done.notes] == ["9 other messages have the same text"]


def test_a_line_in_one_conversation_alone_is_the_same_text_however_often_it_is_there(repository, places):
    target = history(repository, "main: a").conversation
    leaked = say(repository, target, f"{OWN}\n{COMMON}\nand one more line of text")
    for number in range(10):
        say(repository, target, f"file {number}\n{COMMON}")
    done = purge(repository, PurgeRequest(conversation=target, messages=(leaked.id,)), places)
    assert len(done.copies) == 10


def test_a_copy_with_an_own_line_is_named_among_those_with_the_common_one_alone(purged):
    done, spoken = purged(*[f"file {number}\n{COMMON}" for number in range(11)], f"you said: {OWN}")
    assert [each.message for each in done.copies] == [spoken[-1]]
    assert [note.text for note in (*done.notes, *note_alike(done.alike))] == [
        "1 other message has the same text",
        "11 other messages have only lines of it that many messages have",
    ]


def test_a_text_of_which_all_lines_are_everywhere_is_still_the_same_text(purged):
    done, spoken = purged(*[f"{number}\n{OWN}\n{COMMON}" for number in range(12)])
    assert {each.message for each in done.copies} == {*spoken}
    assert "the same text" in done.notes[0].text


def test_the_message_with_most_of_the_text_is_the_example(purged):
    done, spoken = purged(f"one {COMMON}", f"all {OWN}\n{COMMON}")
    assert [each.message for each in done.copies] == [spoken[1], spoken[0]]
    assert spoken[1][:8] in done.notes[0].hint


def test_the_shortest_of_many_lines_is_looked_for(repository, places):
    """Of a file with variables, the one with the password is not among the longest."""
    secret = "DB_PASS=hunter2-7781-x"
    longer = "\n".join(f"VARIABLE_{number:03} = some longer value of no interest" for number in range(80))
    target = history(repository, "main: a").conversation
    leaked = say(repository, target, f"{longer}\n{secret}")
    others = [say(repository, target, f"the log says: {secret}").id]
    others.append(say(repository, history(repository, "main: b").conversation, secret).id)
    for text in (secret, f"Bob says {secret}", "Bob paints the wall"):
        add_entry(repository, text, agent="carol")
    done = purge(repository, PurgeRequest(conversation=target, messages=(leaked.id,)), places)
    assert {each.message for each in done.copies} == {*others}
    assert (done.left, [entry.summary for entry in Memory(repository).entries]) == ((), ["Bob paints the wall"])


def test_a_dry_run_counts_the_same_messages_as_the_purge(repository, places):
    """Also one of which a part goes, and another part has the text."""
    target = history(repository, "main: a").conversation
    parts = [{"type": "text", "text": f"it says: {OWN}"}, {"type": "file", "path": ".env", "text": f"{OWN}\n{COMMON}"}]
    say(repository, target, "", author={"name": "carol", "kind": "human"}, parts=parts)
    names = [history(repository, f"main: x{number}").conversation for number in range(3)]
    for number in range(11):
        say(repository, names[number % 3], f"file {number}\n{COMMON}")
    request = PurgeRequest(file=".env")
    plan = plan_purge(repository, request, places)
    done = purge(repository, request, places)
    assert (len(plan.copies), len(plan.alike)) == (1, 11)
    assert (plan.copies, {*plan.alike}) == (done.copies, {*done.alike})
