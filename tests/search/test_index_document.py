"""What of a message can be found."""

from __future__ import annotations

import pytest

from scopes.history.revparse import list_branch_tips
from scopes.search.index_document import describe_from
from scopes.store.graph import walk_oldest_first
from tests.support.history import history, say


@pytest.fixture
def tell(repository):
    """Append a message, and return how each of the conversation's is described, in order."""
    history(repository, conversation="one")

    def told(text="", **fields):
        say(repository, "one", text, **fields)
        describe = describe_from(repository)
        return [describe(c) for c in walk_oldest_first(repository, list_branch_tips(repository, "one").values())][1:]

    return told


def test_every_kind_of_part_has_its_column(tell):
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
    assert [text.strip() for text in tell(parts=parts)[0].texts] == ["said\nmore", "thought", "ls\nin", "text\nout"]


def test_json_that_is_kept_as_text_is_found(tell):
    parts = [{"type": "tool_call", "call_id": "1", "name": "Bash", "input_text": '{"a": 1.0}'}]
    assert tell(parts=parts)[0].texts[2] == '{"a": 1.0}'


def test_the_document_of_a_typed_message_is_found(tell):
    entry = tell("I decide.", kind="decision", decision={"topic": "storage", "decision": "SQLite"})[0]
    assert {"storage", "SQLite"} <= set(entry.texts[0].split())
    assert entry.kind == "decision"


def test_files_and_tools_are_named(tell):
    files = [{"path": "new.py", "op": "rename", "from": "old.py"}]
    entry = tell("moved", files=files, tool="git")[0]
    assert (entry.files, entry.tools) == (("new.py", "old.py"), ("git",))


def test_a_result_is_of_the_tool_that_was_called_before(tell):
    calls = [
        {"type": "tool_call", "call_id": n, "name": name, "input": {}} for n, name in (("1", "Bash"), ("2", "Read"))
    ]
    tell(parts=calls)
    tell(parts=[{"type": "tool_result", "call_id": "2", "output": "x"}])
    entries = tell(parts=[{"type": "tool_result", "call_id": "1", "output": "y"}])
    assert [entry.tools for entry in entries] == [("Bash", "Read"), ("Read",), ("Bash",)]


def test_a_result_far_from_its_call_is_of_no_known_tool(tell):
    tell(parts=[{"type": "tool_call", "call_id": "1", "name": "Bash", "input": {}}])
    for number in range(20):
        tell(str(number))
    assert tell(parts=[{"type": "tool_result", "call_id": "1", "output": "y"}])[-1].tools == ()
