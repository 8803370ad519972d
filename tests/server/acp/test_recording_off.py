"""Whatever is wrong with the store, the agent works on."""

from __future__ import annotations

import os
import shutil

import pytest

from scopes.store.init import create_store
from scopes.store.open_repository import open_repository
from scopes.store.transactions import exclusive_write


def works(desk, *options):
    """Run a turn and return True if the editor got its answer."""
    editor = desk.editor(*options)
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


def test_a_path_that_is_no_store_is_no_reason_to_stop(desk):
    with open(os.environ["SCOPES_STORE"], "w") as file:
        file.write("not a store")
    assert works(desk)
    assert "is not a scopes store" in desk.events("recording-off")[0]["error"]


@pytest.mark.needs_root
def test_a_full_disk_stops_the_recording_once_and_not_the_agent(desk, monkeypatch, tmp_path):
    """P2: what was recorded before is there."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if os.system(f"mount -t tmpfs -o size=400k tmpfs {disk} 2>/dev/null") != 0:
        pytest.skip("no file system can be mounted here")
    try:
        monkeypatch.setenv("SCOPES_STORE", str(disk / "store.git"))
        desk.run("first")
        (disk / "full").write_bytes(b"x" * os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize)
        assert works(desk, "--continue", "never")
        assert len(desk.events("recording-off")) == 1
        assert desk.texts() == ["first", "echo: first"]
    finally:
        os.system(f"umount -l {disk}")


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
    assert len(desk.events("recording-slow")) == 1


def test_a_log_that_cannot_be_written_is_no_reason_to_stop(desk):
    os.makedirs(os.path.join(os.environ["HOME"], ".local"))
    with open(os.path.join(os.environ["HOME"], ".local", "state"), "w") as file:
        file.write("a file where the directory should be")
    assert works(desk)
    assert desk.texts() == ["hello", "echo: hello", "again", "echo: again"]
