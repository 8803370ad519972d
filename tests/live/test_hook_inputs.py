"""What agents tell their hooks, in the shapes that they have now; the paths and texts are made up."""

from __future__ import annotations

import json
import os

import pytest

from scopes.errors import Invalid
from scopes.live.hook_inputs import read_turn

CLAUDE = {
    "session_id": "0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f",
    "transcript_path": "/home/carol/.claude/projects/-work-shop/0a1b2c3d-4e5f-4061-8071-2a3b4c5d6e7f.jsonl",
    "cwd": "/work/shop",
    "permission_mode": "default",
    "hook_event_name": "Stop",
    "stop_hook_active": False,
    "last_assistant_message": "done",
}
CODEX = {
    "session_id": "01a2157e-d70f-7c52-8e27-5916229d7d14",
    "turn_id": "01a2157e-d71d-7a83-b0c0-0d1b5dd5c2a9",
    "transcript_path": "/home/carol/.codex/sessions/2026/11/26/rollout-2026-11-26T01-36-03-01a2157e-d70f-7c52-8e27-5916229d7d14.jsonl",
    "cwd": "/work/shop",
    "hook_event_name": "Stop",
    "model": "gpt-5",
    "permission_mode": "default",
    "stop_hook_active": False,
    "last_assistant_message": "done",
}
NOTIFY = {
    "type": "agent-turn-complete",
    "thread-id": "01a2157e-d70f-7c52-8e27-5916229d7d14",
    "turn-id": "1",
    "cwd": "/work/shop",
    "client": "codex_exec",
    "input-messages": ["hello"],
    "last-assistant-message": "done",
}
GEMINI = {
    "session_id": "3fda4e25-cb08-443c-8e4c-8c1e6374d692",
    "transcript_path": "/home/carol/.gemini/tmp/shop/chats/session-2026-11-26T01-36-3fda4e25.jsonl",
    "cwd": "/work/shop",
    "hook_event_name": "AfterAgent",
    "timestamp": "2026-11-26T01:36:29.996Z",
    "prompt": "hello",
    "prompt_response": "done",
    "stop_hook_active": False,
}
OPENCODE = {
    "hook_event_name": "session.idle",
    "session_id": "ses_dea810842ffeD2pC5WagR9mhtC",
    "cwd": "/work/shop",
    "export": {"info": {"id": "ses_dea810842ffeD2pC5WagR9mhtC"}, "messages": []},
}


CURSOR = {
    "conversation_id": "668320d2-2fd8-4888-b33c-2a466fec86e7",
    "generation_id": "490b90b7-a2ce-4c2c-bb76-cb77b125df2f",
    "hook_event_name": "stop",
    "workspace_roots": ["/work/shop", "/work/docs"],
    "status": "completed",
    "loop_count": 0,
}


def read(target, document, environ=None, home="/home/carol"):
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    return read_turn(target, data, environ or {}, home)


@pytest.mark.parametrize(("target", "document"), [("claude-code", CLAUDE), ("codex", CODEX), ("gemini", GEMINI)])
def test_the_session_is_in_the_file_that_the_agent_names(target, document):
    turn = read(target, document)
    assert turn.paths == (document["transcript_path"],)
    assert (turn.session, turn.cwd) == (document["session_id"], "/work/shop")
    assert turn.event == document["hook_event_name"]


def test_the_file_of_a_sub_agent_comes_with_that_of_its_session():
    agent = "/home/carol/.claude/projects/-work-shop/0a1b/subagents/agent-a1.jsonl"
    turn = read("claude-code", {**CLAUDE, "hook_event_name": "SubagentStop", "agent_transcript_path": agent})
    assert turn.paths == (CLAUDE["transcript_path"], agent)


def test_all_sub_agents_of_a_session_are_found_in_its_folder(tmp_path):
    folder = tmp_path / "session" / "subagents"
    folder.mkdir(parents=True)
    for name in ("agent-b.jsonl", "agent-a.jsonl", "agent-a.meta.json"):
        (folder / name).touch()
    main = str(tmp_path / "session.jsonl")
    turn = read(
        "claude-code", {**CLAUDE, "transcript_path": main, "agent_transcript_path": str(folder / "agent-b.jsonl")}
    )
    assert turn.paths == (main, str(folder / "agent-b.jsonl"), str(folder / "agent-a.jsonl"))


@pytest.fixture
def rollout(tmp_path):
    """Make rollouts of two days below a home directory, and return the newest of the thread."""
    names = ["2026/11/25/rollout-2026-11-25T01-36-03", "2026/11/26/rollout-2026-11-26T01-36-03"]
    for name in (*names, "2026/11/26/rollout-2026-11-26T09-00-00-another"):
        path = tmp_path / ".codex/sessions" / f"{name}-{NOTIFY['thread-id']}.jsonl".replace("another-", "another")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return str(tmp_path / ".codex/sessions" / f"{names[1]}-{NOTIFY['thread-id']}.jsonl")


def test_codex_may_name_only_the_thread(tmp_path, rollout):
    """`notify` never names the file, and the path of a hook may be null."""
    for document in (NOTIFY, {**CODEX, "transcript_path": None}):
        turn = read("codex", document, home=str(tmp_path))
        assert turn.paths == (rollout,)
        assert turn.session == NOTIFY["thread-id"]


def test_the_directory_of_codex_can_be_moved(tmp_path, rollout):
    turn = read("codex", NOTIFY, {"CODEX_HOME": str(tmp_path / ".codex")}, home="/nowhere")
    assert turn.paths == (rollout,)


