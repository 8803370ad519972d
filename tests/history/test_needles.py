"""Many byte strings are found in one pass: the same as if each was looked for alone."""

from __future__ import annotations

import random

import pytest

from scopes.history.purged import Needles


@pytest.mark.parametrize("letters", [b"ab", b"abcdefgh"])
@pytest.mark.parametrize("count", [5, 24, 25, 300])
def test_the_same_are_found_as_one_by_one(letters, count):
    chance = random.Random(f"{letters!r} {count}")
    for _ in range(100):
        data = bytes(chance.choices(letters, k=chance.randint(0, 150)))
        needles = [bytes(chance.choices(letters, k=chance.randint(1, 20))) for _ in range(count)]
        for _ in range(chance.randint(0, 3)):
            start = chance.randint(0, len(data))
            needles.append(data[start : start + chance.randint(1, 40)])
        expected = {needle for needle in needles if needle and needle in data}
        found = Needles(needles)
        assert set(found.walk(data)) == expected
        assert found.are_in(data) == bool(expected)


@pytest.mark.every_case("each is another place in the pieces that are looked at")
@pytest.mark.parametrize("before", range(9))
@pytest.mark.parametrize("length", [15, 16, 23])
def test_one_is_found_at_every_place_and_at_both_ends(before, length):
    needles = [f"{number:03}-{'x' * length}"[:length].encode() for number in range(100)]
    for end in (b"", b"y" * 20):
        assert [*Needles(needles).walk(b"y" * before + needles[42] + end)] == [needles[42]]
        assert not Needles(needles).are_in(b"y" * before + needles[42][:-1] + end)


def test_there_is_nothing_without_any():
    assert (bool(Needles([])), bool(Needles([b""])), Needles([]).are_in(b"abc")) == (False, False, False)
    assert bool(Needles([b"a"]))
