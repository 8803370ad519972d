"""The table of tool names and output patterns of agents."""

from __future__ import annotations

import pytest

from scopes.model.message import Part
from scopes.model.tools import is_refused, is_shell
from scopes.render.calls import output_of
from tests.support.tool_calls import REFUSED


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Bash", True), ("Bash ", True), ("exec_command", True), ("run_shell_command", True), ("local_shell", True),
        ("mcp__host__run_command", True), ("mcp__host__bash", True), ("host.exec", True), ("PowerShell", True),
        ("terminal", True), ("mcp__x__execute_shell_command", True), ("", False), ("Read", False), ("BashOutput", False),
        ("mcp__bash__list_files", False), ("run_tests", False), ("command_history", False), ("shellfish", False),
        ("execute", True), ("execute_query", False), ("mcp__db__execute", False),
    ],
)  # fmt: skip
def test_a_shell_is_known_by_its_name_also_of_an_mcp_server(name, expected):
    assert is_shell(name) is expected


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("Chunk ID: 1\nWall time: 2.5 seconds\nOutput:\nhello", "hello"),
        ("Exit code 1\nno such file", "no such file"),
        ("<untrusted_context>\nno such file\n</untrusted_context>", "no such file"),
        ("no such file\n<exited with exit code 1>", "no such file"),
    ],
)
def test_what_the_tool_did_not_write_is_left_out(output, expected):
    assert output_of(Part("tool_result", {"output": output})) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"output": REFUSED, "is_error": True}, True),
        ({"output": [{"type": "text", "text": REFUSED}], "is_error": True}, True),
        ({"output": "exec command rejected by user"}, True),
        ({"output": f"1 {REFUSED}", "is_error": True}, False),
        ({"output": REFUSED, "is_error": False}, False),
        ({"output": "command rejected", "exit_code": 0}, False),
        ({"output": "", "is_error": True}, False),
        ({}, False),
    ],
)
def test_a_refused_call_is_known_by_the_beginning_of_its_result(fields, expected):
    assert is_refused(Part("tool_result", fields)) is expected
