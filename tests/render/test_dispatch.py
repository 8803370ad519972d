from __future__ import annotations

import pytest

from scopes.render.text.dispatch import render_text
from scopes.render.view import PlainView
from scopes.render.wire.dispatch import to_wire
from scopes.result import Result
from tests.render.sample import Pet


def test_a_registered_result_has_both_renderings():
    pieces: list[str] = []
    render_text(Pet(name="Ada"), PlainView(pieces.append))
    assert "".join(pieces) == "Ada\t4\n"
    assert to_wire(Pet(name="Ada")) == {"kind": "pet", "name": "Ada"}


def test_an_unknown_result_is_named():
    with pytest.raises(TypeError, match="Result has no text rendering"):
        render_text(Result(), PlainView(print))
    with pytest.raises(TypeError, match="Result has no wire rendering"):
        to_wire(Result())
