"""`scopes hooks run` as an agent runs it: the turn is in the store soon, and the agent notices nothing."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time

import pytest

from scopes.cli import hook_runner
from scopes.hosts.program import GUARD
from scopes.importers.discovery import find_sources
from scopes.importers.formats.registry import FORMATS
from scopes.importers.import_sources import import_sources
from scopes.live.event_log import HOOK_LOG, EventLog
from tests.cli.running import PRODUCT, scopes
from tests.support.examples import amount
from tests.support.hook_agent import HookAgent, texts_of
from tests.support.store import open_store


@pytest.fixture
def agent(sealed_world, tmp_path):
    found = HookAgent(sealed_world, tmp_path)
    done = scopes("setup", "claude-code", "--only", "hooks", table=PRODUCT)
    assert done.returncode == 0, done.stderr
    yield found
    found.close()


def test_the_turn_is_in_the_store_after_it_has_ended(agent):
    agent.turn(1)
    (done,) = agent.stop()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    agent.wait_for_texts(*texts_of(1))
    event = agent.wait_for_event("recorded")
    assert (event["target"], event["messages"], event["conversations"]) == ("claude-code", 2, ["conv-001"])


def test_every_later_turn_is_added_to_the_conversation(agent):
    for number in (1, 2, 3):
        agent.turn(number)
        agent.stop()
        agent.wait_for_texts(*texts_of(*range(1, number + 1)))


def test_lines_that_the_agent_writes_after_it_has_started_its_hook_are_there_too(agent):
    """Claude Code starts its hooks before the last record of the answer is in the file."""
    agent.log.user("prompt 1")
    agent.flush()
    agent.stop()
    agent.wait_for_texts("prompt 1")
    agent.log.answer("msg_1", {"type": "text", "text": "answer 1"})
    agent.flush()
    agent.wait_for_texts(*texts_of(1))


def test_a_store_that_is_gone_is_not_made_anew(agent, tmp_path):
    """Its disk is not mounted: below the mount point there would be a second store, and git's record would be lost."""
    agent.turn(1)
    agent.stop()
    agent.wait_for_texts(*texts_of(1))
    agent.close()
    away = tmp_path / "away.git"
    os.rename(agent.store, away)
    os.mkdir(agent.store)
    agent.turn(2)
    (done,) = agent.stop()
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    event = agent.wait_for_event("failed")
    assert (event["error"], "mount its disk" in event["hint"]) == (f"the store {agent.store} is gone", True)
    assert os.listdir(agent.store) == []
    assert "is gone" in scopes("setup", "--status", "--only", "hooks", "claude-code", table=PRODUCT).stdout
    assert os.listdir(agent.store) == []
    rows = [line for line in scopes("doctor", table=PRODUCT).stdout.splitlines() if "is gone" in line]
    assert [("mount its disk" in line) for line in rows] == [True]
    os.rmdir(agent.store)
    os.rename(away, agent.store)
    rows = json.loads(scopes("setup", "--status", "--only", "hooks", "claude-code", "--json", table=PRODUCT).stdout)[
        "hooks"
    ]
    assert [(row["problem"][:-20], row["cure"]) for row in rows] == [
        (f"the store {agent.store} was gone at ", "record what is missing: scopes import")
    ]
    shown = scopes("doctor", table=PRODUCT).stdout
    assert (f"the store {agent.store} was gone at" in shown, "is gone" in shown, "scopes import" in shown) == (
        True,
        False,
        True,
    )
    agent.stop()
    agent.wait_for_texts(*texts_of(1, 2))


@pytest.mark.slow
def test_a_store_that_was_only_deleted_is_made_anew_by_a_command_of_the_user(agent, tmp_path):
    agent.turn(1)
    agent.stop()
    agent.wait_for_texts(*texts_of(1))
    agent.close()
    os.rename(agent.store, tmp_path / "away.git")
    assert scopes("import", str(agent.session), table=PRODUCT).returncode == 0
    agent.turn(2)
    agent.stop()
    agent.wait_for_texts(*texts_of(1, 2))


def test_half_a_line_is_left_for_the_next_time(agent):
    agent.turn(1)
    agent.log.user("prompt 2")
    agent.flush(cut=20)
    agent.stop()
    agent.wait_for_texts(*texts_of(1))
    agent.close()
    agent.log.answer("msg_2", {"type": "text", "text": "answer 2"})
    agent.flush()
    agent.stop()
    agent.wait_for_texts(*texts_of(1, 2))


