"""Tool results stand below their calls, in contexts and history blocks."""

from __future__ import annotations

from scopes.context.history_block import HistoryRequest, history
from tests.context.building import built, numbers
from tests.support.history import new, say

ALICE = {"name": "alice", "kind": "agent"}


def call(call_id, command):
    return {"type": "tool_call", "call_id": call_id, "name": "bash", "input": {"command": command}}


def result(call_id, output):
    return {"type": "tool_result", "call_id": call_id, "output": output}


def run_two(repository):
    """Record two parallel calls, with their results in two messages of a tool in the other order."""
    new(repository)
    say(repository, "conv-001", "", author=ALICE, parts=[call("1", "make"), call("2", "ls")])
    for call_id, output in (("2", "README"), ("1", "two errors")):
        say(repository, "conv-001", "", author={"name": "tool", "kind": "tool"}, kind="tool-results",
            parts=[result(call_id, output)])  # fmt: skip
    say(repository, "conv-001", "It fails.", author=ALICE)


def test_a_result_is_below_its_call_without_a_heading(repository, exact, tmp_path):
    run_two(repository)
    made = built(repository, exact, tmp_path)
    text = made.formatted_history
    places = [text.index(part) for part in ("make", "two errors", '"ls"', "README", "It fails.")]
    assert places == sorted(places)
    assert "(tool)" not in text
    assert numbers(made) == [1, 4]
    assert "Showing 4 of 4 messages" in text
    assert (made.turns_included, made.turns_excluded) == (4, 0)


def test_the_explanation_has_a_row_of_each_result(repository, exact, tmp_path):
    """S4-40."""
    run_two(repository)
    rows = {row.name: row for row in built(repository, exact, tmp_path, explain=True).explained}
    assert (rows["3"].kept, rows["3"].reason) == (True, "with its call, 1")
    assert set(rows) == {"1", "2", "3", "4"}


def test_a_result_without_a_call_keeps_its_heading(repository, exact, tmp_path):
    new(repository)
    say(repository, "conv-001", "", author={"name": "tool", "kind": "tool"}, kind="tool-results",
        parts=[result("7", "two errors")])  # fmt: skip
    assert "### 1. Assistant (tool)" in built(repository, exact, tmp_path).formatted_history


def test_a_message_with_a_result_and_text_keeps_its_text(repository, exact, tmp_path):
    new(repository)
    say(repository, "conv-001", "", author=ALICE, parts=[call("1", "make")])
    say(repository, "conv-001", "", parts=[result("1", "two errors"), {"type": "text", "text": "and now?"}])
    first, second = built(repository, exact, tmp_path).messages
    assert first.text.endswith("[tool result] two errors")
    assert second.text == "and now?"


def test_equal_call_ids_are_paired_with_the_last_call(repository, exact, tmp_path):
    new(repository)
    for command, output in (("make", "two errors"), ("ls", "README")):
        say(repository, "conv-001", "", author=ALICE, parts=[call("1", command)])
        say(repository, "conv-001", "", kind="tool-results", parts=[result("1", output)])
    first, second = built(repository, exact, tmp_path).messages
    assert ("two errors" in first.text, "README" in second.text) == (True, True)
    assert "README" not in first.text


def test_a_small_budget_shortens_results_before_calls(repository, exact, tmp_path):
    new(repository)
    commands = [f"pytest tests/part_{number}.py" for number in range(3)]
    say(repository, "conv-001", "", author=ALICE, parts=[call(c, c) for c in commands])
    for command in commands:
        say(repository, "conv-001", "", kind="tool-results", parts=[result(command, "failed: 1 of 9 " * 60)])
    made = built(repository, exact, tmp_path, max_tokens=300)
    assert made.utilisation <= 1
    assert all(command in made.formatted_history for command in commands)
    assert made.formatted_history.count("... [truncated]") == 3


def test_a_history_block_clips_message_and_results_each(repository, exact):
    new(repository)
    say(
        repository,
        "conv-001",
        "y" * 1900,
        author=ALICE,
        parts=[{"type": "text", "text": "y" * 1900}, call("1", "make")],
    )
    say(repository, "conv-001", "", kind="tool-results", parts=[result("1", "x" * 3000)])
    block = history(repository, HistoryRequest(where="conv-001", tools="full"), exact)
    assert block.text.count("y") >= 1900
    assert 1900 < block.text.count("x") <= 2010
    assert block.truncated == 1
