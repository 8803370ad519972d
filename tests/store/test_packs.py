"""Packs written in bulk, checked by git and by an already open pygit2 repository."""

from __future__ import annotations

import errno
import itertools
import os
import random
import subprocess
import sys
import tempfile
import tracemalloc
from contextlib import suppress

import pygit2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.errors import Inaccessible
from scopes.ids import Oid
from scopes.store import packs as packing
from scopes.store.packs import (
    PackWriter,
    format_entry,
    parse_entry,
)
from tests.support.examples import examples
from tests.support.store import git_bytes

ANYBODY = b"carol <carol@agents.scopes> 1767225600 +0000"
EMPTY_BLOB = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
UNKNOWN = Oid("0123456789" * 4)
OBJECTS = st.lists(st.binary(max_size=300) | st.binary(max_size=30).map(lambda text: text * 300), max_size=30)


@pytest.fixture
def store(tmp_path):
    return init_bare(str(tmp_path / "store.git"))


def init_bare(path):
    git_bytes(path, "init", "--quiet", "--bare", "--template=")
    return path


def pack_directory(store):
    return os.path.join(store, "objects", "pack")


def files(store):
    return sorted(os.listdir(pack_directory(store)))


def path_of(store, name):
    return os.path.join(pack_directory(store), name)


def nothing_exists(oid):
    return False


def writer(store, exists=nothing_exists, **options):
    return PackWriter(pack_directory(store), exists, **options)


def raising(error):
    def call(*arguments):
        raise error

    return call


def tree_of(blob):
    return b"100644 message.json\0" + bytes.fromhex(blob)


def commit_of(tree, parent, subject):
    parents = b"parent %s\n" % parent.encode() if parent else b""
    return b"tree %s\n%sauthor %s\ncommitter %s\n\n%s\n" % (tree.encode(), parents, ANYBODY, ANYBODY, subject.encode())


