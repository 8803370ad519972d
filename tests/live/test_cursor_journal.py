"""What the hooks of Cursor are told is kept in a file for each conversation, whole line after whole line."""

from __future__ import annotations

import json
import os
import stat
import threading

import pytest

from scopes.errors import Invalid
from scopes.live import cursor_journal
from scopes.live.cursor_journal import append_event, journal_of
from tests.importers.formats.cursor.events import CONVERSATION, mcp, prompt, response, stop, turn


@pytest.fixture
def environ(tmp_path):
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def add(environ, given):
    return append_event(json.dumps(given).encode(), environ)


def lines(environ):
    with open(journal_of(CONVERSATION, environ), encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def test_events_are_kept_in_order_with_their_time_and_only_stop_ends_a_turn(environ):
    assert [add(environ, given) for given in (prompt(), response(), stop())] == [False, False, True]
    assert [line["input"] for line in lines(environ)] == [prompt(), response(), stop()]
    assert all(line["scopes_hook"] == "cursor" and line["time"].startswith("20") for line in lines(environ))


@pytest.mark.parametrize("name", ["user_email", "user_name", "account", "a field of a later version"])
def test_what_may_be_about_the_person_is_not_kept(environ, name):
    add(environ, {**prompt(), name: "me@corp.example"})
    assert [line["input"] for line in lines(environ)] == [prompt()]


@pytest.mark.parametrize("given", [*turn(), mcp()])
def test_every_field_that_the_import_needs_is_kept(environ, given):
    add(environ, {**given, "conversation_id": CONVERSATION})
    assert [line["input"] for line in lines(environ)] == [given]


def test_only_the_user_can_read_what_was_asked(environ):
    add(environ, prompt())
    path = journal_of(CONVERSATION, environ)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700


def test_an_input_of_several_lines_is_one_line(environ):
    append_event(json.dumps(prompt("a\nb\u2028"), indent=2).encode(), environ)
    assert [line["input"]["prompt"] for line in lines(environ)] == ["a\nb\u2028"]


def test_hooks_at_the_same_time_write_whole_lines(environ):
    texts = [f"{number} " + "x" * 50_000 for number in range(8)]
    threads = [threading.Thread(target=add, args=(environ, response(text))) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(line["input"]["text"] for line in lines(environ)) == texts


def test_on_a_full_disk_no_half_line_stays(environ, monkeypatch):
    add(environ, prompt())
    write = os.write
    monkeypatch.setattr(cursor_journal.os, "write", lambda descriptor, data: write(descriptor, data[:10]))
    with pytest.raises(OSError, match="No space left"):
        add(environ, response())
    monkeypatch.undo()
    add(environ, stop())
    assert [line["input"]["hook_event_name"] for line in lines(environ)] == ["beforeSubmitPrompt", "stop"]


@pytest.mark.parametrize("conversation", ["../x", "", "a/b", ".hidden", "-x", "a" * 129, "x\ny", "x\0"])
def test_an_id_that_could_be_a_path_is_refused(environ, tmp_path, conversation):
    with pytest.raises(Invalid, match="is not the id of a conversation"):
        add(environ, prompt(conversation=conversation))
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"{}", b'{"conversation_id": 5}', b"[" * 100_000, b"\xff"])
def test_other_inputs_are_refused(environ, data):
    with pytest.raises(Invalid, match="the input of the hook"):
        append_event(data, environ)


def test_a_link_in_place_of_the_file_is_not_followed(environ, tmp_path):
    path = journal_of(CONVERSATION, environ)
    os.makedirs(os.path.dirname(path))
    os.symlink(tmp_path / "elsewhere", path)
    with pytest.raises(OSError, match="symbolic links"):
        add(environ, prompt())
    assert not (tmp_path / "elsewhere").exists()
