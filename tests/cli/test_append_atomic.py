"""`append --jsonl FILE`: all lines or none (S4-52)."""

from __future__ import annotations

import json
import os

import pytest

from tests.support.store import assert_sound

LINES = [json.dumps({"author": "carol", "text": f"line {number}"}) for number in (1, 2, 3)]


def written(conversation, *lines):
    """Return the path of a file with lines."""
    path = f"{conversation.store}.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    return path


def append(conversation, *lines, of_file=True):
    """Append lines to main, of a file or of standard input."""
    path, given = (written(conversation, *lines), "") if of_file else ("-", "".join(f"{line}\n" for line in lines))
    return conversation.run("append", f"{conversation.id}/main", "--jsonl", path, "--json", given=given)


def test_all_lines_are_stored_and_printed(conversation):
    """S4-52."""
    printed = append(conversation, *LINES)
    assert conversation.texts()[-3:] == ["line 1", "line 2", "line 3"]
    logged = conversation.run("log", f"{conversation.id}/main", "--json", "-3")
    assert [line["id"] for line in printed] == [line["id"] for line in reversed(logged)]
    assert {line["kind"] for line in printed} == {"message"}


def test_a_bad_last_line_stores_nothing(conversation):
    """S4-52: the error names the line; of standard input the lines before it stay."""
    before = conversation.texts()
    for bad in (
        '{"author": "carol"}',
        "no JSON",
        '{"author": "carol", "text": "x", "kind": "decision", "decision": {}}',
    ):
        path = written(conversation, *LINES, bad)
        done = conversation.run_main("append", conversation.id, "--jsonl", path, "--json")
        assert (done.returncode, done.stdout) == (2, "")
        assert "line 4" in json.loads(done.stderr)["error"]["message"]
        assert conversation.texts() == before


def test_it_is_one_operation_that_undo_takes_back(conversation):
    before = conversation.texts()
    append(conversation, *LINES)
    assert conversation.run("operations", "-a", "--json")["operations"][0]["kind"] == "append-all"
    conversation.run("undo")
    assert conversation.texts() == before
    conversation.run("redo")
    assert conversation.texts() == [*before, "line 1", "line 2", "line 3"]


def test_no_lines_are_no_operation(conversation):
    before = conversation.run("operations", "-a", "--json")
    assert append(conversation) == []
    assert conversation.run("operations", "-a", "--json") == before


def test_many_lines_are_stored_in_one_pack(conversation):
    """A few are loose objects, so that not every append leaves a pack."""
    append(conversation, *LINES)
    assert list_packs(conversation) == []
    before = count_loose(conversation)
    many = [json.dumps({"author": "carol", "text": f"text {number}"}) for number in range(60)]
    append(conversation, *many)
    assert len(list_packs(conversation)) == 1
    assert count_loose(conversation) - before <= 3  # of the record of the operation
    assert conversation.texts()[-60:] == [f"text {number}" for number in range(60)]
    assert_sound(conversation.store)
    conversation.run("verify")


def test_many_lines_of_which_one_cannot_be_written_leave_no_pack(conversation):
    before = conversation.texts()
    many = [json.dumps({"author": "carol", "text": f"text {number}"}) for number in range(60)]
    bad = json.dumps({"author": "carol", "parts": [{"type": "tool_call", "name": "x", "input": nested(300)}]})
    done = conversation.run_main("append", conversation.id, "--jsonl", written(conversation, *many, bad), "--json")
    assert done.returncode == 2
    assert conversation.texts() == before
    assert list_packs(conversation) == []


def nested(depth):
    return [] if depth == 0 else [nested(depth - 1)]


def list_packs(conversation):
    return [name for name in os.listdir(os.path.join(conversation.store, "objects", "pack")) if name.endswith(".pack")]


def count_loose(conversation):
    top = os.path.join(conversation.store, "objects")
    return sum(len(os.listdir(os.path.join(top, name))) for name in os.listdir(top) if len(name) == 2)


@pytest.mark.every_case("line by line, and all at once")
@pytest.mark.parametrize("of_file", [False, True])
def test_a_line_with_an_id_of_its_writer_is_stored_once(conversation, of_file):
    """S4-52: a repeated line was a second message."""
    before = conversation.texts()
    lines = [json.dumps({"id": f"run-7/{number}", "author": "carol", "text": f"line {number}"}) for number in (1, 2)]
    first = append(conversation, *lines, lines[0], of_file=of_file)
    assert conversation.texts() == [*before, "line 1", "line 2"]
    assert [line.get("recorded") for line in first] == [None, None, "earlier"]
    again = append(conversation, *lines, of_file=of_file)
    assert [line["id"] for line in again] == [line["id"] for line in first[:2]]
    assert {line["recorded"] for line in again} == {"earlier"}
    assert conversation.texts() == [*before, "line 1", "line 2"]
    conversation.run("undo")
    assert conversation.texts() == before
    other = conversation.run("new", "--json")["id"]
    given = "".join(f"{line}\n" for line in lines)
    assert "recorded" not in conversation.run("append", other, "--jsonl", "-", "--json", given=given)[0]


def test_a_key_that_no_message_has_is_named_and_refused_if_that_is_wanted(conversation):
    before = conversation.texts()
    line = json.dumps({"author": "carol", "text": "x", "txet": "y"})
    done = conversation.run_main("append", conversation.id, "--jsonl", "-", "--strict", given=LINES[0] + "\n" + line)
    assert (done.returncode, "line 2: unknown key 'txet'" in done.stderr) == (2, True)
    assert conversation.texts() == [*before, "line 1"]
    done = conversation.run_main("append", conversation.id, "--jsonl", "-", given=line)
    assert (done.returncode, "no message has such a key: txet (line 1)" in done.stderr) == (0, True)
    assert conversation.texts() == [*before, "line 1", "x"]