def write_chain(pack, count, *, size=200, seed=1):
    """Write `count` messages, each a blob, a tree and a commit; return {oid: (kind, data)} and the tip."""
    text = random.Random(seed)
    written, tip = {}, None

    def put(kind, data):
        oid = pack.write(kind, data)
        written[oid] = (kind, data)
        return oid

    for number in range(count):
        blob = put("blob", b'{"n":%d,"text":"%s","v":1}\n' % (number, text.randbytes(size // 2).hex().encode()))
        tip = put("commit", commit_of(put("tree", tree_of(blob)), tip, f"message {number}"))
    return written, tip


def read_all(repo, oids):
    return {oid: (repo.get(oid).type_str, repo.get(oid).read_raw()) for oid in oids}


# Compared with git


def test_git_finds_nothing_wrong_with_a_finished_pack(store, tmp_path):
    with writer(store) as pack:
        _, tip = write_chain(pack, 50)
    (name,) = pack.finish()
    git_bytes(store, "update-ref", "refs/heads/conv-001/main", tip)
    assert git_bytes(store, "fsck", "--strict", "--full", "--no-dangling") == b""
    git_bytes(store, "index-pack", "--strict", "-o", str(tmp_path / "again.idx"), path_of(store, name))
    assert git_bytes(store, "verify-pack", "-v", path_of(store, name)).endswith(b": ok\n")
    assert git_bytes(store, "rev-list", "--count", tip) == b"50\n"


def test_the_index_has_the_same_bytes_as_that_of_git(store, tmp_path):
    with writer(store) as pack:
        write_chain(pack, 100)
    (name,) = pack.finish()
    git_bytes(store, "index-pack", "-o", str(tmp_path / "again.idx"), path_of(store, name))
    ours = open_bytes(path_of(store, name.replace(".pack", ".idx")))
    assert ours == open_bytes(tmp_path / "again.idx")


def open_bytes(path):
    with open(path, "rb") as file:
        return file.read()


def test_a_pack_is_named_after_its_checksum(store):
    with writer(store) as pack:
        pack.write("blob", b"one")
    (name,) = pack.finish()
    assert name == f"pack-{open_bytes(path_of(store, name))[-20:].hex()}.pack"
    assert files(store) == [name.replace(".pack", ".idx"), name]


@pytest.mark.parametrize("kind", ["blob", "tree", "commit"])
def test_an_oid_is_the_one_git_gives(store, kind):
    data = {"blob": b"\0\xff text\r\n", "tree": tree_of(EMPTY_BLOB), "commit": commit_of(EMPTY_TREE, None, "x")}[kind]
    with writer(store) as pack:
        oid = pack.write(kind, data)
    assert git_bytes(store, "hash-object", "-t", kind, "--literally", "--stdin", stdin=data).decode().strip() == oid
    assert git_bytes(store, "cat-file", kind, oid) == data


def test_pygit2_reads_every_object_back(store):
    with writer(store) as pack:
        written, _ = write_chain(pack, 60)
    assert read_all(pygit2.Repository(store), written) == written


@pytest.mark.parametrize("size", [0, 1, 15, 16, 17, 96, 97, 2047, 2048, 262_143, 262_144, 3_000_000])
def test_lengths_at_the_limits_of_the_varint_are_read_back(store, size):
    data = random.Random(size).randbytes(size)
    assert parse_entry(format_entry("blob", data)) == ("blob", data)
    with writer(store) as pack:
        oid = pack.write("blob", data)
        assert pack.find(oid) == ("blob", data)
    assert git_bytes(store, "cat-file", "blob", oid) == data


def test_the_empty_blob_and_the_empty_tree_are_objects_too(store):
    with writer(store) as pack:
        assert pack.write("blob", b"") == EMPTY_BLOB
        assert pack.write("tree", b"") == EMPTY_TREE
        assert pack.find(Oid(EMPTY_BLOB)) == ("blob", b"")
    assert git_bytes(store, "cat-file", "-t", EMPTY_TREE) == b"tree\n"


@settings(max_examples=examples(20), deadline=None)
@given(OBJECTS, st.sampled_from([60, 1000, 1 << 20]))
def test_any_set_of_objects_is_read_back_from_packs_accepted_by_git(blobs, flush_bytes):
    with tempfile.TemporaryDirectory() as directory:
        store = init_bare(directory)
        odb = pygit2.Repository(store).odb
        with writer(store, odb.exists, flush_bytes=flush_bytes, durable=False) as pack:
            oids = [pack.write("blob", data) for data in blobs]
        assert [odb.read(oid)[1] for oid in oids] == blobs
        indexes = [path_of(store, name) for name in files(store) if name.endswith(".idx")]
        listed = git_bytes(store, "verify-pack", "-v", *indexes) if indexes else b""
        assert listed.count(b" blob ") == len(set(blobs))


# The index


# Each object once


def test_an_object_written_twice_is_stored_once(store):
    with writer(store) as pack:
        assert pack.write("blob", b"same") == pack.write("blob", b"same")
    assert git_bytes(store, "verify-pack", "-v", path_of(store, pack.finish()[0])).count(b" blob ") == 1


def test_an_object_the_store_has_is_not_written(store):
    there = git_bytes(store, "hash-object", "-w", "--stdin", stdin=b"old").decode().strip()
    with writer(store, pygit2.Repository(store).odb.exists) as pack:
        assert pack.write("blob", b"old") == there
        assert pack.find(Oid(there)) is None
    assert files(store) == []


def test_only_objects_that_may_exist_are_looked_up_in_the_store(store):
    looked_up = []
    with writer(store, looked_up.append) as pack:
        blob = pack.write("blob", b"new")
        tip = pack.write("commit", commit_of(pack.write("tree", tree_of(blob)), None, "new"))
        assert looked_up == [blob]
        old = pack.write("tree", tree_of("1" * 40))
        known = pack.write("commit", commit_of("2" * 40, tip, "its tree is old"))
        empty = pack.write("tree", b"")
    assert looked_up == [blob, old, known, empty]


def test_an_object_of_a_pack_already_flushed_is_not_written_again(store):
    with writer(store, pygit2.Repository(store).odb.exists, flush_bytes=1) as pack:
        pack.write("blob", b"same")
        pack.write("blob", b"same")
    assert len(pack.finish()) == 1


def test_the_same_objects_written_by_two_writers_give_one_pack(store):
    names = []
    for _ in range(2):
        with writer(store) as pack:
            write_chain(pack, 5)
        names.append(pack.finish())
    assert names[0] == names[1]
    assert len(files(store)) == 2


def test_a_writer_without_objects_installs_nothing(store):
    with writer(store) as pack:
        assert files(store) == []
    assert pack.finish() == ()
    assert files(store) == []


def test_finish_can_be_called_again_and_writing_can_continue(store):
    pack = writer(store)
    pack.write("blob", b"one")
    first = pack.finish()
    assert pack.finish() == first
    pack.write("blob", b"two")
    assert pack.finish()[:1] == first
    assert len(pack.finish()) == 2


# Flushing, and memory


def test_a_long_import_writes_several_packs_of_about_the_requested_size(store):
    with writer(store, pygit2.Repository(store).odb.exists, flush_bytes=20_000) as pack:
        written, tip = write_chain(pack, 150, size=1000)
    sizes = [os.path.getsize(path_of(store, name)) for name in pack.finish()]
    assert len(sizes) > 3
    assert all(20_000 <= size < 22_000 for size in sizes[:-1])
    git_bytes(store, "update-ref", "refs/heads/conv-001/main", tip)
    assert git_bytes(store, "fsck", "--strict", "--full", "--no-dangling") == b""
    assert read_all(pygit2.Repository(store), written) == written


def test_memory_does_not_grow_with_the_import(store):
    chance = random.Random(5)
    tracemalloc.start()
    try:
        with writer(store, flush_bytes=1 << 20, durable=False) as pack:
            for _ in range(600):
                pack.write("blob", chance.randbytes(20_000))
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert sum(os.path.getsize(path_of(store, name)) for name in files(store)) > 12_000_000
    assert peak_bytes < 4_000_000


# Reading back


def test_unfinished_objects_can_be_read_back(store):
    with writer(store) as pack:
        written, _ = write_chain(pack, 30)
        assert {oid: pack.find(oid) for oid in written} == written
        assert pack.find(UNKNOWN) is None
        pack.finish()
        assert [pack.find(oid) for oid in written] == [None] * len(written)


@settings(max_examples=examples(25), deadline=None)
@given(OBJECTS, st.integers(1, 100_000))
def test_find_returns_written_objects_with_any_cache_size(blobs, flush_bytes):
    with tempfile.TemporaryDirectory() as directory:
        pack = PackWriter(directory, nothing_exists, flush_bytes=flush_bytes, durable=False)
        for data in blobs:
            oid = pack.write("blob", data)
            in_hand = any(name.startswith("tmp_pack_") for name in os.listdir(directory))
            assert pack.find(oid) == (("blob", data) if in_hand else None)
        pack.discard()


def test_objects_not_in_memory_are_read_from_the_unfinished_file(store):
    with writer(store, flush_bytes=400_000) as pack:
        written, _ = write_chain(pack, 150, size=4000)
        assert files(store)[0].startswith("tmp_pack_")
        assert {oid: pack.find(oid) for oid in written} == written
        more, _ = write_chain(pack, 20, seed=2)
        assert {oid: pack.find(oid) for oid in more} == more


# Seen by other processes


def test_an_open_repository_sees_a_finished_pack_without_a_refresh(store):
    repo = pygit2.Repository(store)
    pack = writer(store)
    oid = pack.write("blob", b"late")
    assert oid not in repo.odb
    with pytest.raises(KeyError):
        repo.read(oid)
    pack.finish()
    assert repo.read(oid)[1] == b"late"
    assert oid in pygit2.Repository(store).odb


def test_an_unfinished_pack_is_invisible(store):
    with writer(store) as pack:
        oid = pack.write("blob", b"early")
        assert oid not in pygit2.Repository(store).odb
        assert git_bytes(store, "count-objects", "-v").startswith(b"count: 0\n")
    assert oid in pygit2.Repository(store).odb


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o444), (0o077, 0o400)])
def test_installed_files_are_read_only_and_respect_the_umask(store, umask, mode):
    before = os.umask(umask)
    try:
        with writer(store) as pack:
            pack.write("blob", b"private")
    finally:
        os.umask(before)
    assert {os.stat(path_of(store, name)).st_mode & 0o777 for name in files(store)} == {mode}


