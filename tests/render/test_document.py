"""A Result that describes itself: its JSON, its rows in a pipe, its table or its sentence on a terminal."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pytest

from scopes.clock import Time
from scopes.render.document import make_document
from scopes.render.fields import format_rows, reduce_document
from scopes.render.table import render_text
from scopes.render.view import DEFAULT_OPTIONS, View
from scopes.result import HIDDEN, INLINE, NULL, OMIT_EMPTY, Column, Result, Stream, named, short_id, shown
from tests.render.rendering import document, json_text, piped, seen

ID = "abcdefghijklmnop"


class Address(NamedTuple):
    street: str
    flat: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Guest:
    name: str
    from_: str = field(default="Berlin", metadata=named("from"))
    address: Address = field(metadata=INLINE)
    came: Time
    left: Time | None = field(default=None, metadata=NULL)
    meals: tuple[str, ...] = field(default=(), metadata=OMIT_EMPTY)
    extra: Mapping[str, Any] = field(default_factory=dict)
    secret: str = field(default="x", metadata=HIDDEN)

    @property
    @shown
    def is_early(self) -> bool:
        return self.came < "2025-01-01T09"

    @property
    def greeting(self) -> str:
        return f"Hello {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestList(Result):
    kind = "guests"
    rows_in = "guests"
    empty = "Nobody has come."
    columns = (
        Column("id", form="id", on="terminal"),
        Column("name"),
        Column("from", "Home"),
        Column("came", form="time"),
        Column("meals"),
        Column("is_early", "Early"),
        Column("extra.bill", form="money"),
        Column("greeting", on="pipe"),
        Column("street", on="template"),
    )
    guests: tuple[Guest, ...]


ANN = Guest(name="Ann", address=Address("Main", 3), came="2025-01-01T10:00:00.5+02:00", extra={"bill": 1234.5})
BOB = Guest(name="Bob", from_="Rome", address=Address("Side"), came="2025-01-02T10:00:00Z", meals=("tea", "egg"))
GUESTS = GuestList(guests=(ANN, BOB))


def test_the_keys_of_a_document_are_the_fields():
    assert document(GUESTS) == {
        "scopes": 1,
        "kind": "guests",
        "guests": [
            {
                "name": "Ann", "from": "Berlin", "street": "Main", "flat": 3, "came": "2025-01-01T08:00:00.500Z",
                "left": None, "extra": {"bill": 1234.5}, "is_early": False,
            },
            {
                "name": "Bob", "from": "Rome", "street": "Side", "came": "2025-01-02T10:00:00Z", "left": None,
                "meals": ["tea", "egg"], "extra": {}, "is_early": False,
            },
        ],
    }  # fmt: skip


class Crowd(Sequence):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        raise AssertionError("nobody has asked for it")


def test_rows_that_are_not_in_memory_are_made_when_they_are_read():
    assert len(make_document(GuestList(guests=Crowd()))["guests"]) == 2


def test_the_kind_is_by_default_the_name_of_the_class():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class GuestMovedOut(Result):
        name: str | None = None

    assert make_document(GuestMovedOut()) == {"kind": "guest-moved-out"}


def test_a_class_may_say_itself_what_its_document_is():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Own(Result):
        words: str

        def document(self) -> dict[str, object]:
            return {"words": self.words.split()}

    @dataclass(frozen=True, slots=True, kw_only=True)
    class Both(Result):
        own: Own
        kinds: frozenset[str]

    assert make_document(Both(own=Own(words="a b"), kinds=frozenset("yx"))) == {
        "kind": "both",
        "own": {"kind": "own", "words": ["a", "b"]},
        "kinds": ["x", "y"],
    }


def test_a_field_cannot_have_the_name_of_something_that_a_result_says_about_itself():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Broken(Result):
        sentence: str

    with pytest.raises(TypeError, match="Broken: 'sentence' cannot be a field of a Result; use named"):
        make_document(Broken(sentence="no"))


def test_a_value_without_a_json_form_is_an_error():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Broken(Result):
        value: object

    with pytest.raises(TypeError, match="object has no JSON form"):
        make_document(Broken(value=object()))


def test_a_pipe_has_a_row_for_each_object():
    assert piped(GUESTS) == (
        "Ann\tBerlin\t2025-01-01T08:00:00Z\t\tno\t1234.5\tHello Ann\n"
        "Bob\tRome\t2025-01-02T10:00:00Z\ttea,egg\tno\t\tHello Bob\n"
    )
    assert piped(GuestList(guests=())) == ""


def test_templates_and_fields_know_the_columns_and_the_keys():
    assert list(format_rows(GUESTS, DEFAULT_OPTIONS, "{home} {street}", "\n")) == ["Berlin Main\n", "Rome Side\n"]
    assert list(format_rows(GUESTS, DEFAULT_OPTIONS, r"{from}\t{greeting}", "\n")) == [
        "Berlin\tHello Ann\n", "Rome\tHello Bob\n",
    ]  # fmt: skip
    reduced = reduce_document(make_document(GUESTS), GUESTS, DEFAULT_OPTIONS, ["name"])
    assert reduced == {"kind": "guests", "guests": [{"name": "Ann"}, {"name": "Bob"}]}


def test_a_terminal_shows_a_table_of_the_columns_that_have_values(at_one_moment):
    assert seen(GUESTS, 80).splitlines() == [
        "Name  Home    Came        Meals     Early       Bill",
        "Ann   Berlin  1 Jan 2025            no     $1,234.50",
        "Bob   Rome    2 Jan 2025  tea, egg  no",
    ]
    assert seen(GuestList(guests=())) == "Nobody has come.\n"


def test_a_table_fits_the_terminal_and_cannot_control_it(at_one_moment):
    long = GuestList(guests=(Guest(name="\x1b[31m" + "very " * 30, address=Address("x"), came=ANN.came),))
    shown_text = seen(long, 60, color=True)
    assert "\x1b[31m" not in shown_text
    assert all(len(line) <= 60 for line in seen(long, 60).splitlines())
    assert "…" in shown_text


@dataclass(frozen=True, slots=True, kw_only=True)
class Stayed(Result):
    guest: Guest = field(metadata=INLINE)
    story: str
    operation: str | None = None
    columns = (
        Column("name"), Column("came", form="time"), Column("extra.bill", form="size"), Column("meals", form="lines"),
        Column("story", form="body"),
    )  # fmt: skip


def test_a_result_without_rows_is_lines_of_names_and_values(at_one_moment):
    result = Stayed(guest=BOB, story="It was\nfine.")
    assert piped(result) == (
        "Name: Bob\nCame: 2025-01-02T10:00:00Z\n\nMeals:\n    tea\n    egg\n\n    It was\n    fine.\n"
    )
    assert seen(result) == "Name  Bob\nCame  2 Jan 2025 10:00\n\nMeals:\n    tea\n    egg\n\n    It was\n    fine.\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestMoved(Result):
    id: str
    operation: str | None = None

    @property
    def sentence(self) -> str:
        return f"renamed {short_id(self.id)}"

    @property
    def answer(self) -> str:
        return self.id

    @property
    def next_step(self) -> str:
        return "show it: scopes show x"


def test_an_outcome_is_a_sentence_for_a_person_and_an_answer_in_a_pipe():
    assert piped(GuestMoved(id=ID, operation="o")) == f"{ID}\n"
    assert (
        seen(GuestMoved(id=ID, operation="o")) == "renamed abcdefgh\nshow it: scopes show x\nundo with: scopes undo\n"
    )
    assert seen(GuestMoved(id=ID)) == "renamed abcdefgh\nshow it: scopes show x\n"
    assert seen(GuestMoved(id=ID, operation="o"), hints=False) == "renamed abcdefgh\n"


def test_the_answer_alone_is_the_whole_text():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Printed(Result):
        answer = "a\n  b"  # type: ignore[assignment]

    assert piped(Printed()) == seen(Printed()) == "a\n  b\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Guests(Stream):
    rows_in = "guests"
    columns = (Column("id"),)


def test_a_stream_has_a_row_for_each_item():
    items = (GuestMoved(id="a"), GuestMoved(id="b"))
    assert piped(Guests(items=iter(items))) == "a\nb\n"
    assert json.loads(json_text(Guests(items=items)))["guests"][0] == {"kind": "guest-moved", "id": "a"}


def test_a_result_that_says_nothing_about_itself_has_no_text():
    with pytest.raises(TypeError, match="Result has no text rendering"):
        render_text(Result(), View(print))
