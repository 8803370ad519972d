"""A client made with the Python SDK of the Agent Client Protocol."""

from __future__ import annotations

import os

import acp

from tests.support.store import ROOT


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
