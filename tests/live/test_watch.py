"""When a changed file is imported: after a quiet moment, not too often, and again if the store could not be written."""

from __future__ import annotations

import fcntl
import os
from itertools import pairwise
from queue import Empty
from types import SimpleNamespace

import pytest

from scopes.errors import Busy, CannotImport, Corrupt, Inaccessible, Invalid, NotFound
from scopes.live.watch import (
    EVERY_SECONDS,
    LONGEST_SECONDS,
    QUIET_SECONDS,
    RETRY_SECONDS,
    FileNotes,
    Watcher,
    new_notes,
    watch_lock,
)
from scopes.result import Note


class World:
    """A clock, and the changes that come at given times; the watcher stops at the end of a script."""

    def __init__(self, changes, end, errors=()):
        self.now, self.end = 0.0, end
        self.changes = sorted(changes)
        self.errors = list(errors)
        self.imports, self.notes = [], []
        watcher = Watcher(
            self, self.import_file, stopped=lambda: self.now >= end, note=self.notes.append, read_time=lambda: self.now
        )
        self.rows = list(watcher.run())

    def get(self, *, timeout):
        due = self.end if timeout is None else self.now + timeout
        if self.changes and self.changes[0][0] <= due:
            moment, path = self.changes.pop(0)
            self.now = max(self.now, moment)
            return path
        self.now = min(due, self.end)
        if due >= self.end:
            return None
        raise Empty

    def import_file(self, path):
        self.imports.append((round(self.now, 3), path))
        if self.errors:
            error = self.errors.pop(0)
            if error is not None:
                raise error
        return SimpleNamespace(conversations=[SimpleNamespace(id="conv-001", new_messages=1)])


def test_a_file_is_imported_after_a_quiet_moment():
    world = World([(1.0, "a")], 10)
    assert world.imports == [(1.0 + QUIET_SECONDS, "a")]
    assert [(row.conversation, row.messages, row.source) for row in world.rows] == [("conv-001", 1, "a")]


@pytest.mark.parametrize(
    "error", [Invalid("it is malformed", hint="mend it"), Corrupt("it is malformed", hint="mend it")]
)
def test_a_file_that_cannot_be_imported_is_named_and_others_are_watched_on(error):
    world = World([(1.0, "a"), (3.0, "b")], 10, errors=[error])
    assert [path for _, path in world.imports] == ["a", "b"]
    assert world.notes == [Note("a: it is malformed", "mend it")]
    assert [row.source for row in world.rows] == ["b"]


def test_many_changes_shortly_after_each_other_are_one_import():
    world = World([(1.0 + 0.1 * number, "a") for number in range(5)], 10)
    assert world.imports == [(1.4 + QUIET_SECONDS, "a")]


def test_a_file_that_never_becomes_quiet_is_imported_now_and_then():
    world = World([(0.1 * number, "a") for number in range(100)], 10)
    times = [moment for moment, _ in world.imports]
    assert times[0] == pytest.approx(LONGEST_SECONDS)
    assert len(times) == 3


def test_a_file_is_imported_at_most_once_a_second():
    world = World([(0.5 * number, "a") for number in range(1, 9)], 10)
    times = [moment for moment, _ in world.imports]
    gaps = [round(later - earlier, 3) for earlier, later in pairwise(times)]
    assert min(gaps) >= EVERY_SECONDS
    assert times[-1] >= 4.0  # the last change is never forgotten


def test_files_do_not_wait_for_each_other():
    world = World([(1.0, "a"), (1.1, "b")], 10)
    assert [path for _, path in world.imports] == ["a", "b"]
    assert [moment for moment, _ in world.imports] == [1.3, 1.4]


def test_a_full_disk_is_one_note_and_the_file_is_tried_again():
    full = [Inaccessible("cannot write: No space left on device", hint="free some space")] * 3
    world = World([(1.0, "a")], 100, full)
    first = 1.0 + QUIET_SECONDS
    assert [moment for moment, _ in world.imports] == [first + RETRY_SECONDS * number for number in range(4)]
    (note,) = world.notes
    assert "No space left on device" in note.text
    assert "tried again" in note.text
    assert note.hint == "free some space"
    assert len(world.rows) == 1


def test_a_problem_that_comes_back_is_another_note():
    problem = Busy("the store is busy")
    world = World([(1.0, "a"), (50.0, "a")], 100, [problem, None, problem])
    assert len(world.notes) == 2
    assert len(world.rows) == 2


