"""The Python SDK of the protocol as the other side: its client before the proxy, and an agent made with it behind.

The SDK is a development dependency; where it is missing, as on a machine with the package alone, these tests are
skipped.
"""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from tests.support.acp_client import Editor, proxy_command
from tests.support.store import ROOT

acp = pytest.importorskip("acp", reason="agent-client-protocol is not installed")
ECHO = [sys.executable, os.path.join(ROOT, "tests", "support", "sdk_echo_agent.py")]


class Client(acp.Client):
    """A client that keeps what the agent says."""

    def __init__(self):
        self.texts = []

    async def session_update(self, session_id, update, **_):
        if update.session_update == "agent_message_chunk":
            self.texts.append(update.content.text)

    async def request_permission(self, *_, **__):
        return {"outcome": {"outcome": "cancelled"}}


async def converse(command, cwd, texts):
    """Run a conversation with the client of the SDK and return what the agent said."""
    client = Client()
    path = os.pathsep.join(filter(None, (ROOT, os.environ.get("PYTHONPATH"))))
    async with acp.spawn_agent_process(client, *command, env={**os.environ, "PYTHONPATH": path}) as (connection, _):
        await connection.initialize(protocol_version=acp.PROTOCOL_VERSION)
        session = await connection.new_session(cwd=str(cwd), mcp_servers=[])
        for text in texts:
            answer = await connection.prompt(session_id=session.session_id, prompt=[acp.text_block(text)])
            assert answer.stop_reason == "end_turn"
    return client.texts


def test_the_client_of_the_sdk_works_with_its_echo_agent_through_the_proxy(desk):
    """S0-4: neither side knows that the proxy is there."""
    texts = asyncio.run(converse(proxy_command(agent=ECHO), desk.project, ["hello", "again"]))
    assert texts == ["echo: hello", "echo: again"]
    assert desk.texts() == ["hello", "echo: hello", "again", "echo: again"]


def test_the_client_of_the_sdk_gets_the_history_of_the_first_run(desk):
    """S3-6, S3-7: the SDK's own models accept the prompt that we have changed."""
    asyncio.run(converse(proxy_command(agent=ECHO), desk.project, ["remember ALPHA-77"]))
    texts = asyncio.run(converse(proxy_command(agent=ECHO), desk.project, ["what was it", "and again"]))
    assert "ALPHA-77" in texts[0]
    assert texts[1:] == ["echo: what was it", "echo: and again"]


def test_an_agent_of_the_sdk_takes_twenty_prompts_at_once(desk):
    editor = Editor(proxy_command(agent=ECHO))
    desk.editors.append(editor)
    editor.initialize()
    session = editor.open(desk.project)
    answers = [
        editor.begin("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": f"p{n}"}]})
        for n in range(20)
    ]
    assert all(answer()["stopReason"] == "end_turn" for answer in answers)
    editor.close()
    assert sorted(editor.chunks(session)) == sorted(f"echo: p{n}" for n in range(20))


def test_an_agent_of_the_sdk_takes_a_prompt_of_32_megabytes(desk):
    editor = Editor(proxy_command(agent=ECHO))
    desk.editors.append(editor)
    editor.initialize()
    session = editor.open(desk.project)
    text = "x" * (32 << 20)
    editor.prompt(session, text)
    assert editor.chunks(session) == [f"echo: {text}"]
    assert len(desk.messages()[1].text) == len(text) + 6
