"""Which files have changed: by looking, and by what the system tells; folders come, go and are replaced."""

from __future__ import annotations

import os
import shutil
import time
from queue import Empty, SimpleQueue

import pytest

from scopes.live import folder_changes
from scopes.live.folder_changes import EVERYTHING_SECONDS, RECENT_SECONDS, ChangeThread, FolderPoll

SUFFIXES = (".jsonl", ".json", ".db")
SECONDS = 30


class Folder:
    """A folder with a poll of it; times are those of the files, so nothing waits."""

    def __init__(self, path):
        self.path, self.poll, self.now = path, FolderPoll(SUFFIXES), time.time()
        path.mkdir()

    def write(self, name, text="x", age=0.0):
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(file, "a", encoding="utf-8") as stream:
            stream.write(text)
        os.utime(file, (self.now - age, self.now - age))
        return str(file)

    def look(self, after=0.0, *tops):
        self.now += after
        return sorted(self.poll.look(tops or [str(self.path)], self.now))


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path / "sessions")


def test_the_first_look_finds_what_is_there_and_the_next_one_what_has_changed(folder):
    files = [folder.write(name) for name in ("a.jsonl", "2026/11/26/b.jsonl")]
    folder.write("notes.txt")
    assert folder.look() == sorted(files)
    assert folder.look(1) == []
    folder.write("a.jsonl", age=-1)
    assert folder.look(1) == [files[0]]


def test_new_files_in_new_folders_are_found_at_once(folder):
    folder.look()
    name = folder.write("2026/12/01/c.jsonl")
    assert folder.look(1) == [name]


def test_a_file_that_is_deleted_and_made_again_has_changed(folder):
    name = folder.write("a.jsonl")
    folder.look()
    os.unlink(name)
    assert folder.look(1) == []
    folder.write("a.jsonl")
    assert folder.look(1) == [name]


def test_a_file_that_was_replaced_by_one_of_the_same_size_and_time_has_changed(folder):
    name = folder.write("a.jsonl")
    folder.look()
    os.rename(folder.write("b.txt"), name)
    assert folder.look(1) == [name]


def test_a_file_that_became_shorter_has_changed(folder):
    name = folder.write("a.jsonl", "long")
    folder.look()
    os.truncate(name, 1)
    os.utime(name, (folder.now, folder.now))
    assert folder.look(1) == [name]


def test_an_old_file_that_grows_is_found_within_half_a_minute(folder):
    name = folder.write("a.jsonl", age=2 * RECENT_SECONDS)
    folder.look()
    folder.write("a.jsonl", age=-1)
    assert folder.look(1) == []
    assert folder.look(EVERYTHING_SECONDS) == [name]
    folder.write("a.jsonl", age=-1)
    assert folder.look(2) == [name]  # from now on it is one of the files in use


