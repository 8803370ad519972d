"""Format one message of a log: author, kind, time, and the first lines of its content.

Messages that nobody wrote (tool results, text injected by the agent's program, compactions, interrupts) have a heading
of one line, and their content is folded to one line. With `full`, nothing is folded.
"""

from __future__ import annotations

import json
from itertools import islice
from shlex import quote
from typing import TYPE_CHECKING, TypeAlias

from scopes.history.messages import display_time
from scopes.merge.lanes import lane_changes
from scopes.model.message import HANDOVER
from scopes.render.text.message_summary import is_folded, spawn_mark, summarize_message
from scopes.render.text.part import INDENT, document_lines, format_files, part_line, whole_part
from scopes.render.text.phrases import (
    SHORT_ID_LENGTH,
    WIDE,
    author,
    change_mark,
    confidence_mark,
    counted,
    ending_mark,
    full_time,
    identifier,
    short_time,
    stale_mark,
)
from scopes.render.view import Span, View, clean_spans
from scopes.render.wrap import count_cells, count_span_cells, truncate_line, truncate_text, wrap_line
from scopes.sanitize import clean, clean_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scopes.conversation.log import LogEntry
    from scopes.history.messages import MessageHeader
    from scopes.merge.lanes import LaneMark
    from scopes.model.message import Message, Part
    from scopes.render.color import Style

MAX_ROWS = 20
_INDENT = Span("    ")
_MIN_WIDTH = 20
_CONTINUED = 2  # cells by which the further rows of a mark are indented
_DATE_WIDTH = len("2026-01-31")
_AUTHOR, _WIDE_AUTHOR = 13, 16
_RULE, _LANE_RULE = "━", "──"
_MAIN, _RESOLUTION = "main", "conflict-resolution/"
_BREAKS: dict[str, tuple[str, Style]] = {"interrupt": ("■ interrupted", "warn"), "error": ("▲ error", "bad")}

Line: TypeAlias = tuple[str | Span, ...]


def write_entries(
    entries: Iterable[LogEntry], view: View, *, oneline: bool, full: bool = False, oldest_first: bool = False
) -> None:
    """Write messages one below the other, with marks where those of a merged branch begin and end."""
    lanes: Sequence[LaneMark] = ()
    for number, entry in enumerate(entries):
        if number and not oneline:
            view.line()
        _write_marks(lanes, entry.lanes, view, oneline=oneline, oldest_first=oldest_first)
        lanes = entry.lanes
        for line in entry_lines(entry, view, view.width if view.terminal else None, oneline=oneline, full=full):
            view.line(*line)


def _write_marks(
    before: Sequence[LaneMark], after: Sequence[LaneMark], view: View, *, oneline: bool, oldest_first: bool
) -> None:
    """Write the marks between two messages: the ends of merged branches, then the beginnings of others.

    The digest of a merge is on the side of the merge: below the end if the oldest message comes first.
    """
    left, entered = lane_changes(before, after)
    marks = [(mark.end(), mark, oldest_first) for mark in left]
    marks += [(mark.begin((mark.fork or "")[:SHORT_ID_LENGTH]), mark, not oldest_first) for mark in entered]
    for text, mark, has_digest in marks:
        rule = f"{_LANE_RULE} {clean_line(text)}"
        if oneline:
            view.line(*_truncated((Span(rule, "active"),), _width(view)))
            continue
        view.hanging(Span(rule, "active"), hang=_CONTINUED)
        for line in mark.digest if has_digest else ():
            view.hanging(Span(line, "dim"), hang=_CONTINUED, indent=len(_INDENT.text))
    if marks and not oneline:
        view.line()


def _width(view: View) -> int | None:
    return view.width if view.terminal else None


