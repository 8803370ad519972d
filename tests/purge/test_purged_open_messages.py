"""The last message of a session, which may still grow, is purged: it stays out here, and is only offered elsewhere."""

from __future__ import annotations

import json
import os

import pytest

from scopes.conversation.undo import undo
from scopes.conversation.verify import verify
from scopes.errors import Corrupt
from scopes.history.messages import read_message
from scopes.history.names import list_branch_tips
from scopes.history.sources import read_purged
from scopes.importers import import_sources as pipeline
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.purge.accept import accept_purges, plan_accept
from scopes.purge.purge import purge
from scopes.purge.selection import PurgeRequest
from scopes.store.config import Setting
from scopes.store.refs import PURGED
from scopes.sync.bundles import create_bundle, import_bundle
from scopes.sync.grown_tips import find_grown
from scopes.sync.local_conversations import Selection
from tests.support.every_byte import find_word
from tests.support.history import texts
from tests.support.original_files import find_message
from tests.support.recalled import recalled
from tests.support.remotes import EVERYTHING, add, connection, fetch_from, machine, pull_from, push_to
from tests.support.store import FAST, assert_sound, make_store, open_store

WORD = "Xylophone-Quarantine-4711"
NAME = "conv-001"
SESSION = "11111111-2222-4333-8444-555555555555"


def record(number, role, content, *, message=None, **fields):
    """Return a line of a session of Claude Code."""
    return {
        "type": role, "uuid": f"{number:08d}-0000-4000-8000-000000000000", "sessionId": SESSION, "cwd": "/work/app",
        "parentUuid": f"{number - 1:08d}-0000-4000-8000-000000000000" if number > 1 else None,
        "timestamp": f"2026-01-20T10:00:0{number}.000Z", "version": "1.0.60", "isSidechain": False,
        "message": {"role": role, "content": content, **({"id": message} if message else {})}, **fields,
    }  # fmt: skip


CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "a.txt"}
RECORDS = [
    record(1, "user", "read the settings"),
    record(2, "assistant", [{"type": "text", "text": f"the key is {WORD}"}], message="msg_1"),
    record(3, "assistant", [CALL], message="msg_1"),
    record(4, "user", [RESULT]),
    record(5, "assistant", [{"type": "text", "text": "done"}], message="msg_2"),
]


def import_first(store, directory, count, records=RECORDS):
    """Import a session of which so many records are written."""
    path = directory / f"{SESSION}.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in records[:count]))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return import_sources(store, [Source(str(path), path.stat().st_size)], FORMATS)


def import_both(store, directory, count):
    """Import two sessions of which so many records are written."""
    sources = []
    for number, session in enumerate((SESSION, SESSION.replace("1", "7"))):
        path = directory / f"{session}.jsonl"
        records = [{**each, "sessionId": session} for each in RECORDS[:count]]
        records[0] = {**records[0], "message": {"role": "user", "content": f"session {number}"}}
        path.write_text("".join(json.dumps(each) + "\n" for each in records))
        sources.append(Source(str(path), path.stat().st_size))
    return import_sources(store, sources, FORMATS)


def purge_word(store, places):
    wanted = PurgeRequest(conversation=NAME, messages=(find_message(store, f"the key is {WORD}"),))
    return purge(store, wanted, places)


@pytest.fixture
@recalled
def ours(repository, bare, tmp_path):
    add(repository, bare)
    import_first(repository, tmp_path, 2)
    push_to(repository)
    return repository


@pytest.fixture
@recalled
def theirs(ours, bare, tmp_path):
    """Another machine, which has imported the session at the same time."""
    store = machine(tmp_path / "theirs.git", bare, author="dave")
    import_first(store, tmp_path, 2)
    fetch_from(store)
    return store


