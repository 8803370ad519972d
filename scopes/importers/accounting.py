"""What the bytes of a source became, in numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from scopes.errors import CannotImport
from scopes.importers.format import Source
from scopes.importers.projection import Span
from scopes.importers.results import SourceImported
from scopes.importers.weaving import Segment


def account_for(source: Source, format_name: str, segments: Sequence[Segment], *, new: bool) -> SourceImported:
    """Add up what every byte of a source became."""
    sums = {"message": 0, "state": 0, "unparsed": 0}
    for segment in segments:
        kind = "message" if segment.message else "state" if segment.state is not None else "unparsed"
        sums[kind] += segment.span.length
    problems = [f"byte {s.span.offset}: {s.unparsed}" for s in segments if s.unparsed is not None]
    return SourceImported(
        path=source.path,
        format=format_name,
        records=len(segments),
        messages=len({segment.message for segment in segments if segment.message}),
        unparsed=len(problems),
        new=new,
        size=source.size,
        message_bytes=sums["message"],
        state_bytes=sums["state"],
        unparsed_bytes=sums["unparsed"],
        problems=tuple(problems),
    )


def cut(segments: Sequence[Segment], size: int) -> list[Segment]:
    """Return what the first `size` bytes of a source became."""
    inside = (segment for segment in segments if segment.span.offset < size)
    return [replace(s, span=Span(s.span.offset, min(s.span.length, size - s.span.offset))) for s in inside]


def refuse_unparsed(sources: Iterable[SourceImported]) -> None:
    """Raise when a record of a source could not be read.

    Raises:
        CannotImport: one could not.
    """
    for source in sources:
        if source.problems:
            raise CannotImport(f"{source.path}: {source.problems[0]}", hint="leave out --strict to keep it as it is")
