"""`list_older`: which conversations have no message after a time."""

from __future__ import annotations

import json

from scopes.conversation.branch import branch
from scopes.conversation.merge import merge
from scopes.conversation.new_rename_delete import new
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.purge.retention import list_older
from tests.support.history import say

CUTOFF = 1_700_000_000  # in November 2023
OLD = "2020-01-01T00:00:00Z"
SESSION = "11111111-2222-4333-8444-555555555555"
WORD = "Xylophone-Quarantine-4711"


def old_conversation(repository, directory, text=WORD):
    made = new(repository, directory=str(directory))
    say(repository, made.id, text, author={"name": "carol", "kind": "human"}, time=OLD)
    return made.id


def older(repository):
    return list_older(repository, CUTOFF)[0]


def notes(repository):
    return [note.text for note in list_older(repository, CUTOFF)[1]]


def test_a_conversation_is_due_by_the_age_of_its_last_message(repository, tmp_path):
    first = old_conversation(repository, tmp_path)
    second = old_conversation(repository, tmp_path)
    say(repository, second, "today")
    assert older(repository) == [first]


def test_a_conversation_without_times_never_expires(repository, tmp_path):
    """Lists of messages of some programs have no times."""
    name = new(repository, directory=str(tmp_path)).id
    say(repository, name, "hello", time="1970-01-01T00:00:00Z")
    assert older(repository) == []
    assert notes(repository) == ["1 conversation ends without a time and never expires"]


def import_session(repository, path, *times):
    """Import a session of Claude Code with a message at each time; None writes a record without one."""
    records = [
        {"type": "user", "uuid": f"{number:08d}-0000-4000-8000-000000000000", "sessionId": SESSION, "cwd": "/work/app",
         "parentUuid": f"{number - 1:08d}-0000-4000-8000-000000000000" if number else None, "version": "1.0.60",
         "isSidechain": False, "message": {"role": "user", "content": f"message {number}"},
         **({"timestamp": time} if time else {})}
        for number, time in enumerate(times)
    ]  # fmt: skip
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    import_sources(repository, [Source(str(path), path.stat().st_size)], FORMATS)


def test_a_session_that_goes_on_without_times_never_expires(repository, tmp_path):
    """Such a message has the time of the one before it in its commit."""
    path = tmp_path / f"{SESSION}.jsonl"
    import_session(repository, path, OLD)
    assert older(repository) == ["conv-001"]
    import_session(repository, path, OLD, None)
    assert (older(repository), notes(repository)) == ([], ["1 conversation ends without a time and never expires"])
    import_session(repository, path, OLD, None, "2020-02-01T00:00:00Z")
    assert older(repository) == ["conv-001"]


def test_a_merge_counts_when_it_was_made(repository, tmp_path):
    name = old_conversation(repository, tmp_path)
    branch(repository, name, name="side")
    carol = {"name": "carol", "kind": "human"}
    for each in ("main", "side"):
        say(repository, f"{name}/{each}", each, author=carol, time=OLD)
    assert older(repository) == [name]
    merge(repository, name, "side", target="main")
    assert older(repository) == []


def test_a_new_message_below_an_old_one_counts(repository, tmp_path):
    """A rebase or a cherry-pick keeps the times of the messages that it copies."""
    name = old_conversation(repository, tmp_path)
    say(repository, name, "today")
    say(repository, name, "copied", author={"name": "carol", "kind": "human"}, time=OLD)
    assert older(repository) == []
