"""What was read of a commit is kept and found again; whatever the state of the file, the answer is right."""

from __future__ import annotations

import os
import sqlite3

import pytest

from scopes.index.caches import SESSIONS, find_or_compute

OIDS = [f"{number:040x}" for number in range(20)]


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "store.git"
    path.mkdir()
    return str(path)


@pytest.fixture
def ask(directory, store):
    """Ask for some commits, and return those that had to be read; what is returned is checked."""

    def ask(oids=OIDS, rows="source", where=directory, of=store):
        read = []

        def compute(oid):
            read.append(oid)
            return oid.encode() * 3

        found = find_or_compute(None if where is None else str(where), of, rows, oids, compute)
        assert found == {oid: oid.encode() * 3 for oid in oids}
        return read

    return ask


def file_of(directory):
    return os.path.join(directory, SESSIONS.file)


def test_a_commit_is_read_once(ask):
    assert ask() == OIDS
    assert ask() == []


def test_only_what_is_new_is_read(ask):
    ask(OIDS[:10])
    assert ask(OIDS[5:12]) == OIDS[10:12]


def test_conversations_and_sources_are_apart(ask):
    ask(rows="source")
    assert ask(rows="conversation") == OIDS
    assert ask(rows="source") == []


def test_rows_of_commits_that_nobody_asks_for_are_deleted_when_others_are_added(ask):
    ask(OIDS[:10])
    ask(OIDS[:5])  # nothing to add: nothing is written
    assert ask(OIDS[:10]) == []
    ask(OIDS[5:11])
    assert ask(OIDS[:10]) == OIDS[:5]


def test_without_a_directory_all_is_read_and_nothing_is_written(ask, tmp_path):
    assert ask(where=None) == OIDS
    assert ask(where=None) == OIDS
    assert sorted(os.listdir(tmp_path)) == ["store.git"]


def test_what_cannot_be_read_is_an_error_and_nothing_is_kept(ask, directory, store):
    def fail(oid):
        raise LookupError(oid)

    with pytest.raises(LookupError):
        find_or_compute(str(directory), store, "source", OIDS, fail)
    assert ask() == OIDS


def test_only_the_owner_reads_it(ask, directory):
    ask()
    assert os.stat(file_of(directory)).st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(5000)])
def test_a_file_that_is_no_cache_is_replaced(ask, directory, content):
    ask()
    with open(file_of(directory), "wb") as file:
        file.write(content)
    assert ask() == OIDS
    ask()
    assert ask() == []


def test_rows_of_another_store_are_not_used(ask, tmp_path):
    other = tmp_path / "other.git"
    other.mkdir()
    ask()
    assert ask(of=str(other)) == OIDS


def test_rows_of_another_layout_are_not_used(ask, directory):
    ask()
    with sqlite3.connect(file_of(directory)) as connection:
        connection.execute(f"PRAGMA user_version = {SESSIONS.version + 1}")
    connection.close()
    assert ask() == OIDS


def test_nothing_is_kept_while_another_process_writes(ask, directory):
    ask(OIDS[:10])
    writer = sqlite3.connect(file_of(directory), isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    assert ask() == OIDS
    writer.execute("ROLLBACK")
    writer.close()
    assert ask() == OIDS[10:]


@pytest.mark.parametrize("make", [os.mkdir, lambda path: os.symlink("/nowhere/else", path)])
def test_no_other_kind_of_file_is_opened(ask, directory, make):
    directory.mkdir(parents=True)
    make(file_of(directory))
    assert ask() == OIDS


def test_a_directory_that_cannot_be_written_is_no_error(ask, directory):
    directory.parent.mkdir(parents=True)
    directory.write_text("a file")
    assert ask() == OIDS
