"""The variables of the shells of agents tell which session ran a command."""

from __future__ import annotations

import pytest

from scopes.code_links.agent_environment import AGENT_VARIABLES, VARIABLES, find_sessions
from scopes.importers.formats.registry import FORMATS


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, []),
        ({"PATH": "/bin", "CODEX_HOME": "/x", "CODEX_TOOL_CALL_ID": "c"}, []),
        ({"CODEX_THREAD_ID": "0199-a"}, [("codex", "0199-a", None)]),
        ({"CODEX_THREAD_ID": "0199-a", "CODEX_TOOL_CALL_ID": "call_1"}, [("codex", "0199-a", "call_1")]),
        ({"CODEX_THREAD_ID": ""}, []),
        ({"CLAUDECODE": "1"}, [("claude-code", None, None)]),
        ({"CLAUDE_CODE_SESSION_ID": "s"}, [("claude-code", "s", None)]),
        ({"OPENCODE": "1", "OPENCODE_PID": "5"}, [("opencode", None, None)]),
        ({"GEMINI_CLI": "1"}, [("gemini", None, None)]),
        ({"QWEN_CODE": "1"}, [("qwen", None, None)]),
        ({"PI_CODING_AGENT": "true"}, [("pi", None, None)]),
        ({"CLAUDECODE": "1", "GEMINI_CLI": "1"}, [("claude-code", None, None), ("gemini", None, None)]),
    ],
)
def test_an_environment_names_its_agents(environ, expected):
    assert find_sessions(environ) == expected


@pytest.mark.parametrize("value", ["?", "a b", "a\n", "é", "x" * 129, "../../x y", "$(id)"])
def test_an_id_that_no_agent_writes_is_left_out_but_the_agent_is_not(value):
    assert find_sessions({"CODEX_THREAD_ID": value}) == [("codex", None, None)]


def test_the_agents_are_formats_that_can_be_imported():
    assert {agent.tool for agent in AGENT_VARIABLES} <= {each.name for each in FORMATS}


def test_a_hook_passes_on_every_variable_that_is_read():
    read = {name for agent in AGENT_VARIABLES for name in (*agent.present, agent.session, agent.call) if name}
    assert set(VARIABLES) == read
