"""A Result with both renderings, and streams that behave like a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

from scopes.render.dispatch import render_text, to_wire
from scopes.render.output import Output, OutputSettings
from scopes.render.view import Column
from scopes.result import Result, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Pet(Result):
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pets(Stream):
    items: Iterable[Pet]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(Result):
    text: str


@render_text.register(Pet)
def _(result, view):
    view.rows([Column("Name", "id"), Column("Legs", align="right")], [(result.name, "4")])


@render_text.register(Pets)
def _(result, view):
    view.rows([Column("Name")], ((pet.name,) for pet in result.items), title="Pets")


@render_text.register(Stored)
def _(result, view):
    view.exact(result.text)


@to_wire.register(Pet)
def _(result):
    return {"kind": "pet", "name": result.name}


class Screen(io.StringIO):
    """A terminal without a size."""

    def isatty(self):
        return True


def output(settings=None, *, environ=None, terminal=False, **options):
    """An Output over streams in memory; `output.stdout.stream.getvalue()` returns its text."""
    streams = (Screen(), Screen()) if terminal else (io.StringIO(), io.StringIO())
    return Output(settings or OutputSettings(**options), environ or {}, *streams)


def written(made):
    """The texts written to standard output and to standard error."""
    return made.stdout.stream.getvalue(), made.stderr.stream.getvalue()
