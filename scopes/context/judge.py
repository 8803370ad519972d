"""Run a command as the judge of a bisect: no shell, a document about the message on standard input.

The output of the command goes to our standard error, because standard output is for the result.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

from scopes.context.context import context
from scopes.context.request import Request
from scopes.conversation.bisect import SKIP, BisectPoint
from scopes.errors import Invalid, Refused
from scopes.history.messages import read_message_bytes
from scopes.merge.attribution import claim_value
from scopes.merge.conflict_keys import agent_of, key_of_path
from scopes.merge.divergence import state_of
from scopes.model import encoding
from scopes.store.repository import Repository
from scopes.store.trees import read_blob, walk_blobs
from scopes.tokens.choose import TokenizerChoice

INPUTS = ("context", "state", "message", "none")
_FATAL = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
VARIABLES = ("SCOPES_CONVERSATION", "SCOPES_MESSAGE", "SCOPES_REVISION", "SCOPES_STORE")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReader:
    """What the context of a message is built with; `request` is completed for each message."""

    request: Request
    choice: TokenizerChoice
    cache_directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandJudge:
    """A command whose exit code judges a message.

    document: one of INPUTS. timeout_seconds: a run that takes longer is skipped; None: no limit.
    """

    repository: Repository
    command: Sequence[str]
    environ: Mapping[str, str]
    document: str
    reader: ContextReader
    timeout_seconds: float | None = None

    def __call__(self, point: BisectPoint) -> int:
        """Run the command and return its exit code, that of a skipped message after a timeout.

        Raises:
            Refused: the command cannot be started.
        """
        data = None if self.document == "none" else self._document(point)
        variables = (point.conversation, "" if point.head is None else point.head.id, point.oid, self.repository.path)
        environ = {**self.environ, **dict(zip(VARIABLES, variables, strict=True))}
        return _run(self.command, environ, data, self.timeout_seconds)

    def _document(self, point: BisectPoint) -> bytes:
        if self.document == "state":
            return json.dumps(self._state(point), ensure_ascii=False).encode() + b"\n"
        if point.head is None:
            return b""
        if self.document == "message":
            return read_message_bytes(self.repository, point.oid)
        return self._context(point).encode("utf-8", "replace")

    def _context(self, point: BisectPoint) -> str:
        reader = self.reader
        request = reader.request.as_of(point.conversation, point.oid)
        return context(self.repository, request, reader.choice, reader.cache_directory).formatted_history

    def _state(self, point: BisectPoint) -> dict[str, Any]:
        """Return the claims of the state at a message; those of the whole history up to it."""
        state = state_of(self.repository, point.oid)
        claims = []
        for path, blob in () if state is None else walk_blobs(self.repository, state):
            key, agent = key_of_path(path), agent_of(path)
            value = claim_value(key, encoding.load(read_blob(self.repository, blob)))
            claims.append({"key": key, "value": value} | ({} if agent is None else {"agent": agent}))
        return {"conversation": point.conversation, "oid": point.oid, "claims": claims}


def check_judge(command: Sequence[str], document: str, timeout_seconds: float | None) -> None:
    """Raise Invalid if there is no command, an unknown kind of document, or a timeout that is not positive."""
    if not command:
        raise Invalid("no command given", hint="put it after --: scopes bisect run conv-001 -- ./check.sh")
    if document not in INPUTS:
        raise Invalid(f"{document!a} is not a valid value of --input", hint="values: " + ", ".join(INPUTS))
    if timeout_seconds is not None and timeout_seconds <= 0:
        raise Invalid(f"invalid timeout {timeout_seconds:g}: must be above 0", hint="for example: --timeout 60")


def _run(command: Sequence[str], environ: Mapping[str, str], data: bytes | None, timeout: float | None) -> int:
    with tempfile.TemporaryFile() as stdin:
        stdin.write(data or b"")
        stdin.seek(0)
        sys.stderr.flush()
        child = _Child()
        with child.killed_by_signals():
            child.start(command, environ, subprocess.DEVNULL if data is None else stdin.fileno())
            return child.wait(timeout)


class _Child:
    """A process in a session of its own, which ends with all that it started before a signal ends us."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._signal: int | None = None

    def start(self, command: Sequence[str], environ: Mapping[str, str], stdin: int) -> None:
        try:
            self._process = subprocess.Popen(
                list(command), stdin=stdin, stdout=_stderr(), env=dict(environ), start_new_session=True
            )
        except OSError as error:
            raise Refused(f"cannot start {command[0]}: {error.strerror}", hint="check the command after --") from error
        if self._signal is not None:
            self._kill()

    def wait(self, timeout: float | None) -> int:
        """Return the exit code; after a timeout kill the process and return that of a skipped message."""
        if self._process is None:
            return SKIP
        try:
            return self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            self._kill()
            self._process.wait()
            return SKIP

    @contextmanager
    def killed_by_signals(self) -> Iterator[None]:
        """Kill the process when SIGINT, SIGTERM or SIGHUP arrives, and deliver the signal after the block."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._on_signal) for number in _FATAL}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            if self._signal is not None:
                signal.raise_signal(self._signal)

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._signal = number
        self._kill()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _stderr() -> int:
    try:
        return sys.stderr.fileno()
    except OSError:
        return subprocess.DEVNULL
