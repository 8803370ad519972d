"""Whatever the state of the file of commits, a chunk that is found is right, and nothing raises."""

from __future__ import annotations

import os
import sqlite3

import pytest

from scopes.ids import Oid
from scopes.index import caches as commit_cache
from scopes.index.caches import LAYOUT, CommitCache
from scopes.store.objects import Commit, Identity


def chunk(first, size=40):
    """Return a chunk of a linear history whose first commit has this number."""
    return [
        Commit(
            oid_of(number),
            oid_of(number + 500),
            (oid_of(number + 1),),
            Identity("carol" if number % 3 else "dave", "carol@agents.scopes"),
            number,
            f"message {number} \u2028é",
            str(number),
            "plain" if number % 4 else None,
            "dave, erin" if number % 7 == 0 else None,
            {"Scopes-Other": "x", "Scopes-Message": str(number)} if number % 11 == 0 else None,
        )
        for number in range(first, first + size)
    ]


def oid_of(number):
    return Oid(f"{number:040x}")


CHUNKS = [chunk(0), chunk(40), chunk(80)]


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "store.git"
    path.mkdir()
    return str(path)


@pytest.fixture
def directory(tmp_path, store):
    """The directory of an index with three chunks."""
    path = str(tmp_path / "cache" / "index")
    add(path, store, *CHUNKS)
    return path


def add(directory, store, *chunks):
    cache = CommitCache(directory, store)
    for commits in chunks:
        cache.add(commits)


def found(directory, store):
    """Return the chunks that are found, each compared with what was added."""
    cache = CommitCache(directory, store)
    chunks = [list(cache.find(commits[0].oid)) for commits in CHUNKS]
    assert all(commits in ([], expected) for commits, expected in zip(chunks, CHUNKS, strict=True))
    return sum(map(bool, chunks))


def test_added_chunks_are_found_when_the_file_is_opened_again(directory, store):
    assert found(directory, store) == len(CHUNKS)
    assert all(commits[0].oid in CommitCache(directory, store) for commits in CHUNKS)
    assert CHUNKS[0][1].oid not in CommitCache(directory, store)


def test_only_the_owner_reads_it(directory):
    assert os.stat(os.path.join(directory, LAYOUT.file)).st_mode & 0o777 == 0o600


def test_reading_creates_no_file(tmp_path, store):
    assert found(str(tmp_path / "none"), store) == 0
    assert sorted(os.listdir(tmp_path)) == ["store.git"]


@pytest.mark.parametrize("share", [number / 97 for number in range(97)])
def test_a_flipped_byte_hides_chunks_and_changes_none(directory, store, share):
    path = os.path.join(directory, LAYOUT.file)
    with open(path, "r+b") as file:
        at = int(share * os.path.getsize(path))
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x55]))
    found(directory, store)
    add(directory, store, *CHUNKS)
    assert found(directory, store) >= 1


@pytest.mark.parametrize("content", [b"", b"no database", b"SQLite format 3\0" + bytes(5000)])
def test_a_file_that_is_no_cache_is_replaced(directory, store, content):
    path = os.path.join(directory, LAYOUT.file)
    with open(path, "wb") as file:
        file.write(content)
    assert found(directory, store) == 0
    add(directory, store, *CHUNKS)
    assert found(directory, store) == len(CHUNKS)


def test_chunks_of_another_store_are_not_found(directory, tmp_path):
    other = tmp_path / "other.git"
    other.mkdir()
    assert found(directory, str(other)) == 0


def test_chunks_of_another_python_are_not_read(directory, store, monkeypatch):
    monkeypatch.setattr(commit_cache, "_MARSHAL", "cpython-2-2")
    assert found(directory, store) == 0
    add(directory, store, CHUNKS[0])
    assert found(directory, store) == 1


def test_a_file_that_is_too_large_begins_anew(directory, store, monkeypatch):
    monkeypatch.setattr(commit_cache, "MAX_BYTES", os.path.getsize(os.path.join(directory, LAYOUT.file)) - 1)
    add(directory, store, CHUNKS[1])
    monkeypatch.undo()
    assert found(directory, store) == 1


def test_a_chunk_is_not_kept_while_another_process_writes(directory, store):
    writer = sqlite3.connect(os.path.join(directory, LAYOUT.file), isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    add(directory, store, chunk(1000))
    writer.execute("ROLLBACK")
    writer.close()
    assert oid_of(1000) not in CommitCache(directory, store)
    assert found(directory, store) == len(CHUNKS)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/nowhere/else", path)])
def test_no_other_kind_of_file_is_opened(tmp_path, store, make):
    directory = tmp_path / "index"
    directory.mkdir()
    make(directory / LAYOUT.file)
    assert found(str(directory), store) == 0
    add(str(directory), store, *CHUNKS)
    assert not (directory / LAYOUT.file).is_file() or found(str(directory), store) == len(CHUNKS)


def test_a_directory_that_cannot_be_made_is_no_error(tmp_path, store):
    (tmp_path / "file").write_text("")
    add(str(tmp_path / "file" / "index"), store, *CHUNKS)
    assert found(str(tmp_path / "file" / "index"), store) == 0


ITEMS = {oid_of(number): {f"SHOP-{number}": number, "\u00e9\ud800": 7} for number in range(5)}


def found_items(directory, store):
    """Return the tips whose work items are found, each compared with what was added."""
    cache = CommitCache(directory, store)
    rows = {tip: cache.find_work_items(tip) for tip in ITEMS if cache.knows_work_items(tip)}
    rows = {tip: items for tip, items in rows.items() if items is not None}
    assert all(items == ITEMS[tip] for tip, items in rows.items())
    return len(rows)


def test_work_items_are_found_when_the_file_is_opened_again(directory, store):
    CommitCache(directory, store).add_work_items(ITEMS)
    assert found_items(directory, store) == len(ITEMS)
    assert not CommitCache(directory, store).knows_work_items(oid_of(77))
    assert CommitCache(directory, store).find_work_items(oid_of(77)) is None
    assert found(directory, store) == len(CHUNKS)


def test_a_history_without_work_items_is_known(directory, store):
    CommitCache(directory, store).add_work_items({oid_of(9): {}})
    assert CommitCache(directory, store).find_work_items(oid_of(9)) == {}


def test_without_a_file_no_work_items_are_known_and_adding_makes_it(tmp_path, store):
    directory = str(tmp_path / "none")
    assert found_items(directory, store) == 0
    CommitCache(directory, store).add_work_items(ITEMS)
    assert found_items(directory, store) == len(ITEMS)


@pytest.mark.parametrize("share", [number / 97 for number in range(97)])
def test_a_flipped_byte_hides_work_items_and_changes_none(directory, store, share):
    CommitCache(directory, store).add_work_items(ITEMS)
    path = os.path.join(directory, LAYOUT.file)
    with open(path, "r+b") as file:
        at = int(share * os.path.getsize(path))
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 0x55]))
    found_items(directory, store)


def test_work_items_are_not_kept_while_another_process_writes(directory, store):
    writer = sqlite3.connect(os.path.join(directory, LAYOUT.file), isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    CommitCache(directory, store).add_work_items(ITEMS)
    writer.execute("ROLLBACK")
    writer.close()
    assert found_items(directory, store) == 0
