"""A session that another proxy has is not continued: that proxy is known by a lock, which does not outlive it."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from scopes.live.event_log import EventLog, read_events
from scopes.server.acp.live_sessions import Holder, LiveSessions
from scopes.store.locks import DIRECTORY
from tests.importers.demo_format import session_records, write_transcript
from tests.importers.stores import import_demo
from tests.server.acp.test_endings import wait_for
from tests.support.acp_client import prompt_params
from tests.support.store import make_store

NAMES = ("stub", "agent-1")


def files():
    return sorted(Path(os.environ["SCOPES_STORE"], DIRECTORY).iterdir())


def note_of(desk, *options, **profile):
    """Start a second editor, prompt once, and return what the proxy has written to its standard error."""
    path = desk.project / "stderr"
    with path.open("wb") as file:
        editor = desk.editor(*options, stderr=file, **profile)
        editor.prompt(editor.open(desk.project), "second")
    return " ".join(path.read_text().split())


def live_editor(desk, text="first", **profile):
    editor = desk.editor(**profile)
    editor.prompt(editor.open(desk.project), text)
    return editor


@pytest.mark.parametrize("profile", [{"resume": True}, {"load": True}, {"fork": True}, {}])
def test_a_second_editor_gets_a_session_of_its_own_and_says_how_to_go_on_in_the_other_one(desk, profile):
    """S3-20: whatever the agent offers, nothing of the live session is continued, and no history is put in."""
    one = live_editor(desk, **profile)
    note = note_of(desk, **profile)
    one.prompt("agent-1", "third")
    assert [desk.received(f"session/{way}") for way in ("resume", "load", "fork")] == [[], [], []]
    assert desk.prompts() == [["first"], ["second"], ["third"]]
    assert desk.texts("conv-001/main") == ["first", "echo: first", "third", "echo: third"]
    assert desk.texts("conv-002/main") == ["second", "echo: second"]
    process = desk.events("start")[0]["pid"]
    assert f"note: this is a new session: another scopes acp (process {process}) has conv-001/main" in note
    assert "scopes acp --conversation conv-001/main --fork -- AGENT" in note


@pytest.mark.parametrize("profile", [{"resume": True, "fork": True}, {"resume": True, "load": True}])
def test_a_live_session_that_is_named_is_forked(desk, profile):
    """S3-20: two live sessions of one agent and directory are two branches."""
    one = live_editor(desk, **profile)
    note = note_of(desk, "--conversation", "conv-001", **profile)
    one.prompt("agent-1", "third")
    assert (desk.received("session/resume"), desk.received("session/load")) == ([], [])
    assert desk.texts("conv-001/main") == ["first", "echo: first", "third", "echo: third"]
    assert desk.texts("conv-001/fork/stub") == ["first", "echo: first", "second", "echo: second"]
    assert "this session goes on on a branch of its own: another scopes acp" in note
    [event] = desk.events("session-live")
    assert (event["where"], event["forked"]) == ("conv-001/main", True)


def test_a_conversation_of_another_session_that_is_imported_is_named_before_it_is_taken(desk, tmp_path):
    """Its next messages are on another branch then, and nobody saw why."""
    store = make_store(Path(os.environ["SCOPES_STORE"]))
    import_demo(store, write_transcript(tmp_path / "a.jsonl", *session_records("s1", "a b")))
    note = note_of(desk, "--conversation", "conv-001")
    assert "conv-001/main is the branch of another session: what that says from now on goes to a branch" in note
    assert "scopes branch conv-001 NAME --from main, and then: scopes acp --conversation conv-001/NAME" in note
    assert "branch of another session" not in note_of(desk, "--conversation", "conv-001")


def test_of_two_windows_that_start_again_the_second_one_learns_which_conversation_is_not_open(desk):
    """The first one goes on with the newest; the thread of the other one has another name."""
    one, two = live_editor(desk, "first", resume=True), live_editor(desk, "other", resume=True)
    one.close()
    two.close()
    desk.editor(resume=True).open(desk.project)
    note = note_of(desk, resume=True)
    assert "another scopes acp (process" in note
    assert "has conv-002/main hint: to go on with conv-001/main, which is not open: scopes acp" in note
    assert "--conversation conv-001/main -- AGENT hint: to go on from that one" in note


def test_a_fork_that_the_user_asked_for_says_nothing(desk):
    live_editor(desk, fork=True)
    assert note_of(desk, "--fork", fork=True) == ""
    assert desk.branches() == ["conv-001/fork/stub", "conv-001/main"]


def test_a_session_is_live_before_its_first_prompt(desk):
    """It is continued already, although nothing in the record says so."""
    desk.run("first", resume=True)
    one = desk.editor(resume=True)
    assert one.open(desk.project) == "agent-1"
    assert "conv-001/main" in note_of(desk, resume=True)
    one.prompt("agent-1", "third")
    assert desk.texts()[2:] == ["third", "echo: third"]


@pytest.mark.parametrize("how", ["close", "kill"])
def test_a_session_whose_proxy_has_ended_or_was_killed_is_continued(desk, how):
    """P4: a process that was killed holds nothing, and its file is in nobody's way."""
    one = live_editor(desk, resume=True)
    assert len(files()) == 1
    getattr(one, how)()
    assert len(files()) == (how == "kill")
    desk.run("second", resume=True)
    assert desk.received("session/resume")[0]["params"]["sessionId"] == "agent-1"
    assert desk.texts() == ["first", "echo: first", "second", "echo: second"]
    assert files() == []


