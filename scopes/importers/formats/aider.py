"""The Aider format: the chat history in Markdown that Aider keeps in a project, with all its runs one after the other.

A line `# aider chat started at ...` begins a run. In a run, lines of the user begin with `#### `, notices of Aider with
`> `, and all others are the model's. That is ambiguous, so the messages are `inferred`; there are no ids and times.
Models, tokens and files are in the notices; large token counts are rounded there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from scopes.clock import parse_time
from scopes.importers.formats.base import Format, Source
from scopes.importers.formats.documents import digest_beginning
from scopes.importers.formats.events import Ending, Event, Session
from scopes.importers.formats.records import CUT_OFF, Record
from scopes.importers.formats.run_builder import ANSWER, HUMAN, INJECTED, PROMPT, OpenMessage, RunBuilder
from scopes.importers.formats.text_lines import INVALID_TEXT, Block, Line, walk_lines
from scopes.model.message import Author, FileTouch, Part

NAME = "aider"
_AGENT = Author(NAME, "agent")
_HARNESS = Author(NAME, "system")
_STARTED = re.compile(rb"# aider chat started at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)[ \t]*\r?\n")
_HEADER = re.compile(_STARTED.pattern, re.MULTILINE)
_BANNER, _NOTICE = "run", "notice"
_USER_MARK, _NOTICE_MARK = "#### ", "> "
_MARK_STARTS = (b"#", b">")
_BY_AIDER = "# Fix any errors below, if possible."  # a prompt that Aider writes after its own checks
_INFERRED = {"fidelity": "inferred"}
_NAME_DIGITS = 16
_MODEL = re.compile(r"^(?:Main model|Models?): (\S+?)\u26a1? with ", re.MULTILINE)
_NUMBER = r"(\d[\d,]{0,15}(?:\.\d{1,6})?[kM]?)"
_TOKENS = re.compile(rf"^Tokens: {_NUMBER} sent[^\n]{{0,200}}? {_NUMBER} received", re.MULTILINE)
_WRITTEN = re.compile(rf"{_NUMBER} cache write")
_READ = re.compile(rf"{_NUMBER} (?:cache hit|cached)")
_FILES = re.compile(r"^(?:Applied edit to (\S[^\n]{0,4000})|Added (\S[^\n]{0,4000}) to the chat\.?)$", re.MULTILINE)
_COUNTS = ("input_uncached", "cache_read", "cache_write", "output")
_INTERRUPT = "^C KeyboardInterrupt"
_UNITS = {"k": 1000, "M": 1_000_000}


class Aider(Format):
    """Aider: `.aider.chat.history.md`."""

    name = NAME
    file_suffixes = ("chat.history.md", "chat-history.md")

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format: a line of it begins a run."""
        return any(not at.start() or head[at.start() - 1 : at.start()] == b"\n" for at in _HEADER.finditer(head))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session, its messages and an Ending for every run that has a message.

        The bytes of runs without one belong to the session that comes next. A run that is in the file again, with the
        same beginning, gets a number.
        """
        with source.open() as stream:
            runs = _split_runs(walk_lines(stream, source.size))
        ending: Ending | None = None
        waiting: list[Event] = []
        names: dict[str, int] = {}
        for run in runs:
            reader = _RunReader(run)
            events, found = reader.read_all(is_last=run is runs[-1])
            if not reader.has_message:
                waiting += events
                continue
            if ending is not None:
                yield ending
            session = reader.session()
            names[session.native_id] = number = names.get(session.native_id, 0) + 1
            yield session if number == 1 else replace(session, native_id=f"{session.native_id}#{number}")
            yield from waiting
            yield from events
            waiting, ending = [], found
        if ending is None:
            yield Session(format=NAME, native_id=digest_beginning(source))
        yield from waiting
        yield ending or Ending(active=None)


def _split_runs(lines: Iterator[Line]) -> list[list[Line]]:
    runs: list[list[Line]] = []
    for line in lines:
        if not runs or _STARTED.fullmatch(line.data):
            runs.append([])
        runs[-1].append(line)
    return runs


class _RunReader:
    """Turns the lines of one run into events; what a notice says about the answer before it goes to the answer."""

    def __init__(self, lines: list[Line]) -> None:
        self.has_message = False
        self._lines = lines
        started = _STARTED.fullmatch(lines[0].data)
        self._started = None if started is None else f"{started[1].decode()}T{started[2].decode()}"
        self._digest = sha256()  # of what comes before the first message, and its first line
        self._block: Block | None = None
        self._after_blank = False
        self._builder = RunBuilder(is_stream=False)
        self._noted: str | None = None  # the answer that the last notice is about
        self._added: list[FileTouch] = []  # files that were added to the chat before the first message

    def session(self) -> Session:
        """Return the Session of the run when it was read."""
        created = f"{self._started}Z"
        return Session(
            format=NAME,
            native_id=f"{self._started or 'beginning'}-{self._digest.hexdigest()[:_NAME_DIGITS]}",
            created=created if parse_time(created) is not None else None,
            details=_INFERRED,
        )

    def read_all(self, *, is_last: bool) -> tuple[list[Event], Ending]:
        """Return the events of the run and its Ending; only the last run of a file may still grow."""
        for line in self._lines:
            self._read(line)
        is_notice = self._block is not None and self._block.kind == _NOTICE
        self._close_block()
        ending = self._builder.end(opened=self._noted if is_notice else None)
        return self._builder.take_ready(), ending if is_last else replace(ending, open=None)

    def _read(self, line: Line) -> None:
        kind = self._kind_of(line)
        block = self._block
        begins_prompt = kind == PROMPT and self._after_blank and not line.is_blank
        new = block is None or block.kind != kind or begins_prompt
        if line.is_cut and (new or line.data.startswith(_MARK_STARTS)):
            self._builder.reject(Record(0, 0, line.span), CUT_OFF)
        elif new or block is None:
            self._close_block()
            self._block = Block(kind, line)
            if kind != _BANNER and not self.has_message:
                self._digest.update(line.data)
                self.has_message = True
        else:
            block.add(line)
        self._after_blank = line.is_blank

    def _kind_of(self, line: Line) -> str:
        current = _BANNER if self._block is None else self._block.kind
        if line.is_blank:
            return current
        if line.data.startswith(_USER_MARK.encode()):
            return PROMPT
        if line.data.startswith(_NOTICE_MARK.encode()):
            return _BANNER if current == _BANNER else _NOTICE
        unmarked = current in {_BANNER, _NOTICE} and self._block is not None and not self._after_blank
        if unmarked or (current == _BANNER and (self._block is None or self._started is None)):
            return current  # a notice of several lines, the header, or text before the first run
        return ANSWER

    def _close_block(self) -> None:
        block, self._block = self._block, None
        if block is None:
            return
        if not block.is_valid:
            self._builder.reject(Record(0, 0, block.span._replace(length=0)), INVALID_TEXT)
        if block.kind == _BANNER:
            text = _without_marks(block.text, _NOTICE_MARK)
            self._digest.update(block.data)
            self._builder.model = _find_model(text) or self._builder.model
            self._added += [each for each in _find_touches(text) if each.op == "mention"]
            self._builder.add_state(Record(0, 0, block.span), _BANNER)
        elif block.kind == _NOTICE:
            self._add_notice(block, _without_marks(block.text, _NOTICE_MARK))
        elif block.kind == PROMPT:
            prompt = _without_marks(block.text, _USER_MARK)
            self._begin(block, INJECTED if prompt.startswith(_BY_AIDER) else HUMAN, PROMPT, prompt)
        else:
            self._begin(block, _AGENT, ANSWER, block.text.strip())

    def _add_notice(self, block: Block, text: str) -> None:
        """Add a notice. If the model answered nothing, the notice itself has the tokens that were sent."""
        answer, usage, touches = self._builder.continues(ANSWER), _read_usage(text), list(_find_touches(text))
        self._builder.model = _find_model(text) or self._builder.model
        self._noted = None if answer is None else answer.key
        if answer is not None:
            answer.files |= dict.fromkeys(each for each in touches if each.op == "edit")
            answer.usage = usage
            answer.status = "interrupted" if usage is None and _INTERRUPT in text else None
        found = self._begin(block, _HARNESS, _NOTICE, text)
        found.files |= dict.fromkeys(each for each in touches if each.op != "edit" or answer is None)
        if answer is None and usage is not None:
            found.usage, found.model = usage, self._builder.model

    def _begin(self, block: Block, author: Author, kind: str, text: str) -> OpenMessage:
        found = self._builder.begin(Record(0, 0, block.span), author, kind, [Part("text", {"text": text})])
        found.extra |= _INFERRED
        found.files |= dict.fromkeys(self._added)
        self._added = []
        return found


def _without_marks(text: str, mark: str) -> str:
    """Return lines without the mark before each and the two blanks after it."""
    return "\n".join(line.removeprefix(mark).rstrip() for line in text.splitlines()).strip()


def _find_model(notice: str) -> str | None:
    """Return the model that a notice names last; None if it names none."""
    found = _MODEL.findall(notice)
    return str(found[-1]) if found else None


def _find_touches(notice: str) -> Iterator[FileTouch]:
    """Yield the files that a notice says were edited, or added to the chat."""
    for edited, added in _FILES.findall(notice):
        yield FileTouch(edited or added, "edit" if edited else "mention")


def _read_usage(notice: str) -> Mapping[str, Any] | None:
    """Return the tokens in a notice; it has several counts if the model was asked again before it answered."""
    lines = list(_TOKENS.finditer(notice))
    if not lines:
        return None
    totals = [sum(column) for column in zip(*map(_read_line, lines), strict=True)]
    return {**dict(zip(_COUNTS, totals, strict=True)), "raw": {"notice": "\n".join(line[0] for line in lines)}}


def _read_line(line: re.Match[str]) -> tuple[int, ...]:
    """Return the counts of a line, named as _COUNTS.

    Newer versions count cached tokens as sent too: if they can be part of the sent ones, they are.
    """
    sent, received = _count(line[1]), _count(line[2])
    written, read = (_count(each[1]) if (each := form.search(line[0])) else 0 for form in (_WRITTEN, _READ))
    included = written + read if written + read <= sent else 0
    return sent - included, read, written, received


def _count(text: str) -> int:
    return round(float(text.rstrip("kM").replace(",", "")) * _UNITS.get(text[-1], 1))
