"""How turns behind the proxy are shown: the change that an edit made, and a turn that never ended."""

from __future__ import annotations

import subprocess

from scopes.conversation.log import log
from tests.cli.running import PRODUCT, command_line, environment
from tests.render.rendering import seen


def scopes(*words):
    done = subprocess.run(
        command_line(*words, table=PRODUCT), capture_output=True, text=True, env=environment(), check=True
    )
    return done.stdout


def test_cat_shows_what_an_edit_has_changed(desk):
    desk.run("tool")
    [edit] = [message for message in desk.messages() if any(part.type == "tool_result" for part in message.parts)]
    lines = [line.strip() for line in scopes("cat", edit.id).partition("result:")[2].splitlines()]
    assert {"--- /project/app.py", "+++ /project/app.py", "-a", "+b"} <= set(lines)


def test_a_turn_that_the_agent_did_not_end_is_not_shown_as_complete(desk):
    """S3-24."""
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.begin("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "die"}]})
    editor.close()
    assert desk.messages()[-1].status == "interrupted"
    assert "· interrupted" in seen(log(desk.store, "conv-001"), 80)