def entry_lines(entry: LogEntry, view: View, width: int | None, *, oneline: bool, full: bool = False) -> Iterator[Line]:
    """Yield the lines of a message, wrapped or truncated to `width` unless it is None."""
    if oneline:
        yield _one_line(entry, view, width)
        return
    room = None if width is None else max(width - len(_INDENT.text), _MIN_WIDTH)
    message, signed = entry.message, _signature(entry)
    is_terse = message is not None and not full and _is_terse(message)
    if entry.head.kind == "compaction":
        yield from _compaction_rule(entry, view, width)
    elif is_terse or entry.head.kind in _BREAKS:
        yield _truncated(_terse_heading(entry, view), width)
        yield from signed
        yield from ((_INDENT, span) for span in spawn_mark(message))
    else:
        yield from _heading(entry, view)
        yield from signed
        yield ()
    if message is None or entry.head.title is not None:
        yield _INDENT, *summarize_message(entry.head, message, (), room)
    elif full:
        yield from _whole_message(message, room)
    elif is_folded(message):
        if entry.head.kind != "interrupt":
            yield _INDENT, *_truncated(_one_line_text(entry, message, room), room)
    else:
        rows = list(_preview(message, entry.results, room, entry.head.id[:SHORT_ID_LENGTH]))
        yield from rows or [(_INDENT, *summarize_message(entry.head, message, entry.results, room))]


def _signature(entry: LogEntry) -> tuple[Line, ...]:
    """Return the line that says what git thinks of the signature, if it was asked."""
    if entry.signature is None:
        return ()
    from scopes.render.text.verify_signatures import signature_spans

    return ((Span("Signed: ", "key"), *signature_spans(entry.signature)),)


def _signature_mark(entry: LogEntry) -> Line:
    """Return what git thinks of the signature and whose key it is, if it was asked."""
    if entry.signature is None:
        return ()
    from scopes.render.text.verify_signatures import signature_mark

    return signature_mark(entry.signature), " "


def _is_terse(message: Message) -> bool:
    """Return True if a message has no text that somebody wrote."""
    silent = not message.text.strip() and message.payload is None and any(p.type != "text" for p in message.parts)
    return silent or is_folded(message) or message.author.kind == "tool"


