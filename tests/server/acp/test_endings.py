"""How an agent, an editor or the proxy ends, and what is recorded then."""

from __future__ import annotations

import signal
import time

import pytest

from tests.support import acp_client
from tests.support.acp_client import AcpError, Editor, prompt_params, proxy_command, stub_command


def wait_for(condition, seconds=20):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize(("text", "code"), [("die", 9), ("die_silently", 9), ("kill_self", 137)])
def test_an_agent_that_dies_answers_what_is_open_and_its_turn_is_partial(desk, text, code):
    """S3-24: the editor gets an error before the end, and the exit code is that of the agent."""
    editor = desk.editor()
    session = editor.open(desk.project)
    with pytest.raises(AcpError, match=r"-32603.*the agent has ended"):
        editor.prompt(session, text)
    assert editor.close() == code
    prompt, partial = desk.messages()
    assert (prompt.text, partial.status) == (text, "interrupted")
    assert partial.text == ("I begin" if text == "die" else "The agent ended before it had answered.")


def test_an_interrupted_turn_is_part_of_the_next_history(desk):
    """S3-24: visible to people and to the agent."""
    editor = desk.editor()
    with pytest.raises(AcpError):
        editor.prompt(editor.open(desk.project), "die")
    editor.close()
    desk.run("next")
    assert "User: die\n\nAssistant: I begin" in desk.prompts()[1][0]


def test_an_agent_that_dies_while_a_session_is_continued_answers_the_editor(desk):
    desk.run("first", resume=True)
    editor = desk.editor(resume=True, die=["session/resume"])
    with pytest.raises(AcpError, match="the agent has ended"):
        editor.open(desk.project)
    assert editor.close() == 7


def test_an_agent_that_is_not_found_is_an_error_of_the_command(tmp_path):
    with open(tmp_path / "errors", "w+") as errors:
        assert Editor(proxy_command(agent=["no-such-agent"]), stderr=errors).close() == 4
        errors.seek(0)
        assert errors.read() == "error: the agent 'no-such-agent' was not found\nhint: check the command after --\n"


def test_a_conversation_that_does_not_exist_is_an_error_before_the_agent_starts(desk, tmp_path):
    desk.run("first")
    with open(tmp_path / "errors", "w+") as errors:
        command = proxy_command("--conversation", "conv-009", agent=stub_command(tmp_path / "other"))
        assert Editor(command, stderr=errors).close() == 4
        errors.seek(0)
        assert "there is no conversation 'conv-009'" in errors.read()
    assert not (tmp_path / "other" / "received").exists()


@pytest.mark.parametrize("words", [[], ["--continue", "maybe"], ["--inject", "x"], ["--history-messages", "0"]])
def test_wrong_options_are_usage_errors(words, tmp_path):
    agent = ["true"] if words else []
    with open(tmp_path / "errors", "w+") as errors:
        assert Editor(proxy_command(*words, agent=agent), stderr=errors).close() == 2


def test_a_conversation_that_shall_never_be_continued_is_a_usage_error(desk, tmp_path):
    """It was continued all the same."""
    desk.run("first")
    options = ["--continue", "never", "--conversation", "conv-001"]
    with open(tmp_path / "errors", "w+") as errors:
        assert Editor(proxy_command(*options, agent=["true"]), stderr=errors).close() == 2
        errors.seek(0)
        assert "--continue never cannot be combined with --conversation" in errors.read()


def test_an_editor_that_quits_lets_the_agent_end(desk):
    """Its input is closed; what it says last is recorded."""
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.begin("session/prompt", prompt_params(session, "wait"))
    wait_for(lambda: editor.chunks(session))
    assert editor.close() == 0
    assert [(m.text, m.status) for m in desk.messages()] == [("wait", None), ("working", "interrupted")]


GRACE = """
from scopes.server.acp.agent_process import GRACE_SECONDS, AgentProcess
assert AgentProcess.__init__.__defaults__ == (GRACE_SECONDS,)
AgentProcess.__init__.__defaults__ = (0.2,)
"""


@pytest.fixture
def short_grace(monkeypatch):
    """Have an agent ended a fifth of a second after its input or output, instead of `GRACE_SECONDS`."""
    monkeypatch.setattr(acp_client, "MAIN", GRACE + acp_client.MAIN)


@pytest.mark.usefixtures("short_grace")
def test_an_agent_that_ignores_the_end_of_its_input_is_stopped(desk):
    program = "import time; print('x', flush=True); time.sleep(600)"
    editor = desk.start(["-c", program])
    started = time.monotonic()
    assert editor.close() == 128 + signal.SIGTERM
    assert time.monotonic() - started >= 0.2


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_go_to_the_agent(desk, number):
    editor = desk.start(["-c", "import time; print('{\"id\": 1}', flush=True); time.sleep(600)"])
    wait_for(lambda: editor.received)
    editor.process.send_signal(number)
    assert editor.close() in {128 + number, 1}


def test_children_of_the_agent_do_not_outlive_it(desk, tmp_path, monkeypatch):
    """The proxy waits a moment for what they may still write, here a shorter one than for users."""
    moment = "from scopes.server.acp import proxy; proxy._LAST_LINES_SECONDS = 0.1;"
    monkeypatch.setattr(acp_client, "MAIN", moment + acp_client.MAIN)
    program = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
    )
    editor = desk.start(["-c", program])
    assert editor.close() == 0
    pid = int((tmp_path / "pid").read_text())
    wait_for(lambda: not is_running(pid))


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.usefixtures("short_grace")
def test_an_agent_that_closes_its_output_only_is_ended(desk):
    editor = desk.start(["-c", "import os, time; os.close(1); time.sleep(600)"])
    assert editor.process.wait(timeout=20) == 128 + signal.SIGTERM
