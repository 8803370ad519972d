"""Objects that `PackReader` finds are those of git; what it does not find, libgit2 reads, or tells what is wrong."""

from __future__ import annotations

import hashlib
import os
import random
import sys
import tempfile
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopes.errors import Corrupt, NotFound, ScopesError
from scopes.history.messages import read_message_bytes
from scopes.ids import Oid
from scopes.store.objects import BLOB, COMMIT, TREE
from scopes.store.packs import reader as module
from scopes.store.packs.reader import MAX_OBJECT_BYTES, PackReader
from scopes.store.repository import _FEW_READS, Repository
from tests.support.examples import examples
from tests.support.store import git, git_bytes, make_branch, make_store, open_store, read_bytes, write_bytes

START = b"100644 message.json\0"
TEXTS = st.binary(max_size=200) | st.binary(min_size=1, max_size=20).map(lambda text: text * 400)
GROUPS = st.lists(st.lists(TEXTS, max_size=8), min_size=1, max_size=4)  # each is packed before the next is written
LAYOUTS = st.sampled_from(["loose", "packs", "deltas", "multi-pack-index"])


@pytest.fixture(params=["isal", "zlib"])
def inflater(request, monkeypatch):
    """Read with isal and without."""
    if request.param == "zlib":
        monkeypatch.setattr(module, "_inflater", lambda: (zlib.decompress, zlib.error))
    return request.param


@pytest.fixture
def packed(repository):
    """A store with one pack, in which many objects are deltas."""
    make_branch(repository, *(f"{'a long text that changes little ' * 40}{number}" for number in range(12)))
    git(repository, "gc", "--quiet", "--aggressive")
    return repository


def list_objects(store):
    rows = git(store, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(deltabase)")
    return {oid: set(base) != {"0"} for oid, base in map(str.split, rows.splitlines())}


def packs_of(store):
    return os.path.join(store.path if isinstance(store, Repository) else store, "objects", "pack")


def file_of(store, suffix):
    (found,) = [name for name in os.listdir(packs_of(store)) if name.endswith(suffix)]
    return os.path.join(packs_of(store), found)


def content_of(store, oid):
    kind = git(store, "cat-file", "-t", oid).strip()
    return kind, git_bytes(store, "cat-file", kind, oid)


def fill(store, groups, layout):
    """Write the groups of blobs, one after the other, and pack them as the layout says; return what was written."""
    written = {}
    for group in groups:
        for data in group:
            oid = store.write(BLOB, data)
            written[oid] = data
            git(store, "update-ref", f"refs/tags/{oid}", oid)
        if layout != "loose" and group:
            git(store, "repack", "-q", "-d", *(["-a", "-f"] if layout == "deltas" else []))
    if layout == "multi-pack-index" and written:
        git(store, "multi-pack-index", "write")
    return written


def is_object(oid, kind, data):
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)) + data).hexdigest() == oid


@pytest.mark.parametrize("by_offset", ["true", "false"])
def test_every_object_is_found_as_git_reads_it(packed, inflater, by_offset):
    """Bases of deltas are named by their offset or by their id."""
    git(packed, "-c", f"repack.useDeltaBaseOffset={by_offset}", "repack", "-q", "-a", "-d", "-f")
    objects = list_objects(packed)
    assert sum(objects.values()) > 3
    for oids in (list(objects), list(objects)[::-1]):
        reader = PackReader(packs_of(packed))
        for oid in oids:
            assert reader.find(oid) == content_of(packed, oid)


def test_the_number_of_deltas_before_an_object_is_limited(packed, monkeypatch):
    monkeypatch.setattr(module, "_MAX_CHAIN", 0)
    reader = PackReader(packs_of(packed))
    for oid, is_delta in list_objects(packed).items():
        assert reader.find(oid) == (None if is_delta else content_of(packed, oid))


@pytest.mark.parametrize("most", [1, 2])
def test_few_bases_are_kept(packed, monkeypatch, most):
    monkeypatch.setattr(module, "_MAX_BASES", most)
    reader = PackReader(packs_of(packed))
    for oid in list_objects(packed):
        assert reader.find(oid) == content_of(packed, oid)
        assert all(len(pack._bases) <= most for pack in reader._searched)


