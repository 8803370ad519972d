"""Every line passes the proxy byte for byte, in both directions, whatever is in it."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import pytest

from scopes.live.event_log import EventLog
from scopes.server.acp.lines import LineWriter
from scopes.server.acp.proxy import Proxy
from tests.support.acp_client import lines_of, prompt_params
from tests.support.examples import amount


def assert_transparent(desk, editor):
    """Every line that one side has sent is what the other one got."""
    assert lines_of(desk.folder, "received") == editor.sent
    assert editor.received == lines_of(desk.folder, "sent")


def test_every_line_of_a_session_is_byte_identical(desk):
    editor = desk.run("hello", "tool", "settings", "late", "two", "think", "write_file")
    assert_transparent(desk, editor)


def test_unknown_methods_kinds_fields_batches_and_numbers_pass_unchanged(desk):
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.prompt(session, "unknown")
    editor.send_raw(b'{ "jsonrpc" : "2.0", "method":"_editor\\/odd", "params":{"a":1.0,"a":2,"s":"\\ud800"}}\n')
    editor.send_raw(b'[{"jsonrpc":"2.0","method":"_editor/one"}]\n')
    editor.prompt(session, "after")
    editor.process.stdin.close()
    editor.close()
    received = lines_of(desk.folder, "received")
    assert received == editor.sent[: len(received)]
    assert any(b"1e400" in line for line in editor.received)


def test_ids_of_any_type_come_back_as_they_were(desk):
    editor = desk.editor()
    session = editor.open(desk.project)
    for message_id in ("text", "1", 7, "scopes:1", -3):
        editor.ask("session/prompt", prompt_params(session, "hello"), message_id)
    editor.close()
    assert_transparent(desk, editor)


def test_text_that_no_encoding_can_hold_is_passed_on_and_recorded(desk):
    editor = desk.editor()
    session = editor.open(desk.project)
    editor.prompt(session, "half \ud800 of a pair")
    editor.close()
    assert lines_of(desk.folder, "received") == editor.sent
    assert desk.texts()[0] == "half \ud800 of a pair"


def test_what_is_no_message_is_taken_out_of_the_output_of_the_agent(desk):
    """Log lines on the standard output break editors."""
    editor = desk.run("noise")
    assert_transparent(desk, editor)
    assert len(desk.events("noise")) == 5


def test_a_prompt_of_megabytes_passes(desk):
    size = amount(32, 4) << 20
    editor = desk.run("x" * size)
    assert_transparent(desk, editor)
    assert len(desk.messages()[0].text) == size


def test_twenty_prompts_on_two_sessions_at_once(desk):
    editor = desk.editor()
    sessions = [editor.open(desk.project), editor.open(desk.project)]
    answers = [editor.begin("session/prompt", prompt_params(sessions[n % 2], f"p{n}")) for n in range(20)]
    assert all(answer() for answer in answers)
    editor.close()
    assert_transparent(desk, editor)
    for number, session in enumerate(sessions):
        assert "".join(editor.chunks(session)).count("echo: p") == 10
        assert desk.texts(f"conv-00{number + 1}/main").count(f"p{number}") == 1


def test_the_agent_has_the_whole_environment_and_the_current_directory(desk, tmp_path, monkeypatch):
    """Keys and proxies of the user reach the agent."""
    monkeypatch.setenv("STUB_KEY", "value")
    program = f"import os; open({str(tmp_path / 'env')!r}, 'w').write(os.environ['STUB_KEY'] + os.getcwd())"
    editor = desk.start(["-c", program])
    editor.close()
    assert (tmp_path / "env").read_text() == "value" + str(desk.project)


def test_the_first_session_of_a_new_project_is_not_changed_at_all(desk):
    """S3-6: there is nothing to continue, so the editor's own words go to the agent."""
    editor = desk.run("hello")
    assert_transparent(desk, editor)
    assert [json.loads(line)["method"] for line in lines_of(desk.folder, "received")] == [
        "initialize", "session/new", "session/prompt",
    ]  # fmt: skip


@pytest.mark.slow
def test_deep_prompts_reach_the_agent_and_what_follows_is_recorded(desk):
    """At some depths a line could be read, but not taken apart to put the history into it, or not be written."""
    desk.run("first")
    editor = desk.editor("--continue", "always", "--inject", "always")
    depths = [600, 780, 820, *range(980, 992)]
    for depth in depths:
        session = editor.open(desk.project)
        params = json.dumps({**prompt_params(session, f"deep {depth}"), "_meta": "DEEP"})
        nested = params.replace('"DEEP"', "[" * depth + "]" * depth)
        editor.send_raw(f'{{"jsonrpc":"2.0","id":"d{depth}","method":"session/prompt","params":{nested}}}\n'.encode())
        editor.prompt(session, f"after {depth}")
    editor.close()
    received = b"".join(lines_of(desk.folder, "received"))
    assert [depth for depth in depths if b'"deep %d"' % depth not in received] == []
    recorded = {text for branch in desk.branches() for text in desk.texts(branch)}
    assert {"deep 600", "deep 780", *(f"after {depth}" for depth in depths)} <= recorded
    assert len(desk.events("unread")) == sum(depth > 800 for depth in depths)
    assert not [event for event in desk.events() if event["event"] in {"bug", "recording-off"}]


def test_a_line_that_meets_a_bug_is_passed_on_and_those_after_it_are_handled(tmp_path):
    """It was the end of the recording, and the line itself was lost."""

    def handle(line):
        if line == b"bad\n":
            raise KeyError("bug")
        handled.append(line)

    handled = []
    (tmp_path / "lines").write_bytes(b"one\nbad\ntwo\n")
    log = EventLog(str(tmp_path))
    agent = SimpleNamespace(end=lambda: handled.append("end"))
    reader, writer = (os.open(tmp_path / name, os.O_RDWR | os.O_CREAT) for name in ("lines", "passed"))
    Proxy(agent, None, None, None, log, on_editor_end=lambda: None)._pump(reader, 100, handle, LineWriter(writer))
    os.close(reader)
    os.close(writer)
    assert ((tmp_path / "passed").read_bytes(), handled) == (b"bad\n", [b"one\n", b"two\n", "end"])
    assert json.loads((tmp_path / "acp.log").read_text())["error"] == "KeyError: 'bug'"
