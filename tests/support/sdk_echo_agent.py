"""An agent made with the Python SDK of the protocol: it echoes every text block of a prompt."""

import asyncio
import itertools

import acp


class EchoAgent(acp.Agent):
    def __init__(self):
        self.numbers = itertools.count(1)
        self.client = None

    def on_connect(self, client):
        self.client = client

    async def initialize(self, protocol_version, **_):
        info = acp.schema.Implementation(name="sdk-echo", version="1")
        return acp.InitializeResponse(protocol_version=protocol_version, agent_info=info)

    async def new_session(self, cwd, **_):
        return acp.NewSessionResponse(session_id=f"echo-{next(self.numbers)}")

    async def prompt(self, prompt, session_id, **_):
        for block in prompt:
            await self.client.session_update(
                session_id, acp.update_agent_message(acp.text_block(f"echo: {block.text}"))
            )
        return acp.PromptResponse(stop_reason="end_turn")


asyncio.run(acp.run_agent(EchoAgent()))
