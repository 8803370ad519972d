"""The file of token counts: whatever its state, nothing raises, and one that cannot be used is replaced."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from hashlib import sha256

import pytest

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
    with contextlib.closing(CountFile(str(path.parent))) as opened:
        opened.add(counts)


def found(path):
    with contextlib.closing(CountFile(str(path.parent))) as opened:
        return {key: count for key in KEYS if (count := opened.find(key)) is not None}


def test_added_counts_are_found_when_the_file_is_opened_again(path):
    assert found(path) == COUNTS
    add(path, {KEYS[0]: 5, b"x" * 16: 1})
    assert found(path) == {**COUNTS, KEYS[0]: 5}
    assert path.stat().st_mode & 0o777 == 0o600


def test_find_creates_no_file(tmp_path):
    assert found(tmp_path / "counts.sqlite") == {}
    assert os.listdir(tmp_path) == []


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
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE count (key BLOB PRIMARY KEY, tokens INTEGER)")
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


def test_a_file_that_is_too_large_is_replaced(path, monkeypatch):
    monkeypatch.setattr(token_counts, "_MAX_BYTES", path.stat().st_size - 1)
    add(path, {KEYS[1]: 7})
    assert found(path) == {KEYS[1]: 7}


def test_a_directory_that_cannot_be_created_finds_nothing(tmp_path):
    (tmp_path / "file").write_text("")
    with contextlib.closing(CountFile(str(tmp_path / "file"))) as opened:
        opened.add(COUNTS)
        assert opened.find(KEYS[0]) is None
