"""The table of tool names and output patterns of agents."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from scopes.importers.formats.registry import FORMATS
from scopes.model.message import Part
from scopes.model.tools import AGENT_TOOLS, MARKUPS, PREAMBLES, RUNNING, STEP_LISTS, STEP_TEXTS, is_refused, is_shell
from tests.support.tool_calls import REFUSED


def test_every_agent_of_the_table_has_a_format():
    assert set(AGENT_TOOLS) <= {known.name for known in FORMATS}


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


def test_the_lists_of_all_agents_are_known():
    assert (STEP_LISTS, STEP_TEXTS) == (("todos", "plan"), ("content", "step"))


def test_the_pattern_of_every_agent_compiles():
    text = "Chunk ID: 1\nWall time: 2.5 seconds\nOutput:\nhello"
    [found] = [found for pattern in PREAMBLES if (found := re.compile(pattern, re.DOTALL).match(text))]
    assert (found["seconds"], text[found.end() :]) == ("2.5", "hello")
    marked = [
        "Exit code 1\nno such file",
        "<untrusted_context>\nno such file\n</untrusted_context>",
        "no such file\n<exited with exit code 1>",
    ]
    assert [re.compile(p, re.DOTALL).sub("", text) for p, text in zip(MARKUPS, marked, strict=True)] == [
        "no such file",
        "no such file",
        "no such file",
    ]
    assert any(re.compile(pattern, re.MULTILINE).search("x\nProcess running with session ID 3") for pattern in RUNNING)


def test_two_agents_may_both_state_the_duration_before_an_output():
    """In a fresh interpreter: the patterns are compiled when the module is imported."""
    program = """
from scopes.model import tools as agent_tools
agent_tools.PREAMBLES = (*agent_tools.PREAMBLES, r"\\Atook (?P<seconds>[0-9]+)s\\n")
from scopes.model.message import Part
from scopes.render.text.tool_outcome import outcome_spans, output_of
part = Part("tool_result", {"call_id": "c", "output": "took 7s\\nfound it"})
print(output_of(part), [span.text for span in outcome_spans("c", [part])])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "found it [' · ', 'done', ' · ', '7.0 s']\n"


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
