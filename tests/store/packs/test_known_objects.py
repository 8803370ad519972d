"""Which objects a store has, read from the indexes of its packs."""

from __future__ import annotations

import hashlib
import os
from functools import partial

import pytest

from scopes.ids import Oid
from scopes.store.init import create_store
from scopes.store.overlay import overlay_of
from scopes.store.packs import bulk
from scopes.store.packs.format import format_index
from scopes.store.packs.known_objects import KnownObjects, PackNames
from scopes.store.packs.writer import PackWriter
from tests.support.store import FULL, git, open_store

UNKNOWN = Oid("0123456789" * 4)


@pytest.fixture
def store(tmp_path):
    path = str(tmp_path / "store.git")
    create_store(path)
    return open_store(path, FULL)


def pack(store, *texts):
    with PackWriter(os.path.join(store.path, "objects", "pack"), lambda oid: False) as writer:
        return [writer.write("blob", text) for text in texts]


def test_packed_and_loose_objects_are_known_and_others_are_not(store):
    packed = pack(store, *(b"%d" % number for number in range(3000)))
    loose = store.write("blob", b"loose")
    known = KnownObjects(store)
    assert all(map(known.has, [*packed, loose]))
    missing = [Oid(hashlib.sha1(b"%d" % number).hexdigest()) for number in range(3000)]
    assert not any(map(known.has, missing))


def test_a_pack_that_comes_later_is_known_and_one_that_is_gone_is_not(store):
    known = KnownObjects(store)
    assert not known.has(UNKNOWN)
    (first,) = pack(store, b"first")
    assert known.has(first)
    directory = os.path.join(store.path, "objects", "pack")
    for name in os.listdir(directory):
        os.unlink(os.path.join(directory, name))
    assert not known.has(first)


def test_the_packs_may_be_listed_again_only_from_time_to_time(store):
    known = KnownObjects(store, questions_per_look=3)
    assert not known.has(UNKNOWN)
    (first,) = pack(store, b"first")
    assert [known.has(first) for _ in range(3)] == [False, False, True]
    (second,) = pack(store, b"second")
    assert not known.has(second)
    known.look_again()
    assert known.has(second)


def test_an_import_writes_no_object_again_that_an_earlier_pack_of_it_has(store, monkeypatch):
    """A pack is installed whenever it is full; the writer does not remember its objects."""
    monkeypatch.setattr(bulk, "PackWriter", partial(PackWriter, flush_bytes=2000))
    with bulk.bulk_objects(store) as objects:
        for _ in range(2):
            for number in range(100):
                objects.write("blob", hashlib.sha512(b"%d" % number).digest())
    counts = [line.split()[-1] for line in git(store, "count-objects", "-v").splitlines() if "in-pack" in line]
    assert counts == ["100"]


def test_an_index_without_its_pack_counts_for_nothing(store):
    (lost,) = pack(store, b"lost")
    directory = os.path.join(store.path, "objects", "pack")
    for name in os.listdir(directory):
        if name.endswith(".pack"):
            os.unlink(os.path.join(directory, name))
    assert not KnownObjects(store).has(lost)


def test_an_overlay_knows_the_objects_of_its_store(store):
    (packed,) = pack(store, b"packed")
    with overlay_of(store) as overlay:
        assert KnownObjects(overlay).has(packed)
        assert not KnownObjects(overlay).has(UNKNOWN)


def test_bytes_of_two_neighboring_names_are_no_name(store):
    pack(store, *(b"%d" % number for number in range(2000)))
    directory = os.path.join(store.path, "objects", "pack")
    (path,) = (os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".idx"))
    with open(path, "rb") as file:
        data = file.read()
    names = PackNames(path)
    starts = range(8 + 1024, 8 + 1024 + 20 * 1999, 20)
    assert all(data[at : at + 20] in names for at in starts)
    assert not any(data[at + 10 : at + 30] in names for at in starts)


def test_names_that_are_not_even_are_found(tmp_path):
    """As in an index that somebody made: all names begin alike, and are far from where even names would be."""
    names = [b"\x07" + start + b"%018d" % number for start in (b"\0", b"\x7f", b"\xff") for number in range(300)]
    index = format_index(names, range(900), [0] * 900, bytes(20))
    (tmp_path / "x.idx").write_bytes(index)
    known = PackNames(str(tmp_path / "x.idx"))
    assert all(name in known for name in names)
    assert not any(name[:-1] + b"x" in known for name in names)


@pytest.mark.parametrize("damage", [lambda data: data[:500], lambda data: data[:2000], lambda data: b"x" + data[1:]])
def test_a_damaged_index_is_refused(store, damage):
    pack(store, *(b"%d" % number for number in range(2000)))
    directory = os.path.join(store.path, "objects", "pack")
    (path,) = (os.path.join(directory, name) for name in os.listdir(directory) if name.endswith(".idx"))
    with open(path, "rb") as file:
        data = file.read()
    os.unlink(path)
    with open(path, "wb") as file:
        file.write(damage(data))
    with pytest.raises(ValueError, match="idx"):
        PackNames(path)
