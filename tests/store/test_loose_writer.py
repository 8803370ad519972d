"""Large objects, written without libgit2: other threads go on, and git reads them."""

from __future__ import annotations

import os
import random
import resource
import sys
import threading
from contextlib import contextmanager

import pytest

from scopes.errors import Inaccessible
from scopes.store.objects import BLOB, CODES, LARGE_BYTES, TREE, write_large
from tests.support.store import git, read_bytes

TEXT = b"A line of text, number 1.\n" * 40_000


def count_switches(work):
    """Return how often another thread got the interpreter while `work` ran: only when `work` let it go."""
    switches, is_over, is_running = 0, False, threading.Event()

    def count():
        nonlocal switches
        is_running.set()
        while not is_over:
            os.stat(os.curdir)  # lets the interpreter go
            switches += 1

    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    thread = threading.Thread(target=count)
    try:
        thread.start()
        is_running.wait()
        begin = switches
        work()
        found = switches - begin
    finally:
        is_over = True
        sys.setswitchinterval(before)
        thread.join()
    return found


@contextmanager
def files_up_to(size):
    """Refuse to write larger files, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def path_of(repository, oid):
    return os.path.join(repository.path, "objects", oid[:2], oid[2:])


def list_files(repository):
    return sorted(name for _, _, files in os.walk(os.path.join(repository.path, "objects")) for name in files)


@pytest.mark.parametrize("size", [LARGE_BYTES - 1, LARGE_BYTES, LARGE_BYTES + 1, 3 << 20])
@pytest.mark.parametrize("has_isal", [True, False])
def test_git_reads_what_was_written(repository, monkeypatch, size, has_isal):
    if not has_isal:
        monkeypatch.setitem(sys.modules, "isal", None)
    data = random.Random(size).randbytes(size)
    oid = repository.write(BLOB, data)
    assert git(repository, "hash-object", "--stdin", stdin=data).strip() == oid
    assert git(repository, "cat-file", "-s", oid).strip() == str(size)
    assert repository.git.get(oid).data == data
    git(repository, "fsck", "--strict")


def test_a_large_tree_is_written_as_one(repository):
    blob = bytes.fromhex(repository.write(BLOB, b"x"))
    entries = b"".join(b"100644 %05d\0%s" % (number, blob) for number in range(3000))
    oid = repository.write(TREE, entries)
    assert git(repository, "cat-file", "-t", oid).strip() == "tree"
    git(repository, "fsck", "--strict")


def test_other_threads_run_while_a_large_object_is_written(repository):
    """libgit2 kept the interpreter from the threads of a proxy until the disk had the object."""
    data = random.Random(1).randbytes(8 << 20)
    assert count_switches(lambda: repository.git.write(CODES[BLOB], b"1" + data)) == 0
    assert count_switches(lambda: repository.write(BLOB, b"2" + data)) > 0


def test_an_object_that_is_known_is_not_written_again(repository):
    oid = repository.write(BLOB, TEXT)
    before = os.stat(path_of(repository, oid))
    os.utime(path_of(repository, oid), (1, 1))
    assert repository.write(BLOB, TEXT) == oid
    after = os.stat(path_of(repository, oid))
    assert after.st_ino == before.st_ino
    assert after.st_mtime > 1  # a repack that drops old objects keeps it


def test_a_packed_object_is_not_written_again(repository):
    oid = repository.write(BLOB, TEXT)
    git(repository, "update-ref", "refs/scopes/kept", oid)
    git(repository, "repack", "-adq")
    assert repository.write(BLOB, TEXT) == oid
    assert not os.path.exists(path_of(repository, oid))


def test_a_failed_write_leaves_no_file(repository):
    before = list_files(repository)
    with files_up_to(50_000), pytest.raises(Inaccessible, match="cannot write to the store"):
        repository.write(BLOB, random.Random(1).randbytes(200_000))
    assert list_files(repository) == before


def test_the_file_is_read_only_like_those_of_git(repository):
    path = path_of(repository, repository.write(BLOB, TEXT))
    assert os.stat(path).st_mode & 0o222 == 0
    assert len(read_bytes(path)) < len(TEXT) / 10


def test_a_small_object_is_left_to_libgit2(repository):
    objects = os.path.join(repository.path, "objects")
    assert write_large(objects, BLOB, b"x", is_known=lambda _: False, durable=False) is None
    assert list_files(repository) == []
