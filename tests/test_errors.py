"""The tree of refusals: exit codes, kinds, and the drawing of it in the module's own words."""

from __future__ import annotations

import re

import pytest

from scopes import errors
from scopes.errors import Busy, Corrupt, ScopesError

CODES = {
    "Refused": 1, "Invalid": 2, "Conflicted": 3, "NotFound": 4, "Ambiguous": 5, "Busy": 6, "Corrupt": 7, "TooNew": 7, "CannotImport": 7,
    "Inaccessible": 8, "BudgetExhausted": 9,
}  # fmt: skip


def every_refusal():
    return {
        name: item
        for name, item in vars(errors).items()
        if isinstance(item, type) and issubclass(item, ScopesError) and item is not ScopesError
    }


def test_every_refusal_has_its_exit_code():
    """The contract with scripts."""
    assert {name: refusal.exit_code for name, refusal in every_refusal().items()} == CODES


def test_every_refusal_has_a_kind_of_its_own():
    kinds = [refusal.kind for refusal in every_refusal().values()]
    assert len(set(kinds)) == len(kinds)
    assert all(re.fullmatch("[a-z]+(-[a-z]+)*", kind) for kind in kinds)


def test_the_drawing_is_the_tree():
    drawn = re.findall(r"[├└]── (\w+) +(\d) +([a-z-]+) ", errors.__doc__)
    assert drawn == [(name, str(refusal.exit_code), refusal.kind) for name, refusal in every_refusal().items()]


def test_the_drawings_branches_are_the_trees():
    inner = re.findall(r"│   [├└]── (\w+)", errors.__doc__)
    assert {name for name, refusal in every_refusal().items() if Corrupt in refusal.__bases__} == set(inner)


def test_only_a_busy_store_is_worth_another_try():
    assert [refusal for refusal in every_refusal().values() if refusal.retryable] == [Busy]


@pytest.mark.parametrize("refusal", every_refusal().values(), ids=lambda refusal: refusal.__name__)
def test_a_refusal_carries_its_message_and_its_cure(refusal):
    error = refusal("it is so", hint="do this")
    assert (str(error), error.message, error.hint) == ("it is so", "it is so", "do this")
    assert refusal("it is so").hint is None
    assert refusal.__doc__
