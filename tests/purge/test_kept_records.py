"""Memory entries of a conversation that is kept stay, although messages of it were in a purged one, or lost parts."""

from __future__ import annotations

import pytest

from scopes.conversation.merge import open_merge_request
from scopes.conversation.new_rename_delete import rename_title
from scopes.conversation.verify import verify
from scopes.facts.list import list_proposed
from scopes.facts.propose import Proposal, propose
from scopes.history.metadata import read_metadata
from scopes.memory.add import add as add_entry
from scopes.memory.store import Memory
from scopes.memory.update import update as update_memory
from scopes.model.message import Author
from scopes.purge.purge import plan_purge, purge
from scopes.purge.redact import redact
from scopes.purge.selection import PurgeRequest
from tests.support.every_byte import find_word
from tests.support.history import history, say
from tests.support.planted import KINDS

SECRET = KINDS[1][1]
PLAN = "We decided to use SQLite for the shop, and to open on Monday."


def remember(repository, conversation):
    return update_memory(repository, f"{conversation}/main", at_once=True, built_in=True).entries


def entries(repository):
    return [(entry.conversation, entry.summary) for entry in Memory(repository).entries]


def named(result):
    return [note.text.partition(":")[0] for note in result.notes if ": " in note.text]


def test_the_memory_of_a_redacted_copy_stays_when_the_original_is_purged(repository, places):
    made = history(repository, "main: a")
    say(repository, made.conversation, PLAN)
    line = f"the token is {SECRET} as you know"
    say(repository, made.conversation, line)
    rename_title(repository, made.conversation, PLAN)
    remember(repository, made.conversation)
    copy = redact(repository, made.conversation).conversation
    remember(repository, copy)
    add_entry(repository, line, agent="bob")
    add_entry(repository, PLAN, agent="bob")
    kept = [(name, text) for name, text in entries(repository) if name == copy]
    done = purge(repository, PurgeRequest((made.conversation,)), places)
    assert (len(kept), done.conversations, done.left) == (1, 1, ())
    assert sorted(map(str, entries(repository))) == sorted(map(str, [*kept, (None, PLAN)]))
    assert read_metadata(repository, copy).title == PLAN
    assert find_word(SECRET, repository.path) == []
    assert verify(repository).exit_code == 0


def test_messages_whose_entry_went_can_be_remembered_again_without_what_was_purged(repository, places):
    made = history(repository, "main: a")
    say(repository, made.conversation, PLAN)
    secret = say(repository, made.conversation, f"We decided that {SECRET} is the token of the shop, remember it.")
    assert remember(repository, made.conversation)
    request = PurgeRequest(conversation=made.conversation, messages=(secret.id,))
    assert named(plan_purge(repository, request, places)) == ["1 memory entry goes"]
    assert named(purge(repository, request, places)) == ["1 memory entry goes"]
    assert entries(repository) == []
    (entry,) = remember(repository, made.conversation)
    assert (PLAN in entry.summary, SECRET in entry.summary) == (True, False)
    assert remember(repository, made.conversation) == ()


def write_file(repository, conversation, *lines):
    call = {
        "type": "tool_call",
        "call_id": "c1",
        "name": "Write",
        "input": {"file": ".env", "content": "\n".join(lines)},
    }
    say(repository, conversation, "", author="claude", parts=[{"type": "text", "text": PLAN}, call])


def test_what_is_purged_of_a_file_takes_only_the_entries_with_a_line_of_it(repository, places):
    made, other = history(repository, "main: a"), history(repository, "main: b")
    lines = [f"key {number:03} of the door is here" for number in range(100)]
    write_file(repository, made.conversation, *lines)
    (entry,) = remember(repository, made.conversation)
    assert (lines[-1] in entry.summary, PLAN in entry.summary) == (False, True)
    write_file(repository, other.conversation, *lines)
    say(repository, other.conversation, f"We decided that {lines[-1]}, and nowhere else.")
    (quoting,) = remember(repository, other.conversation)
    assert lines[-1] in quoting.summary
    purge(repository, PurgeRequest(file=".env"), places)
    assert entries(repository) == [(made.conversation, entry.summary)]


def test_what_else_goes_is_named_before_and_after(repository, places):
    made, other = history(repository, "main: a"), history(repository, "main: b", "side@b: x")
    line = "the code of the vault is 4711"
    message = say(repository, made.conversation, line)
    ids = [add_entry(repository, f"{line} {number}", agent="bob").entry.id[:8] for number in range(7)]
    fact = propose(repository, other.conversation, Proposal(key="Signals", content=line, agent="bob")).fact
    open_merge_request(repository, other.conversation, "side", title=line, requester=Author("carol", "human"))
    request = PurgeRequest(conversation=made.conversation, messages=(message.id,))
    expected = [
        f"7 memory entries added by hand go: {', '.join(sorted(ids)[:5])} and 2 more",
        f"1 fact or proposed one goes: Signals/{fact.id}",
        f"1 merge request loses a text that quotes it: 1 of {other.conversation}",
    ]
    for result in (plan_purge(repository, request, places), purge(repository, request, places)):
        assert [note.text for note in result.notes if ": " in note.text] == expected
    assert purge(repository, request, places).notes == ()


def test_what_belongs_to_a_purged_conversation_is_not_named_one_by_one(repository, places):
    made = history(repository, "main: a")
    say(repository, made.conversation, PLAN)
    remember(repository, made.conversation)
    done = purge(repository, PurgeRequest((made.conversation,)), places)
    assert (entries(repository), named(done)) == ([], [])


@pytest.mark.parametrize("is_alone", [False, True])
def test_an_entry_by_hand_stays_that_mentions_a_purged_conversation(repository, places, is_alone):
    made, other = history(repository, "main: a"), history(repository, "main: b")
    say(repository, made.conversation, PLAN)
    remember(repository, made.conversation)
    (uuid,) = {entry.uuid for entry in Memory(repository).entries}
    text = uuid if is_alone else f"Deploy only on Fridays: agreed in {uuid}"
    add_entry(repository, text, agent="bob", topics=(uuid,))
    quoting = add_entry(repository, f"{PLAN} See {uuid}", agent="bob").entry
    propose(repository, other.conversation, Proposal(key="Signals", content=text, agent="bob"))
    request = PurgeRequest((made.conversation,))
    expected = [f"1 memory entry added by hand goes: {quoting.id[:8]}"]
    for result in (plan_purge(repository, request, places), purge(repository, request, places)):
        assert [note.text for note in result.notes] == expected
    assert entries(repository) == [(None, text)]
    assert len(list_proposed(repository, other.conversation).proposals) == 1
    assert verify(repository).exit_code == 0
