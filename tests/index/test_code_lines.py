"""The file of the index of code lines: who may open it, and what happens if it is damaged or of somebody else."""

from __future__ import annotations

import os
import sqlite3

import pytest

from scopes.code_links.edit_index import CODE_LINES, open_code_lines
from scopes.errors import Corrupt
from tests.support.store import write_bytes

ROW = "INSERT INTO conversation VALUES (NULL, ?, 'tips', 0.0, 0.0)"


@pytest.fixture
def directory(tmp_path):
    return str(tmp_path / "cache" / "index")


@pytest.fixture
def store(tmp_path):
    (tmp_path / "store").mkdir()
    return str(tmp_path / "store")


class Counting:
    """Fills the tables with one row, and counts how often."""

    def __init__(self, name="conv-001"):
        self.name = name
        self.updates = 0

    def is_current(self, connection):
        return connection.execute("SELECT 1 FROM conversation WHERE id = ?", (self.name,)).fetchone() is not None

    def update(self, connection):
        self.updates += 1
        connection.execute(ROW, (self.name,))


def use(directory, store, filler):
    """Open the file; return the names in it and the texts of the notes."""
    with open_code_lines(directory, store, filler.is_current, filler.update) as (connection, notes):
        names = [name for (name,) in connection.execute("SELECT id FROM conversation ORDER BY id")]
        return names, [note.text for note in notes]


def path_of(directory):
    return os.path.join(directory, CODE_LINES.file)


def test_a_missing_file_is_made_and_filled_once(directory, store):
    filler = Counting()
    assert use(directory, store, filler) == (["conv-001"], [])
    assert use(directory, store, filler) == (["conv-001"], [])
    assert filler.updates == 1


def test_an_outdated_file_is_updated_and_keeps_its_rows(directory, store):
    use(directory, store, Counting())
    assert use(directory, store, Counting("conv-002")) == (["conv-001", "conv-002"], [])


def test_the_file_is_readable_by_its_owner_alone(directory, store):
    use(directory, store, Counting())
    assert os.stat(path_of(directory)).st_mode & 0o777 == 0o600
    assert os.stat(directory).st_mode & 0o777 == 0o700


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + b"x" * 5000])
def test_a_file_that_is_no_database_is_replaced(directory, store, content):
    os.makedirs(directory)
    write_bytes(path_of(directory), content)
    assert use(directory, store, Counting())[0] == ["conv-001"]


def test_the_file_of_another_store_is_replaced(directory, store, tmp_path):
    use(directory, store, Counting("conv-007"))
    (tmp_path / "other").mkdir()
    names, notes = use(directory, str(tmp_path / "other"), Counting())
    assert (names, len(notes)) == (["conv-001"], 1)


def test_the_file_of_another_version_is_replaced(directory, store):
    use(directory, store, Counting("conv-007"))
    with sqlite3.connect(path_of(directory)) as connection:
        connection.execute(f"PRAGMA user_version = {CODE_LINES.version + 1}")
    connection.close()
    assert use(directory, store, Counting())[0] == ["conv-001"]


def test_an_error_of_the_store_passes_and_leaves_the_file_as_it_was(directory, store):
    use(directory, store, Counting())

    def fail(connection):
        connection.execute(ROW, ("conv-002",))
        raise Corrupt("the store is damaged")

    with pytest.raises(Corrupt), open_code_lines(directory, store, lambda _: False, fail):
        pass
    assert use(directory, store, Counting()) == (["conv-001"], [])


def test_a_file_that_another_process_holds_is_built_in_memory(directory, store, monkeypatch):
    monkeypatch.setattr("scopes.index.sqlite_files._BUSY_SECONDS", 0.05)
    use(directory, store, Counting())
    writer = sqlite3.connect(path_of(directory), isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    names, notes = use(directory, store, Counting("conv-002"))
    writer.close()
    assert names == ["conv-002"]
    assert "cannot be kept" in notes[0]
    assert use(directory, store, Counting()) == (["conv-001"], [])
