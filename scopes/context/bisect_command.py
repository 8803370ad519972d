"""The command of `bisect`: no shell, a document about the message on standard input, an exit code as verdict."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from scopes.child_process import Guard, before_fatal_signals, kill_group, start_group
from scopes.context.context import context
from scopes.context.request import Request
from scopes.conversation.log import SKIP, BisectPoint
from scopes.errors import Invalid, Refused
from scopes.history.messages import read_message_bytes
from scopes.merge.compare import state_of
from scopes.merge.keys import agent_of, key_of_path
from scopes.merge.plan import claim_value
from scopes.model import canonical_json
from scopes.secrets.gates import gate_of
from scopes.store.objects import read_blob, walk_blobs
from scopes.store.repository import Repository
from scopes.tokens.count import TokenizerChoice

INPUTS = ("context", "state", "message", "none")
VARIABLES = ("SCOPES_CONVERSATION", "SCOPES_MESSAGE", "SCOPES_REVISION", "SCOPES_STORE")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextReader:
    """What the context of a message is built with; `request` is completed for each message."""

    request: Request
    choice: TokenizerChoice
    cache_directory: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectCommand:
    """A command whose exit code judges a message.

    input: one of INPUTS; secrets in it are replaced. output: where the command writes to, because standard output is
        for the result.
    """

    repository: Repository
    command: Sequence[str]
    environ: Mapping[str, str]
    input: str
    reader: ContextReader
    output: TextIO

    def __call__(self, point: BisectPoint) -> int:
        """Run the command and return its exit code.

        Raises:
            Refused: the command cannot be started.
        """
        data = None if self.input == "none" else self._input(point)
        variables = (point.conversation, "" if point.head is None else point.head.id, point.oid, self.repository.path)
        environ = {**self.environ, **dict(zip(VARIABLES, variables, strict=True))}
        self.output.flush()
        child = _Child()
        with before_fatal_signals(child.stop):
            try:
                child.start(self.command, environ, data, _descriptor(self.output))
                return child.wait()
            finally:
                child.end_guard()

    def _input(self, point: BisectPoint) -> bytes:
        gate = gate_of(self.repository, "redact")
        if self.input == "state":
            state = gate.clear_document(self._state(point), "the state")
            return json.dumps(state, ensure_ascii=False).encode() + b"\n"
        if point.head is None:
            return b""
        if self.input == "message":
            return gate.clear_line(read_message_bytes(self.repository, point.oid), "the message")
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
            value = claim_value(key, canonical_json.load(read_blob(self.repository, blob)))
            claims.append({"key": key, "value": value} | ({} if agent is None else {"agent": agent}))
        return {"conversation": point.conversation, "oid": point.oid, "claims": claims}


def check_bisect_command(command: Sequence[str], input_name: str) -> None:
    """Raise Invalid if there is no command, or an unknown input."""
    if not command or not command[0]:
        raise Invalid("no command given", hint="put it after --: scopes bisect conv-001 -- ./check.sh")
    if input_name not in INPUTS:
        raise Invalid(f"{input_name!a} is not a valid value of --input", hint="values: " + ", ".join(INPUTS))


class _Child:
    """The process of the command; what ends scopes ends the process and all that it started, SIGKILL too."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: Guard | None = None
        self._is_stopped = False

    def start(self, command: Sequence[str], environ: Mapping[str, str], data: bytes | None, output: int) -> None:
        try:
            self._guard = Guard()
            self._process = start_group(command, data, stdout=output, environ=environ, guard=self._guard)
        except OSError as error:
            raise Refused(f"cannot start {command[0]}: {error.strerror}", hint="check the command after --") from error
        if self._is_stopped:
            self.stop()

    def wait(self) -> int:
        """Return the exit code."""
        return SKIP if self._process is None else self._process.wait()

    def stop(self) -> None:
        """Kill the process, or as soon as it starts."""
        self._is_stopped = True
        self._kill()

    def end_guard(self) -> None:
        """End the guard: the process has ended, or was never started."""
        if self._guard is not None:
            self._guard.end()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            kill_group(self._process)


def _descriptor(stream: TextIO) -> int:
    try:
        return stream.fileno()
    except OSError:
        return subprocess.DEVNULL
