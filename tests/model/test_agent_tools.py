"""The table of tool names and output patterns of agents."""

from __future__ import annotations

import re
import subprocess
import sys

from scopes.importers.formats.registry import FORMATS
from scopes.model.agent_tools import AGENT_TOOLS, MARKUPS, PREAMBLES, RUNNING, STEP_LISTS, STEP_TEXTS


def test_every_agent_of_the_table_has_a_format():
    assert set(AGENT_TOOLS) <= {known.name for known in FORMATS}


def test_the_lists_of_all_agents_are_known():
    assert (STEP_LISTS, STEP_TEXTS) == (("todos", "plan"), ("content", "step"))


def test_the_pattern_of_every_agent_compiles():
    text = "Chunk ID: 1\nWall time: 2.5 seconds\nOutput:\nhello"
    [found] = [found for pattern in PREAMBLES if (found := re.compile(pattern, re.DOTALL).match(text))]
    assert (found["seconds"], text[found.end() :]) == ("2.5", "hello")
    marked = ["Exit code 1\nno such file", "<untrusted_context>\nno such file\n</untrusted_context>"]
    assert [re.compile(p, re.DOTALL).sub("", text) for p, text in zip(MARKUPS, marked, strict=True)] == [
        "no such file",
        "no such file",
    ]
    assert any(re.compile(pattern, re.MULTILINE).search("x\nProcess running with session ID 3") for pattern in RUNNING)


def test_two_agents_may_both_state_the_duration_before_an_output():
    """In a fresh interpreter: the patterns are compiled when the module is imported."""
    program = """
from scopes.model import agent_tools
agent_tools.PREAMBLES = (*agent_tools.PREAMBLES, r"\\Atook (?P<seconds>[0-9]+)s\\n")
from scopes.model.message import Part
from scopes.render.text.tool_outcome import outcome_spans, output_of
part = Part("tool_result", {"call_id": "c", "output": "took 7s\\nfound it"})
print(output_of(part), [span.text for span in outcome_spans("c", [part])])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "found it [' · ', 'done', ' · ', '7.0 s']\n"