@pytest.mark.parametrize("steps", [(3, 5), (5,), (2, 3, 4, 5)], ids=["by turns", "at once", "each record"])
def test_a_message_that_was_purged_does_not_come_back_when_it_grows(ours, places, tmp_path, steps):
    purge_word(ours, places)
    for count in steps:
        import_first(ours, tmp_path, count)
        assert find_word(WORD, ours.path) == []
    assert texts(ours, NAME) == ["read the settings", "[purged]", "", "done"]
    assert len(read_purged(ours).messages) == 2
    assert verify(open_store(ours)).exit_code == 0
    before = ours.list_refs()
    import_first(ours, tmp_path, steps[-1])
    assert ours.list_refs() == before


def test_of_a_message_that_grows_only_the_parts_stay_out_that_were_purged(ours, places, tmp_path):
    write = {"type": "tool_use", "id": "t1", "name": "Write", "input": {"file_path": "/app/.env", "content": WORD}}
    records = [
        RECORDS[0],
        record(2, "assistant", [{"type": "text", "text": "I write it"}], message="msg_1"),
        record(3, "assistant", [write], message="msg_1"),
        record(4, "assistant", [CALL], message="msg_1"),
    ]
    records = [{**each, "sessionId": "9" * 8 + SESSION[8:]} for each in records]
    import_first(ours, tmp_path, 3, records)
    assert purge(ours, PurgeRequest(file=".env"), places).messages == 1
    import_first(ours, tmp_path, 4, records)
    message = read_message(ours, list_branch_tips(ours, "conv-002")["main"])
    assert [(part.type, part.fields.get("purged")) for part in message.parts] == [
        ("text", None), ("tool_call", True), ("tool_call", None),
    ]  # fmt: skip
    assert message.parts[2].fields["input"] == {"command": "ls"}
    assert sorted(map(str, read_purged(ours).messages.values())) == ["frozenset({1})"] * 2


@pytest.mark.slow
def test_workers_and_one_process_find_the_same_longer_forms(places, tmp_path, monkeypatch):
    monkeypatch.setattr(pipeline, "BYTES_PER_WORKER", 1)
    found = []
    for workers in ("1", "2"):
        setting = Setting("scopes.importWorkers", workers, "flag")
        store = make_store(tmp_path / f"{workers}.git", {**FAST, "scopes.importworkers": setting})
        import_both(store, tmp_path, 2)
        purge(store, PurgeRequest(query=WORD), places)
        import_both(store, tmp_path, 5)
        assert find_word(WORD, store.path) == []
        found.append(read_purged(store).messages)
    assert found[0] == found[1]
    assert len(found[0]) == 4


def test_a_longer_form_is_no_divergence(ours, theirs, tmp_path):
    import_first(ours, tmp_path, 5)
    assert push_to(ours).exit_code == 0
    assert [branch.state for row in fetch_from(theirs).conversations for branch in row.branches] == ["grown"]
    assert list_branch_tips(theirs, NAME) == list_branch_tips(ours, NAME)


@pytest.mark.slow
def test_a_purged_message_that_others_have_already_is_replaced_by_its_longer_form(ours, bare, places, tmp_path):
    purge_word(ours, places)
    push_to(ours)
    fetch_from(reader := machine(tmp_path / "reader.git", bare, author="erin"))
    import_first(ours, tmp_path, 5)
    assert push_to(ours).exit_code == 0
    assert [branch.state for row in fetch_from(reader).conversations for branch in row.branches] == ["grown"]
    assert texts(reader, NAME) == texts(ours, NAME) == ["read the settings", "[purged]", "", "done"]


@pytest.mark.slow
def test_who_has_the_longer_form_is_offered_it(ours, theirs, places, tmp_path):
    import_first(theirs, tmp_path, 5)
    purge_word(ours, places)
    import_first(ours, tmp_path, 5)
    push_to(ours)
    fetch_from(theirs)
    assert len(plan_accept(theirs).messages) == 2  # the shorter one is what undo reaches
    assert WORD in " ".join(texts(theirs, NAME))
    accept_purges(theirs, places)
    assert find_word(WORD, theirs.path) == []
    assert texts(theirs, NAME) == texts(ours, NAME)


