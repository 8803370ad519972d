"""Reading loose objects written by git, and damaged ones."""

from __future__ import annotations

import hashlib
import os
import random
import zlib

import pytest

from scopes.errors import Corrupt, Inaccessible
from scopes.ids import Oid
from scopes.store.graph import is_ancestor, list_merge_bases
from scopes.store.objects import BLOB, COMMIT, EMPTY_TREE, TREE, find_loose
from tests.support.store import Process, git, loose_path, outcome, read_bytes, write_bytes, write_chain, write_message

READ = outcome("print(open_store(path).read(sys.argv[2])[0])")


@pytest.fixture
def objects(repository):
    return os.path.join(repository.path, "objects")


def put(objects, oid, stored):
    write_bytes(os.path.join(objects, oid[:2], oid[2:]), stored)


@pytest.mark.parametrize("data", [b"", b"x", b"\0\xff\r\n" * 1000, random.Random(1).randbytes(200_000)], ids=len)
def test_objects_written_by_git_and_libgit2_are_read(repository, objects, data):
    theirs = git(repository, "hash-object", "-w", "--stdin", stdin=data).strip()
    assert find_loose(objects, theirs) == (BLOB, data)
    os.unlink(loose_path(repository, theirs))
    assert repository.write(BLOB, data) == theirs
    assert find_loose(objects, theirs) == (BLOB, data)


def test_every_kind_of_object_is_recognized(repository, objects):
    commit = write_message(repository, "one")
    repository.write(TREE, b"")
    tag = git(
        repository, "mktag", stdin=f"object {commit}\ntype commit\ntag v1\ntagger t <t@t> 1 +0000\n\nx\n".encode()
    ).strip()
    assert [find_loose(objects, oid)[0] for oid in (commit, EMPTY_TREE, tag)] == [COMMIT, TREE, "tag"]


def test_a_missing_loose_object_is_none(objects):
    assert find_loose(objects, Oid("0" * 40)) is None


def test_every_truncated_object_is_corrupt_and_none_hangs(repository, objects):
    """D-37; libgit2 1.9.7 loops forever on most of these lengths (issue 7342)."""
    oid = repository.write(BLOB, random.Random(1).randbytes(500))
    stored = read_bytes(loose_path(repository, oid))
    for length in range(len(stored)):
        put(objects, oid, stored[:length])
        with pytest.raises(Corrupt, match=f"object {oid} is damaged"):
            find_loose(objects, oid)


def test_every_flipped_bit_is_detected(repository, objects):
    """D-36."""
    oid = repository.write(BLOB, b"some text" * 3)
    stored = read_bytes(loose_path(repository, oid))
    for place in range(len(stored) * 8):
        flipped = bytearray(stored)
        flipped[place // 8] ^= 1 << place % 8
        put(objects, oid, bytes(flipped))
        try:
            assert find_loose(objects, oid) == (BLOB, b"some text" * 3), place  # a bit that zlib ignores
        except Corrupt:
            continue


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"blob",
        b"blob 3",
        b"blob 3\0four",
        b"blob 99\0x",
        b"blob x\0y",
        b"blob -1\0",
        b"blob 1 \0x",
        b"blb 1\0x",
        b"\xff 1\0x",
        b"blob 01\0x",
    ],
)
def test_a_file_with_a_wrong_header_is_corrupt(objects, content):
    """A size that is too small makes libgit2 write beyond its buffer (issue 7177)."""
    oid = Oid(hashlib.sha1(content).hexdigest())
    put(objects, oid, zlib.compress(content))
    with pytest.raises(Corrupt):
        find_loose(objects, oid)


def test_the_content_of_another_object_is_corrupt(objects):
    """A file under the wrong name."""
    put(objects, Oid("5" * 40), zlib.compress(b"blob 1\0x"))
    with pytest.raises(Corrupt):
        find_loose(objects, Oid("5" * 40))


@pytest.mark.parametrize("damage", ["truncated", "empty", "missing", "sound"])
def test_a_command_ends_at_a_damaged_object(repository, damage):
    """D-36, D-37, D-40: in a subprocess with a timeout."""
    oid = write_message(repository, "one" * 100)
    path = loose_path(repository, oid)
    stored = read_bytes(path)
    write_bytes(path, {"truncated": stored[: len(stored) // 2], "empty": b""}.get(damage, stored))
    if damage == "missing":
        os.unlink(path)
    output = Process(READ, repository.path, oid).finish(timeout=10)
    expected = {"sound": "commit", "missing": f"not-found|4|object {oid} is not in the store"}
    assert output.startswith(expected.get(damage, f"corrupt|7|object {oid} is damaged"))


def test_an_unreadable_directory_of_objects_is_an_error_of_a_walk_over_history(repository):
    """R5: a file or a named pipe in place of one of the 256 directories."""
    one, two = write_chain(repository, "one", "two")
    directory = os.path.dirname(loose_path(repository, one))
    os.rename(directory, f"{directory}-away")
    os.mkfifo(directory)
    for walk in (is_ancestor, list_merge_bases):
        with pytest.raises((Inaccessible, Corrupt)):
            walk(repository, one, two)
