from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pytest

from scopes.render import dispatch
from scopes.render.dispatch import render_text, to_wire
from scopes.render.view import PlainView
from scopes.result import Result
from tests.render.sample import Pet


class Puppy(Pet):
    """A Result without a rendering of its own."""


def test_a_registered_result_has_both_renderings():
    pieces: list[str] = []
    render_text(Pet(name="Ada"), PlainView(pieces.append))
    assert "".join(pieces) == "Ada\t4\n"
    assert to_wire(Pet(name="Ada")) == {"kind": "pet", "name": "Ada"}


def test_an_unknown_result_is_named():
    with pytest.raises(TypeError, match="Result has no text rendering"):
        render_text(Result(), PlainView(print))


def test_a_result_without_a_wire_function_shows_its_fields():
    """A new verb needs no JSON function as long as its fields are plain values."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class KennelBuilt(Result):
        name: str
        owner: str | None = None

    assert to_wire(KennelBuilt(name="Rex")) == {"kind": "kennel-built", "name": "Rex"}


class Room(NamedTuple):
    number: int
    guest: str | None = None


@dataclass(frozen=True, slots=True)
class Floor:
    rooms: tuple[Room, ...]
    keys: Mapping[str, Room]


@dataclass(frozen=True, slots=True, kw_only=True)
class FloorList(Result):
    floors: tuple[Floor, ...]


def test_rows_are_objects_with_the_names_of_their_fields():
    """A verb that lists dataclasses or NamedTuples needs no JSON function either; None is left out."""
    floors = (Floor((Room(1, "Rex"), Room(2)), {"blue": Room(1)}),)
    assert json.loads(json.dumps(to_wire(FloorList(floors=floors)))) == {
        "kind": "floor-list",
        "floors": [{"rooms": [{"number": 1, "guest": "Rex"}, {"number": 2}], "keys": {"blue": {"number": 1}}}],
    }


def test_a_field_called_kind_is_refused():
    """It would replace the kind of the document."""

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Sorted(Result):
        kind: str

    with pytest.raises(TypeError, match="Sorted: a Result shown by its fields cannot have a field called kind"):
        to_wire(Sorted(kind="size"))


def test_a_subclass_is_rendered_like_its_base():
    assert to_wire(Puppy(name="Rex")) == {"kind": "pet", "name": "Rex"}


def test_the_module_of_a_known_noun_is_imported_when_first_needed(monkeypatch):
    monkeypatch.setitem(dispatch.NOUN_OF, Puppy.__name__, "fields")
    monkeypatch.delitem(sys.modules, "scopes.render.wire.fields", raising=False)
    to_wire(Puppy(name="Rex"))
    assert "scopes.render.wire.fields" in sys.modules


def test_a_result_without_a_module_of_its_name_imports_nothing():
    before = set(sys.modules)
    with pytest.raises(TypeError):
        render_text.find(Result)
    assert set(sys.modules) == before


def test_every_known_noun_has_a_module():
    for noun in set(dispatch.NOUN_OF.values()):
        __import__(f"scopes.render.text.{noun}")


def test_every_exception_for_json_names_a_module_in_text():
    for noun in dispatch.WIRE_OF:
        __import__(f"scopes.render.text.{noun}")


@pytest.mark.parametrize("package", ["text", "wire"])
def test_a_renderer_imports_no_module_of_another_result(package):
    """Rendering `conv append` imports neither `cat` nor `show`, which the same modules render."""
    program = f"""
import sys
from scopes.conversation.append import MessageAppended
from scopes.render.dispatch import render_text, to_wire
({{"text": render_text, "wire": to_wire}})["{package}"].find(MessageAppended)
print(sorted(sys.modules.keys() & {{"scopes.conversation.cat", "scopes.conversation.show", "scopes.conversation.log"}}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