def test_links_are_not_followed(folder, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x.jsonl").write_text("x")
    os.symlink(tmp_path / "outside", folder.path / "link")
    os.symlink(tmp_path / "outside/x.jsonl", folder.path / "y.jsonl")
    assert folder.look() == []


def test_a_pipe_or_a_folder_with_the_name_of_a_transcript_is_none(folder):
    os.mkfifo(folder.path / "a.jsonl")
    (folder.path / "b.jsonl").mkdir()
    assert folder.look() == []


def test_a_folder_may_vanish_and_come_back(folder):
    name = folder.write("deep/a.jsonl")
    folder.look()
    shutil.rmtree(folder.path)
    assert folder.look(1) == []
    folder.path.mkdir()
    folder.write("deep/a.jsonl")
    assert folder.look(1) == [name]


def test_a_single_file_can_be_watched(folder):
    name = folder.write("a.log")
    assert folder.look(0, name) == [name]
    assert folder.look(1, name) == []
    folder.write("a.log", age=-1)
    assert folder.look(1, name) == [name]
    os.rename(name, f"{name}.1")
    assert folder.look(1, name) == []
    folder.write("a.log")
    assert folder.look(1, name) == [name]


def test_ten_thousand_old_files_cost_one_call_for_each_folder(folder, monkeypatch):
    for number in range(20):
        os.mkdir(folder.path / f"{number}")
        for name in range(500):
            os.close(os.open(folder.path / f"{number}/{name}.jsonl", os.O_CREAT))
    old = folder.now - 2 * RECENT_SECONDS
    for directory, _, files in os.walk(folder.path):
        for name in (*files, "."):
            os.utime(os.path.join(directory, name), (old, old))
    assert len(folder.look()) == 10_000
    calls = []
    stat = os.stat
    with monkeypatch.context() as patch:
        patch.setattr(folder_changes.os, "stat", lambda path, **options: calls.append(path) or stat(path, **options))
        patch.setattr(folder_changes.os, "scandir", lambda path: calls.append(path) or iter(()))
        assert folder.look(1) == []
    assert len(calls) == 21 + 1  # the tops are looked up too


@pytest.fixture
def watching(tmp_path):
    """Start to watch folders; the queue that it returns gets the changes."""
    threads = []

    def start(*folders, interval=None, notes=None):
        changed = SimpleQueue()
        notes = [] if notes is None else notes
        thread = ChangeThread(
            lambda: [str(each) for each in folders if os.path.isdir(each)],
            SUFFIXES,
            changed,
            interval=interval,
            note=notes.append,
        )
        thread.start()
        threads.append(thread)
        return changed

    yield start
    for thread in threads:
        thread.stop()


def next_change(changed, path):
    """Wait until a path is told; others may come before it."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            if changed.get(timeout=0.2) == str(path):
                return
        except Empty:
            continue
    raise AssertionError(f"no change of {path} was told")


def keep_writing(changed, path):
    """Write a file again and again until a change of it is told: when watching begins is not known."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write("x")
        try:
            while changed.get(timeout=0.5) != str(path):
                pass
        except Empty:
            continue
        return
    raise AssertionError(f"no change of {path} was told")


@pytest.mark.parametrize("interval", [None, 0.05])
def test_a_change_is_found_in_either_way(watching, tmp_path, interval, monkeypatch):
    """A file that is written with its new folders may be told by the next look only."""
    monkeypatch.setattr(folder_changes, "LOOKUP_SECONDS", 0.5)
    (tmp_path / "a.jsonl").write_text("x")
    changed = watching(tmp_path, interval=interval)
    (tmp_path / "a.jsonl").write_text("longer")
    next_change(changed, tmp_path / "a.jsonl")
    (tmp_path / "new/deep").mkdir(parents=True)
    (tmp_path / "new/deep/b.jsonl").write_text("x")
    next_change(changed, tmp_path / "new/deep/b.jsonl")


def test_what_was_there_before_is_no_change(watching, tmp_path):
    (tmp_path / "a.jsonl").write_text("x")
    changed = watching(tmp_path, interval=0.05)
    (tmp_path / "b.jsonl").write_text("x")
    assert changed.get(timeout=SECONDS) == str(tmp_path / "b.jsonl")


@pytest.mark.parametrize("interval", [None, 0.05])
def test_a_folder_that_is_replaced_is_watched_again(watching, tmp_path, interval, monkeypatch):
    monkeypatch.setattr(folder_changes, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(folder_changes, "LOOKUP_SECONDS", 0.5)
    folder = tmp_path / "sessions"
    changed = watching(folder, interval=interval)
    keep_writing(changed, folder / "a.jsonl")
    shutil.rmtree(folder)
    keep_writing(changed, folder / "b.jsonl")


def test_polling_takes_over_if_the_system_tells_nothing(watching, tmp_path, monkeypatch):
    """A user may have no watches left, and some file systems have none."""

    def refuse(*_, **__):
        raise OSError(28, "no space left on device")

    monkeypatch.setattr("watchfiles.watch", refuse)
    monkeypatch.setattr(folder_changes, "POLL_SECONDS", 0.05)
    notes = []
    changed = watching(tmp_path, notes=notes)
    keep_writing(changed, tmp_path / "a.jsonl")
    assert len(notes) == 1
    assert "no space left on device" in notes[0]


def test_a_change_that_the_system_forgets_to_tell_is_found_by_looking(watching, tmp_path, monkeypatch):
    monkeypatch.setattr("watchfiles.watch", lambda *_, **__: iter(lambda: time.sleep(0.05) or set(), 1))
    monkeypatch.setattr(folder_changes, "LOOKUP_SECONDS", 0.1)
    changed = watching(tmp_path)
    keep_writing(changed, tmp_path / "a.jsonl")


def test_a_database_has_changed_when_its_log_has(tmp_path):
    folder = Folder(tmp_path / "data")
    folder.poll = FolderPoll((".db",))
    name = folder.write("a.db")
    folder.write("a.db-wal")
    assert folder.look() == [name]
    assert folder.look(1) == []
    folder.write("a.db-wal", "more")
    assert folder.look(1) == [name]


def test_a_database_can_be_watched_alone(tmp_path):
    folder = Folder(tmp_path / "data")
    name = folder.write("a.db")
    assert folder.look(0, name) == [name]
    folder.write("a.db-wal", "more")
    assert folder.look(1, name) == [name]


def test_what_is_imported_is_the_database_of_a_log_and_the_folder_of_a_record(tmp_path):
    for name in ("session/p", "message/ses_1", "part/msg_1"):
        (tmp_path / "storage" / name).mkdir(parents=True)
    assert folder_changes.source_of("/x/opencode.db-wal") == "/x/opencode.db"
    assert folder_changes.source_of(str(tmp_path / "storage/part/msg_1/prt_1.json")) == str(tmp_path / "storage")
    assert folder_changes.source_of("/x/a.jsonl") == "/x/a.jsonl"


@pytest.mark.parametrize("interval", [None, 0.05])
def test_a_change_of_a_log_is_reported_as_one_of_its_database(watching, tmp_path, interval):
    (tmp_path / "a.db").write_text("x")
    changed = watching(tmp_path, interval=interval)
    (tmp_path / "a.db-wal").write_text("x")
    next_change(changed, tmp_path / "a.db")
