"""The content of files at an earlier message is reconstructed from tool calls and results, or unknown."""

from __future__ import annotations

from hashlib import sha256

import pytest

from scopes.context.file_states import file_states
from scopes.conversation.new_rename_delete import new
from scopes.ids import MessageId
from scopes.model.message import Author, FileTouch, Message, Part
from tests.context.building import built, put
from tests.support.history import say

PATH = "/project/a.py"


def digest(text):
    return f"sha256:{sha256(text.encode()).hexdigest()}"


def tool(op="edit", *, output="done", content_hash=None, failed=False, source=None, path=PATH, **tool_input):
    """Return the two messages of a tool call and its result."""
    call = Part("tool_call", {"call_id": "c", "name": "Tool", "input": {"file_path": path, **tool_input}})
    result = Part("tool_result", {"call_id": "c", "output": output, "is_error": failed})
    touched = () if failed else (FileTouch(path, op, content_hash, source),)
    return [message(call), message(result, files=touched)]


def message(*parts, files=()):
    return Message(id=MessageId("m"), author=Author("bot"), parts=parts, files=files)


def state(*tools):
    return file_states(each for pair in tools for each in pair).get(PATH)


def test_a_write_sets_the_content():
    assert state(tool("create", content="one\n")) == "one\n"


def test_the_last_write_wins():
    assert state(tool("create", content="one\n"), tool("edit", content="two\n")) == "two\n"


def test_an_edit_changes_known_content():
    edit = tool("edit", old_string="one", new_string="two")
    assert state(tool("create", content="one\n"), edit) == "two\n"


def test_several_edits_are_applied_in_order():
    edits = [{"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]
    assert state(tool("create", content="a\n"), tool("edit", edits=edits)) == "c\n"


@pytest.mark.parametrize(
    ("tool_input", "content"),
    [
        ({"old_string": "x", "new_string": "y", "replace_all": True}, "y y\n"),
        ({"old_string": "x", "new_string": "y"}, None),
        ({"old_string": "absent", "new_string": "y"}, None),
        ({"old_string": "", "new_string": "y"}, None),
        ({"old_string": 3, "new_string": "y"}, None),
        ({"edits": []}, None),
        ({"edits": "all"}, None),
        ({"edits": [3]}, None),
        ({"command": "reformat"}, None),
    ],
)
def test_an_edit_that_cannot_be_applied_makes_the_content_unknown(tool_input, content):
    """The content before the edit is not the content after it."""
    assert state(tool("create", content="x x\n"), tool("edit", **tool_input)) == content


def test_an_edit_of_unknown_content_leaves_it_unknown():
    assert state(tool("edit", old_string="one", new_string="two")) is None


def test_a_failed_edit_changes_nothing():
    failed = tool("edit", failed=True, old_string="one", new_string="two")
    assert state(tool("create", content="one\n"), failed) == "one\n"


@pytest.mark.parametrize("output", ["     1→one\n     2→\ttwo", "1\tone\n2\t\ttwo\n", "one\n\ttwo\n"])
def test_a_completely_read_file_is_recognized_by_its_hash(output):
    assert state(tool("read", output=output, content_hash=digest("one\n\ttwo\n"))) == "one\n\ttwo\n"


def test_a_partially_read_file_is_unknown():
    assert state(tool("read", output="     7→one\n")) is None


def test_a_partial_read_keeps_known_content():
    assert state(tool("create", content="one\n"), tool("read", output="     1→one")) == "one\n"


def test_content_with_another_hash_is_rejected():
    assert state(tool("create", content="one\n", content_hash=digest("two\n"))) is None
    assert state(tool("create", content="one\n"), tool("read", output="2", content_hash=digest("two\n"))) is None


def test_content_with_an_unknown_hash_algorithm_is_rejected():
    assert state(tool("create", content="one\n", content_hash="crc:00")) is None


def test_a_deleted_file_has_no_content():
    assert state(tool("create", content="one\n"), tool("delete")) is None


def test_a_renamed_file_keeps_its_content():
    states = file_states(
        [*tool("create", content="one\n", path="/project/old.py"), *tool("rename", source="/project/old.py")]
    )
    assert states == {PATH: "one\n"}


def test_a_call_for_another_file_is_ignored():
    both = [
        Part("tool_call", {"call_id": "c", "input": {"file_path": "/other", "content": "other"}}),
        Part("tool_result", {"call_id": "c", "output": "done"}),
    ]
    assert file_states([message(*both, files=(FileTouch(PATH, "create"),))]) == {}


def test_a_context_at_a_message_has_the_content_of_files_at_that_message(repository, exact, tmp_path):
    """S1-8: today's working tree is never shown as the state at an earlier message."""
    new(repository)
    put(tmp_path, "a.py", "today\n")
    for text in ("first\n", "second\n"):
        call = {"type": "tool_call", "call_id": text, "name": "Write", "input": {"file_path": "a.py", "content": text}}
        say(repository, "conv-001", "writing", parts=[call])
        result = {"type": "tool_result", "call_id": text, "output": "done"}
        say(repository, "conv-001", "", parts=[result], files=[{"path": "a.py", "op": "edit"}])
    say(repository, "conv-001", "and on")
    result = [built(repository, exact, tmp_path, at=at).files_text for at in ("main", "main~3")]
    assert ["second\n" in result[0], "first\n" in result[1], "today" in "".join(result)] == [True, True, False]
    assert "(as recorded up to message 2)" in result[1]
    assert "today" in built(repository, exact, tmp_path).files_text
    earlier = built(repository, exact, tmp_path, where="conv-001/main~3")
    assert (earlier.files_text, "other changes to them" in earlier.notes[0].text) == (result[1], True)
