"""Add the messages of an import to the search index while it runs, in a process of its own.

The processes of the import send what they write through one pipe, which bounds how far they can be ahead. The index is
put in place when the refs have moved. Without it the import is the same: the next search adds what the index lacks.

Every write to the pipe is one frame of PIPE_BUF bytes, so that frames of several processes do not mix.
"""

from __future__ import annotations

import fcntl
import gc
import os
import pickle
import select
import signal
import sqlite3
import struct
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final, TypeAlias

from scopes.conversation.list import list_conversations
from scopes.errors import ScopesError
from scopes.ids import Oid
from scopes.importers.formats.base import Source
from scopes.importers.worker_pool import GARBAGE_THRESHOLDS, Caught, open_pipe
from scopes.index.database import UnusableIndex
from scopes.index.schema import LAYOUT
from scopes.index.staging import NotStaged, StagedIndex, staged_index
from scopes.index.sync import StaleEntryUnreadable
from scopes.index.writer import IndexDocument
from scopes.model.message import Message
from scopes.result import Note
from scopes.search.message_documents import WrittenDocuments, describe_from
from scopes.store.repository import Objects, Repository

Entry: TypeAlias = tuple[Oid, tuple[Oid, ...], tuple[Any, ...] | None]  # the fields of an IndexDocument

_INDEX_SHARE: Final = 8  # the old index is copied: it may have so many bytes for each byte of the sources
_BATCH_CHARACTERS: Final = 1 << 16
_FRAME_BYTES: Final = select.PIPE_BUF
_HEAD: Final = struct.Struct(">IHB")  # process, bytes, whether these are the last of a batch
_PIPE_BYTES: Final = 1 << 20
_FINISH: Final[list[Entry]] = []


class IndexFeed:
    """Sends messages to the process that writes the index, from this process and those forked from it."""

    def __init__(self, pid: int, entries: int, result: int) -> None:
        self._pid = pid
        self._entries = entries  # descriptors
        self._result = result
        self._batch: list[Entry] = []
        self._characters = 0
        self._roots: set[Oid] = set()
        self._documents: WrittenDocuments | None = None
        self._is_broken = False

    def add(self, objects: Objects, oid: Oid, parent: Oid, message: Message, *, time: int, root: Oid) -> None:
        """Add a message that was just written as a commit with one parent and a time.

        `root` is the root of its conversation.
        """
        if self._is_broken:
            return
        if self._documents is None:
            self._documents = WrittenDocuments(objects)
        if root not in self._roots:
            self._roots.add(root)
            self._batch.append((root, (), None))
        document = self._documents.describe(oid, parent, message, time=time)
        self._batch.append((oid, (parent,), tuple(document)))  # named tuples take thrice the time to send
        self._characters += sum(map(len, document.texts))
        if self._characters >= _BATCH_CHARACTERS:
            self.flush()

    def flush(self) -> None:
        """Send what this process has added."""
        if self._batch:
            self._send(self._batch)
        self._batch, self._characters = [], 0

    def finish(self) -> Note | None:
        """Put the index in place, with all branches of the store; return a note if that failed."""
        self.flush()
        self._send(_FINISH)
        data = b""
        while block := os.read(self._result, _FRAME_BYTES):
            data += block
        error = pickle.loads(data) if data else "its process was killed"  # noqa: S301 - written by our own process
        return None if error is None else Note(f"the search index was not updated: {error}", "the next search does it")

    def close(self) -> None:
        """End the process; an index that is not finished is deleted."""
        os.close(self._entries)
        os.close(self._result)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _send(self, batch: list[Entry]) -> None:
        data = pickle.dumps(batch, pickle.HIGHEST_PROTOCOL)
        room = _FRAME_BYTES - _HEAD.size
        process = os.getpid()
        for start in range(0, len(data), room):
            part = data[start : start + room]
            frame = _HEAD.pack(process, len(part), start + room >= len(data)) + part
            try:
                os.write(self._entries, frame.ljust(_FRAME_BYTES, b"\0"))
            except BrokenPipeError:
                self._is_broken = True
                return


