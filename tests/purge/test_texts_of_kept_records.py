"""A record of a message that stays may have the text of a purged one where the message does not: the record goes."""

from __future__ import annotations

import json

import pytest

from scopes.conversation.log import log
from scopes.conversation.verify import verify
from scopes.errors import NotFound
from scopes.history.messages import read_body
from scopes.history.sources import SOURCES, walk_chunks
from scopes.ids import Oid
from scopes.importers.formats.base import Source
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.purge.purge import plan_purge, purge
from scopes.purge.selection import PurgeRequest
from tests.support.every_byte import find_word
from tests.support.history import history, texts

WORD = "QUARTZMARLIN"
PROMPT = f"the {WORD} code\tof the north door is 7781:\nlook it up"
ENV = f"DOOR_CODE={WORD}-7781-open-sesame"
SHARED = "the door is said to be green"


def record(number, kind, **fields):
    above = f"00000000-0000-4000-8000-{number - 1:012d}" if number > 1 else None
    return {
        "uuid": f"00000000-0000-4000-8000-{number:012d}", "parentUuid": above, "type": kind, "userType": "external",
        "sessionId": "11111111-2222-4333-8444-555555555555", "timestamp": f"2026-11-20T10:00:{number:02d}.000Z",
        "cwd": "/home/ann/shop", "version": "2.0.1", "gitBranch": "main", "isSidechain": False, **fields,
    }  # fmt: skip


def answer(number, *content):
    message = {"id": f"m{number}", "role": "assistant", "type": "message", "model": "claude-x", "content": content}
    return record(number, "assistant", requestId=f"r{number}", message={**message, "usage": {"input_tokens": 1}})


def call(number, name, **values):
    return answer(number, {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": values})


def result(number, text, **fields):
    content = [{"type": "tool_result", "tool_use_id": f"toolu_{number - 1}", "content": text}]
    return record(number, "user", message={"role": "user", "content": content}, toolUseResult=fields)


def write(path, *more, ascii_only=True, **fields):
    records = [
        record(1, "user", message={"role": "user", "content": "hello"}),
        call(2, "Agent", description="look", prompt=f"{PROMPT}\n{SHARED}"),
        result(3, f"found nothing, but {SHARED}", status="completed", prompt=PROMPT, more=f"x {SHARED}"),
        call(4, "Edit", file_path="/srv/shop/secret/.env", old_string="x=1", new_string=ENV),
        result(5, "The file has been updated.", filePath="/srv/shop/secret/.env", newString=ENV),
        *more,
    ]  # fmt: skip
    path.write_text("".join(json.dumps(each | fields, ensure_ascii=ascii_only) + "\n" for each in records))
    return path


def take(repository, path):
    import_sources(repository, [Source(str(path), path.stat().st_size)], FORMATS)


def stored(repository):
    (source,) = repository.list_refs(SOURCES).values()
    return [json.loads(line) for line in b"".join(walk_chunks(repository, Oid(source))).splitlines()]


def purge_calls(repository, places):
    ids = [each.head.id for each in log(repository, "conv-001", oldest_first=True).items]
    return purge(repository, PurgeRequest(conversation="conv-001", messages=(ids[1], ids[3])), places)


@pytest.mark.parametrize("ascii_only", [True, False])
def test_records_with_such_a_text_go_and_their_messages_stay(repository, places, tmp_path, ascii_only):
    take(repository, write(tmp_path / "a.jsonl", ascii_only=ascii_only))
    before = stored(repository)
    done = purge_calls(repository, places)
    assert (done.left, find_word(WORD, repository.path)) == ((), [])
    assert stored(repository) == [before[0], *[{"purged": True}] * 4]
    assert f"found nothing, but {SHARED}" in texts_of_results(repository)
    assert verify(repository).exit_code == 0


def texts_of_results(repository):
    heads = [each.head for each in log(repository, "conv-001").items]
    return [part.fields.get("output") for head in heads for part in read_body(repository, head).parts]


def test_the_session_goes_on_and_its_texts_stay_away(repository, places, tmp_path):
    path = write(tmp_path / "a.jsonl")
    take(repository, path)
    purge_calls(repository, places)
    take(repository, write(path, record(6, "user", message={"role": "user", "content": "go on"})))
    spoken = texts(repository, "conv-001")
    assert (len(spoken), spoken[-1]) == (6, "go on")
    assert find_word(WORD, repository.path) == []
    assert verify(repository).exit_code == 0


def attached(number, path):
    return record(number, "attachment", attachment={"type": "file", "filename": path, "content": f"DOOR_CODE={WORD}"})


@pytest.mark.parametrize("where", [None, "conv-001"])
def test_attached_files_go_with_the_file_and_do_not_come_back(repository, places, tmp_path, where):
    """An agent keeps what a user attached in a record that is no message; no call names the file."""
    hello, ours = record(1, "user", message={"role": "user", "content": "hello"}), attached(2, "/srv/shop/conf/.env")
    records = [hello, ours, attached(3, "/srv/shop/conf/.env.sample"), attached(4, "/srv/other.env")]
    for each, other in zip(records[2:], ("an example", "another one"), strict=True):
        each["attachment"]["content"] = other
    path = tmp_path / "a.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    take(repository, path)
    request = PurgeRequest(conversation=where, file="conf/.env")
    assert any(note.text.startswith("1 other record") for note in plan_purge(repository, request, places).notes)
    done = purge(repository, request, places)
    assert (done.left, find_word(WORD, repository.path)) == ((), [])
    assert [each.get("purged") for each in stored(repository)] == [None, True, None, None]
    with path.open("a") as file:
        file.write(f"{json.dumps(answer(5, {'type': 'text', 'text': 'good morning'}))}\n")
    take(repository, path)
    assert texts(repository, "conv-001")[-1].strip() == "good morning"
    assert find_word(WORD, repository.path) == []
    assert [each.get("purged") for each in stored(repository)] == [None, True, None, None, None]
    with pytest.raises(NotFound, match="no message holds the file"):
        plan_purge(repository, request, places)
    assert verify(repository).findings == ()


def test_a_file_that_only_another_conversation_has_is_an_error_without_a_command(repository, places, tmp_path):
    """A command for that one would purge what was not asked for."""
    path = tmp_path / "a.jsonl"
    records = [record(1, "user", message={"role": "user", "content": "hello"}), attached(2, "/srv/shop/conf/.env")]
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    take(repository, path)
    other = history(repository, "main: a").conversation
    with pytest.raises(NotFound, match="no message holds the file") as caught:
        plan_purge(repository, PurgeRequest(conversation=other, file=".env"), places)
    assert caught.value.hint == "see: scopes show CONV --files"


def test_attached_files_of_other_conversations_stay(repository, places, tmp_path):
    for name, session in (("a.jsonl", "11111111"), ("b.jsonl", "22222222")):
        records = [record(1, "user", message={"role": "user", "content": name}), attached(2, "/srv/shop/conf/.env")]
        for number, each in enumerate(records):
            each["sessionId"], each["uuid"] = f"{session}-2222-4333-8444-555555555555", f"{session}-{number}"
            each["parentUuid"] = f"{session}-{number - 1}" if number else None
        (tmp_path / name).write_text("".join(f"{json.dumps(each)}\n" for each in records))
        take(repository, tmp_path / name)
    assert purge(repository, PurgeRequest(conversation="conv-001", file=".env"), places).left == ()
    sources = [b"".join(walk_chunks(repository, Oid(each))) for each in repository.list_refs(SOURCES).values()]
    assert sorted(WORD.encode() in each for each in sources) == [False, True]
