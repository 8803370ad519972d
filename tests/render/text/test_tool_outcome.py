from __future__ import annotations

import pytest

from scopes.model.message import Part
from scopes.render.text.tool_outcome import (
    failure_spans,
    first_content_line,
    format_extent,
    outcome_spans,
    output_of,
    result_line,
)
from tests.support.tool_calls import REFUSED

CODEX = "Command: /bin/zsh -lc 'a\nb'\nChunk ID: 78\nWall time: 2.5886 seconds\nProcess exited with code 1\nOriginal token count: 9\nOutput:\n"
NUMBERED = "    40→\t\t\t}\n    41→\tcontinue\n"


def result(**fields):
    """A tool result."""
    return Part("tool_result", {"call_id": "c", "output": "fine"} | fields)


def ended(**fields):
    """How the call of a result ended."""
    return "".join(span.text for span in outcome_spans("c", [result(**fields)]))


def line(room=None, **fields):
    """A result in one line."""
    return "".join(span.text for span in result_line(result(**fields), room))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"exit_code": 0}, " · ok"),
        ({"is_error": False}, " · ok"),
        ({"structured": {"file": {}}}, " · ok"),
        ({}, " · done"),
        ({"is_error": True}, " · error"),
        ({"is_error": True, "exit_code": 2}, " · exit 2"),
        ({"exit_code": 1}, " · exit 1"),
        ({"is_error": True, "exit_code": 0}, " · error"),
        ({"output": "a\nb\n", "exit_code": 0}, " · ok · 2 lines"),
        ({"output": "x" * 2048, "exit_code": 0}, " · ok · 2.0 KiB"),
        ({"exit_code": 0, "structured": {"durationMs": 1234}}, " · ok · 1.2 s"),
        ({"exit_code": 0, "structured": {"durationSeconds": 125}}, " · ok · 2m 5s"),
        ({"output": f"{CODEX}boom", "exit_code": 1}, " · exit 1 · 2.6 s"),
        ({"output": "Chunk ID: 1\nProcess running with session ID 7\nOutput:\n"}, " · running"),
    ],
)
def test_an_outcome_is_a_status_a_duration_and_a_size(fields, expected):
    assert ended(**fields) == expected


@pytest.mark.parametrize(
    "structured",
    [
        {"structuredPatch": [{"lines": [" a", "-b", "+c", "+d"]}]},
        {"changes": {"a.py": {"unified_diff": "@@ -1 +1,2 @@\n-b\n+c\n+d\n"}, "b.py": None}},
    ],
)
def test_an_edit_prints_how_many_lines_it_changed(structured):
    assert ended(structured=structured) == " · ok · +2 -1"


@pytest.mark.parametrize(
    "structured", [{"structuredPatch": [7], "changes": 7}, {"structuredPatch": {}, "durationMs": "x"}, []]
)
def test_unexpected_values_of_an_agent_are_ignored(structured):
    assert ended(structured=structured, exit_code=0) == " · ok"


def test_a_result_is_its_first_line_with_content():
    assert line(output="---\n\n  {\nfound 3\nmore") == "← found 3 · 5 lines"
    assert line(output="---") == "← ---"
    assert line(output="") == "← (no output)"
    assert line(output=NUMBERED) == "← continue · 2 lines"


def test_a_failed_result_starts_with_its_status():
    assert line(output="Exit code 2\nno such file", exit_code=2, is_error=True) == "← exit 2: no such file"
    assert line(output="<tool_use_error>Not read yet.</tool_use_error>", is_error=True) == "← error: Not read yet."


def test_text_that_an_agent_adds_to_an_output_is_removed():
    assert output_of(result(output=f"{CODEX}boom\n")) == "boom\n"
    assert output_of(result(output="Exit code: 0\nWall time: 0 seconds\nOutput:\nhi")) == "hi"
    assert output_of(result(output="a<system-reminder>be\nkind</system-reminder>b")) == "ab"
    assert output_of(result(output="Command: ls")) == "Command: ls"


def test_a_result_keeps_its_size_when_it_is_shortened():
    assert line(40, output="word " * 500) == "← word word word word word wo… · 2.4 KiB"


def test_only_an_error_result_counts_as_failed():
    assert [span.text for span in failure_spans(["c"], (result(is_error=True),))] == [", 1 failed"]
    assert failure_spans(["c"], (result(),)) == ()
    assert failure_spans(["d"], (result(is_error=True),)) == ()
    assert [span.text for span in failure_spans(["c"], (result(is_error=True, output=REFUSED),))] == [", 1 refused"]


def test_a_short_text_has_no_size():
    assert format_extent("one line\n") == ""
    assert format_extent("\ud800" * 2000).endswith("KiB")


def test_only_the_beginning_of_an_output_is_searched_for_a_line():
    assert first_content_line("-\n" * 1_000_000 + "word") == "-"
