"""Real agents behind the proxy, against a model server of ours: what each of them sends to its model after a restart.

    SCOPES_TEST_AGENTS=DIRECTORY python -m pytest -m realagents

The agents are npm packages, which are installed into DIRECTORY first; it must have node. They have a home of their own
and no login, and nothing but the loopback interface is used after the installation.
"""

from __future__ import annotations

import pytest

from tests.support.acp_client import Editor, proxy_command
from tests.support.agent_settings import configure_codex, configure_gemini, configure_opencode
from tests.support.real_agents import model, programs
from tests.support.stub_model import TEXT

__all__ = ["model", "programs"]
pytestmark = [pytest.mark.realagents, pytest.mark.timeout(1800)]
SECRET = "ALPHA-77"
AGENTS = {
    "opencode": (["opencode", "acp"], configure_opencode, {"resume"}),
    # Without a model it asks another one first which to take, and asks again for 90 seconds if that is no JSON.
    "gemini": (["gemini", "-m", "gemini-2.5-pro", "--acp"], configure_gemini, {"load", "new"}),
    "codex": (["codex-acp"], configure_codex, {"resume"}),
}


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_knows_after_a_restart_what_was_asked_before(name, programs, model, desk, sealed_world, monkeypatch):
    """S3-1, S3-6, S3-7: by its own session, or by the history, which is put in once."""
    words, configure, ways = AGENTS[name]
    for variable, value in configure(sealed_world, model.port).items():
        monkeypatch.setenv(variable, value)
    command = [str(programs / words[0]), *words[1:]]
    converse(desk, command, f"remember {SECRET}")
    before = len(model.requests)
    converse(desk, command, "what was it")
    asked = [body for _, body in model.requests[before:] if "what was it" in body]
    assert any(SECRET in body for body in asked)
    way = desk.events("session")[-1]["way"]
    assert way in ways
    injected = [body.count("conversation_history") > 0 for body in asked]
    assert any(injected) == (way == "new")
    prompts = [message.text for message in desk.messages() if message.kind == "prompt"]
    assert prompts == [f"remember {SECRET}", "what was it"]
    assert desk.texts()[-1] == TEXT


def converse(desk, command, text):
    editor = Editor(proxy_command(agent=command), cwd=desk.project)
    desk.editors.append(editor)
    editor.ask("initialize", {"protocolVersion": 1, "clientCapabilities": {}}, seconds=600)
    session = editor.ask("session/new", {"cwd": str(desk.project), "mcpServers": []}, seconds=600)["sessionId"]
    answer = editor.ask(
        "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]}, seconds=600
    )
    assert answer["stopReason"] == "end_turn"
    editor.close()
