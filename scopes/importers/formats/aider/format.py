"""The Aider format: the chat history in Markdown that Aider keeps in a project, with all its runs one after the other.

A line `# aider chat started at ...` begins a run. In a run, lines of the user begin with `#### `, notices of Aider with
`> `, and all others are the model's. That is ambiguous, so the messages are `inferred`; there are no ids and times.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from hashlib import sha256

from scopes.importers.formats.aider.run import NAME, RunReader
from scopes.importers.formats.base import Source
from scopes.importers.formats.events import Ending, Event, Session
from scopes.importers.formats.text_lines import walk_lines

_STARTED = re.compile(rb"# aider chat started at (\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)[ \t]*\r?\n")
_HEADER = re.compile(_STARTED.pattern, re.MULTILINE)
_NAMING_BYTES = 4096


class Aider:
    """Aider: `.aider.chat.history.md`."""

    name = NAME
    file_suffixes = ("chat.history.md", "chat-history.md")
    standard_folders = None
    sub_agent_fields: tuple[str, ...] = ()

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head` is in this format: a line of it begins a run."""
        return any(not at.start() or head[at.start() - 1 : at.start()] == b"\n" for at in _HEADER.finditer(head))

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session, its messages and an Ending for every run that has a message."""
        ending: Ending | None = None
        empty: list[Event] = []  # runs without a message, which belong to the session that comes next
        names: dict[str, int] = {}
        reader = RunReader(None)
        with source.open() as stream:
            for line in walk_lines(stream, source.size):
                started = _STARTED.fullmatch(line.data) if line.starts else None
                if started is not None:
                    ending = yield from _end_run(reader, ending, empty)
                    reader = RunReader(f"{started[1].decode()}T{started[2].decode()}Z")
                if reader.read(line) and not reader.is_announced:
                    yield from _begin_session(reader, names, ending, empty)
                    ending = None
                if reader.is_announced:
                    yield from reader.take_ready()
        ending = yield from _end_run(reader, ending, empty, last=True)
        if ending is None:
            yield Session(format=NAME, native_id=_digest_beginning(source))
        yield from empty
        yield ending or Ending(active=None)


def _begin_session(
    reader: RunReader, names: dict[str, int], before: Ending | None, empty: list[Event]
) -> Iterator[Event]:
    """Yield the Ending of the session before, the Session of a run with a message, and the runs without between.

    A run that is in the file again, with the same beginning, gets a number; `names` counts them.
    """
    if before is not None:
        yield before
    session = reader.session()
    names[session.native_id] = number = names.get(session.native_id, 0) + 1
    yield session if number == 1 else replace(session, native_id=f"{session.native_id}#{number}")
    yield from empty
    empty.clear()


def _end_run(
    reader: RunReader, before: Ending | None, empty: list[Event], *, last: bool = False
) -> Generator[Event, None, Ending | None]:
    """Finish a run; the Ending of the last session so far is returned, since the bytes of empty runs may follow."""
    found = reader.finish(last=last)
    if reader.is_announced:
        yield from reader.take_ready()
        return found
    empty += reader.take_ready()
    return before


def _digest_beginning(source: Source) -> str:
    with source.open() as stream:
        return sha256(stream.read(min(_NAMING_BYTES, source.size))).hexdigest()
