"""Add the messages of an import to the search index while it runs, in a process of its own.

The processes of the import send what they write through one pipe, which bounds how far they can be ahead. They take
turns: whoever writes holds the only byte of a second pipe. The index is completed for the branches that the import will
have while the refs move, and put in place when they have moved. Without it the import is the same: the next search adds
what the index lacks.
"""

from __future__ import annotations

import fcntl
import gc
import marshal
import os
import pickle
import select
import signal
import sqlite3
import struct
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Final, TypeAlias

from scopes.conversation.list import list_conversations
from scopes.errors import ScopesError
from scopes.ids import Oid
from scopes.importers.formats.base import Source
from scopes.importers.worker_pool import GARBAGE_THRESHOLDS, Caught, open_pipe
from scopes.index.database import UnusableIndex, without_purged
from scopes.index.schema import LAYOUT
from scopes.index.staging import NotStaged, StagedIndex, staged_index
from scopes.index.sync import StaleEntryUnreadable
from scopes.index.writer import IndexDocument
from scopes.model.message import Message as StoredMessage
from scopes.result import Note
from scopes.search.message_documents import WrittenDocuments, describe_from
from scopes.store.libgit2 import limit_mapped_packs
from scopes.store.refs import HEADS
from scopes.store.repository import Objects, Repository

Entry: TypeAlias = tuple[Oid, tuple[Oid, ...], tuple[Any, ...] | None]  # the fields of an IndexDocument
Message: TypeAlias = "list[Entry] | dict[str, str] | None"
"""Commits, none if they were all; all branches after the import; None when the refs have moved."""

_INDEX_SHARE: Final = 8  # the old index is copied: it may have so many bytes for each byte of the sources
_BATCH_CHARACTERS: Final = 1 << 16
_HEAD: Final = struct.Struct(">Q")  # bytes of the message that follows
_PIPE_BYTES: Final = 1 << 20
_RESULT_BYTES: Final = 1 << 16
_TURN: Final = b"t"
_LOOKS: Final = 200
_SECONDS_PER_LOOK: Final = 0.01


class IndexFeed:
    """Sends messages to the process that writes the index, from this process and those forked from it."""

    def __init__(self, pid: int, entries: int, turns: tuple[int, int], result: int) -> None:
        self._pid = pid
        self._entries = entries  # descriptors
        self._turns = turns
        self._result = result
        self._batch: list[Entry] = []
        self._characters = 0
        self._roots: set[Oid] = set()
        self._documents: WrittenDocuments | None = None
        self._is_broken = False
        self._is_ended = False

    def add(self, objects: Objects, oid: Oid, parent: Oid, message: StoredMessage, *, time: int, root: Oid) -> None:
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

    def insert_all(self) -> None:
        """Let the process insert the rows that wait for others: the last commit of the import has been sent."""
        self.flush()
        self._send([])

    def expect(self, branches: Mapping[str, str]) -> None:
        """Let the index be completed for these branch refs, which the store is about to have."""
        self._send({**branches})

    def publish(self) -> None:
        """Let the process put the index in place, with all branches of the store."""
        self.flush()
        self._send(None)
        self._is_ended = True

    def finish(self) -> Note | None:
        """Wait until the index is in place; return a note if that failed."""
        if not self._is_ended:
            self.publish()
        data = b""
        while block := os.read(self._result, _RESULT_BYTES):
            data += block
        error = pickle.loads(data) if data else "its process was killed"  # noqa: S301 - written by our own process
        return None if error is None else Note(f"the search index was not updated: {error}", "the next search does it")

    def close(self) -> None:
        """End the process; an index that is not finished is deleted."""
        for descriptor in (self._entries, *self._turns, self._result):
            os.close(descriptor)
        with suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _send(self, message: Message) -> None:
        """Send a message when no other process sends one; a process that is killed meanwhile fails the import."""
        data = marshal.dumps(message)
        rest = memoryview(_HEAD.pack(len(data)) + data)
        take, give = self._turns
        os.read(take, len(_TURN))
        try:
            while rest and not self._is_broken:
                rest = rest[os.write(self._entries, rest) :]
        except BrokenPipeError:
            self._is_broken = True
        finally:
            os.write(give, _TURN)


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
        turns = open_pipe(cleanup)
        os.write(turns[1], _TURN)
        _enlarge(entry_end)
        with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # about threads of the caller
            pid = os.fork()
        if not pid:
            try:
                _run(lambda: _write_index(repository, directory, entries), result, (entry_end, *turns, result_end))
            finally:
                os._exit(0)  # never return into the frames of the parent
        cleanup.pop_all()
        os.close(entries)
        os.close(result)
        return IndexFeed(pid, entry_end, turns, result_end)
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
    limit_mapped_packs()
    error = None
    with Caught() as caught:
        error = work()
    if caught.error is not None:
        error = f"{type(caught.error).__name__}: {caught.error}"
    with suppress(BrokenPipeError):
        os.write(result, pickle.dumps(error))


