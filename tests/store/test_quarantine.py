"""A quarantine reads the objects of the store, keeps new packs apart, and is gone at the end."""

from __future__ import annotations

import os

import pytest

from scopes.errors import Corrupt, NotFound, Refused
from scopes.store.git_program import QUARANTINE_PREFIX, ReceivedObjects, list_abandoned, open_quarantine
from scopes.store.objects import BLOB, list_modes
from tests.support.store import assert_sound, files_of, git, make_branch, make_store, open_store


@pytest.fixture
def quarantine(repository):
    """A quarantine of a store that has a message."""
    make_branch(repository, "here")
    with open_quarantine(repository.path, {}) as opened:
        yield opened


@pytest.fixture
def received(repository, quarantine, tmp_path):
    """Objects of another store in the quarantine, as one pack; return them, and the commit that they are of."""
    other = make_store(tmp_path / "other")
    commit = make_branch(other, "from elsewhere")[0]
    names = git(other, "rev-list", "--objects", "--no-object-names", commit)
    git(other, "pack-objects", "-q", os.path.join(quarantine.pack_directory, "pack"), stdin=names.encode())
    return ReceivedObjects(repository, quarantine), commit


def test_git_finds_the_objects_of_the_store_and_the_known_refs(repository):
    tip = make_branch(repository, "a")[0]
    with open_quarantine(repository.path, {"refs/in/origin/x": tip}) as quarantine:
        assert git(quarantine.path, "for-each-ref", "--format=%(refname) %(objectname)") == f"refs/in/origin/x {tip}\n"
        assert git(quarantine.path, "log", "--format=%s", tip) == "a\n"


def test_git_reads_no_configuration_of_the_store(repository, quarantine):
    git(repository, "config", "core.hooksPath", "/evil")
    assert git(quarantine.path, "config", "core.hooksPath").strip() == "/dev/null"


def test_a_quarantine_is_private_and_removed_at_the_end(repository):
    with open_quarantine(repository.path, {}) as quarantine:
        assert os.stat(quarantine.path).st_mode & 0o077 == 0
    assert not [name for name in os.listdir(repository.path) if name.startswith(QUARANTINE_PREFIX)]


def test_a_quarantine_is_removed_after_an_error_too(repository):
    with pytest.raises(Refused), open_quarantine(repository.path, {}):
        raise Refused("no")
    assert not [name for name in os.listdir(repository.path) if name.startswith(QUARANTINE_PREFIX)]


def test_a_quarantine_that_is_used_is_not_abandoned(repository):
    with open_quarantine(repository.path, {}) as quarantine:
        assert list_abandoned(repository.path) == []
        os.unlink(os.path.join(quarantine.path, "lock"))
        assert list_abandoned(repository.path) == [os.path.basename(quarantine.path)]


def test_a_lock_that_is_no_file_keeps_nobody_waiting(repository):
    path = os.path.join(repository.path, f"{QUARANTINE_PREFIX}x")
    os.mkdir(path)
    os.mkfifo(os.path.join(path, "lock"))
    assert list_abandoned(repository.path) == [f"{QUARANTINE_PREFIX}x"]


def test_packs_are_in_the_store_after_they_are_linked(repository, quarantine, received):
    _, commit = received
    assert not repository.has(commit)
    assert quarantine.link_packs(repository.path, durable=True) == 1
    again = open_store(repository)
    assert again.has(commit)
    assert_sound(again)


def test_linking_packs_twice_changes_nothing(repository, quarantine, received):
    quarantine.link_packs(repository.path, durable=False)
    before = files_of(os.path.join(repository.path, "objects"))
    quarantine.link_packs(repository.path, durable=False)
    assert files_of(os.path.join(repository.path, "objects")) == before


def test_received_objects_are_read_together_with_those_of_the_store(repository, received):
    objects, commit = received
    own = repository.find_ref("refs/heads/conv-001/main")
    assert (objects.is_new(commit), objects.is_new(own)) == (True, False)
    assert objects.read(commit)[0] == objects.read(own)[0] == "commit"
    assert commit in objects.new
    with pytest.raises(NotFound):
        objects.read("0" * 40)


def test_what_is_written_stays_in_memory(repository, received):
    objects, _ = received
    oid = objects.write(BLOB, b"in memory")
    assert objects.read(oid) == (BLOB, b"in memory")
    assert list(objects.written) == [oid]
    assert not repository.has(oid)
    assert git(repository, "hash-object", "--stdin", stdin=b"in memory").strip() == oid


def test_a_damaged_pack_is_an_error(repository, quarantine, received):
    (pack,) = quarantine.list_packs()
    os.chmod(f"{pack}.pack", 0o600)
    with open(f"{pack}.pack", "r+b") as file:
        file.seek(12)
        file.write(b"\xff" * 40)
    objects = ReceivedObjects(repository, quarantine)
    with pytest.raises(Corrupt):
        [objects.read(oid) for oid in objects.new]


def test_the_modes_of_a_tree_are_listed_as_they_are_stored():
    entry = b"%s %s\0" + bytes(20)
    assert list_modes(entry % (b"100644", b"a") + entry % (b"120000", b"b")) == {b"100644", b"120000"}
    assert list_modes(b"") == set()
    with pytest.raises(Corrupt):
        list_modes(b"100644 a")