def test_who_has_accepted_it_imports_the_longer_form_without_it(ours, theirs, places, tmp_path):
    purge_word(ours, places)
    push_to(ours)
    fetch_from(theirs)
    accept_purges(theirs, places)
    import_first(theirs, tmp_path, 5)
    import_first(ours, tmp_path, 5)
    assert find_word(WORD, theirs.path) == []
    assert list_branch_tips(theirs, NAME) == list_branch_tips(ours, NAME)
    assert read_purged(theirs).messages == read_purged(ours).messages


def test_an_undo_of_that_import_leaves_the_list_without_the_longer_form_alone(ours, places, tmp_path):
    purge_word(ours, places)
    before = ours.find_ref(PURGED)
    import_first(ours, tmp_path, 3)
    assert ours.find_ref(PURGED) != before
    undo(ours)
    assert (ours.find_ref(PURGED), texts(ours, NAME)) == (before, ["read the settings", "[purged]"])
    import_first(ours, tmp_path, 5)
    assert find_word(WORD, ours.path) == []


def test_a_message_that_only_begins_like_a_purged_one_of_another_place_stays(ours, places, tmp_path):
    purge_word(ours, places)
    other = [{**each, "sessionId": "9" * 8 + SESSION[8:]} for each in RECORDS[1:3]]
    path = tmp_path / "other.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in [{**other[0], "parentUuid": None}, other[1]]))
    import_sources(ours, [Source(str(path), path.stat().st_size)], FORMATS)
    assert f"the key is {WORD}" in texts(ours, "conv-002")


def test_an_open_message_that_was_purged_elsewhere_is_offered_and_not_replaced(ours, theirs, places):
    purge_word(ours, places)
    push_to(ours)
    before = list_branch_tips(theirs, NAME)
    fetched = fetch_from(theirs)
    assert [branch.state for row in fetched.conversations for branch in row.branches] == ["diverged"]
    assert "1 message was purged elsewhere" in fetched.notes[0].text
    assert list_branch_tips(theirs, NAME) == before
    assert [each.state for each in pull_from(theirs).branches] == ["refused"]
    (row,) = push_to(theirs).conversations
    assert (row.status, row.diverged) == ("unchanged", ("main",))
    accept_purges(theirs, places)
    assert list_branch_tips(theirs, NAME) == list_branch_tips(ours, NAME)
    assert push_to(theirs).exit_code == 0


def test_neither_copy_replaces_the_other_whichever_is_longer(ours, theirs, places):
    purge_word(ours, places)
    push_to(ours)
    fetch_from(theirs)
    tips = list_branch_tips(theirs, NAME)["main"], list_branch_tips(ours, NAME)["main"]
    assert find_grown(theirs, *tips) is None
    assert find_grown(theirs, *reversed(tips)) is None


def send_longer_form(theirs, tmp_path):
    """Have the other machine import the whole session, and push it."""
    import_first(theirs, tmp_path, 5)
    assert push_to(theirs).exit_code == 0


def test_a_longer_form_on_the_remote_is_refused_and_offered_to_whoever_has_it(ours, theirs, places, tmp_path):
    send_longer_form(theirs, tmp_path)
    purge_word(ours, places)
    with pytest.raises(Corrupt, match="was purged here"):
        fetch_from(ours)
    assert find_word(WORD, ours.path) == []
    assert len(read_purged(ours).messages) == 2
    push_to(ours)
    fetch_from(theirs)
    accept_purges(theirs, places)
    assert find_word(WORD, theirs.path) == []
    push_to(theirs)
    assert fetch_from(ours).exit_code == 0
    assert find_word(WORD, ours.path) == []
    assert_sound(ours)


def test_a_longer_form_does_not_come_in_a_bundle(ours, theirs, places, tmp_path):
    purge_word(ours, places)
    import_first(theirs, tmp_path, 5)
    path = str(tmp_path / "talks.bundle")
    create_bundle(theirs, path, EVERYTHING, connection())
    with pytest.raises(Corrupt, match="is the whole of one that was purged here; the bundle is older"):
        import_bundle(ours, path, Selection(()), connection())
    assert find_word(WORD, ours.path) == []
