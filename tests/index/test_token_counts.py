"""Whatever the state of the token count file, no count is wrong and nothing raises."""

from __future__ import annotations

import os
import sqlite3
from hashlib import sha256

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scopes.index import token_counts
from scopes.index.token_counts import CountFile
from tests.support.examples import examples

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


def test_added_counts_are_found_when_the_file_is_opened_again(path):
    assert found(path) == COUNTS


def test_a_count_may_be_added_twice(path):
    add(path, {KEYS[0]: 5, b"x" * 16: 1})
    assert found(path) == {**COUNTS, KEYS[0]: 5}


def test_impossible_counts_are_not_stored(path):
    add(path, {KEYS[0]: -1, KEYS[1]: 1 << 40})
    assert found(path) == COUNTS


def test_only_the_owner_reads_it(path):
    assert path.stat().st_mode & 0o777 == 0o600


def test_find_creates_no_file(tmp_path):
    assert found(tmp_path / "counts.sqlite") == {}
    assert os.listdir(tmp_path) == []


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_flipped_bit_never_gives_a_wrong_count(path, tmp_path, data):
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
def test_a_file_of_another_format_is_replaced(path, content):
    path.write_bytes(content)
    assert found(path) == {}
    add(path, {KEYS[1]: 7})
    assert found(path) == {KEYS[1]: 7}


@pytest.mark.parametrize("length", [100, 4096, 5000, 8191])
def test_a_truncated_file_is_replaced(path, length):
    path.write_bytes(path.read_bytes()[:length])
    assert found(path).items() <= COUNTS.items()
    for _ in range(2):
        add(path, COUNTS)
    assert found(path) == COUNTS


def test_a_foreign_database_is_replaced(path):
    path.unlink()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE count (key BLOB PRIMARY KEY, value INTEGER)")
        other.execute("INSERT INTO count VALUES (?, 99)", (KEYS[0],))
    other.close()
    assert found(path) == {}
    add(path, {KEYS[1]: 7})
    assert found(path) == {KEYS[1]: 7}


def test_a_locked_file_finds_nothing_and_is_not_replaced(path, monkeypatch):
    monkeypatch.setattr(token_counts, "_BUSY_SECONDS", 0.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    assert found(path) == {}
    add(path, {KEYS[0]: 1})
    other.execute("ROLLBACK")
    other.close()
    assert found(path) == COUNTS


def test_reads_hold_the_file_for_a_few_of_them_only(path, monkeypatch):
    monkeypatch.setattr(token_counts, "_READS", 3)
    monkeypatch.setattr(token_counts, "_BUSY_SECONDS", 0.0)
    with CountFile(str(path)) as reader:
        assert [reader.find(key) for key in KEYS[:2]] == [0, 7]
        add(path, {KEYS[5]: 1})  # is given up: the reader has the file
        assert [reader.find(key) for key in KEYS[2:6]] == [14, 21, 28, 35]
        reader.add({KEYS[5]: 2})
        add(path, {KEYS[6]: 3})
        assert [reader.find(key) for key in KEYS[5:7]] == [2, 3]


def test_a_file_that_is_too_large_is_replaced(path, monkeypatch):
    monkeypatch.setattr(token_counts, "_MAX_BYTES", 100)
    add(path, {KEYS[1]: 7})
    assert found(path) == {KEYS[1]: 7}


def test_a_file_deleted_while_open_is_created_again(path):
    with CountFile(str(path)) as opened:
        assert opened.find(KEYS[2]) == 14
        path.unlink()
        opened.add({KEYS[1]: 7})
    assert found(path) == {KEYS[1]: 7}


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/etc/passwd", path)])
def test_only_regular_files_are_opened(tmp_path, make):
    path = tmp_path / "counts.sqlite"
    make(path)
    with CountFile(str(path)) as opened:
        assert opened.find(KEYS[0]) is None
        opened.add(COUNTS)
    assert found(path) == {}


def test_a_directory_that_cannot_be_created_finds_nothing(tmp_path):
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
