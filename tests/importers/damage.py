"""Hypothesis strategies for damaged files: odd values in records, and bytes flipped, lost, doubled or inserted."""

from __future__ import annotations

import json
from copy import deepcopy

from hypothesis import strategies as st

WORDS = st.sampled_from(
    [
        "",
        "x",
        "c1",
        "u001",
        "\ud800",
        "\x00",
        "a\u2028b",
        "../../x",
        "a/b",
        "\x1b]0;t\x07",
        "main",
        "A.lock",
        "@{",
        "é" * 300,
    ]
)
ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | WORDS
    | st.sampled_from(
        ["2026-03-01T10:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59", "12026-03-01T10:00:00Z"]
    ),
    lambda items: st.lists(items, max_size=3) | st.dictionaries(WORDS, items, max_size=3),
    max_leaves=4,
)
BYTES = st.sampled_from(
    [b"", b"\0", b"\x1b", b"\xff", b"\xed\xa0\x80", b"}{", b"\n", b'"', b"\\", b"\xef\xbb\xbf", b"9" * 5000]
)


def walk_paths(value, path=()):
    """Yield the path of every value inside a document."""
    yield path
    if isinstance(value, dict | list):
        for key, item in list(value.items()) if isinstance(value, dict) else enumerate(value):
            yield from walk_paths(item, (*path, key))


def replace_value(document, path, value):
    """Return a copy of the document with one value replaced."""
    if not path:
        return value
    document = deepcopy(document)
    inner = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return document


def draw_damaged(data, intact):
    """Return bytes with up to three places replaced, in a test that draws from `data`."""
    damaged = bytearray(intact)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(damaged) - 1))
        damaged[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    return bytes(damaged)


@st.composite
def odd_records(draw, records):
    """Draw records in another order, some with odd values or values of other records."""
    drawn = list(records)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(drawn) - 1))
        paths = list(walk_paths(drawn[at]))
        path = paths[draw(st.integers(0, len(paths) - 1))]
        drawn[at] = replace_value(drawn[at], path, draw(ODD | st.sampled_from(drawn)))
    for _ in range(draw(st.integers(0, 2))):
        drawn.insert(draw(st.integers(0, len(drawn))), drawn.pop(draw(st.integers(0, len(drawn) - 1))))
    return drawn


@st.composite
def damaged(draw, data):
    """Draw damaged bytes."""
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(data)))
        length = draw(st.integers(0, 80))
        piece = data[at : at + length]
        what = draw(st.sampled_from(["flip", "delete", "duplicate", "truncate", "insert"]))
        if what == "flip" and piece:
            piece = bytes([piece[0] ^ 1 << draw(st.integers(0, 7))]) + piece[1:]
        elif what == "delete":
            piece = b""
        elif what == "duplicate":
            piece *= 2
        elif what == "insert":
            piece = draw(BYTES) + piece
        data = data[:at] + piece + (b"" if what == "truncate" else data[at + length :])
    return data


def lines(records):
    """Write records as JSON lines, with lone surrogates as escapes."""
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)