# Durability


@pytest.fixture
def calls(monkeypatch):
    """Record fsync and rename in the order they happen, by file name."""
    seen = []
    fsync, rename = os.fsync, os.rename

    def recorded_fsync(descriptor):
        seen.append(("fsync", os.path.basename(os.readlink(f"/proc/self/fd/{descriptor}"))[:8]))
        fsync(descriptor)

    def recorded_rename(source, target):
        seen.append(("rename", os.path.splitext(target)[1]))
        rename(source, target)

    monkeypatch.setattr(os, "fsync", recorded_fsync)
    monkeypatch.setattr(os, "rename", recorded_rename)
    return seen


def test_both_files_are_synced_before_they_appear_and_the_directory_after(store, calls):
    with writer(store) as pack:
        pack.write("blob", b"kept")
    assert calls == [
        ("fsync", "tmp_pack"),
        ("fsync", "tmp_idx_"),
        ("rename", ".pack"),
        ("rename", ".idx"),
        ("fsync", "pack"),
    ]


def test_without_durability_nothing_is_synced(store, calls):
    with writer(store, durable=False) as pack:
        pack.write("blob", b"fast")
    assert calls == [("rename", ".pack"), ("rename", ".idx")]


# Failures


def write_then_raise(pack, stop):
    pack.write("blob", b"whole")
    raise stop


