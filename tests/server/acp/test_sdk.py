"""The Python SDK of the protocol as the other side: its client before the proxy, and an agent made with it behind.

The SDK is a development dependency; where it is missing, as on a machine with the package alone, these tests are
skipped.
"""

from __future__ import annotations

import asyncio
import os
import sys
from importlib.util import find_spec

import pytest

from tests.support.acp_client import Editor, proxy_command
from tests.support.store import ROOT

# To import it takes a second, which only the worker that runs these tests needs.
pytestmark = pytest.mark.skipif(find_spec("acp") is None, reason="agent-client-protocol is not installed")
ECHO = [sys.executable, os.path.join(ROOT, "tests", "support", "sdk_echo_agent.py")]


def converse(*arguments):
    """Run a conversation with the client of the SDK and return what the agent said."""
    from tests.support import sdk_client

    return asyncio.run(sdk_client.converse(*arguments))


def test_the_client_of_the_sdk_works_with_its_echo_agent_through_the_proxy(desk):
    """S0-4: neither side knows that the proxy is there."""
    texts = converse(proxy_command(agent=ECHO), desk.project, ["hello", "again"])
    assert texts == ["echo: hello", "echo: again"]
    assert desk.texts() == ["hello", "echo: hello", "again", "echo: again"]


def test_the_client_of_the_sdk_gets_the_history_of_the_first_run(desk):
    """S3-6, S3-7: the SDK's own models accept the prompt that we have changed."""
    converse(proxy_command(agent=ECHO), desk.project, ["remember ALPHA-77"])
    texts = converse(proxy_command(agent=ECHO), desk.project, ["what was it", "and again"])
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
