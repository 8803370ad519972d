"""A Result with both renderings, and streams that behave like a terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

from scopes.render.output import Output, OutputSettings
from scopes.result import Column, Result, Stream


@dataclass(frozen=True, slots=True, kw_only=True)
class Pet(Result):
    rows_in = "pets"
    columns = (Column("name", form="id"), Column("legs", form="count"))
    name: str

    @property
    def pets(self) -> tuple[Pet]:
        return (self,)

    @property
    def legs(self) -> int:
        return 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Pets(Stream):
    rows_in = "items"
    columns = (Column("name"),)
    items: Iterable[Pet]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored(Result):
    text: str

    @property
    def answer(self) -> str:
        return self.text


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
