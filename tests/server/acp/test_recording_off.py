"""Whatever is wrong with the store, the agent works on."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager

import pytest

from scopes.store.repository import create_store, open_repository
from scopes.store.transactions import exclusive_write
from tests.server.acp.test_endings import wait_for
from tests.server.acp.test_spool import TURNS, spool_files


def works(desk, *options, patient=True):
    """Run a turn and return True if the editor got its answer."""
    editor = desk.editor(*options, patient=patient)
    session = editor.open(desk.project)
    editor.prompt(session, "hello")
    editor.prompt(session, "again")
    assert editor.close() == 0
    return "".join(editor.chunks(session)) == "echo: helloecho: again"


def test_a_damaged_store_is_no_reason_to_stop(desk):
    desk.run("first")
    shutil.rmtree(os.path.join(os.environ["SCOPES_STORE"], "objects"))
    os.mkdir(os.path.join(os.environ["SCOPES_STORE"], "objects"))
    assert works(desk)
    assert desk.events("continue-failed")


def test_what_a_path_that_is_no_store_cannot_take_waits_for_the_next_start(desk):
    """S0-7."""
    with open(os.environ["SCOPES_STORE"], "w") as file:
        file.write("not a store")
    assert works(desk, patient=False)
    assert "is not a scopes store" in desk.events("store-failed")[0]["error"]
    assert (len(desk.events("spool-left")), desk.events("recording-off")) == (1, [])
    os.unlink(os.environ["SCOPES_STORE"])
    desk.run("next")
    assert desk.texts() == [*TURNS, "next", "echo: next"]


@contextmanager
def small_disk(path):
    """Mount a disk of 400 KB."""
    path.mkdir()
    if os.system(f"mount -t tmpfs -o size=400k tmpfs {path} 2>/dev/null") != 0:
        pytest.skip("no file system can be mounted here")
    try:
        yield path
    finally:
        os.system(f"umount -l {path}")


def fill(disk):
    (disk / "full").write_bytes(b"x" * os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize)


@pytest.fixture
def disk(tmp_path, monkeypatch):
    """A disk for the store alone."""
    with small_disk(tmp_path / "disk") as found:
        monkeypatch.setenv("SCOPES_STORE", str(found / "store.git"))
        yield found


@pytest.mark.needs_root
def test_a_moment_of_full_disk_does_not_end_the_recording(desk, disk):
    """S0-7: the editor stays open, and has every answer at once."""
    desk.run("first")
    editor = desk.editor("--continue", "never", patient=False)
    session = editor.open(desk.project)
    fill(disk)
    editor.prompt(session, "hello")
    (disk / "full").unlink()
    editor.prompt(session, "again")
    wait_for(lambda: desk.events("store-recovered"))
    assert editor.close() == 0
    assert desk.texts("conv-002/main") == TURNS
    assert (desk.events("recording-off"), spool_files()) == ([], [])


@pytest.mark.needs_root
def test_what_a_full_disk_does_not_take_until_the_end_is_taken_by_the_next_start(desk, disk):
    """P2: what was recorded before is there."""
    desk.run("first")
    fill(disk)
    assert works(desk, "--continue", "never", patient=False)
    assert desk.texts() == ["first", "echo: first"]
    assert len(desk.events("store-failed")) == 1, "one line, however often it is tried"
    (disk / "full").unlink()
    desk.run("next", options=["--continue", "never"])
    assert sorted(map(desk.texts, desk.branches())) == sorted([["first", "echo: first"], TURNS, ["next", "echo: next"]])


@pytest.mark.needs_root
def test_a_kill_with_a_full_disk_loses_no_answered_turn(desk, disk):
    """S0-7, P4."""
    desk.run("first")
    fill(disk)
    editor = desk.editor("--continue", "never", patient=False)
    session = editor.open(desk.project)
    editor.prompt(session, "hello")
    editor.prompt(session, "again")
    editor.kill()
    (disk / "full").unlink()
    desk.run("next", options=["--continue", "never"])
    assert TURNS in [desk.texts(where) for where in desk.branches()]


def test_a_directory_that_cannot_be_created_yet_is_created_later(desk, tmp_path, monkeypatch):
    """As with a disk that is mounted late."""
    (tmp_path / "mount").write_text("")
    monkeypatch.setenv("SCOPES_STORE", str(tmp_path / "mount" / "store.git"))
    editor = desk.editor(patient=False)
    session = editor.open(desk.project)
    editor.prompt(session, "hello")
    assert len(spool_files()) == 1
    (tmp_path / "mount").unlink()
    wait_for(lambda: desk.events("store-recovered"))
    editor.prompt(session, "again")
    editor.close()
    assert (desk.texts(), spool_files()) == (TURNS, [])


def test_without_a_spool_messages_wait_in_memory(desk):
    """S0-7: until the store can be written."""
    state = os.path.join(os.environ["HOME"], ".local", "state", "scopes")
    os.makedirs(state)
    with open(os.path.join(state, "acp-spool"), "w") as file:
        file.write("a file where the directory should be")
    with open(os.environ["SCOPES_STORE"], "w") as file:
        file.write("not a store")
    editor = desk.editor(patient=False)
    session = editor.open(desk.project)
    editor.prompt(session, "hello")
    assert desk.events("spool-failed")
    os.unlink(os.environ["SCOPES_STORE"])
    editor.prompt(session, "again")
    wait_for(lambda: desk.events("store-recovered"))
    editor.close()
    assert desk.texts() == TURNS


def test_a_store_that_is_locked_delays_an_answer_only_shortly(desk):
    """The answer waits a limited time; the record follows when the lock is free."""
    create_store(os.environ["SCOPES_STORE"])
    repository = open_repository(os.environ["SCOPES_STORE"])
    editor = desk.editor()
    session = editor.open(desk.project)
    with exclusive_write(repository):
        editor.prompt(session, "hello")
        editor.prompt(session, "again")
    editor.prompt(session, "free")
    editor.close()
    assert desk.texts() == ["hello", "echo: hello", "again", "echo: again", "free", "echo: free"]
    [event] = desk.events("recording-slow")
    assert event["error"] == "not in the store after 2 seconds: another process may have locked it"


def test_a_log_that_cannot_be_written_is_no_reason_to_stop(desk):
    os.makedirs(os.path.join(os.environ["HOME"], ".local"))
    with open(os.path.join(os.environ["HOME"], ".local", "state"), "w") as file:
        file.write("a file where the directory should be")
    assert works(desk)
    assert desk.texts() == ["hello", "echo: hello", "again", "echo: again"]