@pytest.mark.slow
def test_ten_ends_of_a_turn_at_once_are_few_imports_and_lose_nothing(agent):
    for number in range(1, 11):
        agent.turn(number)
        agent.stop()
    agent.wait_for_texts(*texts_of(*range(1, 11)))
    agent.close()
    assert 1 <= len(agent.events()) <= 9


def test_two_hooks_at_the_same_time_make_one_conversation(agent):
    agent.turn(1)
    command = agent.commands[0]
    running = [subprocess.Popen(["/bin/sh", "-c", command], stdin=subprocess.PIPE) for _ in range(2)]
    for process in running:
        process.communicate(json.dumps(agent.input).encode())
    assert [process.returncode for process in running] == [0] * 2
    agent.close()
    assert agent.texts() == texts_of(1)
    assert agent.conversations(open_store(agent.store)) == ["conv-001"]


def test_kills_at_any_moment_lose_no_turn_that_a_later_hook_sees(agent):
    """The file of the agent is the record until a hook has imported it: the next one takes all."""
    killed, turns = 0, amount(10, 5)
    for number in range(1, turns + 1):
        agent.turn(number)
        agent.stop()
        time.sleep(0.7 * number / turns)
        killed += agent.kill_recorders()
    assert killed >= turns // 2
    agent.close()
    agent.stop()
    agent.wait_for_texts(*texts_of(*range(1, turns + 1)))
    assert scopes("verify", table=PRODUCT).returncode == 0


def test_what_the_hooks_have_recorded_is_what_an_import_would_have(agent, repository):
    for number in (1, 2):
        agent.turn(number)
        agent.stop()
        agent.wait_for_texts(*texts_of(*range(1, number + 1)))
    import_sources(repository, find_sources(str(agent.session)), FORMATS)
    stores = (open_store(agent.store), repository)
    recorded, imported = (store.list_refs("refs/heads/") for store in stores)
    assert recorded == imported


