"""Importing an object by name, and compiling a regular expression at its first use."""

from __future__ import annotations

import os

import pytest

from scopes.loading import deferred, load


def test_an_object_is_loaded_by_name():
    assert load("os.path:join") is os.path.join


def test_an_unknown_module_or_name_raises_the_error_of_python():
    with pytest.raises(ImportError):
        load("scopes.render.nothing:at_all")
    with pytest.raises(AttributeError):
        load("os.path:at_all")


def test_a_deferred_function_is_imported_at_its_first_call():
    join, missing = deferred("os.path:join"), deferred("scopes.render.nothing:at_all")
    assert join("a", "b") == os.path.join("a", "b")
    with pytest.raises(ImportError):
        missing()
