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

from tests.support.acp_client import Editor, prompt_params, proxy_command
from tests.support.store import ROOT

# To import it takes a second, which only the worker that runs these tests needs.
pytestmark = pytest.mark.skipif(find_spec("acp") is None, reason="agent-client-protocol is not installed")
ECHO = [sys.executable, os.path.join(ROOT, "tests", "support", "sdk_echo_agent.py")]


def converse(*arguments):
    """Run a conversation with the client of the SDK and return what the agent said."""
    from tests.support import sdk_client

    return asyncio.run(sdk_client.converse(*arguments))


def test_the_client_of_the_sdk_works_with_its_echo_agent_through_the_proxy(desk):
    """S0-4, S3-6, S3-7: neither side knows that the proxy is there; the SDK's models accept the prompt we have changed."""
    assert converse(proxy_command(agent=ECHO), desk.project, ["hello", "remember ALPHA-77"]) == [
        "echo: hello",
        "echo: remember ALPHA-77",
    ]
    assert desk.texts() == ["hello", "echo: hello", "remember ALPHA-77", "echo: remember ALPHA-77"]
    texts = converse(proxy_command(agent=ECHO), desk.project, ["what was it", "and again"])
    assert "ALPHA-77" in texts[0]
    assert texts[1:] == ["echo: what was it", "echo: and again"]


@pytest.mark.slow
def test_an_agent_of_the_sdk_takes_twenty_prompts_at_once_and_one_of_32_megabytes(desk):
    editor = Editor(proxy_command(agent=ECHO))
    desk.editors.append(editor)
    editor.initialize()
    session = editor.open(desk.project)
    answers = [editor.begin("session/prompt", prompt_params(session, f"p{n}")) for n in range(20)]
    assert all(answer()["stopReason"] == "end_turn" for answer in answers)
    assert sorted(editor.chunks(session)) == sorted(f"echo: p{n}" for n in range(20))
    text = "x" * (32 << 20)
    editor.prompt(session, text)
    assert editor.chunks(session)[20:] == [f"echo: {text}"]
    assert len(desk.messages()[-1].text) == len(text) + 6
