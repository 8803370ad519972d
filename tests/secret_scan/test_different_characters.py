"""A value behind `password=` counts from ten different characters on, as `secrets explain` says."""

from __future__ import annotations

import pytest

from scopes.secret_scan.scan import scan_text
from scopes.secrets.list import _GENERAL


@pytest.mark.parametrize(
    ("value", "different", "found"),
    [("hunter2hunter2hunter2A1", 9, False), ("hunter2hunter2hunter2A1B", 10, True)],
)
def test_a_value_of_ten_different_characters_is_found(value, different, found):
    assert len(set(value)) == different
    assert [each.value for each in scan_text(f"password={value}")] == ([value] if found else [])


def test_the_explanation_says_so():
    assert "10 of them different" in _GENERAL["assigned-secret"]
