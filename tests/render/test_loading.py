from __future__ import annotations

import os
import sys

import pytest

from scopes.render import loading
from scopes.render.loading import load, load_renderings
from tests.render.sample import Pet


def test_a_thing_is_loaded_by_its_name():
    assert load("os.path:join") is os.path.join


def test_a_name_that_is_not_there_is_a_mistake():
    with pytest.raises(ImportError):
        load("scopes.render.nothing:at_all")
    with pytest.raises(AttributeError):
        load("os.path:at_all")


def test_the_renderings_of_a_known_noun_are_loaded_at_first_need(monkeypatch):
    monkeypatch.setitem(loading.NOUN_OF, Pet.__module__, "dispatch")
    monkeypatch.delitem(sys.modules, "scopes.render.wire.dispatch")
    load_renderings("wire", Pet)
    assert "scopes.render.wire.dispatch" in sys.modules


def test_a_noun_that_is_not_known_loads_nothing():
    before = set(sys.modules)
    load_renderings("text", Pet)
    assert set(sys.modules) == before


def test_every_known_noun_has_both_modules():
    for noun in set(loading.NOUN_OF.values()):
        for kind in ("text", "wire"):
            __import__(f"scopes.render.{kind}.{noun}")