@pytest.mark.parametrize("stop", [KeyboardInterrupt, ValueError])
def test_an_exception_in_the_block_leaves_no_file(store, stop):
    pack = writer(store)
    with pytest.raises(stop), pack:
        write_then_raise(pack, stop)
    assert files(store) == []
    assert pack.finish() == ()


def test_an_exception_keeps_the_packs_that_were_finished_before(store):
    with pytest.raises(ValueError), writer(store, flush_bytes=1) as pack:
        write_then_raise(pack, ValueError)
    assert [name[:5] for name in files(store)] == ["pack-", "pack-"]


@pytest.mark.parametrize("call", ["open", "write", "pread", "pwrite", "fsync", "close", "rename"])
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_a_failed_system_call_leaves_a_complete_pack_or_nothing(store, monkeypatch, call, turn):
    real, turns = getattr(os, call), itertools.count(1)

    def failing(*arguments):
        if next(turns) == turn:
            raise OSError(errno.EIO, "boom")
        return real(*arguments)

    with monkeypatch.context() as patch, suppress(Inaccessible), writer(store) as pack:
        patch.setattr(os, call, failing)
        write_chain(pack, 3)
    assert [name[-4:] for name in files(store)] in ([], [".idx", "pack"])
    git_bytes(store, "fsck", "--strict", "--full")


def test_a_pack_without_an_index_is_completed(store):
    with writer(store) as pack:
        write_chain(pack, 3)
    os.unlink(path_of(store, files(store)[0]))
    with writer(store) as pack:
        written, _ = write_chain(pack, 3)
    assert read_all(pygit2.Repository(store), written) == written


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_an_error_names_the_action_and_the_reason(store, monkeypatch, number, words):
    pack = writer(store)
    monkeypatch.setattr(os, "open", raising(OSError(number, "no")))
    with pytest.raises(Inaccessible, match=f"cannot write new objects: .*{words}") as refusal:
        pack.write("blob", b"x")
    monkeypatch.undo()  # Python 3.13 removes the directories of the test with os.open
    assert refusal.value.hint


def test_a_missing_directory_is_inaccessible(tmp_path):
    pack = PackWriter(str(tmp_path / "gone"), nothing_exists)
    with pytest.raises(Inaccessible, match="No such file or directory"):
        pack.write("blob", b"x")


def refuses_everything(pack):
    with pytest.raises(Inaccessible):
        pack.write("blob", b"next")
    with pytest.raises(Inaccessible):
        pack.finish()
    return True


def write_three(pack):
    write_chain(pack, 3)
    pack.finish()


