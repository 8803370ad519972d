"""Memory entries and facts stay that only mention a path of what is purged, or have a line of it as a name."""

from __future__ import annotations

import pytest

from scopes.conversation.log import log
from scopes.conversation.verify import verify
from scopes.facts.list import list_proposed
from scopes.facts.propose import Proposal, propose
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.memory.add import add
from scopes.memory.store import Memory
from scopes.memory.update import update
from scopes.purge.purge import plan_purge, purge
from scopes.purge.selection import PurgeRequest
from tests.purge.test_texts_of_kept_records import call, stored, write
from tests.support.every_byte import find_word
from tests.support.history import history, say

PATH = "/home/ann/shop/config/settings.py"
LINE = "Deployment to production"


def request(conversation, message):
    return PurgeRequest(conversation=conversation, messages=(message.id,))


def call_of(path):
    return [{"type": "tool_call", "call_id": "c1", "name": "Read", "input": {"file_path": path}}]


def summaries(repository):
    return {entry.summary for entry in Memory(repository).entries}


@pytest.mark.parametrize("path", [PATH, "~/shop/config/settings.py", "./config/settings/all.py"])
def test_what_mentions_the_path_of_a_purged_call_stays(repository, places, path):
    made, other = history(repository, "main: a"), history(repository, "main: b")
    read = say(repository, made.conversation, "", author={"kind": "agent", "name": "x"}, parts=call_of(path))
    text = f"Never edit {path} by hand: it is generated"
    add(repository, text, agent="bob")
    propose(repository, other.conversation, Proposal(key="Constraints", content=text, agent="bob"))
    done = purge(repository, request(made.conversation, read), places)
    assert (done.left, summaries(repository)) == ((), {text})
    assert len(list_proposed(repository, other.conversation).proposals) == 1
    assert verify(repository).exit_code == 0


@pytest.mark.parametrize(
    "key",
    ["/K7MDENGbPxRfiCYEXAMPLEKEYwJalrXUtnFEMI", "~K7MDxyzPxRfiCYEXAMPLEKEYwJalrXUtnFEMI", "/K7MDENG/bPxRfiCYEXAMPLE"],
)
def test_a_key_that_begins_as_a_path_is_a_text(repository, places, key):
    made = history(repository, "main: a")
    message = say(repository, made.conversation, key)
    for text in (key, f"the key is {key}"):
        add(repository, text, agent="bob")
    done = purge(repository, request(made.conversation, message), places)
    assert (done.left, summaries(repository), find_word(key, repository.path)) == ((), set(), [])
    assert [note.text.partition(":")[0] for note in done.notes] == ["2 memory entries added by hand go"]


def test_a_line_as_a_topic_or_a_key_is_no_copy_but_one_in_the_text_is(repository, places):
    made, other = history(repository, "main: a"), history(repository, "main: b")
    message = say(repository, made.conversation, f"{LINE}\n{PATH}")
    add(repository, "The night job is at 3", agent="bob", topics=(LINE,))
    add(repository, f"today: {LINE}!", agent="bob")
    propose(repository, other.conversation, Proposal(key="Signals", content=f'say "{LINE}"', agent="bob"))
    done = purge(repository, request(made.conversation, message), places)
    assert (done.left, summaries(repository)) == ((), {"The night job is at 3"})
    assert len(list_proposed(repository, other.conversation).proposals) == 0


def test_the_hint_names_memory_update_only_for_entries_that_it_makes(repository, places):
    made, other = history(repository, "main: a"), history(repository, "main: b")
    message = say(repository, made.conversation, LINE)
    say(repository, other.conversation, f"We decided: {LINE} is on Monday.")
    update(repository, f"{other.conversation}/main", at_once=True, built_in=True)
    plan = plan_purge(repository, request(made.conversation, message), places)
    (made_of,) = [note for note in plan.notes if "memory" in note.text]
    assert (made_of.text[:19], "memory update" in made_of.hint) == ("1 memory entry goes", True)
    add(repository, f"{LINE} is on Monday", agent="bob")
    plan = plan_purge(repository, request(made.conversation, message), places)
    (by_hand,) = [note for note in plan.notes if "by hand" in note.text]
    assert "memory update" not in by_hand.hint


def test_a_result_that_was_purged_in_part_is_no_copy_for_the_path_in_it(repository, places, tmp_path):
    path = write(tmp_path / "a.jsonl")
    import_sources(repository, [Source(str(path), path.stat().st_size)], FORMATS)
    done = purge(repository, PurgeRequest(file="/srv/shop/secret/.env"), places)
    assert (done.messages, done.left, done.copies) == (2, (), ())


def test_the_directory_of_a_session_is_no_copy_of_a_call_with_its_path(repository, places, tmp_path):
    directory = "/home/ann/projects/shop"
    path = write(tmp_path / "a.jsonl", call(6, "Glob", path=directory), cwd=directory)
    import_sources(repository, [Source(str(path), path.stat().st_size)], FORMATS)
    newest = next(iter(log(repository, "conv-001").items)).head
    done = purge(repository, request("conv-001", newest), places)
    kept = [each["cwd"] for each in stored(repository) if "cwd" in each]
    assert (done.left, kept) == ((), [directory] * 5)
