"""Checksums of a database file: what they detect, what is pending, and when only a part is compared."""

from __future__ import annotations

import os
import random
import sqlite3
import struct

import pytest

from scopes.index.checksums import SUFFIX, hold_lock, logged_blocks, record, verify
from tests.support.store import read_bytes

BLOCK = 1 << 16


@pytest.fixture
def path(tmp_path):
    """Write a file of two and a half blocks with its checksums."""
    path = str(tmp_path / "index.sqlite")
    write(path, bytes(range(256)) * 640)
    record(path, None, ())
    return path


def write(path, data, at=0):
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(descriptor, data, at)
    os.close(descriptor)


def log_of(*pages, page_bytes=4096, tail=b""):
    """Return a write-ahead log with a frame for each of these pages, which count from 1."""
    header = struct.pack(">4I", 0x377F0682, 3007000, page_bytes, 0) + bytes(16)
    return header + b"".join(struct.pack(">I20x", page) + bytes(page_bytes) for page in pages) + tail


def test_an_unchanged_file_has_its_checksums(path):
    sums = verify(path)
    assert (len(sums.blocks), sums.stamp[1]) == (3, 163840)
    assert verify(path, whole=True) == sums


@pytest.mark.parametrize("at", [0, 1, BLOCK - 1, BLOCK, 2 * BLOCK, 163839])
def test_a_changed_byte_is_found_in_every_block(path, at):
    byte = read_bytes(path)[at]
    write(path, bytes([byte ^ 1]), at)
    assert verify(path) is None
    write(path, bytes([byte]), at)
    assert verify(path) is not None


@pytest.mark.parametrize("size", [0, 1, BLOCK, 163839, 163841, 3 * BLOCK, 4 * BLOCK])
def test_another_size_is_found(path, size):
    os.truncate(path, size)
    assert verify(path) is None


def test_a_block_that_was_added_without_a_record_is_found(tmp_path):
    path = str(tmp_path / "whole.sqlite")
    write(path, bytes(2 * BLOCK))
    record(path, None, ())
    os.truncate(path, 3 * BLOCK)
    assert verify(path) is None


@pytest.mark.parametrize("at", [0, 7, 8, 20, 39, 40, -5, -4, -1])
def test_damaged_checksums_are_none(path, at):
    data = bytearray(read_bytes(path + SUFFIX))
    data[at] ^= 1
    write(path + SUFFIX, bytes(data))
    assert verify(path) is None


@pytest.mark.parametrize("content", [b"", b"x", bytes(44), b"scopsum1" + bytes(36)])
def test_a_file_that_holds_no_checksums_is_none(path, content):
    os.truncate(path + SUFFIX, 0)
    write(path + SUFFIX, content)
    assert verify(path) is None


def test_without_checksums_or_file_there_are_none(path):
    os.rename(path, path + ".away")
    assert verify(path) is None
    os.rename(path + ".away", path)
    os.unlink(path + SUFFIX)
    assert verify(path) is None