def test_sub_agents_come_with_their_session(agent):
    agent.turn(1)
    folder = agent.session.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    records = [{**record, "isSidechain": True, "agentId": "a1"} for record in agent.log.records]
    (folder / "agent-a1.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    agent.stop()
    agent.wait_for_event("recorded")
    assert len(open_store(agent.store).list_refs("refs/scopes/sources/")) == 2


@pytest.mark.parametrize(
    "document",
    [b"", b"no JSON", b"[]", b'{"transcript_path": "/nowhere/x.jsonl"}', b'{"transcript_path": "/dev/zero"}'],
)
def test_whatever_the_agent_says_its_hook_succeeds_in_silence_and_the_reason_is_logged(agent, document):
    (done,) = agent.stop(document)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert agent.wait_for_event("failed")["error"]


def test_a_session_that_ends_before_its_first_message_is_no_failure(agent):
    """Its file was never written."""
    document = {**agent.input, "hook_event_name": "SessionEnd", "transcript_path": "/nowhere/x.jsonl"}
    agent.stop(json.dumps(document))
    assert agent.wait_for_event("unchanged")["messages"] == 0


def test_a_store_that_cannot_be_written_is_in_the_status_and_in_doctor(agent):
    with open(agent.store, "w", encoding="utf-8"):
        pass
    agent.turn(1)
    (done,) = agent.stop()
    assert done.returncode == 0
    problem = agent.wait_for_event("failed")["error"]
    status = json.loads(scopes("setup", "--status", "--only", "hooks", "claude-code", "--json", table=PRODUCT).stdout)
    assert status["hooks"][0]["problem"] == problem
    os.unlink(agent.store)
    checks = json.loads(scopes("doctor", "--json", table=PRODUCT).stdout)["checks"]
    (found,) = [check for check in checks if check["name"] == "hooks of claude-code"]
    assert (found["state"], problem in found["detail"]) == ("warning", True)


def test_the_status_forgets_a_problem_as_soon_as_a_turn_is_recorded(agent):
    agent.stop(b"no JSON")
    agent.wait_for_event("failed")
    agent.turn(1)
    agent.stop()
    agent.wait_for_event("recorded")
    (row,) = json.loads(scopes("setup", "--status", "--only", "hooks", "claude-code", "--json", table=PRODUCT).stdout)[
        "hooks"
    ]
    assert row["condition"] == "installed"
    assert "problem" not in row
    assert row["last"]


def test_a_hook_of_an_agent_that_is_unknown_fails_no_agent(agent):
    command = agent.commands[0].replace("claude-code", "another-agent")
    done = agent.run(command)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert "is not an agent with hooks" in agent.wait_for_event("failed")["error"]


def test_code_of_the_project_is_not_run(agent, tmp_path):
    """The hook runs in a project that may be hostile, with variables that an agent may have taken from its `.env`."""
    for name in ("scopes", "json", "select", "pygit2", "sitecustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    bin_directory = tmp_path / "bin"
    bin_directory.mkdir()
    for name in ("git", "python", "scopes"):
        (bin_directory / name).write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran'}\n")
        (bin_directory / name).chmod(0o755)
    agent.turn(1)
    agent.stop(PYTHONPATH=str(tmp_path), PYTHONSTARTUP=str(tmp_path / "json.py"))
    agent.wait_for_texts(*texts_of(1))
    agent.close()
    assert not (tmp_path / "ran").exists()


def test_the_agent_does_not_wait_for_the_import(agent):
    """No stream of the agent stays open: a slow disk, or a large session, is not its concern."""
    agent.turn(1)
    started = subprocess.Popen(
        ["/bin/sh", "-c", agent.commands[0]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    started.communicate(json.dumps(agent.input).encode())  # until both streams are closed
    assert agent.recorders()  # it is still at work
    agent.wait_for_texts(*texts_of(1))


def test_an_agent_that_keeps_the_input_open_is_not_waited_for(agent):
    agent.turn(1)
    started = subprocess.Popen(["/bin/sh", "-c", agent.commands[0]], stdin=subprocess.PIPE)
    started.stdin.write(json.dumps(agent.input).encode())
    started.stdin.flush()
    assert started.wait(30) == 0
    started.stdin.close()
    agent.wait_for_texts(*texts_of(1))


def test_the_process_outlives_the_group_of_the_agent(agent):
    """Some agents kill the process group of a hook when it is over."""
    agent.turn(1)
    script = f"({agent.commands[0]}) < {agent.project}/input; kill -9 0"
    (agent.project / "input").write_text(json.dumps(agent.input))
    subprocess.run(["/bin/sh", "-c", script], start_new_session=True, check=False)
    agent.wait_for_texts(*texts_of(1))


def test_a_session_without_a_store_named_goes_to_the_store_of_its_project(sealed_world, tmp_path, monkeypatch):
    agent = HookAgent(sealed_world, tmp_path)
    monkeypatch.delenv("SCOPES_STORE")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    assert scopes("-C", str(tmp_path), "init", table=PRODUCT).returncode == 0
    scopes("setup", "claude-code", "--only", "hooks", table=PRODUCT)
    agent.store = str(tmp_path / ".git/scopes")
    agent.turn(1)
    agent.project = sealed_world  # where the process starts; the input names the project
    agent.stop(json.dumps({**agent.input, "cwd": str(tmp_path)}))
    agent.wait_for_texts(*texts_of(1))
    agent.wait_for_event("recorded")


def test_the_older_setting_of_codex_gives_the_input_as_an_argument(agent, sealed_world):
    thread = "01a2157e-d70f-7c52-8e27-5916229d7d14"
    folder = sealed_world / ".codex/sessions/2026/11/26"
    folder.mkdir(parents=True)
    records = [
        ("session_meta", {"id": thread, "timestamp": "2026-11-26T01:00:00Z", "cwd": str(agent.project)}),
        ("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hello"}]}),
    ]
    lines = [json.dumps({"timestamp": "2026-11-26T01:00:01Z", "type": t, "payload": p}) + "\n" for t, p in records]
    (folder / f"rollout-2026-11-26T01-00-00-{thread}.jsonl").write_text("".join(lines))
    words = agent.commands[0].removesuffix(GUARD).replace("claude-code", "codex")
    notification = json.dumps({"type": "agent-turn-complete", "thread-id": thread, "cwd": "/it's gone"})
    done = agent.run(f'{words} "$INPUT"', b"", INPUT=notification)
    assert done.returncode == 0
    agent.wait_for_texts("hello")


def exported(*turns):
    """Return an export of OpenCode with turns, in the shape that its plugin gives."""
    messages = []
    for number in turns:
        user, answer = f"msg_{number}a", f"msg_{number}b"
        messages += [
            message(user, "user", f"prompt {number}", number, agent="build"),
            message(answer, "assistant", f"answer {number}", number, parentID=user, modelID="m", providerID="p"),
        ]
    info = {"id": "ses_1", "directory": "/work/shop", "title": "made up", "version": "1.18.33", "time": {"created": 1}}
    return {"info": info, "messages": messages}


def message(name, role, text, number, **fields):
    moment = 1_795_656_590_000 + number
    info = {"id": name, "sessionID": "ses_1", "role": role, "time": {"created": moment}, **fields}
    part = {"id": f"prt_{name}", "sessionID": "ses_1", "messageID": name, "type": "text", "text": text}
    return {"info": info, "parts": [part]}


def test_the_plugin_of_opencode_gives_the_whole_session_and_new_turns_are_added(agent):
    command = agent.commands[0].replace("claude-code", "opencode")
    for last in (1, 2, 3):
        turn = {"hook_event_name": "session.idle", "session_id": "ses_1", "cwd": str(agent.project)}
        done = agent.run(command, json.dumps({**turn, "export": exported(*range(1, last + 1))}))
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
        agent.wait_for_texts(*texts_of(*range(1, last + 1)))
        agent.close()
    assert agent.conversations(open_store(agent.store)) == ["conv-001"]


def test_a_turn_without_its_session_is_in_the_log_with_the_way_to_import_it(agent):
    """`opencode run` ends while the plugin still waits for a session of many megabytes."""
    command = agent.commands[0].replace("claude-code", "opencode")
    done = agent.run(command, json.dumps({"hook_event_name": "session.idle", "session_id": "ses_1"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    event = agent.wait_for_event("failed")
    assert event["error"].startswith("OpenCode ended before it had given the session 'ses_1'")
    assert event["hint"].startswith("opencode export ses_1")


def test_a_session_of_many_megabytes_passes_through_the_input(agent):
    command = agent.commands[0].replace("claude-code", "opencode")
    document = exported(1)
    document["messages"][0]["parts"][0]["text"] = "x" * (8 << 20)
    agent.run(command, json.dumps({"session_id": "ses_1", "export": document}))
    agent.wait_for(lambda: [len(text) for text in agent.texts()] == [8 << 20, len("answer 1")])


@pytest.mark.parametrize(("target", "mebibytes"), [("claude-code", 16), ("opencode", 128)])
def test_an_input_that_no_agent_has_is_read_to_its_end_and_not_kept(agent, target, mebibytes):
    """An agent that got a broken pipe could report an error of its hook."""
    command = agent.commands[0].replace("claude-code", target)
    script = f"dd if=/dev/zero bs=1M count={mebibytes + 8} 2>/dev/null | ({command}; cat | wc -c)"
    done = agent.run(script)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, b"0", b"")
    event = agent.wait_for_event("failed")
    assert event["error"] == f"the input of the hook is larger than {mebibytes} MiB"
    assert "scopes import" in event["hint"]


def test_only_the_beginning_of_a_large_input_is_in_memory(monkeypatch):
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin:
        thread = threading.Thread(target=lambda: (os.write(writer, b"x" * (3 << 20)), os.close(writer)))
        thread.start()
        monkeypatch.setattr("sys.stdin", stdin)
        kept = hook_runner._read_input(1 << 20)
        thread.join()
    assert 1 << 20 < len(kept) < 3 << 20


@pytest.mark.slow
def test_gemini_names_its_file_and_its_turns_are_added(agent):
    path = agent.home / ".gemini/tmp/shop/chats/session-2026-11-26T01-36-3fda4e25.jsonl"
    path.parent.mkdir(parents=True)
    moment = "2026-11-26T01:36:29.996Z"
    header = {
        "sessionId": "3fda4e25-cb08",
        "projectHash": "x",
        "startTime": moment,
        "lastUpdated": moment,
        "kind": "main",
    }
    path.write_text(json.dumps(header) + "\n")
    command = agent.commands[0].replace("claude-code", "gemini")
    for number in (1, 2):
        records = [
            {"id": f"u{number}", "timestamp": moment, "type": "user", "content": [{"text": f"prompt {number}"}]},
            {"id": f"g{number}", "timestamp": moment, "type": "gemini", "content": f"answer {number}", "model": "m"},
        ]
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
        turn = {"session_id": "3fda4e25-cb08", "transcript_path": str(path), "hook_event_name": "AfterAgent"}
        agent.run(command, json.dumps({**turn, "cwd": str(agent.project), "prompt": "x", "prompt_response": "y"}))
        agent.wait_for_texts(*texts_of(*range(1, number + 1)))
    agent.close()


def test_a_project_that_is_gone_does_not_stop_the_recording(agent):
    agent.turn(1)
    agent.stop(json.dumps({**agent.input, "cwd": "/nowhere/at/all"}))
    agent.wait_for_texts(*texts_of(1))


def test_a_worktree_that_was_deleted_around_the_agent_does_not_stop_the_recording(agent, tmp_path):
    worktree = tmp_path / "shop/worktrees/one"
    worktree.mkdir(parents=True)
    agent.turn(1)
    given = json.dumps({**agent.input, "cwd": str(worktree)})
    done = agent.run(f'cd "{worktree}" && rm -r "{worktree.parent}" && {agent.commands[0]}', given.encode())
    assert done.returncode == 0
    agent.wait_for_texts(*texts_of(1))


def test_no_message_is_in_the_log(agent):
    """The log is for people who look for a mistake, and goes into reports of bugs."""
    agent.turn(1)
    agent.stop()
    agent.wait_for_event("recorded")
    with open(agent.home / ".local/state/scopes/hooks.log", encoding="utf-8") as file:
        text = file.read()
    assert "prompt" not in text
    assert "answer" not in text


def test_the_locks_of_hooks_are_gone_when_they_are_done(agent):
    agent.turn(1)
    agent.stop()
    agent.wait_for_event("recorded")
    agent.close()
    assert os.listdir(agent.home / ".local/state/scopes/hooks") == []


def test_an_agent_that_never_stops_writing_does_not_wait_for_the_hook(monkeypatch):
    monkeypatch.setattr(hook_runner, "_ALL_SECONDS", 0.3)
    reader, writer = os.pipe()
    stopped = threading.Event()

    def write():
        while not stopped.wait(0.05):
            os.write(writer, b" ")

    thread = threading.Thread(target=write)
    thread.start()
    try:
        with os.fdopen(reader) as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            assert hook_runner._read_input(1 << 20).strip() == b""
        assert thread.is_alive()
    finally:
        stopped.set()
        thread.join()
        os.close(writer)


def row_of(target="claude-code"):
    (row,) = json.loads(scopes("setup", "--status", "--only", "hooks", target, "--json", table=PRODUCT).stdout)["hooks"]
    return row


def test_a_problem_ends_when_the_file_of_the_session_is_imported(agent):
    agent.turn(1)
    with open(agent.store, "w", encoding="utf-8"):
        pass
    agent.stop()
    failed = agent.wait_for_event("failed")
    assert failed["file"] == str(agent.session)
    os.unlink(agent.store)
    last = row_of()["last"]
    for words, has_problem in ((("--dry-run",), True), ((str(agent.project),), True), ((str(agent.session),), False)):
        scopes("import", *words, table=PRODUCT)
        assert ("problem" in row_of()) is has_problem, words
    assert row_of()["last"] == last


def test_an_import_that_finds_nothing_new_ends_a_problem_too(agent):
    agent.turn(1)
    for _ in range(2):
        assert scopes("import", table=PRODUCT).returncode == 0
    EventLog(str(agent.home / ".local/state/scopes"), file_name=HOOK_LOG, target="claude-code").write(
        "failed", error="x", file=str(agent.session)
    )
    assert row_of()["problem"] == "x"
    assert scopes("import", table=PRODUCT).returncode == 0
    assert "problem" not in row_of()


@pytest.mark.parametrize("content", [None, "no transcript"])
@pytest.mark.slow
def test_for_a_file_that_cannot_be_imported_doctor_advises_no_import(agent, tmp_path, content):
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_text(content)
    agent.stop(json.dumps({**agent.input, "transcript_path": str(path)}))
    failed = agent.wait_for_event("failed")
    assert failed["unusable"] is True
    assert ("first line" in failed["error"]) is (content is not None)
    checks = json.loads(scopes("doctor", "--json", table=PRODUCT).stdout)["checks"]
    (found,) = [check for check in checks if check["name"] == "hooks of claude-code"]
    assert (found["state"], "scopes import" in found["cure"]) == ("warning", False)
