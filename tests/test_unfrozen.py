"""Instances of frozen dataclasses that are made by setting attributes are those that the constructor makes."""

from __future__ import annotations

import copy
import pickle
from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from scopes.unfrozen import unfrozen


@dataclass(frozen=True, slots=True, kw_only=True)
class Below:
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Row(Below):
    name: str
    size: int | None = None

    @property
    def shown(self) -> str:
        return f"{self.name} {self.size}"


@pytest.fixture
def made():
    row = object.__new__(unfrozen(Row))
    row.notes, row.name, row.size = ("a",), "x", 3
    row.__class__ = Row
    return row


def test_an_instance_is_the_one_that_the_constructor_makes(made):
    usual = Row(notes=("a",), name="x", size=3)
    assert made == usual
    assert type(made) is Row
    assert (repr(made), hash(made), made.shown) == (repr(usual), hash(usual), usual.shown)


def test_an_instance_is_frozen(made):
    with pytest.raises(FrozenInstanceError):
        made.size = 4
    with pytest.raises(FrozenInstanceError):
        del made.size


def test_an_instance_can_be_copied(made):
    assert copy.copy(made) == copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == made
    assert replace(made, size=4) == Row(notes=("a",), name="x", size=4)


def test_the_class_of_an_instance_that_is_not_finished_says_what_it_will_be():
    unfinished = object.__new__(unfrozen(Row))
    unfinished.name = "x"
    assert isinstance(unfinished, Row)
    assert type(unfinished).__name__ == "Row"
    with pytest.raises(AttributeError):
        _ = unfinished.size


def test_the_dataclass_itself_stays_frozen():
    unfrozen(Row)
    with pytest.raises(FrozenInstanceError):
        Row(name="x").size = 4


def test_an_attribute_that_the_dataclass_does_not_have_cannot_be_set():
    unfinished = object.__new__(unfrozen(Row))
    with pytest.raises(AttributeError):
        unfinished.length = 4