def test_a_delta_of_a_large_result_is_left_to_libgit2(repository):
    text = random.Random(1).randbytes(MAX_OBJECT_BYTES)
    oids = [repository.write(BLOB, text + tail) for tail in (b"", b"x", b"yz")]
    for oid in oids:
        git(repository, "update-ref", f"refs/tags/{oid}", oid)
    git(repository, "repack", "-q", "-a", "-d", "-f")
    assert sum(list_objects(repository).values()) == 2
    reader = PackReader(packs_of(repository))
    assert [reader.find(oid) for oid in oids[1:]] == [None, None]


def test_an_object_that_is_in_no_pack_is_not_found(packed):
    reader = PackReader(packs_of(packed))
    assert [reader.find(oid) for oid in ("ab" * 20, "00" * 20, "ff" * 20)] == [None, None, None]


@pytest.mark.parametrize("oid", ["", "ab", "no hex", "ab" * 19, "ab" * 21, "é" * 40])
def test_what_is_no_id_is_not_found(packed, oid):
    assert PackReader(packs_of(packed)).find(oid) is None


def test_the_start_of_an_id_is_not_found(packed):
    oid = next(iter(list_objects(packed)))
    assert PackReader(packs_of(packed)).find(oid[:38]) is None


@given(groups=GROUPS, layout=LAYOUTS)
@settings(max_examples=examples(40), deadline=None)
def test_a_store_reads_the_same_with_a_reader_and_without(groups, layout):
    """Loose objects, one pack or several, deltas, a multi-pack index."""
    with tempfile.TemporaryDirectory() as directory:
        written = fill(make_store(os.path.join(directory, "store.git")), groups, layout)
        plain, fast = (open_store(os.path.join(directory, "store.git")) for _ in range(2))
        fast._open_reader()
        for oid, data in written.items():
            assert fast.read(oid) == plain.read(oid) == (BLOB, data)


@given(seed=st.integers(0, 2**32), suffix=st.sampled_from(["pack", "idx"]), cut=st.booleans())
@settings(max_examples=examples(150), deadline=None)
def test_what_is_found_in_a_damaged_pack_is_what_its_id_says(damaged_copies, seed, suffix, cut):
    """The reader never returns anything else; whether the store has more is for libgit2 to say."""
    store, sound, objects = damaged_copies()
    chance = random.Random(seed)
    data = bytearray(sound[suffix])
    place = chance.randrange(len(data))
    data[place:] = b"" if cut else bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]
    write_bytes(file_of(store, f".{suffix}"), bytes(data))
    reader = PackReader(packs_of(store))
    found = {oid: reader.find(oid) for oid in objects}
    write_bytes(file_of(store, f".{suffix}"), sound[suffix])
    assert all(each is None or is_object(oid, *each) for oid, each in found.items())


@pytest.fixture(scope="module")
def damaged_copies(tmp_path_factory):
    """Return a function that returns a packed store, the sound bytes of its files, which may be overwritten, and ids."""
    store = make_store(tmp_path_factory.mktemp("damaged") / "store.git")
    make_branch(store, *(f"a text {number} " * number for number in range(30)))
    git(store, "gc", "--quiet")
    for suffix in (".pack", ".idx"):
        os.chmod(file_of(store, suffix), 0o600)
    sound = {suffix: read_bytes(file_of(store, f".{suffix}")) for suffix in ("pack", "idx")}
    objects = list_objects(store)
    return lambda: (store, sound, objects)


@pytest.mark.parametrize(
    ("place", "value"), [(0, b"X"), (7, b"\x01"), (8, b"\xff"), (-21, None), (8 + 1020, b"\0\0\0\1")]
)
def test_a_pack_that_libgit2_refuses_is_not_read(damaged_copies, place, value):
    """Signature, version, number of objects of the pack; the checksum of the pack, and a count in the index."""
    store, sound, objects = damaged_copies()
    suffix = "idx" if place in {-21, 8 + 1020} else "pack"
    data = bytearray(sound[suffix])
    if value is None:
        data[place] ^= 0xFF  # whatever it was: the checksum of a pack may end with any byte
    else:
        data[place : place + len(value)] = value
    write_bytes(file_of(store, f".{suffix}"), bytes(data))
    reader = PackReader(packs_of(store))
    write_bytes(file_of(store, f".{suffix}"), sound[suffix])
    assert {reader.find(oid) for oid in objects} == {None}


