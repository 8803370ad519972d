"""Base32 and base64 are decoded as Python's own functions do, and every stretch of text in them is found."""

from __future__ import annotations

from base64 import b32decode, b32encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopes.secret_scan import decoding
from scopes.secret_scan.decoding import decode_base32, walk_encoded

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
ASCII = st.text("\t\n\r\x1bab ~{", max_size=24).map(str.encode)
BYTES = st.one_of(ASCII, ASCII.map(lambda text: text.decode().encode("utf-16-le")), st.binary(max_size=4))


@given(st.text(DIGITS, max_size=100), st.integers(0, 6))
def test_base32_is_what_python_makes_of_it(word, equals_signs):
    """A last group that no encoder writes is left out."""
    whole = word[: len(word) - {1: 1, 3: 1, 6: 1}.get(len(word) % 8, 0)]
    assert decode_base32(word + "=" * equals_signs) == b32decode(whole + "=" * (-len(whole) % 8))


@given(st.lists(BYTES, max_size=12).map(b"".join))
def test_no_stretch_of_text_is_passed_over(data):
    """Whether there is one is seen without the pattern."""
    found = [each.span() for each in decoding._find_stretches(data)]
    assert found == [each.span() for each in decoding._STRETCH.finditer(data)]


@pytest.mark.parametrize("text", ["password is hunter2, I think so", "\x1b[1mtoken\x1b[0m: 0123456789 abcdefghijk"])
@pytest.mark.parametrize("encoding", ["ascii", "utf-16-le"])
@pytest.mark.parametrize("before", ["", "AAA", "QUJDQUJD" * 9000])
def test_a_text_is_found_in_base32_also_behind_other_words(text, encoding, before):
    run = before + b32encode(text.encode(encoding)).decode()
    assert any(text in each.text for each in walk_encoded(f"see {run} there"))
    (found, *_) = [each for each in walk_encoded(f"see {run} there") if text in each.text]
    assert found.start >= len("see ") + len(before) - 8
