from __future__ import annotations

import subprocess
import sys

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


def test_a_subclass_is_rendered_like_its_base():
    assert to_wire(Puppy(name="Rex")) == {"kind": "pet", "name": "Rex"}


def test_the_module_of_a_known_noun_is_imported_when_first_needed(monkeypatch):
    monkeypatch.setitem(dispatch.NOUN_OF, Puppy.__name__, "fields")
    monkeypatch.delitem(sys.modules, "scopes.render.wire.fields", raising=False)
    to_wire(Puppy(name="Rex"))
    assert "scopes.render.wire.fields" in sys.modules


def test_a_result_that_describes_itself_imports_no_renderer():
    before = set(sys.modules)
    assert render_text.find(Result).__module__ == "scopes.render.table"
    assert {name for name in set(sys.modules) - before if name.startswith(("scopes.render.text", "rich"))} == set()


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