def test_an_object_that_is_not_what_its_id_says_is_not_found(damaged_copies):
    """The index has the offsets of two objects the other way round; both are sound."""
    store, sound, objects = damaged_copies()
    offsets = 8 + 1024 + 24 * len(objects)
    data = sound["idx"]
    swapped = data[:offsets] + data[offsets + 4 : offsets + 8] + data[offsets : offsets + 4] + data[offsets + 8 :]
    write_bytes(file_of(store, ".idx"), swapped)
    reader = PackReader(packs_of(store))
    missed = [oid for oid, is_delta in sorted(objects.items()) if not is_delta and reader.find(oid) is None]
    write_bytes(file_of(store, ".idx"), sound["idx"])
    assert missed == sorted(objects)[:2]


def test_a_damaged_object_is_reported_as_libgit2_does(packed):
    path = file_of(packed, ".pack")
    sound = read_bytes(path)
    os.chmod(path, 0o600)
    write_bytes(path, sound[:12] + bytes(len(sound) - 32) + sound[-20:])
    for oid in list_objects_by_index(packed):
        plain, fast = open_store(packed), open_store(packed)
        fast._open_reader()
        assert failure(fast, oid) == failure(plain, oid)


def list_objects_by_index(store):
    rows = git_bytes(store, "show-index", stdin=read_bytes(file_of(store, ".idx"))).decode()
    return [line.split()[1] for line in rows.splitlines()]


def failure(store, oid):
    try:
        store.read(Oid(oid))
    except ScopesError as error:
        return type(error), str(error)
    return None


def test_large_objects_are_left_to_libgit2(repository):
    large = repository.write(BLOB, bytes(MAX_OBJECT_BYTES + 1))
    small = repository.write(BLOB, b"a" * MAX_OBJECT_BYTES)
    for oid in (large, small):
        git(repository, "update-ref", f"refs/tags/{oid}", oid)
    git(repository, "gc", "--quiet")
    reader = PackReader(packs_of(repository))
    assert (reader.find(large), reader.find(small)) == (None, (BLOB, b"a" * MAX_OBJECT_BYTES))


def test_the_blob_of_the_first_entry_is_found_with_its_tree(packed):
    reader = PackReader(packs_of(packed))
    tip = Oid(git(packed, "rev-parse", "refs/heads/conv-001/main").strip())
    for oid in git(packed, "rev-list", tip).split():
        tree = git(packed, "rev-parse", f"{oid}^{{tree}}").strip()
        name, found = reader.find_first_blob(tree, START)
        assert found is None or found == read_message_bytes(packed, Oid(oid)) == reader.find_blob(name)


def test_a_tree_that_begins_with_something_else_has_no_first_blob(packed):
    reader = PackReader(packs_of(packed))
    assert {reader.find_first_blob(oid, b"100644 other\0") for oid in list_objects(packed)} == {(b"", None)}


def test_only_blobs_are_found_as_blobs(packed):
    reader = PackReader(packs_of(packed))
    for oid in list_objects(packed):
        found = reader.find(oid)
        assert reader.find_blob(bytes.fromhex(oid)) == (found[1] if found and found[0] == BLOB else None)
    assert reader.find_blob(b"\x55" * 20) is None


@pytest.fixture
def large_pack(repository):
    """A pack of 4 MB of blobs that do not deflate, and one larger than a window."""
    chance = random.Random(7)
    written = {repository.write(BLOB, data): data for data in [chance.randbytes(4000) for _ in range(1000)]}
    written |= {repository.write(BLOB, data): data for data in [chance.randbytes(300_000)]}
    git_bytes(repository, "update-index", "--index-info", stdin=b"".join(map(index_entry, written)))
    git(repository, "update-ref", "refs/tags/all", git(repository, "write-tree").strip())
    git(repository, "gc", "--quiet")
    return repository, written


def index_entry(oid):
    return f"100644 {oid}\t{oid}\n".encode()


def mapped_kilobytes(path):
    """Return how much of a file is in the memory of this process."""
    rows = [line.split() for line in read_bytes("/proc/self/smaps").decode().splitlines()]
    places = [number for number, row in enumerate(rows) if row[-1] == path]
    return sum(next(int(row[1]) for row in rows[place:] if row[0] == "Rss:") for place in places)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how much of a file is mapped")
