"""`scopes undo` and `redo` as people and scripts see them (findings G1 and R9), and the dry runs of what removes."""

from __future__ import annotations

import os
import subprocess

import pytest

from scopes import clock
from tests.cli.conversation import Conversation
from tests.cli.running import PRODUCT, command_line
from tests.support.random_ids import hashed_counter


@pytest.fixture
def busy(tmp_path, monkeypatch):
    """Make two conversations, and append to the first one."""
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())
    made = Conversation(tmp_path)
    made.run("conv", "new", "B")
    made.run("conv", "append", made.id, "oops")
    return made


def test_undo_after_an_append_says_in_words_what_it_took_back(busy):
    words = busy.run("undo").split("\t")[1]
    assert words == f"undone: append to {busy.id}/main by user: 'oops' (1 message)\n"
    assert busy.run("redo").split("\t")[1] == f"redone: append to {busy.id}/main by user: 'oops' (1 message)\n"
    assert busy.texts() == ["oops"]


def test_undo_as_json_has_the_same_facts(busy):
    document = busy.run("undo", "--json")
    target = document["target"]
    assert (document["kind"], target["kind"], target["actor"]) == ("undo", "append", "user")
    assert target["summary"] == f"append to {busy.id}/main by user: 'oops' (1 message)"
    assert (target["details"]["branch"], len(target["details"]["messages"])) == ("main", 1)
    assert "dry_run" not in document


def test_all_lines_of_one_command_are_one_thing(busy):
    lines = "".join(f'{{"author": "carol", "text": "line {number}"}}\n' for number in range(40))
    busy.run("conv", "append", busy.id, "--jsonl", "-", given=lines)
    assert "'line 0' (40 messages)" in busy.run("undo")
    assert busy.texts() == ["oops"]


def test_what_one_command_does_to_several_things_is_one_step(busy):
    """Whichever of its operations is named."""
    messages = [busy.append("main", "one"), busy.append("main", "two")]
    other = busy.run("conv", "new", "--json")["id"]
    for words in (["retract", *messages], ["delete", busy.id, other]):
        before = busy.run("conv", "list", "--json"), busy.run("conv", "log", f"{busy.id}/main", "--json")
        busy.run(*words)
        made = busy.run("conv", "operations", "--json")["operations"][: len(words) - 1]
        assert {each["kind"] for each in made} == {words[0]}
        busy.run("undo", *([made[-1]["id"]] if words[0] == "delete" else []))
        assert (busy.run("conv", "list", "--json"), busy.run("conv", "log", f"{busy.id}/main", "--json")) == before


def test_memory_update_and_appends_are_taken_back_one_after_the_other(busy):
    """G1: undo removed 21 memory entries and printed an id."""
    busy.run("conv", "append", busy.id, "We decided to use SQLite for the login form.")
    busy.run("memory", "update", "--now")
    busy.run("conv", "append", busy.id, "one")
    busy.run("conv", "append", busy.id, "two")
    words = [busy.run("undo").split("\t")[1].partition(":")[2].split("'")[0].strip() for _ in range(3)]
    append = f"append to {busy.id}/main by user:"
    assert words[:2] == [append, append]
    assert "memor" in words[2] or "remember" in words[2]


def test_the_work_of_others_is_undone_only_by_name_or_with_all(busy):
    bob = ("-c", "scopes.author=bob")
    error = busy.run_refused(*bob, "undo", code=4)
    assert error["message"] == "there is nothing to undo for bob"
    assert error["hint"].endswith("scopes undo -a")
    assert "would undo: append" in busy.run(*bob, "undo", "-a", "--dry-run")
    assert "undone: append" in busy.run(*bob, "undo", "-a")
    operation = busy.run("conv", "operations", "-a", "--json")["operations"][1]["id"]
    assert "would undo: " in busy.run(*bob, "undo", operation[:12], "--dry-run")
    assert "redone: append" in busy.run(*bob, "redo")


def test_undo_of_a_conversation_by_argument_and_by_option(busy):
    busy.run("conv", "append", "conv-002", "elsewhere")
    assert f"append to {busy.id}/main" in busy.run("undo", busy.id, "--dry-run")
    assert f"append to {busy.id}/main" in busy.run("undo", busy.id)
    assert f"append to {busy.id}/main" in busy.run("redo", busy.id)
    assert "elsewhere" in busy.run("undo")


@pytest.mark.parametrize("number", ["3", "12"])
def test_a_number_is_no_operation_and_the_hint_repeats_undo(busy, number):
    """Findings of the fourth day, B3: `undo 3` was an operation whose id begins with 3."""
    error = busy.run_refused("undo", number, code=4)
    assert error["message"] == f"'{number}' is neither an operation nor a conversation"
    assert error["hint"].startswith("to go further back, repeat: scopes undo; ")


@pytest.mark.parametrize("command", [("undo",), ("conv", "operations")])
def test_the_prefix_of_an_operation_has_four_characters(busy, command):
    operation = busy.run("conv", "operations", "-a", "--json")["operations"][0]["id"]
    error = busy.run_refused(*command, operation[:3], code=4)
    assert error["hint"].startswith("the prefix of an operation id has at least 4 characters")
    busy.run(*command, operation[:4])


def test_after_gc_expire_undo_names_why_it_stops(busy):
    busy.run("gc", "--expire", "now", "--yes")
    error = busy.run_refused("undo", code=1)
    assert error["message"].startswith("gc --expire cannot be undone: delete 2 operations")
    assert "scopes undo OPERATION" in error["hint"]


def test_dry_runs_exit_with_0_and_change_nothing(busy):
    before = busy.run("conv", "list", "--json")
    assert busy.run("conv", "rewind", busy.id, "-n", "1", "--dry-run").split("\t")[1:] == ["user", "oops\n"]
    assert busy.run("conv", "rewind", busy.id, "--dry-run", "--json")["dry_run"] is True
    assert busy.run("conv", "delete", busy.id, "--dry-run") == f"{busy.id}/main\n"
    assert busy.run("conv", "delete", busy.id, "--dry-run", "--json")["branch_names"] == ["main"]
    planned = busy.run("gc", "--expire", "now", "--dry-run", "--json")
    assert (planned["expired_operations"], planned["dry_run"], "bytes_after" in planned) == (2, True, False)
    assert busy.run("undo", "--dry-run", "--json")["dry_run"] is True
    assert busy.run("conv", "list", "--json") == before
    assert len(busy.run("conv", "operations", "-a", "--json")["operations"]) == 2


def test_the_date_of_an_expire_is_checked_before_the_question(busy):
    error = busy.run_refused("gc", "--expire", "foo", code=2)
    assert error["message"] == "'foo' is not a valid time"


def test_on_a_terminal_an_append_says_how_to_take_it_back(busy):
    def shown(*words):
        main, side = os.openpty()
        subprocess.run(command_line("--store", busy.store, *words, table=PRODUCT), stdout=side, check=True)
        os.close(side)
        text = b""
        try:
            while data := os.read(main, 4096):
                text += data
        except OSError:
            os.close(main)
        return text.decode().split("\r\n")

    assert shown("conv", "append", busy.id, "one")[-2] == "undo with: scopes undo"
    assert not any("undo" in line for line in shown("--quiet", "append", busy.id, "one"))
    assert not any("undo" in line for line in shown("-q", "conv", "append", busy.id, "one"))
