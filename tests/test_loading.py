"""Importing an object by name, and compiling a regular expression at its first use."""

from __future__ import annotations

import os

import pytest

from scopes.loading import load


def test_an_object_is_loaded_by_name():
    assert load("os.path:join") is os.path.join


def test_an_unknown_module_or_name_raises_the_error_of_python():
    with pytest.raises(ImportError):
        load("scopes.render.nothing:at_all")
    with pytest.raises(AttributeError):
        load("os.path:at_all")
