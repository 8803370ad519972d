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


def write_pack(directory, names):
    """Write a pack of empty entries with the sizes 0, 1, 2, ..., and its index with these names."""
    os.makedirs(directory)
    entries = b"".join(bytes([0xB0 | number & 15, number >> 4]) for number in range(len(names)))
    ends = [sum(name[0] <= first for name in names) for first in range(256)]
    numbers = [2, *ends]
    tables = b"".join(number.to_bytes(4, "big") for number in numbers)
    offsets = b"".join((2 * number).to_bytes(4, "big") for number in range(len(names)))
    index = b"\xfftOc" + tables + b"".join(names) + bytes(4 * len(names)) + offsets
    write_bytes(os.path.join(directory, "pack-1.pack"), entries)
    write_bytes(os.path.join(directory, "pack-1.idx"), index)


@pytest.mark.parametrize("first", [b"\x00", b"\x07", b"\xff"])
@pytest.mark.parametrize("values", [range(700), range(0, 700 << 100, 1 << 100), [n**9 << 60 for n in range(700)]])
def test_every_name_is_found_however_the_names_are_spread(tmp_path, first, values):
    """Names are looked for where their values say; those of a hostile pack are all together, or in one corner."""
    names = [first + value.to_bytes(19, "big") for value in values]
    write_pack(str(tmp_path / "pack"), names)
    sizes = PackSizes(str(tmp_path / "pack"))
    assert [sizes.largest(name.hex()) for name in names] == list(range(700))
    missing = first + (values[5] + 1 << 3).to_bytes(19, "big")
    assert missing in names or sizes.largest(missing.hex()) == 0
    sizes.close()


def test_sizes_stay_right_when_those_in_memory_are_dropped(repository, sizes, monkeypatch):
    oids = git(repository, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    found = sizes()
    before = list(map(found.largest, oids))
    monkeypatch.setattr("scopes.store.packs.sizes._MAX_KNOWN", 1)
    assert list(map(sizes().largest, oids)) == before
