"""The hooks of Cursor as it would run them by its documentation: the turn is in the store after `stop`."""

from __future__ import annotations

import json
import os

import pytest

from tests.cli.running import PRODUCT, scopes
from tests.importers.formats.cursor.events import CONVERSATION, TURN, prompt, response, stop, turn
from tests.support.hook_agent import HookAgent
from tests.support.store import open_store


class Cursor(HookAgent):
    """Cursor: it runs the command of its configuration for each event."""

    def tell(self, *inputs):
        """Run the hook of each event; return what the hooks printed."""
        with open(self.home / ".cursor/hooks.json", encoding="utf-8") as file:
            entries = json.load(file)["hooks"]
        printed = []
        for given in inputs:
            (entry,) = entries[given["hook_event_name"]]
            done = self.run(entry["command"], json.dumps(given))
            assert (done.returncode, done.stderr) == (0, b"")
            printed.append(done.stdout)
        return printed

    @property
    def journal(self):
        return self.home / f".local/state/scopes/cursor/{CONVERSATION}.jsonl"


@pytest.fixture
def cursor(sealed_world, tmp_path):
    found = Cursor(sealed_world, tmp_path)
    done = scopes("setup", "cursor", "--only", "hooks", table=PRODUCT)
    assert done.returncode == 0, done.stderr
    yield found
    found.close()


def test_the_turn_is_in_the_store_after_it_has_ended(cursor):
    cursor.tell(*turn(1, root=str(cursor.project)))
    cursor.wait_for_event("recorded")
    assert cursor.texts()[0] == "prompt 1"
    assert cursor.texts()[1].endswith("answer 1")
    event = cursor.wait_for_event("recorded")
    assert (event["target"], event["session"], event["messages"]) == ("cursor", CONVERSATION, 2)


def test_later_turns_are_added_to_the_conversation(cursor):
    for number in (1, 2, 3):
        cursor.tell(*turn(number))
        cursor.wait_for(lambda last=number: len(cursor.texts()) == 2 * last)
        cursor.close()
    assert cursor.conversations(open_store(cursor.store)) == ["conv-001"]
    assert [text for text in cursor.texts() if text.startswith("prompt")] == ["prompt 1", "prompt 2", "prompt 3"]


def test_only_a_prompt_gets_an_answer_and_that_lets_it_be_sent(cursor):
    first, *rest = cursor.tell(*turn(1))
    assert json.loads(first) == {"continue": True}
    assert set(rest) == {b""}


def test_before_the_end_of_a_turn_no_process_is_started(cursor):
    cursor.tell(prompt(), response())
    assert cursor.recorders() == []
    assert cursor.texts() == []
    assert len(cursor.journal.read_bytes().splitlines()) == 2


@pytest.mark.slow
def test_a_turn_without_an_end_comes_with_the_next_one(cursor):
    """Cursor was closed, or has crashed."""
    cursor.tell(prompt("first", generation="a"), response("one", generation="a"))
    cursor.tell(prompt("second"), response("two"), stop())
    cursor.wait_for_texts("first", "one", "second", "two")


def test_a_prompt_is_sent_and_the_reason_logged_if_an_event_cannot_be_kept(cursor):
    (cursor.home / ".local/state/scopes").mkdir(parents=True)
    (cursor.home / ".local/state/scopes/cursor").write_text("a file")
    (printed,) = cursor.tell(prompt())
    assert json.loads(printed) == {"continue": True}
    assert "FileExistsError" in cursor.wait_for_event("failed")["error"]


@pytest.mark.parametrize("given", ["", "{", "[]", '{"hook_event_name": "stop"}', '{"conversation_id": "../x"}'])
def test_whatever_cursor_says_its_hook_succeeds_in_silence(cursor, given):
    with open(cursor.home / ".cursor/hooks.json", encoding="utf-8") as file:
        command = json.load(file)["hooks"]["stop"][0]["command"]
    done = cursor.run(command, given)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert cursor.wait_for_event("failed")["target"] == "cursor"


@pytest.mark.slow
def test_a_journal_can_be_imported_again_without_anything_new(cursor):
    cursor.tell(*turn(1))
    cursor.wait_for_event("recorded")
    cursor.close()
    before = cursor.texts()
    done = scopes("import", str(cursor.journal), "--json", table=PRODUCT)
    assert (done.returncode, json.loads(done.stdout)["conversations"][0]["new_messages"]) == (0, 0)
    assert cursor.texts() == before


def test_hooks_of_cursor_go_without_a_trace(cursor):
    assert scopes("setup", "cursor", "--only", "hooks", "--remove", table=PRODUCT).returncode == 0
    assert os.listdir(cursor.home / ".cursor") == []


def test_the_generation_is_the_native_id_of_the_answer(cursor):
    cursor.tell(prompt(), response("done"), stop())
    cursor.wait_for_event("recorded")
    assert TURN in scopes("export", "conv-001", "--format", "original", table=PRODUCT).stdout