@pytest.mark.parametrize("error", [NotFound("gone"), CannotImport("no transcript")])
def test_a_file_that_is_gone_or_no_transcript_is_left_alone_until_it_changes(error):
    world = World([(1.0, "a"), (5.0, "a")], 100, [error])
    assert len(world.imports) == 2
    assert world.notes == []
    assert len(world.rows) == 1


def test_a_signal_ends_it_between_two_imports():
    """What is due when the end comes is left for the next start, which imports what is there."""
    world = World([(1.0, "a"), (1.0, "b")], 1.0 + QUIET_SECONDS)
    assert world.imports == []


def test_each_kind_of_note_is_shown_once_of_each_file():
    notes = FileNotes()
    one, two = Note("1 record could not be read", "see --report"), Note("2 records could not be read", "see --report")
    assert notes.take_new("a", [one]) == [one]
    assert notes.take_new("a", [two]) == []
    assert notes.take_new("b", [two]) == [two]
    assert notes.take_new("a", [Note("left out 3"), Note("left out 4")]) == [Note("left out 3")]


def test_only_one_process_watches_for_a_store(tmp_path):
    with watch_lock(str(tmp_path), "/stores/a"):
        with (
            pytest.raises(Busy, match=f"process {os.getpid()} watches") as error,
            watch_lock(str(tmp_path), "/stores/a"),
        ):
            pass
        assert f"kill {os.getpid()}" in error.value.hint
        with watch_lock(str(tmp_path), "/stores/b"):
            pass
    with watch_lock(str(tmp_path), "/stores/a"):
        pass


def test_a_store_has_one_lock_under_all_its_names(tmp_path):
    (tmp_path / "store").mkdir()
    os.symlink(tmp_path / "store", tmp_path / "link")
    first, second = (watch_lock(str(tmp_path / "state"), str(tmp_path / name)) for name in ("store", "link"))
    with first, pytest.raises(Busy), second:
        pass


def test_a_state_directory_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(Inaccessible, match="cannot lock"), watch_lock(str(tmp_path / "file"), "/stores/a"):
        pass


def notes_at_start(tmp_path, *texts, store="store"):
    notes = [Note(text) for text in texts]
    return [note.text for note in new_notes(str(tmp_path), str(tmp_path / store), notes)]


def test_a_note_of_an_earlier_start_is_not_shown_again(tmp_path):
    assert notes_at_start(tmp_path, "a", "b") == ["a", "b"]
    assert notes_at_start(tmp_path, "b", "c") == ["c"]
    assert notes_at_start(tmp_path, "a", "b", "c") == []


def test_notes_are_remembered_for_each_store(tmp_path):
    assert notes_at_start(tmp_path, "a") == ["a"]
    assert notes_at_start(tmp_path, "a", store="other") == ["a"]


def test_notes_that_cannot_be_remembered_are_shown_again(tmp_path):
    (tmp_path / "state").write_text("a file")
    assert notes_at_start(tmp_path / "state", "a") == ["a"]
    assert notes_at_start(tmp_path / "state", "a") == ["a"]


def test_only_so_many_notes_are_remembered(tmp_path):
    notes_at_start(tmp_path, *(str(number) for number in range(1500)))
    (file,) = tmp_path.glob("watch-*.notes")
    assert len(file.read_bytes().split()) == 1000
    assert notes_at_start(tmp_path, "0") == []


def test_an_error_of_the_body_does_not_blame_the_watcher_itself(tmp_path):
    """A BlockingIOError of an import became "process N watches already: kill N", and N was this process."""
    with pytest.raises(BlockingIOError, match="of the import"), watch_lock(str(tmp_path), "/stores/a"):
        raise BlockingIOError(11, "of the import")
    with watch_lock(str(tmp_path), "/stores/a"):
        pass


def test_a_holder_whose_number_is_not_in_the_file_is_another_process(tmp_path):
    with watch_lock(str(tmp_path), "/stores/a"):
        (lock,) = tmp_path.iterdir()
        lock.write_text("")
        with pytest.raises(Busy, match="another process watches") as error, watch_lock(str(tmp_path), "/stores/a"):
            pass
    assert error.value.hint == "end it first: kill PID"


def test_a_file_system_without_locks_is_an_error(tmp_path, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(Inaccessible, match=r"cannot lock .*: Operation not supported"), watch_lock(str(tmp_path), "/s"):
        pass
