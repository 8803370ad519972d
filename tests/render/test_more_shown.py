"""Results with more than a table or a sentence: further tables, lines below, figures, other rows for a person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from scopes.render.fields import format_rows
from scopes.render.view import DEFAULT_OPTIONS
from scopes.result import HIDDEN, INLINE, Column, Result, Rows
from tests.render.rendering import document, piped, seen, seen_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved(Result):
    rows_in = "boxes"
    rows_seen = "heaps"
    is_one_row = True
    columns = (
        Column("name", on="pipe"),
        Column("kind", on="terminal"),
        Column("count", form="count", on="terminal"),
        Column("why", form="below"),
    )
    further = (Rows("vans", (Column("plate"), Column("full"))),)
    empty = "Nothing was moved."

    boxes: tuple[dict[str, Any], ...] = ()
    vans: tuple[dict[str, Any], ...] = field(default=(), metadata=HIDDEN)
    operation: str | None = None

    @property
    def heaps(self):
        return [{"kind": "box", "count": len(self.boxes), "why": "see: scopes log A-LONG-NAME"}] if self.boxes else []

    @property
    def sentence(self):
        return ["moved all", "for good"] if self.boxes else []

    @property
    def remark(self):
        return "there was rain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated(Result):
    moved: Moved = field(metadata=INLINE)
    path: str

    @property
    def answer(self):
        return self.path


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted(Result):
    columns = (Column("total"), Column("home", form="path"))
    can_undo = False
    total: int
    home: str = ""
    operation: str = "o"

    @property
    def figures(self):
        return {"total": self.total, "by": {"ann": 1, "none": None}, "problem": ["one", "two"]}


MOVED = Moved(boxes=({"name": "a", "why": ""}, {"name": "b", "why": "wet"}), vans=({"plate": "X", "full": True},))


def test_a_pipe_has_the_rows_of_all_tables_and_a_person_those_that_are_for_people():
    assert piped(MOVED) == "a\t\nb\twet\nX\tyes\n"
    assert seen(MOVED) == (
        "Kind  Count\nbox       2\nbox: see: scopes log A-LONG-NAME\nPlate  Full\nX      yes\nmoved all\nfor good\n"
    )
    assert (piped(Moved()), seen(Moved())) == ("", "Nothing was moved.\n")


def test_a_command_below_a_table_is_not_broken():
    assert "scopes log A-LONG-NAME" in seen_lines(MOVED, 30)


def test_fields_of_a_result_that_is_one_row_are_its_own():
    (row,) = format_rows(MOVED, DEFAULT_OPTIONS, r"{boxes}\t{kind}", "\n")
    assert row.endswith("\tmoved\n")


def test_the_keys_of_a_result_inside_another_are_there_without_its_kind():
    shown = document(Repeated(moved=Moved(), path="/a"))
    assert (shown["kind"], shown["boxes"], shown["path"]) == ("repeated", [], "/a")


def test_a_text_alone_is_written_as_it_is_in_a_pipe():
    text = Repeated(moved=Moved(), path="a\tb\n  c")
    assert piped(text) == "a\tb\n  c\n"
    assert seen(text) == "a       b\n  c\n"


def test_figures_are_names_and_values_in_a_pipe(monkeypatch):
    monkeypatch.setenv("HOME", "/home/ann")
    assert piped(Counted(total=3)) == "total\t3\nby.ann\t1\nproblem\tone\nproblem\ttwo\n"
    assert seen(Counted(total=3, home="/home/ann/x")) == "Total  3\nHome   ~/x\n"


def test_what_can_be_undone_says_so():
    assert seen_lines(Moved(operation="o"))[-1] == "undo with: scopes undo"
    assert "undo" not in seen(Counted(total=3))