@pytest.mark.slow
def test_what_was_read_of_large_packs_is_given_back_to_the_system(large_pack, monkeypatch):
    """With the limit out of reach all of it stays. A system with large pages maps more than was read."""
    store, written = large_pack
    for windows, expected in ((16, range(2400)), (10_000, range(4000, 6000))):
        monkeypatch.setattr(module, "_MAX_WINDOWS", windows)
        reader = PackReader(packs_of(store))
        peaks = []
        for number, (oid, data) in enumerate(written.items()):
            assert reader.find(oid) == (BLOB, data)
            if number % 200 == 0 or number == len(written) - 1:  # the system takes milliseconds to tell
                peaks.append(mapped_kilobytes(file_of(store, ".pack")))
        assert max(peaks) in expected
        del reader


@pytest.mark.parametrize("windows", [0, 1, 3])
@pytest.mark.slow
def test_objects_are_the_same_after_memory_was_given_back(packed, inflater, monkeypatch, windows):
    monkeypatch.setattr(module, "_MAX_WINDOWS", windows)
    reader = PackReader(packs_of(packed))
    for oid in [*list_objects(packed)] * 2:
        assert reader.find(oid) == content_of(packed, oid)


@pytest.mark.slow
def test_a_large_object_counts_as_all_the_memory_that_it_touches(large_pack):
    store, written = large_pack
    reader = PackReader(packs_of(store))
    small, large = next(iter(written)), next(reversed(written))
    reader.find(small)
    before = len(reader._windows)
    reader.find(large)
    assert len(reader._windows) - before >= 300_000 >> 16


def test_packs_do_not_share_windows(packed):
    """The windows of one pack are not those of another: each is counted."""
    new = packed.write(BLOB, b"new")
    git(packed, "update-ref", "refs/tags/new", new)
    git(packed, "repack", "-q", "-d")
    reader = PackReader(packs_of(packed))
    touched = []
    for oid in (new, next(oid for oid, is_delta in list_objects(packed).items() if not is_delta and oid != new)):
        reader._windows.clear()
        assert reader.find(oid) is not None
        touched.append(max(reader._windows))
    assert len(reader._packs) == len(set(touched)) == 2


def test_new_packs_are_read_and_old_ones_closed_after_a_refresh(packed):
    reader = PackReader(packs_of(packed))
    new = packed.write(BLOB, b"new")
    git(packed, "update-ref", "refs/tags/new", new)
    git(packed, "gc", "--quiet")
    assert reader.find(new) is None
    reader.refresh()
    assert reader.find(new) == (BLOB, b"new")


def test_a_directory_without_packs_has_no_objects(tmp_path):
    assert PackReader(str(tmp_path / "missing")).find("ab" * 20) is None


def test_a_named_pipe_instead_of_a_pack_is_left_to_libgit2(packed):
    os.mkfifo(os.path.join(packs_of(packed), "pack-0.idx"))
    os.mkfifo(os.path.join(packs_of(packed), "pack-0.pack"))
    reader = PackReader(packs_of(packed))
    assert any(reader.find(oid) for oid in list_objects(packed))


def test_a_repository_opens_a_reader_after_a_number_of_packed_objects(packed):
    oids = [oid for oid, is_delta in list_objects(packed).items() if not is_delta]
    repository = open_store(packed)
    for number in range(_FEW_READS):
        assert repository._reader is None
        repository.find_packed(Oid(oids[number % len(oids)]))
    assert repository._reader is not None
    repository.close()
    assert repository._reader is None


def test_a_missing_object_is_missing_with_a_reader_too(packed):
    packed._open_reader()
    with pytest.raises(NotFound):
        packed.read(Oid("ab" * 20))
    with pytest.raises(Corrupt):
        packed.read(Oid("no id"))


def test_an_object_that_was_packed_since_is_read(packed):
    packed._open_reader()
    new = packed.write(TREE, b"")
    packed.recent.clear()
    git(packed, "update-ref", "refs/tags/tree", new)
    git(packed, "gc", "--quiet")
    assert packed.read(new) == (TREE, b"")


def test_verifying_commands_read_without_a_reader(packed, monkeypatch):
    """They limit the size of packed objects, and what they report is libgit2's."""
    packed._open_reader()
    tip = Oid(git(packed, "rev-parse", "refs/heads/conv-001/main").strip())
    monkeypatch.setattr(PackReader, "find", lambda *_: pytest.fail("the reader was asked"))
    with packed.limit_packed(), packed.from_disk():
        assert packed.read(tip)[0] == COMMIT
