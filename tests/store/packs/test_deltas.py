"""Deltas of packs: what they make of their base, and what is refused."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.store.packs.deltas import apply_delta, parse_distance

LIMIT = 1 << 20
bases = st.binary(min_size=1, max_size=300)
inserts = st.tuples(st.just("insert"), st.binary(min_size=1, max_size=127))
copies = st.tuples(st.just("copy"), st.tuples(st.integers(0, 400), st.integers(1, 300)))


def size_of(number):
    """Encode a size: seven bits in each byte, the lowest first."""
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*data, number])


def copy_of(start, length):
    """Encode a copy; bytes that are zero are left out."""
    code, data = 0x80, bytearray()
    for bit, byte in enumerate([*start.to_bytes(4, "little"), *(length & 0xFFFFFF).to_bytes(3, "little")]):
        if byte:
            code |= 1 << bit
            data.append(byte)
    return bytes([code, *data])


def delta_of(base, *steps, size=None):
    """Return a delta and what it leads to."""
    made, code = b"", b""
    for name, value in steps:
        if name == "insert":
            made, code = made + value, code + bytes([len(value)]) + value
        else:
            made, code = made + base[value[0] : sum(value)], code + copy_of(*value)
    return size_of(len(base)) + size_of(len(made) if size is None else size) + code, made


@given(bases, st.lists(inserts | copies, max_size=8))
def test_a_delta_makes_what_its_steps_say(base, steps):
    fitting = [(name, value) for name, value in steps if name == "insert" or sum(value) <= len(base)]
    delta, made = delta_of(base, *fitting)
    assert apply_delta(base, delta, LIMIT) == made


def test_a_copy_without_a_length_has_65536_bytes():
    base = bytes(range(256)) * 300
    delta = size_of(len(base)) + size_of(0x10000) + bytes([0x81, 5])
    assert apply_delta(base, delta, LIMIT) == base[5 : 5 + 0x10000]


def test_far_and_long_copies_are_read():
    base = bytes(range(251)) * 300
    delta, made = delta_of(base, ("copy", (70_000, 1000)), ("copy", (0, 70_000)))
    assert apply_delta(base, delta, LIMIT) == made


@given(bases, st.lists(inserts | copies, min_size=1, max_size=4), st.integers(1, 5))
def test_a_delta_with_another_size_is_refused(base, steps, more):
    fitting = [(name, value) for name, value in steps if name == "insert" or sum(value) <= len(base)]
    _, made = delta_of(base, *fitting)
    for size in (len(made) + more, max(len(made) - more, 0)):
        if size != len(made):
            with pytest.raises(ValueError, match="damaged"):
                apply_delta(base, delta_of(base, *fitting, size=size)[0], LIMIT)


@pytest.mark.parametrize(
    "code",
    [copy_of(8, 5), copy_of(100, 1), b"\x05abc", b"\x00", b"\x00" * 5],
    ids=["copy over the end", "copy behind the end", "cut insert", "reserved", "only reserved"],
)
def test_a_step_that_does_not_fit_is_refused(code):
    with pytest.raises(ValueError, match="damaged"):
        apply_delta(b"0123456789", size_of(10) + size_of(5) + code, LIMIT)


def test_the_delta_of_another_base_is_refused():
    delta, _ = delta_of(b"0123456789", ("copy", (0, 4)))
    with pytest.raises(ValueError, match="another base"):
        apply_delta(b"012345678", delta, LIMIT)


def test_a_result_above_the_limit_is_refused_before_it_is_made():
    delta, made = delta_of(b"0123456789", *[("copy", (0, 10))] * 5)
    assert apply_delta(b"0123456789", delta, 50) == made
    with pytest.raises(ValueError, match="too large"):
        apply_delta(b"0123456789", delta, 49)


@given(bases, st.binary(max_size=60))
def test_no_bytes_make_more_than_the_limit_or_another_error(base, delta):
    with suppress(ValueError, IndexError):
        assert len(apply_delta(base, delta, 1000)) <= 1000


@given(st.integers(1, 1 << 40))
def test_a_distance_is_read_as_git_writes_it(distance):
    """The rule of gitformat-pack: each further byte counts from one more."""
    data = [distance & 0x7F]
    rest = distance >> 7
    while rest:
        rest -= 1
        data.insert(0, rest & 0x7F | 0x80)
        rest >>= 7
    assert parse_distance(b"x" + bytes(data) + b"y", 1) == (distance, 1 + len(data))