@contextmanager
def feed_index(repository: Repository, sources: Sequence[Source], directory: str) -> Iterator[IndexFeed | None]:
    """Start the process for an import of these sources into the index in a directory, and end it with the block.

    Yield None if that takes longer than the next search for the same. Hold no lock of the store: the process would
    hold it too.
    """
    feed = _start(repository, directory) if _is_worth_it(sources, directory) else None
    try:
        yield feed
    finally:
        if feed is not None:
            feed.close()


def _is_worth_it(sources: Sequence[Source], directory: str) -> bool:
    if sys.platform != "linux":  # macOS does not recommend to fork
        return False
    limit = sum(source.size for source in sources) * _INDEX_SHARE
    try:
        return os.path.getsize(os.path.join(directory, LAYOUT.file)) <= limit
    except OSError:
        return True


def _start(repository: Repository, directory: str) -> IndexFeed | None:
    """Start the process; return None if there is no room for it."""
    with ExitStack() as cleanup, suppress(OSError):
        entries, entry_end, result_end, result = open_pipe(cleanup) + open_pipe(cleanup)
        _enlarge(entry_end)
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # about threads of the caller
            pid = os.fork()
        if not pid:
            try:
                _run(lambda: _write_index(repository, directory, entries), result, (entry_end, result_end))
            finally:
                os._exit(0)  # never return into the frames of the parent
        cleanup.pop_all()
        os.close(entries)
        os.close(result)
        return IndexFeed(pid, entry_end, result_end)
    return None


def _enlarge(pipe: int) -> None:
    """Let a pipe hold several batches, so that the import seldom waits; a user may have a limit."""
    with suppress(OSError, AttributeError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


def _run(work: Callable[[], str | None], result: int, others: Sequence[int]) -> None:
    """Do the work of the new process and send its result."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the pipe ends with the import
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    for descriptor in others:
        os.close(descriptor)
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    error = None
    with Caught() as caught:
        error = work()
    if caught.error is not None:
        error = f"{type(caught.error).__name__}: {caught.error}"
    with suppress(BrokenPipeError):
        os.write(result, pickle.dumps(error))


def _write_index(repository: Repository, directory: str, entries: int) -> str | None:
    """Write the index from the entries of a pipe; return an error for the user, None if there is none."""
    batches = _read_batches(entries)
    first = next(batches, _FINISH)  # an import without news copies no index
    if not first:
        return None
    try:
        with staged_index(directory, repository, describe_from(repository)) as staged:
            if _add_all(staged, [first]) or _add_all(staged, batches):
                staged.publish(repository)
                list_conversations(repository, directory)  # the titles, which a search reads as well
    except (NotStaged, StaleEntryUnreadable):
        return None
    except UnusableIndex as error:
        return None if error.text is None else f"it {error.text}"
    except (sqlite3.Error, OSError, ScopesError) as error:
        return str(error)
    return None


def _add_all(staged: StagedIndex, batches: Iterator[list[Entry]] | list[list[Entry]]) -> bool:
    """Add all entries; return True if the import has finished, False if it was ended."""
    for batch in batches:
        if not batch:
            return True
        for oid, parents, document in batch:
            staged.add(oid, parents, None if document is None else IndexDocument(*document))
    return False


def _read_batches(entries: int) -> Iterator[list[Entry]]:
    """Yield the batches of all processes until the pipe is closed."""
    parts: dict[int, list[bytes]] = {}
    data = bytearray()
    while block := os.read(entries, _PIPE_BYTES):
        data += block
        whole = len(data) - len(data) % _FRAME_BYTES
        for start in range(0, whole, _FRAME_BYTES):
            process, size, is_last = _HEAD.unpack_from(data, start)
            body = start + _HEAD.size
            parts.setdefault(process, []).append(bytes(data[body : body + size]))
            if is_last:
                batch: Any = pickle.loads(b"".join(parts.pop(process)))  # noqa: S301 - written by our own processes
                yield batch
        del data[:whole]