def record_reads(monkeypatch):
    """Return a list with the number of each block that is read from now on."""
    read = []
    original = os.pread

    def pread(descriptor, length, offset):
        if length == BLOCK:
            read.append(offset // BLOCK)
        return original(descriptor, length, offset)

    monkeypatch.setattr(os, "pread", pread)
    return read


def test_only_the_owner_reads_the_checksums(path):
    assert os.stat(path + SUFFIX).st_mode & 0o777 == 0o600
    assert sorted(os.listdir(os.path.dirname(path))) == ["index.sqlite", "index.sqlite" + SUFFIX]


def test_only_the_changed_blocks_are_read_again(path, monkeypatch):
    read = record_reads(monkeypatch)
    sums = verify(path)
    read.clear()
    write(path, b"changed", BLOCK + 5)
    record(path, sums, [1, 99])
    assert read == [1]
    assert verify(path) is not None


@pytest.mark.parametrize("size", [BLOCK // 2, BLOCK, 3 * BLOCK + 1, 10 * BLOCK])
def test_blocks_that_a_file_gained_or_lost_are_recorded(path, size):
    sums = verify(path)
    last = (min(size, 163840) - 1) // BLOCK
    os.truncate(path, size)
    record(path, sums, [last, 2])
    assert len(verify(path).blocks) == -(-size // BLOCK)


def test_a_pending_block_is_not_compared_until_it_is_recorded(path):
    record(path, verify(path), [1], complete=False)
    write(path, b"moved from the log", BLOCK)
    assert verify(path) is not None
    write(path, b"damage", 0)
    assert verify(path) is None
    write(path, bytes(range(6)), 0)
    record(path, verify(path), [])
    write(path, b"damage", BLOCK)
    assert verify(path) is None


def test_a_block_with_a_page_in_the_log_is_not_compared(path):
    write(path + "-wal", log_of(17, 18))
    write(path, b"moved from the log", BLOCK)
    assert verify(path) is not None
    write(path, b"damage", 0)
    assert verify(path) is None


@pytest.mark.parametrize(
    ("log", "blocks"),
    [
        (log_of(), []),
        (log_of(1), [0]),
        (log_of(16, 17, 32, 33), [0, 1, 2]),
        (log_of(40, 1, 40), [0, 2]),
        (log_of(1, 2, page_bytes=65536), [0, 1]),
        (log_of(129, page_bytes=512), [1]),
        (log_of(17, tail=b"\0\0\0\x21half a frame"), [1]),
        (log_of(17)[:40], []),
        (log_of(17)[:2000], [1]),
        (log_of(17)[:20], []),
        (log_of(17, page_bytes=1000), []),
        (log_of(17, page_bytes=131072), []),
        (log_of(17, page_bytes=256), []),
        (log_of(page_bytes=0), []),
        (b"", []),
    ],
)
def test_the_pages_of_a_log_are_found_by_their_frames(path, log, blocks):
    write(path + "-wal", log)
    assert logged_blocks(path) == blocks


def test_without_a_log_no_block_is_in_it(path):
    assert logged_blocks(path) == []


def test_a_log_that_sqlite_writes_is_understood(tmp_path):
    path = str(tmp_path / "real.sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (zeroblob(200000))")
    assert logged_blocks(path) == [0, 1, 2, 3]
    connection.close()
    assert logged_blocks(path) == []


def test_only_a_part_of_a_large_unchanged_file_is_compared(tmp_path, monkeypatch):
    path = str(tmp_path / "large.sqlite")
    write(path, b"x", 6 << 20)
    record(path, None, ())
    read = record_reads(monkeypatch)
    monkeypatch.setattr(random, "randrange", lambda stop: stop - 1)
    assert verify(path) is not None
    assert read == list(range(97 - 32, 97))
    read.clear()
    assert verify(path, whole=True) is not None
    assert len(read) == 97


def test_a_large_file_that_was_touched_is_compared_once(tmp_path, monkeypatch):
    path = str(tmp_path / "large.sqlite")
    write(path, b"x", 6 << 20)
    record(path, None, ())
    os.utime(path, (1, 1))
    read = record_reads(monkeypatch)
    assert verify(path) is not None
    assert len(read) == 97
    read.clear()
    assert verify(path) is not None
    assert len(read) == 32


def test_two_readers_share_the_lock_and_a_writer_excludes_both(path):
    with hold_lock(path, 0, exclusive=False), hold_lock(path, 0, exclusive=False):
        assert is_locked(path, exclusive=True)
    with hold_lock(path, 0, exclusive=True):
        assert is_locked(path, exclusive=False)
        assert is_locked(path, exclusive=True)
    assert not is_locked(path, exclusive=True)


def is_locked(path, *, exclusive):
    try:
        with hold_lock(path, 0.02, exclusive=exclusive):
            return False
    except sqlite3.OperationalError as error:
        return str(error) == "the index is locked"
