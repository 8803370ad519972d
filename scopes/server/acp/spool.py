"""What a proxy could not write into the store in time, in a file of the state directory until it can.

A file belongs to one proxy and one store; its first line says which store. Each further line is a message with the
session that it belongs to, and is on disk before the answer that ends it goes to the editor. The proxy holds a lock on
its file. It deletes the file when the store has everything; of a proxy that was killed it stays, and `take_spooled`
takes it into the store.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple

from scopes.clock import new_id, read_clock
from scopes.errors import Corrupt, Refused
from scopes.ids import BranchName, ConversationId, Oid
from scopes.model.message import Message, decode, encode
from scopes.server.acp.recordings import Identity, RecordedBranch, SessionWriter

DIRECTORY: Final = "acp-spool"
MAX_BYTES: Final = 256 << 20  # of all files together
_VERSION = 1
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


class SpooledMessage(NamedTuple):
    """A message, and what its `SessionWriter` knew when it was put into the spool.

    forked: the session that this one is a fork of, if it has no branch of its own yet.
    """

    identity: Identity
    session: str
    run: str
    recorded: RecordedBranch | None
    forked: str | None
    message: Message


class SpooledFile(NamedTuple):
    """The messages of one file, the store that they belong to, and how many lines are not messages."""

    path: str
    store: str
    messages: tuple[SpooledMessage, ...]
    damaged: int


def spooled(writer: SessionWriter, message: Message) -> SpooledMessage:
    """Return a message that waits for a writer."""
    return SpooledMessage(writer.identity, writer.session, writer.run, writer.recorded, writer.forked, message)


class Spool:
    """The file of one proxy; there is none until something is put into it."""

    def __init__(self, state_directory: str) -> None:
        self._directory = os.path.join(state_directory, DIRECTORY)
        self._path: str | None = None
        self._descriptor = -1

    def append(self, store: str, messages: Sequence[SpooledMessage]) -> None:
        """Put messages of a store on disk; all of them, or none.

        Raises:
            OSError: the disk is full or cannot be written.
            Refused: the spool has reached its limit.
            Invalid: a message is too large for the store too.
        """
        lines = [_line_of(each) for each in messages]
        if self._path is None:
            lines.insert(0, _json_line({"scopes_acp_spool": _VERSION, "store": os.path.realpath(store)}))
        data = b"".join(lines)
        if _size_of(self._directory) + len(data) > MAX_BYTES:
            raise Refused(f"the spool of acp has reached its limit of {MAX_BYTES >> 20} MiB", hint=f"see {DIRECTORY}")
        if self._path is None:
            self._create()
        before = os.fstat(self._descriptor).st_size
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
            os.fsync(self._descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, before)
            if before == 0:
                self.clear()
            raise

    def _create(self) -> None:
        os.makedirs(self._directory, mode=0o700, exist_ok=True)
        path = os.path.join(self._directory, f"{read_clock():020d}-{new_id()}.jsonl")
        self._descriptor = os.open(path, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        self._path = path
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            directory = os.open(self._directory, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
        except OSError:
            self.clear()
            raise

    def clear(self) -> None:
        """Delete the file: the store has everything."""
        if self._path is not None:
            with suppress(OSError):
                os.unlink(self._path)
            os.close(self._descriptor)
            self._path = None


def _json_line(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode("ascii") + b"\n"


def _line_of(each: SpooledMessage) -> bytes:
    recorded = each.recorded
    return _json_line(
        {
            "agent": each.identity.agent,
            "cwd": each.identity.cwd,
            "session": each.session,
            "run": each.run,
            "recorded": None if recorded is None else [recorded.conversation, recorded.branch, recorded.tip],
            "forked": each.forked,
            "message": encode(each.message).decode("utf-8", "surrogatepass"),
        }
    )


def _size_of(directory: str) -> int:
    try:
        with os.scandir(directory) as entries:
            return sum(entry.stat(follow_symlinks=False).st_size for entry in entries)
    except FileNotFoundError:
        return 0


def list_spooled(state_directory: str) -> list[str]:
    """Return the paths of all files, the oldest one first."""
    directory = os.path.join(state_directory, DIRECTORY)
    try:
        return [os.path.join(directory, name) for name in sorted(os.listdir(directory)) if name.endswith(".jsonl")]
    except OSError:
        return []


@contextmanager
def abandoned_file(path: str) -> Iterator[SpooledFile | None]:
    """Hold the lock on a file whose proxy has ended, and yield what is in it; None if a proxy or a reader has it."""
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError:
        yield None
        return
    with os.fdopen(descriptor, "rb") as file:
        yield _read(path, file.read()) if _lock(descriptor) and os.path.exists(path) else None


def _lock(descriptor: int) -> bool:
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _read(path: str, data: bytes) -> SpooledFile | None:
    first, *lines = data.split(b"\n")
    store = _document(first).get("store")
    if _document(first).get("scopes_acp_spool") != _VERSION or not isinstance(store, str):
        return None
    found = [_parse(line) for line in lines if line]
    messages = tuple(each for each in found if each is not None)
    return SpooledFile(path, store, messages, len(found) - len(messages))


def _document(line: bytes) -> dict[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _parse(line: bytes) -> SpooledMessage | None:
    """Return the message of a line; None for one that was cut off, whose answer the editor has not got."""
    match _document(line):
        case {
            "agent": str(agent), "cwd": str(cwd), "session": str(session), "run": str(run), "recorded": recorded,
            "forked": (str() | None) as forked, "message": str(text),
        }:  # fmt: skip
            with suppress(Corrupt):
                message = decode(text.encode("utf-8", "surrogatepass"))
                return SpooledMessage(Identity(agent, cwd), session, run, _branch_of(recorded), forked, message)
    return None


def _branch_of(value: Any) -> RecordedBranch | None:
    match value:
        case [str(conversation), str(branch), str(tip)]:
            return RecordedBranch(ConversationId(conversation), BranchName(branch), Oid(tip))
    return None
