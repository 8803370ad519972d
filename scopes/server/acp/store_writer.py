"""Write messages into the store on a thread of its own; what has waited too long for the store is put into a spool.

Only this thread waits for a store that another process has locked. What the store cannot take at all, such as with a
full disk, ends the recording.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from scopes.code_links.record_commits import has_commits, record_turn
from scopes.errors import Busy, Invalid, ScopesError
from scopes.history.conversations import read_uuid
from scopes.live.event_log import EventLog
from scopes.model.message import Message, Part
from scopes.server.acp.recordings import SessionWriter
from scopes.server.acp.spool import Spool, spooled
from scopes.store.repository import Repository

_RETRY_SECONDS = 0.1  # between two waits for a lock, each of which takes long


@dataclass(slots=True)
class _Work:
    """A message for a session, or something else to do in its turn; `always`: after the recording has ended too."""

    writer: SessionWriter | None = None
    message: Message | None = None
    run: Callable[[], None] | None = None
    always: bool = False
    is_spooled: bool = False


class StoreWriter:
    """Takes messages from one thread, and writes them in another one, in their order."""

    def __init__(self, log: EventLog, spool: Spool) -> None:
        self._log = log
        self._spool = spool
        self._work: deque[_Work] = deque()  # the first one is under way
        self._changed = threading.Condition()
        self._is_ending = False
        self.is_on = True

    def put(self, writer: SessionWriter, message: Message) -> None:
        """Write a message after everything put before."""
        self._put(_Work(writer, message))

    def then(self, run: Callable[[], None]) -> None:
        """Do something with the store after everything put before."""
        self._put(_Work(run=run))

    def call(self, run: Callable[[], None]) -> None:
        """Call something after everything put before is written; also if the recording has ended."""
        self._put(_Work(run=run, always=True))

    def _put(self, work: _Work) -> None:
        with self._changed:
            self._work.append(work)
            self._changed.notify()

    def spool_waiting(self) -> None:
        """Put what is not written yet into the spool, once.

        Raises:
            OSError, ScopesError: the spool cannot be written; nothing is lost as long as this process lives.
        """
        with self._changed:
            waiting = [each for each in self._work if each.message is not None and not each.is_spooled]
            messages = [
                spooled(each.writer, each.message)
                for each in waiting
                if each.writer is not None and each.message is not None
            ]
            writer = waiting[0].writer if waiting else None
            if writer is None or not self.is_on:
                return
            self._spool.append(writer.store_path, messages)
            for each in waiting:
                each.is_spooled = True
        self._log.write("spooled", messages=len(messages))

    def end(self) -> None:
        """End `run` after everything put so far."""
        with self._changed:
            self._is_ending = True
            self._changed.notify()

    def run(self) -> None:
        """Write messages until `end`."""
        try:
            while (work := self._next()) is not None:
                self._do(work)
                self._finish()
        finally:
            self.is_on = False  # after a bug too: nobody waits for us

    def _next(self) -> _Work | None:
        with self._changed:
            while not self._work and not self._is_ending:
                self._changed.wait()
            return self._work[0] if self._work else None

    def _finish(self) -> None:
        with self._changed:
            self._work.popleft()
            if not any(each.message is not None for each in self._work) and self.is_on:
                self._spool.clear()

    def _do(self, work: _Work) -> None:
        while True:
            try:
                self._try(work)
            except Busy:
                self._log.write("store-busy")
                time.sleep(_RETRY_SECONDS)
            except (ScopesError, OSError) as error:
                self.switch_off(error)
                return
            else:
                return

    def _try(self, work: _Work) -> None:
        if not (self.is_on or work.always):
            return
        if work.run is not None:
            work.run()
        elif work.writer is not None and work.message is not None:
            write_message(work.writer, work.message, self._log)

    def switch_off(self, error: Exception) -> None:
        """End the recording, and say why, once; what is in the spool stays there."""
        if self.is_on:
            self.is_on = False
            self._log.write("recording-off", error=str(error), hint=getattr(error, "hint", None))


def write_message(writer: SessionWriter, message: Message, log: EventLog) -> None:
    """Write a message of a session, and the commits of the turn that it ends.

    Raises:
        Busy, Inaccessible, ...: nothing was written.
    """
    try:
        writer.append(message)
    except Invalid as error:
        log.write("message-shortened", error=error.message)
        writer.append(without_content(message, error.message))
    if has_commits(message.extra.get("git")):
        _record_commits(writer.repository, writer, message, log)


def _record_commits(repository: Repository, writer: SessionWriter, message: Message, log: EventLog) -> None:
    """Record the commits of a turn; without that the turn is recorded all the same."""
    if writer.recorded is None:
        return
    try:
        record_turn(repository, read_uuid(repository, writer.recorded.conversation), message.id, message.extra["git"])
    except (ScopesError, OSError) as error:
        log.write("commits-not-recorded", error=str(error))


def without_content(message: Message, problem: str) -> Message:
    """Return a message that can be stored in place of one that cannot: who said it, when, and why it is empty."""
    part = Part("text", {"text": f"[not recorded: {problem}]"})
    return replace(message, parts=(part,), files=(), extra={})
