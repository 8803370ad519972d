"""What the index stores of a message."""

from __future__ import annotations

import pytest

from scopes.history.names import list_branch_tips
from scopes.search.text import Documents
from scopes.store.graph import walk_oldest_first
from tests.support.history import history, say


@pytest.fixture
def append(repository):
    """Append a message; return the index documents of the conversation in order."""
    history(repository, conversation="one")

    def append_text(text="", **fields):
        say(repository, "one", text, **fields)
        describe = Documents(repository)
        return [describe(c) for c in walk_oldest_first(repository, list_branch_tips(repository, "one").values())][1:]

    return append_text


def test_every_kind_of_part_goes_to_its_column(append):
    parts = [
        {"type": "text", "text": "said"},
        {"type": "reasoning", "text": "thought"},
        {
            "type": "tool_call",
            "call_id": "1",
            "name": "Bash",
            "input": {"command": "ls", "deep": [{"x": ["in"]}], "n": 1},
        },
        {"type": "tool_result", "call_id": "1", "output": [{"type": "text", "text": "out"}]},
        {"type": "text", "text": "more"},
    ]
    assert [text.strip() for text in append(parts=parts)[0].texts] == ["said\nmore", "thought", "ls\nin", "text\nout"]


def test_tool_input_stored_as_text_is_indexed(append):
    parts = [{"type": "tool_call", "call_id": "1", "name": "Bash", "input_text": '{"a": 1.0}'}]
    assert append(parts=parts)[0].texts[2] == '{"a": 1.0}'


def test_the_payload_of_a_typed_message_is_indexed(append):
    entry = append("I decide.", kind="decision", decision={"topic": "storage", "decision": "SQLite"})[0]
    assert {"storage", "SQLite"} <= set(entry.texts[0].split())
    assert entry.kind == "decision"


def test_files_and_tools_are_indexed(append):
    files = [{"path": "new.py", "op": "rename", "from": "old.py"}]
    entry = append("moved", files=files, tool="git")[0]
    assert entry.touched == (("file", "new.py"), ("file", "old.py"), ("tool", "git"))


def test_a_tool_result_has_the_tool_of_its_call(append):
    calls = [
        {"type": "tool_call", "call_id": n, "name": name, "input": {}} for n, name in (("1", "Bash"), ("2", "Read"))
    ]
    append(parts=calls)
    append(parts=[{"type": "tool_result", "call_id": "2", "output": "x"}])
    entries = append(parts=[{"type": "tool_result", "call_id": "1", "output": "y"}])
    assert [[name for _, name in entry.touched] for entry in entries] == [["Bash", "Read"], ["Read"], ["Bash"]]


def test_a_tool_result_far_from_its_call_has_no_tool(append):
    append(parts=[{"type": "tool_call", "call_id": "1", "name": "Bash", "input": {}}])
    for number in range(20):
        append(str(number))
    assert append(parts=[{"type": "tool_result", "call_id": "1", "output": "y"}])[-1].touched == ()
