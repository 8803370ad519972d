"""A record of another session's transcript that is no message and has a purged text is named, and can be purged alone."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.log import log
from scopes.conversation.verify import verify
from scopes.errors import Invalid, NotFound
from scopes.history.sources import SOURCES, walk_chunks
from scopes.ids import Oid
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.purge.purge import plan_purge, purge
from scopes.purge.selection import PurgeRequest
from tests.support.every_byte import find_word
from tests.support.history import texts

LINE = "t.Chdir(temporaryDirectoryOfTheTest)"
WORD = "temporaryDirectoryOfTheTest"
SESSIONS = ("11111111-2222-4333-8444-555555555555", "22222222-2222-4333-8444-555555555555")


def record(session, number, kind, **fields):
    start = f"{session[:8]}-0000-4000-8000-"
    return {
        "uuid": f"{start}{number:012d}", "parentUuid": f"{start}{number - 1:012d}" if number > 1 else None, "type": kind, "userType": "external",
        "sessionId": session, "timestamp": f"2026-11-20T10:00:{number:02d}.000Z", "cwd": "/home/ann/shop",
        "version": "2.0.1", "gitBranch": "main", "isSidechain": False, **fields,
    }  # fmt: skip


def prompt(session, number, text):
    return record(session, number, "user", message={"role": "user", "content": text})


def progress(session, number, text):
    return record(session, number, "progress", data={"type": "hook_progress", "output": text})


def take(repository, path, *records):
    path.write_text("".join(json.dumps(each) + "\n" for each in records))
    import_sources(repository, [Source(str(path), path.stat().st_size)], FORMATS)


def stored(repository):
    sources = (Oid(value) for value in repository.list_refs(SOURCES).values())
    return b"".join(b"".join(walk_chunks(repository, source)) for source in sources).decode()


@pytest.fixture
def purged(repository, places, tmp_path):
    """Purge a conversation whose line is also in an event of another session."""
    first, second = SESSIONS
    take(repository, tmp_path / "a.jsonl", prompt(first, 1, f"see\n{LINE}"))
    take(
        repository,
        tmp_path / "b.jsonl",
        prompt(second, 1, "hello"),
        progress(second, 2, LINE),
        prompt(second, 3, "bye"),
    )
    done = purge(repository, PurgeRequest(("conv-001",)), places)
    assert (done.conversations, done.left, done.exit_code, done.copies) == (1, (), 0, ())
    return done


def test_the_other_session_stays_and_its_record_is_named(repository, purged, tmp_path):
    (note,) = (each for each in purged.notes if "the same text" in each.text)
    assert note.text.startswith(
        f"1 record of the stored transcript {tmp_path}/b.jsonl is no message and has the same text"
    )
    assert note.hint.startswith("purge it, too: scopes purge --record ")
    assert LINE in stored(repository)
    assert texts(repository, "conv-002/main") == ["hello", "bye"]


def test_only_the_record_goes_and_it_does_not_come_back(repository, purged, places, tmp_path):
    name = next(each.hint for each in purged.notes if "--record" in each.hint).split()[-1]
    request = PurgeRequest(records=(name,))
    plan = plan_purge(repository, request, places)
    assert (plan.messages, plan.conversations, plan.records) == ((), (), 1)
    done = purge(repository, request, places)
    assert (done.messages, done.records, done.exit_code) == (0, 1, 0)
    assert find_word(WORD, repository.path) == []
    assert texts(repository, "conv-002/main") == ["hello", "bye"]
    second = SESSIONS[1]
    more = prompt(second, 4, "again")
    take(
        repository,
        tmp_path / "b.jsonl",
        prompt(second, 1, "hello"),
        progress(second, 2, LINE),
        prompt(second, 3, "bye"),
        more,
    )
    assert texts(repository, "conv-002/main")[-1] == "again"
    assert find_word(WORD, repository.path) == []
    assert verify(repository).exit_code == 0


def test_a_text_in_the_record_of_a_message_names_the_message(repository, places, tmp_path):
    first, second = SESSIONS
    take(repository, tmp_path / "a.jsonl", prompt(first, 1, f"see\n{LINE}"))
    hidden = prompt(second, 1, "hello") | {"isSynthetic": LINE}
    take(repository, tmp_path / "b.jsonl", hidden)
    done = purge(repository, PurgeRequest(("conv-001",)), places)
    assert ([each.conversation for each in done.copies], done.left) == (["conv-002"], ())
    (copy,) = done.copies
    assert purge(repository, PurgeRequest(conversation="conv-002", messages=(copy.message,)), places).left == ()
    assert find_word(WORD, repository.path) == []


def test_a_name_that_is_no_record_is_refused(repository, purged, places):
    for wrong, error in (("0" * 12, NotFound), ("main", Invalid), ("abc", Invalid)):
        with pytest.raises(error):
            plan_purge(repository, PurgeRequest(records=(wrong,)), places)


def test_another_transcript_of_the_same_conversation_loses_the_record(repository, places, tmp_path):
    """An agent writes the messages of a sub-agent into the transcript of the session, too."""
    first = SESSIONS[0]
    take(repository, tmp_path / "a.jsonl", prompt(first, 1, "hello"), prompt(first, 2, f"see\n{LINE}"))
    wanted = next(iter(log(repository, "conv-001").items)).head.id
    take(
        repository, tmp_path / "b.jsonl", prompt(first, 1, "hello"), progress(first, 3, LINE), prompt(first, 4, "later")
    )
    done = purge(repository, PurgeRequest(conversation="conv-001", messages=(wanted,)), places)
    assert (done.left, [each.text for each in done.notes if "the same text" in each.text]) == ((), [])
    assert find_word(WORD, repository.path) == []


def test_a_transcript_of_which_something_was_purged_before_keeps_its_other_records(repository, places, tmp_path):
    first, second = SESSIONS
    take(
        repository,
        tmp_path / "b.jsonl",
        prompt(second, 1, "hello"),
        prompt(second, 2, "away with it"),
        progress(second, 3, LINE),
    )
    earlier = next(iter(log(repository, "conv-001").items)).head.id
    purge(repository, PurgeRequest(conversation="conv-001", messages=(earlier,)), places)
    take(repository, tmp_path / "a.jsonl", prompt(first, 1, f"see\n{LINE}"))
    done = purge(repository, PurgeRequest(("conv-002",)), places)
    assert (done.records, done.left) == (0, ())
    assert LINE in stored(repository)
