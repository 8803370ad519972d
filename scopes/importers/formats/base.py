"""The interface of a transcript format, and the choice of a source's format by its content, never by its name."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import BinaryIO, Protocol

from scopes.errors import CannotImport, Invalid
from scopes.hosts.agents import Agent, config_directory
from scopes.importers.formats.compressed import SUFFIX, open_plain
from scopes.importers.formats.events import Draft, Event, Session
from scopes.regular_file import open_descriptor

SNIFF_BYTES = 1 << 18
DATABASE_HEADER = b"SQLite format 3\0"
_BUFFER_BYTES = 1 << 18
UNKNOWN_FORMAT = "unknown format"
_ZIP = b"PK\x03\x04"  # the exports of ChatGPT and Claude.ai come as one


@dataclass(frozen=True, slots=True)
class Source:
    """A transcript file as it was when the import began. Writers may append to it, so only `size` bytes are read.

    `named` is True if the user named this file, and not a folder that contains it.
    """

    path: str
    size: int
    named: bool = field(default=False, compare=False, kw_only=True)

    @property
    def stored_at(self) -> str:
        """Path of the file that has the bytes; another one than `path` if they were copied from a pipe."""
        return self.path

    def signed_files(self) -> list[str]:
        """Return the files whose times and sizes change when the content does."""
        log = f"{self.path}-wal"  # of a database: it has what is not in the file yet
        return [self.path, log] if os.path.exists(log) else [self.path]

    def open(self) -> BinaryIO:
        """Open the source for reading; a compressed file yields its plain bytes.

        Raises:
            UnusableFile: it is not a regular file any more.
            OSError: it cannot be opened.
        """
        if self.path.endswith(SUFFIX):
            return open_plain(self.path)
        return open(open_descriptor(self.path), "rb", buffering=_BUFFER_BYTES)


@dataclass(frozen=True, slots=True)
class StandardFolders:
    """Where an agent keeps its transcripts: `folders` below its configuration directory, files or folders.

    find_session: returns the file of a session in one of the folders, by the agent's id of it
    variable: moves the transcripts alone, to `folders`, or to the directory itself with `is_top`
    elsewhere: places in directories of other programs of the same agent, such as its editor
    """

    agent: Agent
    folders: tuple[str, ...]
    find_session: Callable[[str, str], str | None]
    variable: str | None = None
    is_top: bool = False
    elsewhere: tuple[tuple[Agent, str], ...] = ()

    def paths(self, environ: Mapping[str, str], home: str, platform: str = sys.platform) -> list[str]:
        """Return the folders on an operating system, whether they exist or not."""
        moved = environ.get(self.variable, "") if self.variable is not None else ""
        if moved and self.is_top:
            return [moved]
        top = moved or config_directory(self.agent, environ, home, platform)
        others = [
            os.path.join(config_directory(agent, environ, home, platform), name) for agent, name in self.elsewhere
        ]
        return [*(os.path.join(top, name) for name in self.folders), *others]


@contextmanager
def name_source(source: Source) -> Iterator[None]:
    """Name the source whose content cannot be read or stored, so that the import skips it alone.

    Raises:
        CannotImport: in place of an Invalid or a RecursionError.
    """
    try:
        yield
    except Invalid as error:
        raise CannotImport(f"{source.path}: {error.message}") from error
    except RecursionError as error:
        raise CannotImport(f"{source.path}: nested too deeply") from error


class Format(Protocol):
    """A transcript format: recognize a source by its content, and read it as events.

    Derive from this class. `sniff` takes a source only by what no other program writes. `walk_events` yields a
    `Session`; then all bytes of the source, each in one event: a `Draft` for a message, a `SessionRecord` for what is
    none, `Unparsed` for what cannot be read; then an `Ending` (`events` says what their fields mean). A draft has a key
    of its own, and comes after the draft that it names as its parent; else the source is skipped. Equal bytes give
    equal events on every machine. Everything special to one agent is in its module, but for how it words its tools
    (`scopes.model.tools`), which memory and the renderers read without the importers.
    """

    @property
    def name(self) -> str:
        """Format name, stored in results and in the roots of conversations. Never change it."""

    @property
    def file_suffixes(self) -> tuple[str, ...]:
        """Suffixes of file names that a folder is searched for."""

    @property
    def standard_folders(self) -> StandardFolders | None:
        """Where the agent keeps its transcripts; None if the format belongs to no agent."""
        return None

    @property
    def sub_agent_fields(self) -> tuple[str, ...]:
        """Fields of a tool result's `structured` object that hold the id of the sub-agent that the call started."""
        return ()

    def sniff(self, head: bytes) -> bool:
        """Return True if a source that begins with `head`, its first 256 KiB, is in this format."""

    def walk_events(self, source: Source) -> Iterator[Event]:
        """Yield a Session, the events of the source in byte order, and an Ending.

        A source of several conversations yields a Session and an Ending for each. A record that cannot be read yields
        Unparsed and never stops the import.

        Raises:
            CannotImport: nothing in the source identifies the session.
        """


def list_entries(folder: str) -> list[os.DirEntry[str]]:
    """Return the entries of a folder; none if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def find_below(top: str, name: str, is_wanted: Callable[[str], bool]) -> str | None:
    """Return the first file with a wanted name in the folder `name` of each folder in `top`; None if there is none."""
    for project in list_entries(top):
        for entry in list_entries(os.path.join(project.path, name)):
            if is_wanted(entry.name):
                return entry.path
    return None


def choose_format(formats: Sequence[Format], source: Source) -> Format:
    """Return the first format that recognizes the source.

    Raises:
        CannotImport: none does.
    """
    with source.open() as stream:
        head = stream.read(min(SNIFF_BYTES, source.size))
    for candidate in formats:
        if candidate.sniff(head):
            return candidate
    if head.startswith(_ZIP):
        raise CannotImport(
            f"{source.path}: {UNKNOWN_FORMAT}: a zip archive", hint="unpack it, and import what is in it"
        )
    if _is_agent_trace(head):
        hint = "put them into .agent-trace/traces.jsonl of the project, where scopes why reads them"
        raise CannotImport(f"{source.path}: {UNKNOWN_FORMAT}: records of Agent Trace", hint=hint)
    known = ", ".join(candidate.name for candidate in formats)
    if source.size == 0:
        hint = "agents make the file at their start, and write with the first prompt: import it then"
        raise CannotImport(f"{source.path}: {UNKNOWN_FORMAT}: the file is empty", hint=hint)
    raise CannotImport(f"{source.path}: {UNKNOWN_FORMAT}", hint=f"formats: {known}")


def _is_agent_trace(head: bytes) -> bool:
    """Return True if a file begins with a record of Agent Trace: who wrote which lines of a commit, and no session."""
    line = head.partition(b"\n")[0]
    return line.startswith(b"{") and all(field in line for field in (b'"vcs"', b'"revision"', b'"files"'))


def read_session_with_messages(chosen: Format, source: Source) -> Session | None:
    """Return the first session of a source; None if it has none, or no message. Reads as far as the first message.

    Raises:
        CannotImport: nothing in the source identifies the session.
        OSError: the source cannot be read.
    """
    events = chosen.walk_events(source)
    first = next(events, None)
    return first if isinstance(first, Session) and any(isinstance(event, Draft) for event in events) else None


def read_session(chosen: Format, source: Source) -> Session | None:
    """Return the first session of a source; None if it has none. Reads the source up to its first event only.

    Raises:
        CannotImport: nothing in the source identifies the session.
        OSError: the source cannot be read.
    """
    first = next(iter(chosen.walk_events(source)), None)
    return first if isinstance(first, Session) else None
