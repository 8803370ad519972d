"""`acp.log` and `hooks.log`: what happened to sessions and to the recording, one JSON object a line, without messages.

They lie beside no store, because they must be writable when the store is not: in the state directory of the user.
`acp stats` counts lines, `hooks status` shows the last ones. When a log is full it becomes `acp.log.1`, and the one
before is deleted.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from typing import Any

from scopes.clock import now
from scopes.regular_file import open_regular

FILE_NAME = "acp.log"
HOOK_LOG = "hooks.log"
MAX_BYTES = 4 << 20


class EventLog:
    """The log of one proxy, or of a hook; several may write to one file."""

    def __init__(self, directory: str, *, file_name: str = FILE_NAME, **fields: str) -> None:
        self.path = os.path.join(directory, file_name)
        self._fields = fields
        self._lock = threading.Lock()

    def set_fields(self, **fields: str) -> None:
        """Write these fields in every later line."""
        self._fields = {**self._fields, **fields}

    def write(self, event: str, **fields: Any) -> None:
        """Add a line; a disk that is full or not writable is no reason to stop."""
        document = {"time": now(), "event": event, "pid": os.getpid(), **self._fields, **fields}
        line = json.dumps({key: value for key, value in document.items() if value is not None}) + "\n"
        with self._lock:
            try:
                self._append(line.encode("ascii"))
            except OSError:
                return

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


def read_events(directory: str, file_name: str = FILE_NAME) -> Iterator[dict[str, Any]]:
    """Yield the events of a log, oldest first; lines that are damaged are left out."""
    for name in (f"{file_name}.1", file_name):
        try:
            with open_regular(os.path.join(directory, name)) as file:
                lines = file.read(2 * MAX_BYTES).splitlines()
        except OSError:
            continue
        for line in lines:
            try:
                document = json.loads(line)
            except ValueError:
                continue
            if isinstance(document, dict) and isinstance(document.get("event"), str):
                yield document
