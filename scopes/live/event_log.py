"""`acp.log` and `hooks.log`: what happened to sessions and to the recording, one JSON object a line, without messages.

They are in the user's state directory, not in a store: they must be writable when the store is not.
`acp --log` counts lines, `setup --status` shows the last ones. When a log is full it becomes `acp.log.1`, and the one
before is deleted. What is read is checked: a line that was cut by a full disk, or that somebody else wrote, is counted
and left out.
"""

from __future__ import annotations

import json
import math
import os
import stat
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from scopes.clock import now, parse_time
from scopes.regular_file import open_regular
from scopes.result import Note, plural

FILE_NAME = "acp.log"
HOOK_LOG = "hooks.log"
MAX_BYTES = 4 << 20
MAX_TEXT: Final = 300  # characters of one text, such as the error of an agent
_MAX_LEVELS: Final = 8
OnLost: TypeAlias = Callable[[str, Mapping[str, Any], OSError], None]
_TEXTS: Final = ("agent", "target", "session")  # fields that are text wherever they are


class Event(NamedTuple):
    """One line of a log; `agent` is empty where it has none, `details` are the fields that only this event has."""

    time: str
    name: str
    agent: str
    pid: int
    details: dict[str, Any]


class Events(NamedTuple):
    """The events of a log, oldest first, and how many of its lines are none."""

    events: tuple[Event, ...]
    damaged: int
    file_name: str

    @property
    def notes(self) -> tuple[Note, ...]:
        """Return the warning that lines were left out; nothing if all were read."""
        if not self.damaged:
            return ()
        lines = f"{self.damaged:,} {plural(self.damaged, 'line')}"
        return (Note(f"left out what cannot be read: {lines} of {self.file_name}"),)


class EventLog:
    """The log of one proxy, or of a hook; several may write to one file."""

    def __init__(
        self, directory: str, *, file_name: str = FILE_NAME, on_lost: OnLost | None = None, **fields: str
    ) -> None:
        """Begin a log; `on_lost` gets each event that cannot be written, with its fields and why."""
        self.directory = directory
        self._on_lost = on_lost
        self.path = os.path.join(directory, file_name)
        self._fields = fields
        self._lock = threading.Lock()

    def set_fields(self, **fields: str) -> None:
        """Write these fields in every later line."""
        self._fields = {**self._fields, **fields}

    def write(self, event: str, **fields: Any) -> None:
        """Add a line; a disk that is full or not writable is not a reason to stop."""
        document = {"time": now(), "event": event, "pid": os.getpid(), **self._fields, **fields}
        line = json.dumps({key: _short(value) for key, value in document.items() if value is not None}) + "\n"
        with self._lock:
            try:
                self._append(line.encode("ascii"))
            except OSError as error:
                lost = error
            else:
                return
        if self._on_lost is not None:
            self._on_lost(event, fields, lost)

    def _append(self, data: bytes) -> None:
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        try:
            os.write(descriptor, data)
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if size > MAX_BYTES:
            os.replace(self.path, f"{self.path}.1")


def why_unwritable(directory: str) -> str | None:
    """Return why no file can be made in a directory, which may not be there yet; None if it can. Creates nothing."""
    found = os.path.abspath(directory)
    while not os.path.lexists(found) and found != os.path.dirname(found):
        found = os.path.dirname(found)
    try:
        if not stat.S_ISDIR(os.stat(found).st_mode):
            return f"{found} is not a directory"
        if os.statvfs(found).f_flag & os.ST_RDONLY:
            return "the file system is read-only"
    except OSError as error:
        return f"{found}: {os.strerror(error.errno or 0).lower()}"
    return None if os.access(found, os.W_OK | os.X_OK) else f"{found}: permission denied"


def _short(value: Any) -> Any:
    return f"{value[:MAX_TEXT]}..." if isinstance(value, str) and len(value) > MAX_TEXT else value


def read_events(directory: str, file_name: str = FILE_NAME) -> Events:
    """Return the events of a log; a log that is not there, or cannot be read, has none."""
    events: list[Event] = []
    damaged = 0
    for name in (f"{file_name}.1", file_name):
        for line in _read_lines(os.path.join(directory, name)):
            event = _parse(line)
            damaged += event is None
            events += [] if event is None else [event]
    return Events(tuple(events), damaged, file_name)


def _read_lines(path: str) -> list[bytes]:
    try:
        with open_regular(path) as file:
            return file.read(2 * MAX_BYTES).splitlines()
    except OSError:
        return []


def _is_flat(value: Any, levels: int = _MAX_LEVELS) -> bool:
    """Return True if a value can be shown: it is not nested without end."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(_is_flat(each, levels - 1) for each in inner)


def _finite(text: str) -> float:
    """Return a number that JSON can hold.

    Raises:
        ValueError: it is infinite, or not a number.
    """
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def _parse(line: bytes) -> Event | None:
    """Return the event of a line; None if it is not one of ours."""
    try:
        document = json.loads(line, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict):
        return None
    time, name, pid = (document.pop(field, None) for field in ("time", "event", "pid"))
    if not isinstance(time, str) or not isinstance(name, str) or type(pid) is not int or parse_time(time) is None:
        return None
    if any(not isinstance(document.get(field, ""), str) for field in _TEXTS) or not _is_flat(document):
        return None
    return Event(time, name, document.pop("agent", ""), pid, document)
