"""Importing a thing by its name."""

from __future__ import annotations

import os

import pytest

from scopes.loading import load


def test_a_thing_is_loaded_by_its_name():
    assert load("os.path:join") is os.path.join


def test_a_name_that_is_not_there_is_a_mistake():
    with pytest.raises(ImportError):
        load("scopes.render.nothing:at_all")
    with pytest.raises(AttributeError):
        load("os.path:at_all")
