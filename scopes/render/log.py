"""Show a log: on a terminal as a conversation that reads downwards, in a pipe one row for each message.

Prompts of people are headings. What agents did between them is dim, one line for each call with how it ended; what the
agent's program inserted is folded. `--patch` shows everything in full.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from shlex import quote
from typing import TYPE_CHECKING, NamedTuple

from scopes.clock import format_time, now_nanoseconds
from scopes.conversation.log import Log, LogEntry
from scopes.history.messages import NO_TEXT, display_time, shown_author
from scopes.merge.lanes import lane_changes
from scopes.model.message import HANDOVER, TYPED_KINDS
from scopes.model.tools import FILE_TOOLS, tool_name
from scopes.render.calls import (
    MARKS,
    argument_of,
    document_lines,
    format_extent,
    format_files,
    is_folded,
    outcome_of,
    part_line,
    result_line,
    spawn_mark,
    summarize_message,
    summary_text,
    tell_review,
    verb_line,
    verb_of,
    write_document,
    write_part,
)
from scopes.render.phrases import (
    SHORT_ID_LENGTH,
    UNKNOWN_TIME,
    change_mark,
    confidence_mark,
    day_and_minute,
    day_of,
    ending_mark,
    identifier,
    minute_of,
    stale_mark,
    subject,
)
from scopes.render.view import Column, Parts, Span, View
from scopes.result import counted
from scopes.sanitize import clean_line, mark_cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from scopes.history.messages import MessageHeader
    from scopes.merge.lanes import LaneMark
    from scopes.model.message import Message, Part

_PIPED_COLUMNS = (
    Column("ID"),
    Column("Time"),
    Column("Author"),
    Column("Kind"),
    Column("Subject"),
    Column("OID", hidden=True),
    Column("Author kind", hidden=True),
    Column("To", hidden=True),
    Column("Branches", hidden=True),
    Column("Lane", hidden=True),
    Column("Signature", hidden=True),
    Column("Signer", hidden=True),
)
_PIPED_ONELINE = (Column("Line"),)
_PROMPT, _INDENT = Span("❯ ", "human"), Span("  ")
_OUTCOME = 26  # cells at the right of a call for how it ended
_ALL, _PROMPT_ROWS, _ANSWER_ROWS, _REMARK_ROWS = 1 << 30, 8, 12, 3  # of a text in a log that is not in full
_OTHER_LINES = 6  # of a screen: the heading, the last line, blank lines and the prompt of the shell
_NAME = 12  # cells of an author in a log of one line for each message
_CONTINUED = 2
_RESOLUTION = "conflict-resolution/"
_HIDDEN_KINDS = frozenset({"plain", "prompt", "answer", "tool-results", "system", "notice"})


class Looks(NamedTuple):
    """What is the same for all messages of a log that is written.

    names: whether a text begins with the name of its author
    directory: paths in it are shown without it
    tip: the branch that the heading names
    full: nothing is folded
    """

    names: bool = False
    directory: str | None = None
    tip: str | None = None
    full: bool = False


def render_log(result: Log, view: View) -> None:
    """Write the messages in order, with `--graph` next to the commit graph."""
    entries = (item for item in result.items if isinstance(item, LogEntry))
    options = view.options
    if options.graph:
        from scopes.render.graph import write_graph

        write_graph(entries, view)
    elif view.terminal and options.oneline:
        _write_lines(entries, view, oldest_first=result.oldest_first)
    elif view.terminal:
        _write_conversation(result, entries, view)
    elif options.oneline:
        view.rows(_PIPED_ONELINE, ((_piped_line(entry),) for entry in entries))
    else:
        _write_rows(entries, view)


def render_log_entry(result: LogEntry, view: View) -> None:
    """Write one message of a log."""
    if view.terminal:
        write_entry(result, view)
    else:
        _write_rows([result], view)


# A conversation on a terminal.


def _write_conversation(result: Log, entries: Iterable[LogEntry], view: View) -> None:
    """Write the turns, oldest first; of a log without limits the newest that fit a screen."""
    place = result.conversation if result.branch is None else f"{result.conversation}/{result.branch}"
    looks = Looks(len(result.participants) > 2, result.directory, result.branch, view.options.full)
    fitting = _Fitting(entries, view, looks) if view.options.screen else None
    count, writer = _Count(), _Writer(view, looks, oldest_first=result.oldest_first or fitting is not None)
    for entry in entries if fitting is None else fitting.entries:
        if not count.messages:
            view.cut(Span(place, "active"), *(("  ", result.title) if result.title else ()))
            view.line()
        writer.write(entry)
        count.add(entry)
        if fitting is not None and fitting.left_out and count.messages == 1:
            view.line(Span(f"… {counted(fitting.left_out, 'message')} left out", "dim"), indent=_CONTINUED)
    if not count.messages:
        return
    last = [str(count)]
    if view.hints and fitting is not None and (fitting.left_out or fitting.more):
        number = max(2 * count.messages, 20)
        last.append(f"more: scopes log {quote(place)} -n {quote(str(number))}")
    if view.hints and not looks.full:
        last.append(f"in full: scopes log {quote(place)} -p")
    view.line()
    view.sentence(Span(" · ".join(last), "dim"))


class _Fitting:
    """The newest turns that fit a screen.

    entries: their messages, oldest first
    left_out: the number of messages behind the first that are left out, as the newest turn alone is too long
    more: whether there are earlier turns
    """

    def __init__(self, newest_first: Iterable[LogEntry], view: View, looks: Looks) -> None:
        self.entries: list[LogEntry] = []
        self.left_out = 0
        self.more = False
        self._view = view
        self._looks = looks
        room = max(view.height - _OTHER_LINES, _OTHER_LINES)
        for turn in _turns(newest_first):
            lines = self._count_lines(turn) + bool(self.entries)
            if lines > room and self.entries:
                self.more = True
                return
            self.entries = [*(turn if lines <= room else self._shorten(turn, room)), *self.entries]
            room -= lines

    def _shorten(self, turn: list[LogEntry], room: int) -> list[LogEntry]:
        """Return the first message of a turn and as many of the last as fit."""
        room -= self._count_lines(turn[:1]) + 1
        start = len(turn)
        while start > 1 and room > 0:
            start -= 1
            room -= self._count_lines(turn[start : start + 1])
        start += room < 0 and start < len(turn) - 1
        self.left_out = start - 1
        return [*turn[:1], *turn[start:]]

    def _count_lines(self, entries: list[LogEntry]) -> int:
        def write(view: View) -> None:
            writer = _Writer(view, self._looks)
            for entry in entries:
                writer.write(entry)

        return len(self._view.drawn(write))


def _turns(newest_first: Iterable[LogEntry]) -> Iterator[list[LogEntry]]:
    """Yield the messages of each turn, oldest first; the newest turn first."""
    turn: list[LogEntry] = []
    for entry in newest_first:
        turn.append(entry)
        if is_prompt(entry.head):
            yield turn[::-1]
            turn = []
    if turn:
        yield turn[::-1]


def is_prompt(head: MessageHeader) -> bool:
    """Return True for what a person wrote."""
    return head.author_kind == "human" and head.kind in {"prompt", "plain"}


class _Count:
    """How many messages, prompts and calls were shown, and how many calls failed."""

    def __init__(self) -> None:
        self.messages = self.prompts = self.calls = self.failed = 0

    def add(self, entry: LogEntry) -> None:
        """Count a message that is shown."""
        self.messages += 1
        self.prompts += is_prompt(entry.head)
        for call in _calls(entry.message):
            ended = outcome_of(call, entry.results)
            self.calls += 1
            self.failed += ended is not None and ended.style == "bad"

    def __str__(self) -> str:
        """Return `2 prompts, 9 calls, 1 failed`, or the number of messages if there was no prompt and no call."""
        parts = [counted(self.prompts, "prompt")] if self.prompts else []
        parts += [counted(self.calls, "call")] if self.calls else []
        parts += [f"{self.failed} failed"] if self.failed else []
        return ", ".join(parts) or counted(self.messages, "message")


class _Writer:
    """Writes messages one below the other: days, marks of merged branches, and blank lines between turns."""

    def __init__(self, view: View, looks: Looks, *, oldest_first: bool = True) -> None:
        self._view = view
        self._looks = looks
        self._oldest_first = oldest_first
        self._day = today()
        self._lanes: Sequence[LaneMark] = ()
        self._is_first = True

    def write(self, entry: LogEntry) -> None:
        """Write the next message."""
        view, day = self._view, day_of_message(entry.head)
        if not self._is_first and (is_prompt(entry.head) or self._looks.full):
            view.line()
        self._is_first = False
        if day not in {"", self._day}:
            view.line(Span(day, "dim"))
            self._day = day
        write_marks(self._lanes, entry.lanes, view, oldest_first=self._oldest_first)
        self._lanes = entry.lanes
        write_entry(entry, view, self._looks)


def today() -> str:
    """Return the day as people write it: `28 Nov`."""
    now = now_nanoseconds()
    return day_of(format_time(now), now)


def day_of_message(head: MessageHeader) -> str:
    """Return the day of a message; nothing if it is not known."""
    time = display_time(head)
    return "" if time is None else day_of(time, now_nanoseconds())


def write_marks(
    before: Sequence[LaneMark], after: Sequence[LaneMark], view: View, *, oneline: bool = False,
    oldest_first: bool = True,
) -> None:  # fmt: skip
    """Write the marks between two messages: the ends of merged branches, then the beginnings of others.

    The digest of a merge is on the side of the merge: below the end if the oldest message comes first.
    """
    left, entered = lane_changes(before, after)
    marks = [(mark.end(), mark, oldest_first) for mark in left]
    marks += [(mark.begin((mark.fork or "")[:SHORT_ID_LENGTH]), mark, not oldest_first) for mark in entered]
    for text, mark, has_digest in marks:
        rule = f"── {clean_line(text)}"
        if oneline:
            view.cut(Span(rule, "branch"))
            continue
        view.hanging(Span(rule, "branch"), hang=_CONTINUED)
        for line in mark.digest if has_digest else ():
            view.hanging(Span(line, "dim"), hang=_CONTINUED, indent=4)


def write_entry(entry: LogEntry, view: View, looks: Looks = Looks()) -> None:  # noqa: B008  a NamedTuple
    """Write one message: a prompt as a heading, other texts below it, and a line for each call."""
    head, message = entry.head, entry.message
    end = (identifier(view, head.id), " ", Span(minute_of(display_time(head) or UNKNOWN_TIME), "time"))
    marks = _marks(entry, looks)
    if message is None or head.title is not None:
        view.paragraph(subject(head), start=(_INDENT,), end=end)
    elif is_prompt(head):
        name = f"{head.author}: " if looks.names else ""
        text = message.text or summary_text(head, message)
        _write_text(view, name + text, _ALL if looks.full else _PROMPT_ROWS, start=_PROMPT, end=end)
        _write_parts(entry, view, looks)
    elif looks.full:
        _write_whole(entry, view, end)
    elif head.kind in MARKS or is_folded(message):
        view.cut(_INDENT, *summarize_message(head, message, ()))
    else:
        _write_answer(entry, message, view, looks, end)
    if marks:
        view.hanging(*marks, indent=_CONTINUED)


def _write_answer(entry: LogEntry, message: Message, view: View, looks: Looks, end: Parts) -> None:
    """Write the text of an agent and a line for each of its calls; a text without calls is an answer with its id."""
    head = entry.head
    calls = _calls(message)
    name = f"{shown_author(head)}: " if looks.names or head.author_kind == "system" else ""
    kind = "" if head.kind in _HIDDEN_KINDS else f"{head.kind} "
    text = tell_review(message.text) or message.text.strip()
    if head.kind in TYPED_KINDS and message.payload and not text:
        topic = message.payload.get("topic") or message.payload.get("subject")
        value = message.payload.get(head.kind) or message.payload.get("finding")
        if isinstance(topic, str) and isinstance(value, str):
            text = f"{topic}: {value}"
        else:
            text = "\n".join("".join(span.text for span in line) for line in document_lines(message.payload))
    if text and not calls:
        _write_text(view, f"{name}{kind}{text}", _ANSWER_ROWS, start=_INDENT, end=end)
    elif text:
        view.paragraph(f"{name}{text}", start=(_INDENT,), most=_REMARK_ROWS)
    elif kind and not calls:
        view.paragraph(f"{name}{kind}{summary_text(head, message)}", start=(_INDENT,), end=end)
    _write_parts(entry, view, looks)


def _write_text(view: View, text: str, most: int, *, start: Span, end: Parts) -> None:
    """Write a text with its id and time at the right of its first row, and how to see the rest of a long one."""
    whole = view.paragraph(text.strip(), start=(start,), end=end, style=start.style, most=most)
    if not whole:
        view.line(Span(f"… {format_extent(text) or 'more'} in all", "dim"), indent=_CONTINUED)


def _write_parts(entry: LogEntry, view: View, looks: Looks) -> None:
    """Write a line for each call with its outcome, and for what else is in a message; reads of files share one line."""
    message = entry.message
    if message is None:
        return
    calls = _calls(message)
    for is_read, group in groupby(calls, key=lambda call: FILE_TOOLS.get(tool_name(call)) == "read"):
        same = list(group)
        ended = [outcome_of(call, entry.results) for call in same]
        if is_read and len(same) > 1 and not any(each and each.style == "bad" for each in ended):
            names = ", ".join(dict.fromkeys(argument_of(call, looks.directory) for call in same))
            view.cut(Span(f"→ {verb_of(same[0])} {names} · {counted(len(same), 'call')}", "dim"), indent=_CONTINUED)
            continue
        for call, outcome in zip(same, ended, strict=True):
            view.pair(verb_line(call, looks.directory), (outcome,) if outcome else (), at=_OUTCOME, indent=_CONTINUED)
    known = {call.call_id for call in calls}
    for part in message.parts:
        if part.type == "tool_result" and part.call_id not in known:
            view.cut(*result_line(part), indent=_CONTINUED)
        elif part.type not in {"text", "reasoning", "tool_call", "tool_result"}:
            view.cut(*part_line(part), indent=_CONTINUED)
    if HANDOVER in message.extra:
        note = f"recorded history came before this prompt: scopes cat {entry.head.id[:SHORT_ID_LENGTH]} --original"
        view.line(Span(note, "dim"), indent=_CONTINUED)
    if message.files and not any(part.type in {"tool_call", "tool_result"} for part in message.parts):
        view.hanging(Span(f"files: {format_files(message.files)}", "dim"), indent=_CONTINUED)


def _write_whole(entry: LogEntry, view: View, end: Parts) -> None:
    """Write the whole content of a message that is no prompt, with blank lines between its parts."""
    head, message = entry.head, entry.message
    kind = (Span(f" · {head.kind}", "dim"),) if head.kind != "plain" else ()
    text, style = MARKS.get(head.kind, ("", "agent"))
    view.pair((Span(text, style), Span(shown_author(head), "heading"), *kind), end, at=0, indent=_CONTINUED)
    for number, part in enumerate(() if message is None else message.parts):
        if number:
            view.line()
        if part.type != "text":
            write_part(view, part, indent=_CONTINUED)
        elif head.author_kind == "agent":
            view.markdown(part.text, indent=_CONTINUED)
        else:
            view.body(part.text, indent=_CONTINUED, style="dim" if message and is_folded(message) else "")
    if message is not None and message.payload:
        write_document(view, message.payload, indent=_CONTINUED)
    if message is not None and message.files:
        view.hanging(Span(f"files: {format_files(message.files)}", "dim"), indent=_CONTINUED)


def _calls(message: Message | None) -> list[Part]:
    return [] if message is None else [part for part in message.parts if part.type == "tool_call"]


def _marks(entry: LogEntry, looks: Looks) -> Parts:
    """Return what else there is to know: branches and tags, and whether it is retracted, stale or signed."""
    names = [name for name in decorations(entry) if name != looks.tip]
    spans: list[Span] = [Span(" · "), Span(f"({', '.join(names)})", "branch")] if names else []
    spans += [Span(" · "), Span(f"to {', '.join(entry.head.to)}", "dim")] if entry.head.to else []
    spans += change_mark(retracted=entry.retracted, amended=entry.amended)
    spans += [*ending_mark(entry.head, entry.ending), *stale_mark(entry.newer)]
    spans += [Span(f" · {span.text.lstrip(' ,')}", "dim") for span in confidence_mark(entry.message)]
    spans += [part for span in spawn_mark(entry.message) for part in (Span(" · "), span)]
    if entry.signature is not None:
        from scopes.render.phrases import signature_spans

        spans += [Span(" · "), Span("signed: ", "key")]
        spans += [part if isinstance(part, Span) else Span(part) for part in signature_spans(entry.signature)]
    return (Span(spans[0].text.removeprefix(" · "), spans[0].style), *spans[1:]) if spans else ()


def decorations(entry: LogEntry) -> list[str]:
    """Return the branches and tags at a message, main first, branches of conflicts last."""
    branches = sorted(entry.branches, key=lambda name: (name.startswith(_RESOLUTION), name != "main"))
    return [clean_line(name) for name in (*branches, *(f"tag: {tag}" for tag in entry.tags))]


# One line for each message, on a terminal.


def _write_lines(entries: Iterable[LogEntry], view: View, *, oldest_first: bool) -> None:
    before: Sequence[LaneMark] = ()
    day = today()
    for entry in entries:
        other = day_of_message(entry.head)
        if other not in {"", day}:
            view.line(Span(other, "dim"))
            day = other
        write_marks(before, entry.lanes, view, oneline=True, oldest_first=oldest_first)
        before = entry.lanes
        view.pair(*one_line(entry, view))


def one_line(entry: LogEntry, view: View, *, with_day: bool = False) -> tuple[Parts, Parts]:
    """Return a message as one line: id, time, author and text, and how its call ended."""
    head, message = entry.head, entry.message
    time = display_time(head) or UNKNOWN_TIME
    when = f"{day_and_minute(time, now_nanoseconds()):>12}" if with_day else minute_of(time)
    name = head.kind if head.kind in TYPED_KINDS else shown_author(head)
    author = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
    is_person = is_prompt(head)
    names = decorations(entry)
    start: Parts = (
        identifier(view, head.id), " ", Span(when, "time"), " ",
        *((_signature_mark(entry), " ") if entry.signature is not None else ()),
        Span(f"{author:<{_NAME}}", "human" if is_person else "agent"), Span(" ❯ " if is_person else " ", "human"),
        *((Span(f"({', '.join(names)}) ", "branch"),) if names else ()),
        *(Span(f"[{span.text.strip(' ·')}] ", span.style) for span in _states(entry)),
        *(Span(f"{span.text}: ", span.style) for span in spawn_mark(message)),
    )  # fmt: skip
    calls = _calls(message)
    if message is not None and len(calls) == 1 and not message.text.strip():
        ended = outcome_of(calls[0], entry.results)
        return (*start, *verb_line(calls[0])), (ended,) if ended else ()
    line = summarize_message(head, message, entry.results)
    return (*start, *(Span(span.text, "human") if is_person and not span.style else span for span in line)), ()


def _states(entry: LogEntry) -> tuple[Span, ...]:
    changed = change_mark(retracted=entry.retracted, amended=entry.amended)
    return *changed, *ending_mark(entry.head, entry.ending)


def _signature_mark(entry: LogEntry) -> Span:
    from scopes.render.phrases import signature_mark

    assert entry.signature is not None  # noqa: S101  it was asked for
    return signature_mark(entry.signature)


# The rows of a pipe.


def piped_graph_line(entry: LogEntry) -> Parts:
    """Return a message as one line beside a graph: id, branches and tags, author and text."""
    head, names = entry.head, decorations(entry)
    return (
        head.id[:SHORT_ID_LENGTH], f" ({', '.join(names)})" if names else "", f" {shown_author(head)}: ",
        *(f"[{span.text.strip(' ·')}] " for span in ending_mark(head, entry.ending)),
        *((f"{_signature_mark(entry).text} ",) if entry.signature is not None else ()),
        *(f"{span.text}: " for span in spawn_mark(entry.message)), *summarize_message(head, entry.message),
    )  # fmt: skip


def _write_rows(entries: Iterable[LogEntry], view: View) -> None:
    *others, state, signer = _PIPED_COLUMNS
    asked = (replace(column, hidden=not view.options.signatures) for column in (state, signer))
    view.rows((*others, *asked), map(_row, entries))


def _piped_line(entry: LogEntry) -> str:
    """Return a message as one line, with what git thinks of its signature and whose key it is, if it was asked."""
    mark = "" if entry.signature is None else f" {_signature_mark(entry).text}"
    return f"{entry.head.id[:SHORT_ID_LENGTH]}{mark} {_piped_subject(entry)}"


def _piped_subject(entry: LogEntry) -> str:
    """Return the subject of a message, or a summary of its parts if it has no text; how it ended if that is known."""
    ending = "".join(f"[{span.text.strip(' ·')}] " for span in ending_mark(entry.head, entry.ending))
    if entry.message is None or entry.head.subject != NO_TEXT:
        text = "" if entry.message is None else entry.message.text
        return ending + mark_cut(entry.head.shown_subject, text)
    return ending + summary_text(entry.head, entry.message)


def _row(entry: LogEntry) -> tuple[str | Span, ...]:
    head, signature = entry.head, entry.signature
    return (
        head.id,
        display_time(head) or UNKNOWN_TIME,
        shown_author(head),
        head.kind,
        _piped_subject(entry),
        head.oid,
        head.author_kind,
        ",".join(head.to),
        ",".join(entry.branches),
        entry.lanes[-1].branch if entry.lanes else "",
        "" if signature is None else signature.state,
        "" if signature is None else signature.signer or "",
    )
