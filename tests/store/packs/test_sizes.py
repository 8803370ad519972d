"""The sizes of packed objects are those that git tells, and nothing in a damaged pack is believed or crashes."""

from __future__ import annotations

import glob
import os
import random

import pytest

from scopes.store.maintenance import pack
from scopes.store.packs.sizes import PackSizes
from scopes.store.transactions import exclusive_write
from tests.support.store import git, make_branch, read_bytes, write_bytes


@pytest.fixture
def sizes(repository):
    """Pack versions of a long text, so that there are deltas; return a function that opens the sizes."""
    make_branch(repository, *(f"{'a long text that changes little ' * 40}{number}" for number in range(12)))
    with exclusive_write(repository):
        pack(repository)
    opened = []

    def open_sizes():
        opened.append(PackSizes(os.path.join(repository.path, "objects", "pack")))
        return opened[-1]

    yield open_sizes
    for found in opened:
        found.close()


def test_no_object_is_smaller_than_git_says(repository, sizes):
    rows = git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objectsize) %(deltabase)")
    found = sizes()
    deltas = 0
    for oid, size, base in map(str.split, rows.splitlines()):
        deltas += set(base) != {"0"}
        if set(base) == {"0"}:
            assert found.largest(oid) == int(size)
        else:
            assert found.largest(oid) >= int(size)
    assert deltas > 3


def test_a_delta_is_as_large_as_its_largest_base(repository, sizes):
    rows = git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objectsize) %(deltabase)")
    size_of = {oid: int(size) for oid, size, _ in map(str.split, rows.splitlines())}
    base_of = {oid: base for oid, _, base in map(str.split, rows.splitlines()) if set(base) != {"0"}}
    found = sizes()
    for oid in base_of:
        chain = [oid]
        while chain[-1] in base_of:
            chain.append(base_of[chain[-1]])
        assert found.largest(oid) == max(map(size_of.__getitem__, chain))


def test_an_object_that_is_in_no_pack_has_no_size(repository, sizes):
    assert sizes().largest("ab" * 20) == 0


@pytest.mark.parametrize("suffix", ["pack", "idx"])
def test_damage_is_no_error(repository, sizes, suffix):
    """The read of the object reports it; libgit2's own header crashed on such packs."""
    oids = git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    (path,) = glob.glob(os.path.join(repository.path, "objects", "pack", f"*.{suffix}"))
    sound = read_bytes(path)
    for _ in range(60):
        data = bytearray(sound)
        for _ in range(random.randrange(1, 9)):
            data[random.randrange(len(data))] = random.randrange(256)
        write_bytes(path, bytes(data[: random.choice([len(data), random.randrange(len(data))])]))
        found = sizes()
        assert all(found.largest(oid) >= 0 for oid in oids)