def _write_index(repository: Repository, directory: str, entries: int) -> str | None:
    """Write the index from the messages of a pipe; return an error for the user, None if there is none.

    If something is purged meanwhile, the index is deleted, and the next search builds it: the pipe may have had that.
    """
    with without_purged(directory, repository.path) as prunes:
        error = _write_from_pipe(repository, directory, entries)
    return None if prunes.have_run() else error


def _write_from_pipe(repository: Repository, directory: str, entries: int) -> str | None:
    messages = _read_messages(entries)
    first = next(messages, None)
    if not first or not isinstance(first, list):  # an import without news copies no index
        return None
    try:
        with staged_index(directory, repository, describe_from(repository)) as staged:
            _add_all(staged, first)
            for message in messages:
                if message is None:
                    staged.publish(repository)
                    list_conversations(repository, directory)  # a search reads the titles as well
                    break
                if isinstance(message, list):
                    _add_all(staged, message)
                    if not message:
                        staged.flush()
                else:
                    staged.complete(repository, message)
                    with suppress(sqlite3.Error, OSError, ScopesError):
                        _wait_for(repository, message, entries)
                        list_conversations(repository, directory)  # while the refs move
    except (NotStaged, StaleEntryUnreadable):
        return None
    except UnusableIndex as error:
        return None if error.text is None else f"it {error.text}"
    except (sqlite3.Error, OSError, ScopesError) as error:
        return str(error)
    return None


def _wait_for(repository: Repository, branches: Mapping[str, str], entries: int) -> None:
    """Wait until readers see these branches, which is before all refs have moved, or until there is something to do."""
    for _ in range(_LOOKS):
        if repository.list_refs(HEADS) == branches or select.select([entries], [], [], _SECONDS_PER_LOOK)[0]:
            break


def _add_all(staged: StagedIndex, batch: list[Entry]) -> None:
    for oid, parents, fields in batch:
        if fields is None:
            staged.add(oid, parents, None)
        else:
            staged.add(oid, parents, IndexDocument(*fields))


def _read_messages(entries: int) -> Iterator[Message]:
    """Yield the messages of all processes until the pipe is closed; one that is cut off is dropped."""
    while (head := _read_exactly(entries, _HEAD.size)) is not None:
        data = _read_exactly(entries, _HEAD.unpack(head)[0])
        if data is None:
            return
        yield marshal.loads(data)  # noqa: S302 - written by our own processes


def _read_exactly(descriptor: int, size: int) -> bytearray | None:
    """Read into new memory of the right size, which is touched once; return None at the end of the pipe."""
    data = bytearray(size)
    with memoryview(data) as rest:
        done = 0
        while done < size:
            count = os.readv(descriptor, [rest[done:]])
            if not count:
                return None
            done += count
    return data
