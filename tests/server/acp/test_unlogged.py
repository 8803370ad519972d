"""Without a state directory that can be written the proxy says on standard error how the recording goes."""

from __future__ import annotations

import errno
import os

import pytest

from scopes.live.event_log import EventLog, why_unwritable
from scopes.server.acp.acp_events import acp_log, acp_stats
from scopes.server.acp.unlogged import tell_unlogged
from scopes.server.doctor_checks import check_agents


@pytest.fixture
def blocked(tmp_path, monkeypatch):
    """Return a directory that cannot be made: a file is in its place. No user can write there, root neither."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    return str(tmp_path / "file" / "scopes")


@pytest.fixture
def run_with_stderr(desk, tmp_path):
    """Run the proxy with two prompts, and return what it has written on standard error."""

    def run(**options):
        with open(tmp_path / "stderr", "wb") as stderr:
            editor = desk.editor(stderr=stderr, **options)
            session = editor.open(desk.project)
            answers = [editor.prompt(session, text)["stopReason"] for text in ("first", "second")]
            editor.close()
        assert answers == ["end_turn", "end_turn"]
        return (tmp_path / "stderr").read_text()

    return run


def test_a_recording_without_a_log_says_so_once_and_goes_on(desk, blocked, run_with_stderr):
    written = run_with_stderr()
    assert written.count("\n") == written.count("note: ") + written.count("hint: ")
    assert written.count(f"note: cannot write {blocked}: ") == 1  # a slow disk adds a note about the spool
    assert written.startswith(
        f"note: cannot write {blocked}: Not a directory\nhint: scopes doctor and scopes acp --log cannot"
    )
    assert desk.texts() == ["first", "echo: first", "second", "echo: second"]


def test_a_recording_that_goes_nowhere_says_so(blocked, run_with_stderr, tmp_path, monkeypatch):
    """A home directory on a read-only file system: nothing written that nothing was recorded."""
    monkeypatch.setenv("SCOPES_STORE", str(tmp_path / "file" / "store.git"))
    written = run_with_stderr(patient=False)
    assert f"note: cannot write {blocked}: " in written
    assert written.count("note: the recording waits in memory for its store: cannot create a store") == 1
    assert written.count("note: what waits for its store cannot be kept on disk: ") == 1


def test_a_recording_with_a_log_says_nothing(run_with_stderr):
    assert run_with_stderr() == ""


def test_each_thing_is_shown_once_with_its_hint():
    notes = []
    on_lost = tell_unlogged("/state", notes.append)
    error = OSError(errno.EROFS, "Read-only file system")
    for _ in range(3):
        on_lost("start", {"program": "x"}, error)
        on_lost("store-failed", {"error": "no store", "hint": "make one"}, error)
    on_lost("recording-off", {"error": "too much waits"}, error)
    assert [(note.text, note.hint) for note in notes[1:]] == [
        ("the recording waits in memory for its store: no store", "make one"),
        ("nothing more is recorded: too much waits", None),
    ]
    assert notes[0].text == "cannot write /state: Read-only file system"


def test_doctor_and_the_log_name_a_state_directory_that_cannot_be_written(tmp_path, blocked):
    reason = f"cannot write {blocked}: {os.path.dirname(blocked)} is not a directory"
    [check] = [each for each in check_agents(blocked, {}, str(tmp_path)) if each.name == "state directory"]
    assert (check.state, check.detail) == ("warning", reason)
    for result in (acp_stats(blocked), acp_log(blocked)):
        assert [note.text for note in result.notes] == [f"nothing more gets into the log: {reason}"]


def test_a_directory_that_may_be_made_is_writable_and_is_not_made(tmp_path):
    assert why_unwritable(str(tmp_path / "a" / "b")) is None
    assert os.listdir(tmp_path) == []
    assert [note.text for note in acp_log(str(tmp_path / "a")).notes] == []


def test_the_reason_is_that_of_the_nearest_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert why_unwritable(str(tmp_path / "a" / "b")) == f"{tmp_path}: permission denied"
    os.symlink("nowhere", tmp_path / "link")
    assert why_unwritable(str(tmp_path / "link" / "b")) == f"{tmp_path / 'link'}: no such file or directory"


def test_a_log_hands_over_what_it_cannot_write(tmp_path):
    lost = []
    (tmp_path / "file").write_text("")
    log = EventLog(str(tmp_path / "file" / "x"), on_lost=lambda *event: lost.append(event), agent="stub")
    log.write("store-failed", error="full")
    [(event, fields, error)] = lost
    assert (event, fields, type(error)) == ("store-failed", {"error": "full"}, NotADirectoryError)
    EventLog(str(tmp_path / "file" / "x")).write("start")  # a hook has nobody to tell
