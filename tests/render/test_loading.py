from __future__ import annotations

import sys

from scopes.render import dispatch
from scopes.render.dispatch import load_renderings
from tests.render.sample import Pet


def test_the_renderings_of_a_known_noun_are_loaded_at_first_need(monkeypatch):
    monkeypatch.setitem(dispatch.NOUN_OF, Pet.__module__, "dispatch")
    monkeypatch.delitem(sys.modules, "scopes.render.wire.dispatch")
    load_renderings("wire", Pet)
    assert "scopes.render.wire.dispatch" in sys.modules


def test_a_noun_that_is_not_known_loads_nothing():
    before = set(sys.modules)
    load_renderings("text", Pet)
    assert set(sys.modules) == before


def test_every_known_noun_has_both_modules():
    for noun in set(dispatch.NOUN_OF.values()):
        for kind in ("text", "wire"):
            __import__(f"scopes.render.{kind}.{noun}")
