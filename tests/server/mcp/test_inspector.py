"""The MCP server behind the command line of the MCP inspector, which is made by the authors of the protocol.

SCOPES_TEST_AGENTS=DIRECTORY python -m pytest -m realagents
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

pytest.importorskip("mcp")

from tests.cli.running import environment
from tests.support.history import history, texts
from tests.support.real_agents import programs
from tests.support.store import make_store, open_store

__all__ = ["programs"]
pytestmark = [pytest.mark.realagents, pytest.mark.timeout(300)]


@pytest.fixture
def inspect(programs, tmp_path):
    """Return a function that asks the server one question and returns the answer."""
    store = make_store(tmp_path / "store")
    history(store, "main: integers floats")

    def ask(method, tool=None, **arguments):
        command = [
            str(programs / "mcp-inspector"),
            "--cli",
            sys.executable,
            "-m",
            "scopes",
            "--store",
            store.path,
            "mcp",
        ]
        named = [] if tool is None else ["--tool-name", tool]
        given = [word for name, value in arguments.items() for word in ("--tool-arg", f"{name}={value}")]
        line = [*command, "--method", method, *named, *given]
        done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment(), timeout=120)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    ask.store = store
    return ask


def test_every_tool_has_a_description_a_schema_and_hints(inspect):
    tools = inspect("tools/list")["tools"]
    assert len(tools) >= 14
    for tool in tools:
        assert "\n    " not in tool["description"]
        assert tool["inputSchema"]["type"] == "object"
        assert "readOnlyHint" in tool["annotations"]


def test_a_message_is_found(inspect):
    [content] = inspect("tools/call", "conversation_search", query="floats")["content"]
    assert json.loads(content["text"])["hits"] == 1


def test_what_is_recorded_is_in_the_store(inspect):
    inspect("tools/call", "conversation_record", conversation="conv-001/main", text="use integers")
    assert texts(open_store(inspect.store), "conv-001")[-1] == "use integers"


@pytest.mark.parametrize(
    ("method", "field"),
    [("resources/list", "resources"), ("resources/templates/list", "resourceTemplates"), ("prompts/list", "prompts")],
)
def test_resources_and_prompts_are_listed(inspect, method, field):
    assert inspect(method)[field]
