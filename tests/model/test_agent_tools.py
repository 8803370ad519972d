"""The table of tool names and output patterns of agents."""

from __future__ import annotations

import re

from scopes.importers.formats.registry import FORMATS
from scopes.model.agent_tools import AGENT_TOOLS, MARKUP, PREAMBLE, RUNNING, STEP_LISTS, STEP_TEXTS


def test_every_agent_of_the_table_has_a_format():
    assert set(AGENT_TOOLS) <= {known.name for known in FORMATS}


def test_the_lists_of_all_agents_are_known():
    assert (STEP_LISTS, STEP_TEXTS) == (("todos", "plan"), ("content", "step"))


def test_the_patterns_of_all_agents_compile_together():
    text = "Chunk ID: 1\nWall time: 2.5 seconds\nOutput:\nhello"
    found = re.compile(PREAMBLE, re.DOTALL).match(text)
    assert found is not None
    assert (found["seconds"], text[found.end() :]) == ("2.5", "hello")
    assert re.compile(MARKUP, re.DOTALL).sub("", "Exit code 1\nno such file") == "no such file"
    assert re.compile(RUNNING, re.MULTILINE).search("x\nProcess running with session ID 3")
