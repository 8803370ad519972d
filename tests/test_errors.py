"""The tree of exceptions: exit codes, kinds, and the drawing of the tree in the module docstring."""

from __future__ import annotations

import re

import pytest

from scopes import errors
from scopes.errors import Busy, ScopesError

CODES = {
    "Refused": 1, "NoAvailableAgents": 1, "Invalid": 2, "Conflicted": 3, "NotFound": 4, "MissingObject": 7, "Ambiguous": 5, "Busy": 6, "Corrupt": 7, "TooNew": 7, "CannotImport": 7, "NothingToImport": 1,
    "Inaccessible": 8, "BudgetExhausted": 9, "SecretsFound": 1,
}  # fmt: skip


def all_exceptions():
    return {
        name: item
        for name, item in vars(errors).items()
        if isinstance(item, type) and issubclass(item, ScopesError) and item is not ScopesError
    }


def test_every_exception_has_its_exit_code():
    """Scripts rely on the exit codes."""
    assert {name: exception.exit_code for name, exception in all_exceptions().items()} == CODES


def test_every_exception_has_its_own_kind():
    kinds = [exception.kind for exception in all_exceptions().values()]
    assert len(set(kinds)) == len(kinds)
    assert all(re.fullmatch("[a-z]+(-[a-z]+)*", kind) for kind in kinds)


def test_the_drawing_in_the_docstring_lists_every_exception():
    drawn = re.findall(r"[├└]── (\w+) +(\d) +([a-z-]+) ", errors.__doc__)
    assert drawn == [(name, str(exception.exit_code), exception.kind) for name, exception in all_exceptions().items()]


def test_the_drawing_indents_the_exceptions_below_others():
    inner = re.findall(r"│   [├└]── (\w+)", errors.__doc__)
    assert {name for name, exception in all_exceptions().items() if exception.__bases__ != (ScopesError,)} == set(inner)


def test_only_busy_is_retryable():
    assert [exception for exception in all_exceptions().values() if exception.retryable] == [Busy]


@pytest.mark.parametrize("exception", all_exceptions().values(), ids=lambda exception: exception.__name__)
def test_an_exception_has_a_message_and_an_optional_hint(exception):
    error = exception("it failed", hint="do this")
    assert (str(error), error.message, error.hint) == ("it failed", "it failed", "do this")
    assert exception("it failed").hint is None
    assert exception.__doc__
