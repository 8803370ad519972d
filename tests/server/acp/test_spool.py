"""What the store cannot take in time is on disk before the answer goes on, and is taken into the store once."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from contextlib import contextmanager
from pathlib import Path

import pytest

from scopes.importers.import_sample import SAMPLE_SESSIONS
from scopes.store.repository import create_store, open_repository
from scopes.store.transactions import exclusive_write
from tests.cli.running import PRODUCT, scopes
from tests.server.acp.test_endings import wait_for
from tests.server.acp.test_kills import expected, run_until_killed
from tests.support.acp_client import prompt_params
from tests.support.hook_agent import HookAgent, texts_of

TURNS = ["hello", "echo: hello", "again", "echo: again"]


@contextmanager
def locked_store():
    """Hold the lock of the store, as a long operation of another process does."""
    create_store(os.environ["SCOPES_STORE"])
    with exclusive_write(open_repository(os.environ["SCOPES_STORE"])):
        yield


def spool_files():
    directory = Path(os.environ["HOME"], ".local/state/scopes/acp-spool")
    return sorted(directory.iterdir()) if directory.exists() else []


def prompts_in_a_locked_store(desk, *texts, options=(), **profile):
    """Return an editor that got the answers although the store was locked."""
    editor = desk.editor(*options, patient=False, **profile)
    session = editor.open(desk.project)
    for text in texts:
        assert editor.prompt(session, text)["stopReason"] == "end_turn"
    return editor


def kill_with_a_locked_store(desk, *texts, options=(), **profile):
    with locked_store():
        prompts_in_a_locked_store(desk, *texts, options=options, **profile).kill()


def test_a_kill_while_the_store_is_locked_loses_no_answered_turn(desk):
    """S0-7, P4: the next start has each turn exactly once, before it continues."""
    kill_with_a_locked_store(desk, "hello", "again")
    assert desk.branches() == []
    desk.run("next")
    assert desk.texts() == [*TURNS, "next", "echo: next"]
    assert "echo: again" in desk.prompts()[2][0], "the history that is put in has them too"
    assert spool_files() == []
    assert [event["messages"] for event in desk.events("spool-taken")] == [4]


def test_a_conversation_that_was_continued_goes_on_where_it_was(desk):
    desk.run("first", resume=True)
    kill_with_a_locked_store(desk, "hello", "again", resume=True)
    desk.run("next", resume=True)
    assert desk.texts() == ["first", "echo: first", *TURNS, "next", "echo: next"]
    assert desk.branches() == ["conv-001/main"]


@pytest.mark.slow
def test_what_was_written_before_the_kill_is_not_taken_again(desk, tmp_path):
    """P4: the proxy was killed after the store had it, and before the file was deleted."""
    with locked_store():
        editor = prompts_in_a_locked_store(desk, "hello", "again")
        [file] = spool_files()
        shutil.copy(file, tmp_path / "kept")
    editor.close()
    assert (desk.texts(), spool_files()) == (TURNS, [])
    shutil.copy(tmp_path / "kept", file)
    desk.run("next")
    assert desk.texts() == [*TURNS, "next", "echo: next"]


def test_a_half_written_turn_is_completed_in_its_order(desk, tmp_path):
    """The store had the first turn only."""
    with locked_store():
        editor = prompts_in_a_locked_store(desk, "hello")
        [file] = spool_files()
        first = file.read_bytes()
        editor.prompt("agent-1", "again")
        both = file.read_bytes()
        editor.kill()
    file.write_bytes(first)
    assert scopes("import", "--sample", table=PRODUCT).returncode == 0
    desk.run("between", options=["--continue", "never"])
    before = desk.texts("conv-002/main")
    file.write_bytes(both)
    desk.run("next", options=["--conversation", "conv-002"])
    assert before == TURNS[:2]
    assert desk.texts("conv-002/main") == [*TURNS, "next", "echo: next"]


def test_the_file_is_readable_by_its_owner_alone_and_gone_when_the_store_has_caught_up(desk):
    with locked_store():
        editor = prompts_in_a_locked_store(desk, "hello")
        [file] = spool_files()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    editor.prompt("agent-1", "again")
    editor.close()
    assert (desk.texts(), spool_files()) == (TURNS, [])


def test_a_store_that_is_not_locked_needs_no_spool(desk):
    desk.run("hello", "again")
    assert spool_files() == []
    assert desk.events("recording-slow") == []


def test_a_prompt_that_the_store_does_not_take_survives_a_kill_before_its_answer(desk):
    """It is what the user has typed; the agent has it already, so nothing of the line waits for that."""
    with locked_store():
        editor = desk.editor()
        editor.begin("session/prompt", prompt_params(editor.open(desk.project), "wait a long prompt"))
        wait_for(lambda: editor.chunks("agent-1") == ["working"])
        wait_for(lambda: b"long prompt" in b"".join(file.read_bytes() for file in spool_files()))
        editor.kill()
    assert desk.branches() == []
    desk.run("next", options=["--continue", "never"])
    assert desk.texts("conv-001/main") == ["wait a long prompt"]
    assert spool_files() == []


def test_a_prompt_while_the_store_is_known_to_be_locked_is_kept_at_once(desk):
    """With the turn before it, each message once."""
    with locked_store():
        editor = prompts_in_a_locked_store(desk, "hello")
        [file] = spool_files()
        before = file.read_bytes().count(b"\n")
        editor.begin("session/prompt", prompt_params("agent-1", "wait"))
        wait_for(lambda: file.read_bytes().count(b"\n") > before)
        editor.kill()
    desk.run("next", options=["--continue", "never"])
    assert desk.texts("conv-001/main") == [*TURNS[:2], "wait"]


def test_a_prompt_that_was_kept_is_in_the_store_once_when_that_is_free(desk):
    with locked_store():
        editor = desk.editor()
        editor.begin("session/prompt", prompt_params(editor.open(desk.project), "wait"))
        wait_for(spool_files)
    wait_for(lambda: not spool_files())
    assert desk.texts() == ["wait"]
    editor.send({"method": "session/cancel", "params": {"sessionId": "agent-1"}})
    editor.close()
    assert desk.texts() == ["wait", "working"]


def test_the_messages_of_a_live_proxy_are_left_to_it(desk):
    """Another start takes nothing of them, and `doctor` does not count them."""
    with locked_store():
        editor = prompts_in_a_locked_store(desk, "hello")
        assert "acp spool" not in scopes("doctor", table=PRODUCT).stdout
        other = desk.editor("--continue", "never", patient=False)
        other.open(desk.project)
        other.close()
        assert len(spool_files()) == 1
    editor.close()
    assert desk.texts() == TURNS[:2]


def test_a_line_that_was_cut_off_is_left_out(desk):
    """The machine went down during the write: the editor had no answer yet."""
    kill_with_a_locked_store(desk, "hello", "again")
    [file] = spool_files()
    file.write_bytes(file.read_bytes()[:-20])
    desk.run("next")
    assert desk.texts() == [*TURNS[:-1], "next", "echo: next"]
    assert [event["damaged"] for event in desk.events("spool-taken")] == [1]


@pytest.mark.slow
def test_what_waits_for_another_store_is_left_there(desk, monkeypatch, tmp_path):
    kill_with_a_locked_store(desk, "hello", "again")
    own = os.environ["SCOPES_STORE"]
    monkeypatch.setenv("SCOPES_STORE", str(tmp_path / "other.git"))
    desk.run("elsewhere", options=["--continue", "never"])
    assert desk.texts() == ["elsewhere", "echo: elsewhere"]
    monkeypatch.setenv("SCOPES_STORE", own)
    desk.run("next")
    assert desk.texts() == [*TURNS, "next", "echo: next"]


@pytest.mark.slow
def test_a_store_that_is_locked_at_the_next_start_too_gets_it_later(desk):
    kill_with_a_locked_store(desk, "hello", "again")
    kill_with_a_locked_store(desk, "third")
    assert len(spool_files()) == 2
    desk.run("next")
    branches = [desk.texts(where) for where in desk.branches()]
    assert sorted(text for texts in branches for text in texts if "t" in text) == [
        "echo: next",
        "echo: third",
        "next",
        "third",
    ]
    assert TURNS in [texts[:4] for texts in branches]
    assert spool_files() == []


def test_a_fork_that_waits_becomes_a_branch(desk):
    desk.run("first", fork=True)
    kill_with_a_locked_store(desk, "hello", options=["--fork"], fork=True)
    desk.run("next", options=["--continue", "never"])
    assert desk.texts("conv-001/main") == ["first", "echo: first"]
    assert desk.texts("conv-001/fork/stub") == ["first", "echo: first", "hello", "echo: hello"]


def test_a_fork_of_a_session_that_waits_too_begins_where_that_was(desk):
    """Both sessions are in one file; the editor forked one that the store did not have yet."""
    with locked_store():
        editor = prompts_in_a_locked_store(desk, "first", fork=True)
        forked = editor.ask("session/fork", {"sessionId": "agent-1", "cwd": str(desk.project), "mcpServers": []})
        editor.prompt(forked["sessionId"], "hello")
        editor.kill()
    desk.run("next", options=["--continue", "never"])
    assert desk.texts("conv-001/main") == ["first", "echo: first"]
    assert desk.texts("conv-001/fork/stub") == ["first", "echo: first", "hello", "echo: hello"]


def test_secrets_are_not_in_the_spool_with_redact(desk):
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    kill_with_a_locked_store(desk, f"use {key}", options=["--secrets", "redact"])
    [file] = spool_files()
    assert key.encode() not in file.read_bytes()
    assert b"[redacted" in file.read_bytes()


def test_an_agent_that_ends_while_the_store_is_locked_leaves_its_turn(desk):
    """S3-24: the partial turn too."""
    with locked_store():
        editor = prompts_in_a_locked_store(desk, "hello")
        editor.begin("session/prompt", prompt_params("agent-1", "die"))
        wait_for(lambda: sum(event["messages"] for event in desk.events("spooled")) == 4)
        editor.kill()
    desk.run("next")
    assert desk.texts()[:4] == ["hello", "echo: hello", "die", "I begin"]
    assert desk.messages()[3].status == "interrupted"


def test_a_spool_that_cannot_be_written_delays_an_answer_only_shortly(desk):
    """The recording never stands in the way: the record follows when the lock is free."""
    state = Path(os.environ["HOME"], ".local/state/scopes")
    state.mkdir(parents=True)
    (state / "acp-spool").write_text("a file where the directory should be")
    with locked_store():
        editor = prompts_in_a_locked_store(desk, "hello", "again")
        assert "in memory only" in " ".join(scopes("doctor", table=PRODUCT).stdout.split())
    wait_for(lambda: desk.events("caught-up"))
    assert "acp recording" not in scopes("doctor", table=PRODUCT).stdout
    editor.close()
    assert desk.texts() == TURNS


@pytest.mark.parametrize("point", [9, 22, 28])
def test_a_kill_at_some_points_with_a_locked_store_loses_nothing(desk, point):
    """P4: and it is before the next session, which continues nothing and so waits for nothing."""
    with locked_store():
        answered, _ = run_until_killed(desk, "proxy", point, patient=False)
    desk.run("afterwards", options=["--continue", "never"])
    wanted = [each for text in answered for each in expected(text)]
    assert [text for text in desk.texts() if text != "said afterwards"][: len(wanted)] == wanted
    assert spool_files() == []


def test_an_import_takes_what_waits(desk):
    kill_with_a_locked_store(desk, "hello", "again")
    before = scopes("import", SAMPLE_SESSIONS[0], "--dry-run", table=PRODUCT)
    assert (before.returncode, len(spool_files())) == (0, 1)
    done = scopes("import", SAMPLE_SESSIONS[0], table=PRODUCT)
    assert "took 4 messages of scopes acp that waited for the store" in done.stderr
    assert desk.texts() == TURNS


def test_doctor_says_what_waits_for_which_store(desk):
    kill_with_a_locked_store(desk, "hello", "again")
    done = scopes("doctor", table=PRODUCT)
    assert "4 messages of a proxy that has ended: not in the store" in done.stdout
    assert "scopes import, a hook or the next scopes acp" in done.stdout
    desk.run("next")
    assert "acp spool" not in scopes("doctor", table=PRODUCT).stdout


def test_a_hook_takes_what_waits(desk, sealed_world):
    """A hook of another session of the same store."""
    kill_with_a_locked_store(desk, "hello", "again")
    assert scopes("setup", "claude-code", "--only", "hooks", table=PRODUCT).returncode == 0
    agent = HookAgent(sealed_world, desk.project)
    agent.turn(1)
    agent.stop()
    wait_for(lambda: not spool_files())
    agent.close()
    assert sorted([desk.texts(where) for where in desk.branches()]) == sorted([TURNS, texts_of(1)])


def test_a_session_that_the_editor_loaded_goes_on_in_its_conversation(desk):
    """The store was locked by then, and another session waited before it."""
    desk.run("first", load=True)
    with locked_store():
        editor = prompts_in_a_locked_store(desk, "other", options=["--continue", "never"], load=True)
        editor.ask("session/load", {"sessionId": "agent-1", "cwd": str(desk.project), "mcpServers": []})
        editor.prompt("agent-1", "hello")
        editor.kill()
    desk.run("next", options=["--continue", "never"])
    assert desk.texts("conv-001/main") == ["first", "echo: first", "hello", "echo: hello"]
    assert desk.texts("conv-002/main") == ["other", "echo: other"]


@contextmanager
def editor_at_a_locked_store(desk, *options, **profile):
    """Yield an editor whose proxy could take nothing at its start; then let it write."""
    with locked_store():
        before = len(desk.events("store-busy"))
        editor = desk.editor(*options, patient=False, **profile)
        wait_for(lambda: len(desk.events("store-busy")) > before)
        yield editor
    editor.close()


def test_what_was_left_comes_before_the_sessions_of_a_store_that_was_locked_at_the_start(desk):
    """Not one start later, behind what happened after it."""
    kill_with_a_locked_store(desk, "hello", "again")
    with editor_at_a_locked_store(desk, "--continue", "never") as editor:
        editor.prompt(editor.open(desk.project), "next")
    assert desk.texts("conv-001/main") == TURNS
    assert desk.texts("conv-002/main") == ["next", "echo: next"]
    assert spool_files() == []


def test_a_session_that_the_editor_loads_at_a_locked_store_goes_on_after_what_was_left_of_it(desk):
    kill_with_a_locked_store(desk, "hello", "again", load=True)
    with editor_at_a_locked_store(desk, load=True) as editor:
        editor.ask("session/load", {"sessionId": "agent-1", "cwd": str(desk.project), "mcpServers": []})
        editor.prompt("agent-1", "next")
    assert desk.branches() == ["conv-001/main"]
    assert desk.texts() == [*TURNS, "next", "echo: next"]


def test_a_session_that_is_resumed_at_a_locked_store_goes_on_after_what_was_left_of_it(desk):
    """The agent knows those turns: they are not another branch."""
    desk.run("first", resume=True)
    kill_with_a_locked_store(desk, "hello", "again", resume=True)
    with editor_at_a_locked_store(desk, resume=True) as editor:
        editor.prompt(editor.open(desk.project), "next")
    assert desk.branches() == ["conv-001/main"]
    assert desk.texts() == ["first", "echo: first", *TURNS, "next", "echo: next"]


@pytest.mark.slow
def test_a_session_that_was_resumed_and_killed_twice_at_a_locked_store_is_on_one_branch(desk):
    desk.run("first", resume=True)
    kill_with_a_locked_store(desk, "hello", "again", resume=True)
    kill_with_a_locked_store(desk, "third", resume=True)
    desk.run("next", resume=True)
    assert desk.branches() == ["conv-001/main"]
    assert desk.texts() == ["first", "echo: first", *TURNS, "third", "echo: third", "next", "echo: next"]


@pytest.mark.slow
def test_another_session_does_not_go_on_after_what_was_left(desk):
    """The agent did not know those turns: it began again where the store was."""
    desk.run("first")
    kill_with_a_locked_store(desk, "hello", "again")
    with editor_at_a_locked_store(desk) as editor:
        editor.prompt(editor.open(desk.project), "next")
    assert desk.texts("conv-001/main") == ["first", "echo: first", *TURNS]
    assert desk.texts("conv-001/session/stub") == ["first", "echo: first", "next", "echo: next"]


def test_what_was_left_comes_before_the_sessions_of_a_store_that_cannot_be_opened_at_the_start(desk, tmp_path):
    """The new session waits for it, as in a store that is locked; it was written first, and what was left later."""
    kill_with_a_locked_store(desk, "hello", "again")
    store = Path(os.environ["SCOPES_STORE"])
    store.rename(tmp_path / "away")
    store.write_text("not a store")
    editor = desk.editor("--continue", "never", patient=False)
    wait_for(lambda: desk.events("spool-not-taken"))
    editor.prompt(editor.open(desk.project), "next")
    store.unlink()
    (tmp_path / "away").rename(store)
    wait_for(lambda: desk.events("store-recovered"))
    editor.close()
    assert [desk.texts(where) for where in desk.branches()] == [TURNS, ["next", "echo: next"]]
    assert spool_files() == []


@pytest.mark.slow
def test_what_waits_for_a_store_that_is_gone_comes_before_the_session_that_goes_on_with_it(desk):
    kill_with_a_locked_store(desk, "hello", "again")
    shutil.rmtree(os.environ["SCOPES_STORE"])
    desk.run("next")
    assert [desk.texts(where) for where in desk.branches()] == [[*TURNS, "next", "echo: next"]]
    assert spool_files() == []


def test_what_a_process_that_still_ends_has_locked_is_taken_with_the_next_session(desk):
    """A killed proxy that waits for a slow disk, or a child that it had just started."""
    kill_with_a_locked_store(desk, "hello", "again")
    [path] = spool_files()
    with path.open("rb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        editor = desk.editor("--continue", "never")
        editor.prompt(editor.open(desk.project), "next")
        assert path in spool_files()
    editor.open(desk.project)
    editor.close()
    assert spool_files() == []
    assert sorted(desk.texts(where) for where in desk.branches()) == sorted([TURNS, ["next", "echo: next"]])