def _one_line(entry: LogEntry, view: View, width: int | None) -> Line:
    """Return a message as one row: id, date and author in columns, then branches and subject."""
    head = entry.head
    who = author(head.author, head.author_kind)
    if width is None:
        ending = (Span(f"[{span.text.strip(' ·')}] ", span.style) for span in ending_mark(entry.head, entry.ending))
        start: Line = (Span(head.id[:SHORT_ID_LENGTH], "id"), *_decorations(entry), " ", who, ": ", *ending)
        start = (*start, *_signature_mark(entry), *spawn_mark(entry.message))
        return *start, *summarize_message(head, entry.message, entry.results, None)
    columns = (Span(entry.head.id[:SHORT_ID_LENGTH], "id"), " ", _date_cell(head, view), " ", *_author_cell(who, view))
    unused = width - count_span_cells(clean_spans(columns)) - len(head.shown_subject) - len(" () ")
    names = tuple(_decorations(entry, max(width // 4, unused)))
    start = (*columns, "(", *names[1:], " ") if names else columns
    start = (*start, *_signature_mark(entry))
    marks = (*(Span(span.text.strip(" ·"), span.style) for span in _changes(entry)), *spawn_mark(entry.message))
    origin = tuple(part for span in marks for part in (span, Span(": ")))
    room = max(width - count_span_cells(clean_spans((*start, *origin))), _MIN_WIDTH)
    return _truncated((*start, *origin, *summarize_message(head, entry.message, entry.results, room)), width)


def _date_cell(head: MessageHeader, view: View) -> Span:
    """Return the time to the minute on a wide terminal, else relative to now."""
    time = display_time(head)
    if time is not None and view.width >= WIDE:
        return Span(f"{time[:10]} {time[11:16]}", "time")
    return Span(f"{short_time(view, time).text:<{_DATE_WIDTH}}", "time")


def _author_cell(who: Span, view: View) -> Line:
    width = _WIDE_AUTHOR if view.width >= WIDE else _AUTHOR
    name = truncate_text(clean_line(who.text), width)
    return Span(name, who.style), " " * (width - count_cells(name) + 1)


def _heading(entry: LogEntry, view: View) -> Iterator[Line]:
    """Yield the header lines, in the style of `git log`."""
    head = entry.head
    yield (
        Span("message ", "id"),
        identifier(view, head.id),
        *_decorations(entry, _rest_of_heading(entry, view)),
        *_changes(entry),
    )
    yield Span("Author: ", "key"), author(head.author, head.author_kind)
    if head.kind != "plain":
        yield Span("Kind:   ", "key"), head.kind, *confidence_mark(entry.message), *stale_mark(entry.newer)
    if head.to:
        yield Span("To:     ", "key"), ", ".join(head.to)
    origin = spawn_mark(entry.message)
    if origin:
        yield Span("From:   ", "key"), *origin
    yield Span("Date:   ", "key"), full_time(view, display_time(head))


def _changes(entry: LogEntry) -> tuple[Span, ...]:
    return *change_mark(retracted=entry.retracted, amended=entry.amended), *ending_mark(entry.head, entry.ending)


def _terse_heading(entry: LogEntry, view: View) -> Line:
    """Return the heading of a message that nobody wrote, as one line."""
    head = entry.head
    text, style = _BREAKS.get(head.kind, (head.kind, ""))
    mark = () if head.kind == "plain" else (Span(" · ", "dim"), Span(text, style or "dim"))
    when = full_time(view, display_time(head))
    name = (Span("message ", "id"), identifier(view, head.id), *_decorations(entry, _room_for_names(view)))
    return *name, *_changes(entry), " ", author(head.author, head.author_kind), *mark, Span(" · ", "dim"), when


def _compaction_rule(entry: LogEntry, view: View, width: int | None) -> Iterator[Line]:
    """Yield a rule across the terminal: the agent's context was compacted here."""
    head = entry.head
    when = full_time(view, display_time(head))
    label: Line = (
        Span(f"{_RULE * 2} compaction ", "active"),
        identifier(view, head.id),
        *_decorations(entry, _room_for_names(view)),
        " ",
        when,
        " ",
    )
    used = sum(len(part if isinstance(part, str) else part.text) for part in label)
    yield _truncated((*label, Span(_RULE * max((width or 0) - used, 2), "active")), width)


def _decorations(entry: LogEntry, room: int | None = None) -> Iterator[str | Span]:
    """Yield ` (main, fix, tag: v1)`, main first; within `room` cells as many names as fit, and how many more."""
    last = [name for name in entry.branches if name.startswith(_RESOLUTION)]
    branches = sorted((name for name in entry.branches if name not in last), key=lambda name: name != _MAIN)
    names = [clean_line(name) for name in (*branches, *(f"tag: {tag}" for tag in entry.tags), *last)]
    count = len(names)
    if not names:
        return
    if room is not None and count_cells(", ".join(names)) > room:
        least = _MIN_WIDTH
        if len(names) > 1:
            room, least = room - len(" and 9 more branches"), _MIN_WIDTH // 2
        names[0] = truncate_text(names[0], max(room, least))
        while len(names) > 1 and count_cells(", ".join(names)) > room:
            names.pop()
    for number, branch in enumerate(names):
        yield ", " if number else " ("
        yield Span(branch, "branch")
    if len(names) < count:
        noun = "more name" if entry.tags else "more branch"
        yield f" and {counted(count - len(names), noun)}"
    yield ")"


def _room_for_names(view: View) -> int | None:
    """Return the cells that branch names may take in a heading; None in a pipe."""
    return view.width // 2 if view.terminal else None


def _rest_of_heading(entry: LogEntry, view: View) -> int | None:
    """Return the cells of a heading that has only the id, branch names and marks; None in a pipe."""
    if not view.terminal:
        return None
    used = (Span("message  ()"), identifier(view, entry.head.id), *_changes(entry))
    return view.width - count_span_cells(clean_spans(used))


def _one_line_text(entry: LogEntry, message: Message, room: int | None) -> Line:
    """Return injected text as one line; the heading already names its kind."""
    return summarize_message(entry.head._replace(kind="plain"), message, entry.results, room)


def _preview(message: Message, results: tuple[Part, ...], room: int | None, name: str) -> Iterator[Line]:
    """Yield at most 20 rows of text and 20 other lines, then how many more there are and how to see them."""
    rows = lines = 0
    left_out: list[Line] = []
    for line in _preview_lines(message, results, room, name):
        if isinstance(line, str):
            wrapped, more = _text_rows(line, room, max(MAX_ROWS + 1 - rows, 0))
            if more:  # otherwise a line that names one hidden line would take its place
                wrapped, more = _text_rows(line, room, max(MAX_ROWS - rows, 0))
            yield from wrapped
            rows += len(wrapped)
            if more:
                yield _more_lines(more, name)
        elif lines < MAX_ROWS:
            yield _INDENT, *_truncated(line, room)
            lines += 1
        else:
            left_out.append(line)
    if len(left_out) == 1:
        yield _INDENT, *_truncated(left_out[0], room)
    elif left_out:
        yield _more_lines(len(left_out), name)


def _more_lines(count: int, name: str) -> Line:
    return _INDENT, Span(f"… {counted(count, 'more line')} (scopes cat {quote(name)})", "dim")


def _preview_lines(message: Message, results: tuple[Part, ...], room: int | None, name: str) -> Iterator[str | Line]:
    """Yield texts as strings, and one line for each other readable part, each payload field, and the files."""
    for part in message.parts:
        if part.type == "text":
            yield part.text
        elif part.type != "reasoning" or part.text.strip():
            yield part_line(part, results, room)
    yield from document_lines(message.payload or {})
    if HANDOVER in message.extra:
        yield (Span(f"recorded history came before this prompt (scopes cat {quote(name)} --original)", "dim"),)
    if message.files and not any(part.type in {"tool_call", "tool_result"} for part in message.parts):
        yield (Span(f"files: {format_files(message.files)}", "dim"),)


def _text_rows(text: str, room: int | None, most: int) -> tuple[list[Line], int]:
    """Wrap a text into at most `most` rows; return them and the number of lines that are cut or missing."""
    lines = clean(text).expandtabs(8).strip("\n").split("\n") if text.strip() else []
    rows: list[Line] = []
    for number, line in enumerate(lines):
        folded, whole = _fold_line(line, room, most - len(rows))
        rows += [(_INDENT, row) if row else () for row in folded]
        if not whole:
            return rows, len(lines) - number
    return rows, 0


def _fold_line(line: str, room: int | None, most: int) -> tuple[list[str], bool]:
    """Wrap a line into at most `most` rows; return them and whether the line is complete."""
    if room is None or not line:
        return [line][:most], most > 0
    short = line[: room * (most + 1)]  # no row holds more characters than cells, but for combining ones
    rows = [*islice(wrap_line(short, room), most + 1)]
    return rows[:most], len(rows) <= most and len(short) == len(line)


def _whole_message(message: Message, room: int | None) -> Iterator[Line]:
    """Yield the whole content of a message, with blank lines between its parts."""
    for number, part in enumerate(message.parts):
        if number:
            yield ()
        if part.type == "text":
            yield from _rows(part.text, room, "dim" if is_folded(message) else "")
            continue
        heading, texts = whole_part(part)
        yield _INDENT, *_truncated(heading, room)
        for text, style in texts:
            yield from _rows(text, room, style, indent=INDENT)
    for name, value in (message.payload or {}).items():
        yield from _rows(
            f"{name}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}", room, ""
        )
    if message.files:
        yield from _rows(f"files: {format_files(message.files)}", room, "dim")


def _rows(text: str, room: int | None, style: Style, indent: int = 0) -> Iterator[Line]:
    before = Span(_INDENT.text + " " * indent)
    for line in clean(text).expandtabs(8).removesuffix("\n").split("\n") if text else ():
        for row in [line] if room is None else wrap_line(line, max(room - indent, _MIN_WIDTH)):
            yield (before, Span(row, style)) if row else ()


def _truncated(line: Line, room: int | None) -> Line:
    return line if room is None else truncate_line(line, room)