@pytest.mark.parametrize("call", ["open", "write", "pread", "pwrite", "fsync", "rename"])
@pytest.mark.parametrize("stop", [OSError(errno.EIO, "no"), KeyboardInterrupt()])
def test_a_stopped_writer_refuses_to_install_a_partial_pack(store, monkeypatch, call, stop):
    pack = writer(store)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, raising(stop))
        with pytest.raises((Inaccessible, KeyboardInterrupt)):
            write_three(pack)
    assert pack.find(UNKNOWN) is None
    assert refuses_everything(pack)
    assert files(store) == []


def test_a_swallowed_interrupt_installs_nothing_and_leaves_no_file(store, monkeypatch):
    def swallow(pack):
        pack.write("blob", b"whole")
        monkeypatch.setattr(packing, "format_entry", raising(KeyboardInterrupt()))
        with suppress(KeyboardInterrupt):
            pack.write("blob", b"half")

    with pytest.raises(Inaccessible, match="interrupted"), writer(store) as pack:
        swallow(pack)
    assert files(store) == []


def run_apart(program, store):
    """Run a program that writes packs into the store in a subprocess."""
    imports = "import os\nfrom scopes.store.packs import PackWriter\nfrom scopes.errors import Inaccessible\n" + program
    return subprocess.run(
        [sys.executable, "-c", imports, pack_directory(store)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_limit_on_the_size_of_files_leaves_nothing(store):
    program = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
try:
    with PackWriter(sys.argv[1], lambda oid: False) as pack:
        for _ in range(400):
            pack.write("blob", os.urandom(10_000))
except Inaccessible as error:
    print(error.message, error.hint)
"""
    done = run_apart(program, store)
    assert "cannot write new objects" in done.stdout, done.stderr
    assert files(store) == []


def test_files_of_a_killed_writer_are_ignored_and_pruned(store):
    program = """
import sys
pack = PackWriter(sys.argv[1], lambda oid: False)
for _ in range(300):
    pack.write("blob", os.urandom(10_000))
os._exit(9)
"""
    assert run_apart(program, store).returncode == 9
    assert [name[:9] for name in files(store)] == ["tmp_pack_"]
    assert git_bytes(store, "fsck", "--strict", "--full") == b""
    git_bytes(store, "prune", "--expire=now")
    assert files(store) == []


@pytest.fixture
def small_disk(store):
    """Mount 400 kB over the pack directory."""
    options = ["-t", "tmpfs", "-o", "size=400k", "tmpfs"]
    mounted = os.geteuid() == 0 and subprocess.run(
        ["mount", *options, pack_directory(store)], capture_output=True, check=False
    )
    if not mounted or mounted.returncode != 0:
        pytest.skip("may not mount a file system here")
    yield store
    subprocess.run(["umount", pack_directory(store)], check=True)


def write_noise(pack):
    for number in range(400):
        pack.write("blob", random.Random(number).randbytes(10_000))


@pytest.mark.needs_root
def test_a_full_disk_leaves_nothing(small_disk):
    with pytest.raises(Inaccessible, match="the disk is full") as refusal, writer(small_disk) as pack:
        write_noise(pack)
    assert "free some space" in refusal.value.hint
    assert files(small_disk) == []


@pytest.mark.needs_root
def test_packs_finished_before_the_disk_is_full_are_kept(small_disk):
    with pytest.raises(Inaccessible), writer(small_disk, flush_bytes=100_000) as pack:
        write_noise(pack)
    assert len(files(small_disk)) == 2 * len([name for name in files(small_disk) if name.endswith(".pack")]) > 0
    git_bytes(small_disk, "fsck", "--strict", "--full")


def test_a_header_written_in_several_short_writes_is_complete(store, monkeypatch):
    """F-59, P2: a pack whose header has no number of objects cannot be read."""
    whole = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda file, data, at: whole(file, data[:5], at))
    with writer(store) as pack:
        oid = pack.write("blob", b"tea")
    assert read_all(pygit2.Repository(store), [oid])
    git_bytes(store, "fsck", "--strict", "--full")


# The library that deflates