def test_a_session_is_free_as_soon_as_its_editor_has_gone(desk):
    """An editor that starts again does not wait for an agent that takes its time to end."""
    one = live_editor(desk, resume=True)
    one.begin("session/prompt", prompt_params("agent-1", "slow"))
    wait_for(lambda: "so far" in one.chunks("agent-1"))
    one.process.stdin.close()
    wait_for(lambda: not files())
    assert one.process.poll() is None
    assert desk.editor(resume=True).open(desk.project) == "agent-1"
    with suppress(ProcessLookupError):
        os.kill(int((desk.folder / "pid").read_text()), signal.SIGKILL)


def test_a_new_thread_of_the_same_editor_may_continue_the_same_conversation(desk):
    """S3-20: `--continue always` asks for it."""
    desk.run("first", resume=True)
    editor = desk.editor("--continue", "always", resume=True)
    assert [editor.open(desk.project) for _ in range(2)] == ["agent-1", "agent-1"]
    assert desk.events("session-live") == []


def test_another_agent_that_goes_on_with_the_branch_of_a_live_session_gets_a_branch(desk):
    live_editor(desk)
    assert "on a branch of its own" in note_of(desk, "--conversation", "conv-001", name="other")
    assert desk.branches() == ["conv-001/fork/other", "conv-001/main"]


@pytest.fixture
def store(tmp_path):
    (tmp_path / "store").mkdir()
    return str(tmp_path / "store")


def proxy_of(tmp_path):
    return LiveSessions(EventLog(str(tmp_path / "state")))


def test_one_process_holds_a_session_until_it_releases_it(tmp_path, store):
    one, two = proxy_of(tmp_path), proxy_of(tmp_path)
    one.hold(store, *NAMES)
    one.hold(store, *NAMES)
    with pytest.raises(Holder) as raised:
        two.hold(store, *NAMES)
    assert raised.value.process == str(os.getpid())
    two.hold(store, "stub", "agent-2")
    one.release(store, *NAMES)
    two.hold(store, *NAMES)
    two.release_all()
    two.hold(store, *NAMES)
    assert list(Path(store, DIRECTORY).iterdir()) == []


def test_a_session_is_free_unless_this_proxy_or_another_one_has_it(tmp_path, store):
    mine, theirs = LiveSessions(EventLog(str(tmp_path))), LiveSessions(EventLog(str(tmp_path)))
    assert mine.is_free(store, *NAMES)
    theirs.hold(store, *NAMES)
    assert (mine.is_free(store, *NAMES), theirs.is_free(store, *NAMES)) == (False, False)
    assert mine.is_free(store, "stub", "agent-2")
    theirs.release_all()
    assert mine.is_free(store, *NAMES)
    mine.hold(store, *NAMES)  # looking leaves no lock


def test_files_of_proxies_that_were_killed_are_deleted_and_those_of_others_are_kept(tmp_path, store):
    one, two = proxy_of(tmp_path), proxy_of(tmp_path)
    one.hold(store, *NAMES)
    [kept] = Path(store, DIRECTORY).iterdir()
    (kept.parent / "0123").write_text("99999\n")
    two.hold(store, "stub", "agent-2")
    assert len(list(kept.parent.iterdir())) == 2
    assert kept.exists()


@pytest.mark.parametrize("obstacle", ["file", "link"])
def test_a_store_in_which_no_session_can_be_held_stops_nobody(tmp_path, store, obstacle):
    """The second one is another directory, which a store of somebody else may point to: nothing is written there."""
    (tmp_path / "elsewhere").mkdir()
    place = Path(store, DIRECTORY)
    place.touch() if obstacle == "file" else place.symlink_to(tmp_path / "elsewhere")
    proxy_of(tmp_path).hold(store, *NAMES)
    assert [event.name for event in read_events(str(tmp_path / "state")).events] == ["not-held"]
    assert list((tmp_path / "elsewhere").iterdir()) == []
