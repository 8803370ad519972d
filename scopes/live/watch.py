"""`scopes import --watch`: import sources as they change, for agents without hooks.

A source is imported when it has been quiet for a moment, at the latest some seconds after its first change, and at most
once a second. What cannot be imported because the store cannot be written is tried again.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from queue import Empty
from typing import Protocol, TypeAlias

from scopes.clock import now
from scopes.errors import Busy, CannotImport, Inaccessible, NotFound, ScopesError
from scopes.ids import ConversationId
from scopes.importers.results import REPEAT_WITH, Imported
from scopes.regular_file import read_private_file, write_private_file
from scopes.result import Column, Note, Result, counted

ImportFile: TypeAlias = Callable[[str], Imported]
QUIET_SECONDS = 0.3
LONGEST_SECONDS = 3.0
EVERY_SECONDS = 1.0
RETRY_SECONDS = 10.0
_SIGNAL_SECONDS = 1.0  # a signal that comes just before the wait begins does not end it, and is handled after it
_MAX_PID_LENGTH = 8
_DIGEST_LENGTH = 32
_MAX_NOTES = 1000  # notes that are remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRecorded(Result):
    """Messages that a source had more than the store.

    source: the path of the file, the first one if it is several files of the session; None if that is not known.
    """

    columns = (Column("time", form="time"), Column("conversation"), Column("messages"), Column("source"))

    time: str
    conversation: ConversationId
    messages: int
    source: str | None = None

    @property
    def sentence(self) -> str:
        """The same as a line for a person."""
        place = "" if self.source is None else f"  {self.source}"
        return f"{self.time[11:19]}  {self.conversation}  {counted(self.messages, 'message')}{place}"


class ChangeQueue(Protocol):
    """Paths of files that have changed; None only wakes the reader, which may have to stop."""

    def get(self, *, timeout: float) -> str | None:
        """Return the next one.

        Raises:
            Empty: there was none in time.
        """


class Watcher:
    """Imports what changes, one file at a time, until `stopped` returns True.

    note: is called with what the user has to know, such as a full disk
    """

    def __init__(
        self,
        changed: ChangeQueue,
        import_file: ImportFile,
        *,
        stopped: Callable[[], bool],
        note: Callable[[Note], None],
        read_time: Callable[[], float] = time.monotonic,
    ) -> None:
        self._changed, self._import_file, self._stopped, self._note = changed, import_file, stopped, note
        self._read_time = read_time
        self._pending: dict[str, _Change] = {}
        self._imported: dict[str, float] = {}
        self._noted: str | None = None

    def run(self) -> Iterator[SourceRecorded]:
        """Yield what has been recorded, as it happens."""
        while not self._stopped():
            self._collect()
            if self._stopped():
                return
            yield from self._import_due()

    def _collect(self) -> None:
        """Wait for a change, until one is due, or for a second, and take all that have come."""
        due = min((self._due(path, change) for path, change in self._pending.items()), default=None)
        timeout = _SIGNAL_SECONDS if due is None else max(0.0, due - self._read_time())
        while True:
            try:
                path = self._changed.get(timeout=timeout)
            except Empty:
                return
            if path is None:
                return
            moment = self._read_time()
            change = self._pending.setdefault(path, _Change(moment))
            change.last = moment
            timeout = 0.0

    def _due(self, path: str, change: _Change) -> float:
        quiet = min(change.last + QUIET_SECONDS, change.first + LONGEST_SECONDS)
        return max(quiet, change.not_before, self._imported.get(path, 0.0) + EVERY_SECONDS)

    def _import_due(self) -> Iterator[SourceRecorded]:
        moment = self._read_time()
        due = sorted(path for path, change in self._pending.items() if self._due(path, change) <= moment)
        for path in due:
            if self._stopped():
                return
            change = self._pending.pop(path)
            self._imported[path] = self._read_time()
            try:
                imported = self._import_file(path)
            except (NotFound, CannotImport):  # it is gone again, or no transcript, or has no message yet
                continue
            except (Busy, Inaccessible) as error:
                self._try_again(path, change, error)
                continue
            except ScopesError as error:
                self._note(Note(f"{path}: {error.message}", error.hint))
                continue
            self._noted = None
            yield from recorded_rows(imported, path)
        self._forget()

    def _try_again(self, path: str, change: _Change, error: ScopesError) -> None:
        change.not_before = self._read_time() + RETRY_SECONDS
        self._pending.setdefault(path, change)
        if error.message != self._noted:
            self._noted = error.message
            self._note(Note(f"{error.message}; it is tried again every {RETRY_SECONDS:.0f} seconds", error.hint))

    def _forget(self) -> None:
        """Drop the times of imports that do not matter any more."""
        limit = self._read_time() - EVERY_SECONDS
        self._imported = {path: moment for path, moment in self._imported.items() if moment > limit}


class _Change:
    """Changes of a file that is not imported yet: the first and the last moment, and when to try it at the earliest."""

    __slots__ = ("first", "last", "not_before")

    def __init__(self, moment: float) -> None:
        self.first = self.last = moment
        self.not_before = 0.0


def recorded_rows(imported: Imported, source: str | None = None) -> Iterable[SourceRecorded]:
    """Return a row for each conversation that has got messages."""
    moment = now()
    return [
        SourceRecorded(time=moment, conversation=row.id, messages=row.new_messages, source=source or row.source)
        for row in imported.conversations
        if row.new_messages
    ]


def of_import(note: Note) -> Note:
    """Return a note of an import as `watch` shows it: what the hint says about an option is about `scopes import`."""
    hint = note.hint
    return note if hint is None else note._replace(hint=hint.replace(REPEAT_WITH, "run scopes import with"))


class FileNotes:
    """Which kinds of notes were shown of each file: a file is imported often, and its problems stay the same."""

    def __init__(self) -> None:
        self._shown: dict[str, set[str]] = {}

    def take_new(self, path: str, notes: Iterable[Note]) -> list[Note]:
        """Return the notes of a kind that the file had none of: with another hint, or else with other words."""
        shown = self._shown.setdefault(path, set())
        found = []
        for note in notes:
            kind = note.hint or "".join(character for character in note.text if not character.isdecimal())
            if kind not in shown:
                shown.add(kind)
                found.append(note)
        return found


def new_notes(directory: str, store: str, notes: Sequence[Note]) -> Sequence[Note]:
    """Return the notes that were not returned at an earlier start, and remember them.

    Sessions without their parents, for example, are the same at each start. What cannot be remembered comes again.
    """
    path = _path_of(directory, store, "notes")
    known = (read_private_file(path) or b"").decode("ascii", "replace").split()
    digests = [_digest(f"{note.text}\n{note.hint}") for note in notes]
    if not set(digests) <= set(known):
        kept = [*digests, *(digest for digest in known if digest not in digests)][:_MAX_NOTES]
        with suppress(OSError):
            write_private_file(path, "\n".join(kept).encode())
    return [note for note, digest in zip(notes, digests, strict=True) if digest not in known]


@contextmanager
def watch_lock(directory: str, store: str) -> Iterator[None]:
    """Hold the lock of the only watcher of a store; the file has the number of its process.

    Raises:
        Busy: another process watches for this store.
        Inaccessible: the lock cannot be written.
    """
    path = _path_of(directory, store, "lock")
    try:
        os.makedirs(directory, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise Inaccessible(f"cannot lock {path}: {error.strerror}", hint="check its permissions") from error
    try:
        _lock(descriptor, path)
        with suppress(OSError):  # on a full disk the number is missing, which only a message needs
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _lock(descriptor: int, path: str) -> None:
    """Lock a file; raises as `watch_lock`."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(descriptor, _MAX_PID_LENGTH, 0).decode("ascii", "replace").strip()
        raise Busy(
            f"{f'process {holder}' if holder else 'another process'} watches for this store already",
            hint=f"end it first: kill {holder or 'PID'}",
        ) from error
    except OSError as error:
        raise Inaccessible(
            f"cannot lock {path}: {error.strerror}", hint="set XDG_STATE_HOME to a directory on another file system"
        ) from error


def _path_of(directory: str, store: str, ending: str) -> str:
    return os.path.join(directory, f"watch-{_digest(os.path.realpath(store))}.{ending}")


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST_LENGTH]
