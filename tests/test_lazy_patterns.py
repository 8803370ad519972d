"""Regular expressions that are compiled at their first use."""

from __future__ import annotations

import re

import pytest

from scopes.lazy_patterns import compile_lazily


def test_a_lazy_pattern_is_compiled_at_its_first_use():
    pattern, broken = compile_lazily("a(b)", re.IGNORECASE), compile_lazily("(")
    assert pattern.sub("x", "ABC") == "xC"
    found = pattern.fullmatch("AB")
    assert found is not None
    assert found[1] == "B"
    assert [pattern.pattern, compile_lazily(rb"\d").findall(b"12")] == ["a(b)", [b"1", b"2"]]
    with pytest.raises(re.error):
        broken.match("a")
