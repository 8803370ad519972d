"""Reading many objects once gives the same objects and errors as reading them one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from scopes.errors import Corrupt, NotFound
from scopes.store import read_once as module
from scopes.store.objects import BLOB, object_id
from scopes.store.read_once import ReadOnce
from tests.support.history import history, say
from tests.support.store import git, make_store, remove_object


@pytest.fixture
def objects(repository):
    """The ids of all objects of a store; half of them are packed, with deltas."""
    history(repository, "main: a b c d")
    git(repository, "repack", "-adfq", "--depth=50")
    git(repository, "prune-packed")
    history(repository, "main: e f")
    listed = git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    return repository, sorted(listed)


def test_packed_and_loose_objects_of_every_kind_are_read(objects):
    repository, oids = objects
    once, other = ReadOnce(repository), make_store(repository.path)
    found = {oid: once.read(oid) for oid in oids}
    assert found == {oid: other.read(oid) for oid in oids}
    assert {kind for kind, _ in found.values()} == {"commit", "tree", "blob"}


def test_packed_objects_are_not_kept_in_memory(objects):
    repository, _ = objects
    tip = git(repository, "rev-parse", "conv-001/main").strip()
    fresh = make_store(repository.path)
    ReadOnce(fresh).read(tip)
    assert fresh.recent.find(tip) is None
    fresh.read(tip)
    assert fresh.recent.find(tip) is not None


def test_what_is_missing_or_damaged_raises_as_for_a_repository(objects):
    repository, _ = objects
    tip = git(repository, "rev-parse", "conv-002/main").strip()
    remove_object(repository, tip)
    once = ReadOnce(make_store(repository.path))
    for oid, error in ((tip, NotFound), ("f" * 40, NotFound), (tip[:10], Corrupt), ("?" * 40, Corrupt)):
        with pytest.raises(error):
            once.read(oid)


def test_an_object_that_was_packed_meanwhile_is_found(objects):
    repository, oids = objects
    once = ReadOnce(repository)
    git(repository, "repack", "-adq")
    git(repository, "prune-packed")
    assert all(once.read(oid) for oid in oids)


def test_an_object_can_be_written(repository):
    once = ReadOnce(repository)
    assert once.read(once.write("blob", b"text")) == ("blob", b"text")


def read_each(once, oids):
    """Read blobs one by one."""
    return [once.read_blob(oid) for oid in oids]


KIND_OF = {"commit": ReadOnce.read_commits, "tree": ReadOnce.read_trees, "blob": ReadOnce.read_blobs}
READERS = [*KIND_OF.items(), ("blob", read_each)]


@pytest.mark.parametrize(("wanted", "read"), READERS)
def test_an_object_of_a_known_kind_is_read_and_one_of_another_kind_is_corrupt(objects, wanted, read):
    repository, oids = objects
    once = ReadOnce(repository)
    for oid in oids:
        kind, data = once.read(oid)
        if kind == wanted:
            assert read(once, [oid, oid]) == [data, data]
        else:
            with pytest.raises(Corrupt, match=f"{oid} is not a {wanted}"):
                read(once, [oid])


@pytest.mark.parametrize(("wanted", "read"), READERS)
def test_many_objects_are_read_in_the_order_of_their_ids_loose_ones_too(objects, wanted, read):
    repository, oids = objects
    loose = repository.write("blob", b"not in a pack")
    once = ReadOnce(make_store(repository.path))
    chosen = [oid for oid in (*oids, loose, *reversed(oids)) if once.read(oid)[0] == wanted]
    assert read(once, chosen) == [once.read(oid)[1] for oid in chosen]
    assert read(once, []) == []


def test_the_one_of_many_objects_that_is_missing_is_named(objects):
    repository, oids = objects
    blobs = [oid for oid in oids if ReadOnce(repository).read(oid)[0] == "blob"]
    with pytest.raises(NotFound, match=r"f{40}"):
        ReadOnce(repository).read_blobs([*blobs, "f" * 40, *blobs])


@pytest.mark.parametrize("name", ["f" * 40, "?" * 40, "é" * 40, "", "12ab"])
def test_what_is_no_id_or_missing_raises_for_every_kind(objects, name):
    """The object database takes the beginning of an id for the id."""
    repository, oids = objects
    for read in (*KIND_OF.values(), read_each, ReadOnce.read_trees_of):
        for wrong in (name, oids[0][:20]):
            with pytest.raises((NotFound, Corrupt)):
                read(ReadOnce(repository, commits=100), [wrong])
            with pytest.raises((NotFound, Corrupt)):
                ReadOnce(repository).read(wrong)


def exchange_offsets(repository):
    """Let the index of the pack say of each object that it is where another one is; return the ids."""
    [index] = Path(repository.path, "objects", "pack").glob("*.idx")
    data = bytearray(index.read_bytes())
    count = int.from_bytes(data[8 + 255 * 4 : 8 + 256 * 4], "big")
    start = 8 + 1024 + 24 * count
    data[start : start + 4 * count] = data[start + 4 : start + 4 * count] + data[start : start + 4]
    index.chmod(0o600)
    index.write_bytes(data)
    return [data[at : at + 20].hex() for at in range(1032, 1032 + 20 * count, 20)]


def test_another_object_in_the_place_of_the_wanted_one_is_not_taken_for_it(objects):
    """Nothing but the hash tells: each entry of the pack is sound."""
    repository, _ = objects
    for oid in exchange_offsets(repository):
        once = ReadOnce(make_store(repository.path), commits=100)
        with pytest.raises((NotFound, Corrupt)):
            once.read(oid)
        for read in (*KIND_OF.values(), read_each):
            with pytest.raises((NotFound, Corrupt)):
                read(once, [oid])


@pytest.fixture
def gathered(objects):
    """A store in one pack with a commit graph, and its commits by name."""
    repository, _ = objects
    git(repository, "gc", "-q")
    git(repository, "commit-graph", "write", "--reachable")
    commits = git(repository, "rev-list", "--all").split()
    opened = make_store(repository.path)
    assert opened.commit_graph is not None  # compared with the commits: from here on it is known to be right
    return opened, {oid: git(repository, "rev-parse", f"{oid}^{{tree}}").strip() for oid in commits}


def spied(repository, commits):
    """Return what reads objects once, and the list of ids that it reads."""
    once, read = ReadOnce(repository, commits), []
    real = once._read
    once._read = lambda oid: read.append(oid) or real(oid)
    return once, read


@pytest.mark.parametrize("commits", [0, 1000])
def test_the_commit_graph_spares_reading_commits_for_their_trees_if_they_are_many(gathered, commits):
    repository, trees = gathered
    once, read = spied(repository, commits)
    assert once.read_trees_of([*trees]) == once.read_trees([*trees.values()])
    assert trees.keys() & set(read) == (set() if commits else trees.keys())


def test_a_newer_commit_than_the_commit_graph_is_read(gathered):
    repository, trees = gathered
    say(repository, "conv-001", "newer")
    newer = git(repository, "rev-parse", "conv-001/main").strip()
    git(repository, "repack", "-dq")
    once, read = spied(make_store(repository.path), 1000)
    tree = git(repository, "rev-parse", f"{newer}^{{tree}}").strip()
    assert once.read_trees_of([newer]) == once.read_trees([tree])
    assert newer in read
    assert newer not in trees


def test_a_commit_that_only_the_commit_graph_has_is_missing(gathered):
    """Its tree may still be in the store, because another commit has it."""
    repository, trees = gathered
    git(repository, "unpack-objects", "-q", stdin=unplug_packs(repository))
    for oid in trees:
        put_back = remove_object(repository, oid)
        with pytest.raises(NotFound, match=oid):
            ReadOnce(make_store(repository.path), 1000).read_trees_of([oid])
        put_back()


def unplug_packs(repository):
    """Remove the packs and return the bytes of the only one."""
    directory = Path(repository.path, "objects", "pack")
    [pack] = directory.glob("*.pack")
    content = pack.read_bytes()
    for path in directory.iterdir():
        path.unlink()
    return content


@pytest.mark.parametrize("damage", [b"", b"junk", None])
def test_without_a_sound_commit_graph_commits_are_read(gathered, damage):
    repository, trees = gathered
    graph = Path(repository.path, "objects", "info", "commit-graph")
    graph.unlink()
    if damage is not None:
        graph.write_bytes(damage)
    once, read = spied(make_store(repository.path), 1000)
    assert once.read_trees_of([*trees]) == once.read_trees([*trees.values()])
    assert set(trees) <= set(read)


@pytest.mark.parametrize("size", [0, 1, 1024, 1025, 70_000])
def test_an_object_of_any_size_is_hashed_as_git_does(size):
    data = b"x" * size
    for _ in range(2):  # the second time with the hash that was kept
        assert module._hash(module._BLOB, data) == object_id(BLOB, data)


def test_only_hashes_of_small_sizes_are_kept():
    headers = module._Headers(BLOB)
    for size in (5, 1024, 1025, 2_000_000):
        assert headers[size].digest() == headers[size].digest()
    assert {*headers} == {5, 1024}


def test_a_kept_hash_does_not_change_when_it_is_used():
    first = module._hash(module._BLOB, b"first")
    assert module._hash(module._BLOB, b"other") != first == module._hash(module._BLOB, b"first")
