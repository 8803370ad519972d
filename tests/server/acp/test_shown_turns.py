"""How turns behind the proxy are shown: the change that an edit made, and a turn that never ended."""

from __future__ import annotations

import json
import subprocess

import pytest

from scopes.conversation.log import log
from tests.cli.running import PRODUCT, command_line, environment
from tests.render.rendering import seen
from tests.server.acp.test_endings import wait_for
from tests.support.acp_client import prompt_params


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
    assert "\n  interrupted\n" in seen(log(desk.store, "conv-001"), 80)


def cancel(editor, session):
    answered = editor.begin("session/prompt", prompt_params(session, "wait"))
    wait_for(lambda: "working" in editor.chunks(session))
    editor.send({"method": "session/cancel", "params": {"sessionId": session}})
    answered()


def die(editor, session):
    editor.begin("session/prompt", prompt_params(session, "die"))


def kill(desk, editor, session):
    """Kill the proxy as soon as the prompt is in the store."""
    editor.begin("session/prompt", prompt_params(session, "slow"))
    wait_for(lambda: desk.texts()[-1:] == ["slow"])
    editor.kill()


@pytest.fixture(params=["cancelled", "interrupted", "unanswered"])
def ended(request, desk):
    """A conversation whose last turn has no whole answer: how it ended, and the last message."""
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.prompt(session, "first")
    if request.param == "unanswered":
        kill(desk, editor, session)
    else:
        {"cancelled": cancel, "interrupted": die}[request.param](editor, session)
        editor.close()
    return request.param, {"cancelled": "working", "interrupted": "I begin", "unanswered": "slow"}[request.param]


def test_how_a_turn_ended_is_one_word_in_every_view(desk, ended):
    """S3-24: log and show, on a terminal, in a pipe and as JSON."""
    word, text = ended
    [*before, last] = map(json.loads, scopes("log", "conv-001", "--reverse", "--json").splitlines())
    assert (last["text"], last["ending"], ["ending" in each for each in before]) == (text, word, [False] * len(before))
    rows = scopes("log", "conv-001").splitlines()
    assert rows[0].endswith(f"\t[{word}] {text}")
    assert not any("[" in row for row in rows[1:])
    assert scopes("log", "conv-001", "--oneline").splitlines()[0].endswith(f" [{word}] {text}")
    assert f"\n  {word}\n" in seen(log(desk.store, "conv-001"), 80)
    shown = scopes("show", "conv-001")
    assert f" · {word}: {text}" in shown
    assert shown.count(word) == 1
    assert [each.get("ending") for each in json.loads(scopes("show", "conv-001", "--json"))["recent"]][-1] == word


@pytest.mark.slow
def test_a_prompt_that_got_no_answer_is_marked_when_the_conversation_has_gone_on(desk):
    """Another proxy has continued it."""
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.prompt(session, "first")
    kill(desk, editor, session)
    desk.run("next")
    rows = [row.split("\t")[-1] for row in scopes("log", "conv-001", "--reverse").splitlines()]
    assert rows == ["first", "echo: first", "[unanswered] slow", "next", "echo: next"]
    graph = scopes("log", "conv-001", "--graph", "--oneline")
    assert "[unanswered]" in graph


def test_a_prompt_whose_answer_is_not_in_a_walk_is_not_marked(desk):
    desk.run("first", "second")
    rows = [row.split("\t")[-1] for row in scopes("log", "conv-001/main~1").splitlines()]
    assert rows == ["second", "echo: first", "first"]