@pytest.mark.parametrize("thread", ["../../../etc", "*", "", "01a2157e", 7, None, "x" * 100])
def test_a_thread_that_is_none_finds_no_file(tmp_path, rollout, thread):
    with pytest.raises(Invalid, match="names no transcript"):
        read("codex", {**NOTIFY, "thread-id": thread}, home=str(tmp_path))


def test_the_plugin_gives_the_session_itself():
    turn = read("opencode", OPENCODE)
    assert json.loads(turn.exported) == OPENCODE["export"]
    assert (turn.session, turn.cwd, turn.paths) == (OPENCODE["session_id"], "/work/shop", ())


@pytest.fixture
def handed(tmp_path):
    """Return how to write what the plugin leaves in the directory of the hooks, and the environment of the hook."""
    folder = tmp_path / "scopes" / "hooks"
    folder.mkdir(parents=True)

    def write(data, name="opencode-1-2-0.json"):
        (folder / name).write_bytes(data)
        return folder / name

    return write, {"XDG_STATE_HOME": str(tmp_path)}


def in_file(path):
    return {**{key: value for key, value in OPENCODE.items() if key != "export"}, "export_file": str(path)}


def test_a_long_session_is_read_from_the_file_of_the_plugin_which_is_deleted(handed):
    write, environ = handed
    path = write(json.dumps(OPENCODE["export"]).encode())
    turn = read("opencode", in_file(path), environ)
    assert turn.exported == read("opencode", OPENCODE).exported
    assert not path.exists()


def test_a_file_that_the_plugin_did_not_write_is_not_deleted(handed, tmp_path):
    write, environ = handed
    kept = [write(b"{}", "opencode-mine.json"), tmp_path / "opencode-1-2-0.json"]
    kept[1].write_bytes(b"{}")
    for path in kept:
        assert read("opencode", in_file(path), environ).exported == b"{}"
        assert path.exists()


def test_files_whose_hook_was_never_started_are_deleted_an_hour_later(handed):
    write, environ = handed
    old, new, other = (write(b"{}", f"opencode-{name}.json") for name in ("7-7-7", "8-8-8", "mine"))
    for path in (old, other):
        os.utime(path, (1, 1))
    read("opencode", in_file(write(b"{}")), environ)
    assert [path.exists() for path in (old, new, other)] == [False, True, True]


@pytest.mark.parametrize(
    ("data", "problem"),
    [(b'{"info": {', "OpenCode ended before it had given the session"), (None, "cannot be read: .*No such file")],
)
def test_a_file_that_is_not_complete_is_refused_with_the_way_to_import_the_session(handed, data, problem):
    write, environ = handed
    path = write(data or b"")
    if data is None:
        path.unlink()
    with pytest.raises(Invalid, match=problem) as refused:
        read("opencode", in_file(path), environ)
    assert refused.value.hint == f"opencode export {OPENCODE['session_id']} > FILE, and then: scopes import FILE"


def test_text_that_is_not_valid_unicode_passes():
    """JavaScript strings may have half of a surrogate pair."""
    turn = read("opencode", json.dumps({**OPENCODE, "export": {"text": "\ud83d"}}).encode())
    assert json.loads(turn.exported) == {"text": "\ud83d"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is not JSON"),
        (b"\xff", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "is not a JSON object"),
        (b"{}", "names no transcript"),
        (b'{"transcript_path": "relative.jsonl"}', "names no transcript"),
        (b'{"transcript_path": ["/a"]}', "names no transcript"),
        (b'{"transcript_path": "/a\\u0000b"}', "names no transcript"),
    ],
)
def test_an_input_without_a_session_is_refused(data, problem):
    with pytest.raises(Invalid, match=problem):
        read("claude-code", data)


@pytest.mark.parametrize("given", [{}, {"export": "x"}, {"export": None}])
def test_a_turn_that_opencode_did_not_wait_to_give_is_refused_with_the_way_to_import_it(given):
    turn = {key: value for key, value in OPENCODE.items() if key != "export"}
    with pytest.raises(Invalid, match="OpenCode ended before it had given the session") as refused:
        read("opencode", {**turn, **given})
    assert refused.value.hint == f"opencode export {OPENCODE['session_id']} > FILE, and then: scopes import FILE"


def test_a_session_that_opencode_has_not_written_to_its_end_is_refused_with_the_way_to_import_it():
    with pytest.raises(Invalid, match="is not JSON") as refused:
        read("opencode", json.dumps(OPENCODE).encode()[:-9])
    assert refused.value.hint == "opencode export SESSION > FILE, and then: scopes import FILE"


def test_an_unknown_agent_is_refused():
    with pytest.raises(Invalid, match="is not an agent with hooks"):
        read("emacs", CLAUDE)


def test_the_end_of_a_turn_of_cursor_names_the_file_of_its_events():
    turn = read("cursor", CURSOR, {"XDG_STATE_HOME": "/state"})
    assert (turn.event, turn.session, turn.cwd) == ("stop", CURSOR["conversation_id"], "/work/shop")
    assert turn.paths == ("/state/scopes/cursor/668320d2-2fd8-4888-b33c-2a466fec86e7.jsonl",)


@pytest.mark.parametrize("roots", [None, [], [7], "x", ["relative"]])
def test_a_window_of_cursor_without_a_folder_has_no_directory(roots):
    assert read("cursor", {**CURSOR, "workspace_roots": roots}).cwd is None
