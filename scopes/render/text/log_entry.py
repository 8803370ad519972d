"""One message of a log as lines: who, what kind, when, and the beginning of what was said."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeAlias

from scopes.clock import format_seconds
from scopes.conversation.log import LogEntry
from scopes.model.message import Message
from scopes.render.clean import clean
from scopes.render.fold import fold
from scopes.render.text.fitting import fit
from scopes.render.text.part import document_lines, part_line, touched
from scopes.render.text.wording import SHORT_ID_LENGTH, author, counted, full_moment, identifier, subject
from scopes.render.view import Span, View

MAX_ROWS = 20
_INDENT = Span("    ")
_NARROWEST = 20

Line: TypeAlias = tuple[str | Span, ...]


def say_entries(entries: Iterable[LogEntry], view: View, *, oneline: bool) -> None:
    """Say messages one below the other."""
    for number, entry in enumerate(entries):
        if number and not oneline:
            view.line()
        for line in entry_lines(entry, view, view.width if view.terminal else None, oneline=oneline):
            view.line(*line)


def entry_lines(entry: LogEntry, view: View, width: int | None, *, oneline: bool) -> Iterator[Line]:
    """Yield the lines of a message, folded or cut to `width` where there is one."""
    head = entry.head
    who = author(head.author, head.author_kind)
    if oneline:
        yield _fitting(
            (Span(head.id[:SHORT_ID_LENGTH], "id"), *_decorations(entry), " ", who, ": ", subject(head)), width
        )
        return
    yield Span("message ", "id"), identifier(view, head.id), *_decorations(entry)
    yield Span("Author: ", "key"), who
    if head.kind != "plain":
        yield Span("Kind:   ", "key"), head.kind
    if head.to:
        yield Span("To:     ", "key"), ", ".join(head.to)
    yield Span("Date:   ", "key"), full_moment(view, format_seconds(head.time))
    yield ()
    preview = [] if entry.message is None else [*_preview(entry.message, width)]
    yield from preview or [(_INDENT, subject(head))]


def _decorations(entry: LogEntry) -> Iterator[str | Span]:
    for number, branch in enumerate(entry.branches):
        yield ", " if number else " ("
        yield Span(branch, "branch")
    if entry.branches:
        yield ")"


def _preview(message: Message, width: int | None) -> Iterator[Line]:
    """Yield at most 20 rows of a message and, where there is more of it, how many lines more."""
    room = None if width is None else max(width - len(_INDENT.text), _NARROWEST)
    rows = 0
    lines = _lines(message)
    for line, foldable in lines:
        folded, whole = _folded(line, room, MAX_ROWS - rows) if foldable else ([_fitting(line, room)], True)
        for row in folded:
            rows += 1
            yield (_INDENT, *row) if row != ("",) else ()
        if rows == MAX_ROWS:
            more = sum(1 for _ in lines) + (not whole)
            if more:
                yield _INDENT, Span(f"… {counted(more, 'more line')}", "dim")
            return


def _lines(message: Message) -> Iterator[tuple[Line, bool]]:
    """Yield the lines of a message, and whether each is text to be folded or a sign to be cut."""
    for part in message.parts:
        if part.type != "text":
            yield part_line(part), False
        elif part.text:
            for text in clean(part.text).expandtabs(8).removesuffix("\n").split("\n"):
                yield (text,), True
    for line in document_lines(message.payload or {}):
        yield line, False
    if message.files:
        yield (Span(f"files: {touched(message.files)}", "dim"),), False


def _folded(line: Line, room: int | None, most: int) -> tuple[list[Line], bool]:
    """Fold a line of text into at most `most` rows, and tell whether that was all of it."""
    text = "".join(part if isinstance(part, str) else part.text for part in line)
    if room is None or not text:
        return [line], True
    short = text[: room * (most + 1)]  # no row holds more characters than cells, but for combining ones
    rows = [*islice(fold(short, room), most + 1)]
    return [(row,) for row in rows[:most]], len(rows) <= most and len(short) == len(text)


def _fitting(line: Line, room: int | None) -> Line:
    return line if room is None else fit(line, room)
