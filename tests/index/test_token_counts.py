"""Whatever happens to the file of counts, no count is ever wrong and nothing ever fails."""

from __future__ import annotations

import os
import sqlite3
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.index import token_counts
from scopes.index.token_counts import CountFile

KEYS = [sha256(str(number).encode()).digest()[:16] for number in range(200)]
COUNTS = {key: number * 7 for number, key in enumerate(KEYS)}


@pytest.fixture
def path(tmp_path):
    """A file with two hundred counts."""
    full = tmp_path / "cache" / "counts.sqlite"
    add(full, COUNTS)
    return full


def add(path, counts):
    with CountFile(str(path)) as opened:
        opened.add(counts)


def found(path):
    with CountFile(str(path)) as opened:
        return {key: count for key in KEYS if (count := opened.find(key)) is not None}


def test_what_was_added_is_found_by_another_process(path):
    assert found(path) == COUNTS


def test_a_count_may_be_added_twice(path):
    add(path, {KEYS[0]: 5, b"x" * 16: 1})
    assert found(path) == {**COUNTS, KEYS[0]: 5}


def test_counts_that_no_text_has_are_not_kept(path):
    add(path, {KEYS[0]: -1, KEYS[1]: 1 << 40})
    assert found(path) == COUNTS


def test_only_the_owner_reads_it(path):
    assert path.stat().st_mode & 0o777 == 0o600


def test_where_there_is_no_file_asking_makes_none(tmp_path):
    assert found(tmp_path / "counts.sqlite") == {}
    assert os.listdir(tmp_path) == []


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_bit_anywhere_never_makes_a_count_wrong(path, tmp_path, data):
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    other = tmp_path / "flipped.sqlite"
    other.write_bytes(content)
    assert found(other).items() <= COUNTS.items()
    add(other, {KEYS[3]: 21})
    assert found(other).items() <= COUNTS.items()


@pytest.mark.parametrize(
    "content", [b"", b"SQLite format 3\0", b"no database" * 100, bytes(5000)], ids=["empty", "header", "text", "zeros"]
)
def test_a_file_that_is_none_of_ours_begins_anew(path, content):
    path.write_bytes(content)
    assert found(path) == {}
    add(path, {KEYS[1]: 7})
    assert found(path) == {KEYS[1]: 7}


@pytest.mark.parametrize("length", [100, 4096, 5000, 8191])
def test_a_torn_file_begins_anew(path, length):
    path.write_bytes(path.read_bytes()[:length])
    assert found(path).items() <= COUNTS.items()
    for _ in range(2):
        add(path, COUNTS)
    assert found(path) == COUNTS


def test_a_database_of_somebody_else_begins_anew(path):
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE count (key BLOB PRIMARY KEY, value INTEGER)")
        other.execute("INSERT INTO count VALUES (?, 99)", (KEYS[0],))
    other.close()
    assert found(path) == {}
    add(path, {KEYS[1]: 7})
    assert found(path) == {KEYS[1]: 7}


def test_a_locked_file_is_a_miss_and_stays(path, monkeypatch):
    monkeypatch.setattr(token_counts, "_BUSY_SECONDS", 0.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert found(path) == {}
    add(path, {KEYS[0]: 1})
    other.execute("ROLLBACK")
    other.close()
    assert found(path) == COUNTS


def test_a_file_that_has_grown_too_large_begins_anew(path, monkeypatch):
    monkeypatch.setattr(token_counts, "_LARGEST_BYTES", 100)
    add(path, {KEYS[1]: 7})
    assert found(path) == {KEYS[1]: 7}


def test_a_file_that_goes_while_it_is_open_is_made_again(path):
    with CountFile(str(path)) as opened:
        assert opened.find(KEYS[2]) == 14
        path.unlink()
        opened.add({KEYS[1]: 7})
    assert found(path) == {KEYS[1]: 7}


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/etc/passwd", path)])
def test_what_is_no_regular_file_is_neither_waited_for_nor_followed(tmp_path, make):
    path = tmp_path / "counts.sqlite"
    make(path)
    with CountFile(str(path)) as opened:
        assert opened.find(KEYS[0]) is None
        opened.add(COUNTS)
    assert found(path) == {}


def test_a_directory_that_is_not_there_and_cannot_be_made_is_a_miss(tmp_path):
    (tmp_path / "file").write_text("")
    with CountFile(str(tmp_path / "file" / "counts.sqlite")) as opened:
        opened.add(COUNTS)
        assert opened.find(KEYS[0]) is None


def test_a_closed_file_finds_nothing_and_may_be_closed_again(path):
    with CountFile(str(path)) as opened:
        opened.close()
        assert opened.find(KEYS[2]) is None
    assert found(path) == COUNTS


def test_no_database_stays_open(path):
    """Python 3.13 warns of a connection that was not closed."""
    with CountFile(str(path)) as opened:
        opened.find(KEYS[2])
        connection = opened._connection
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
