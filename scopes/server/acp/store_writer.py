"""Write messages into the store on a thread of its own; what has waited too long for the store is put into a spool.

Only this thread waits for a store: one that another process has locked, or one that cannot be written now, such as on
a full disk. What waits is put into the spool, and only if that cannot be written either it waits in memory, up to a
limit.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace

from scopes.code_links.record_commits import has_commits, record_turn
from scopes.errors import Busy, Corrupt, Invalid, NotFound, ScopesError
from scopes.history.handles import read_uuid
from scopes.live.event_log import EventLog
from scopes.model.message import Message, Part, encode
from scopes.server.acp.recordings import SessionWriter
from scopes.server.acp.spool import Spool, SpooledMessage, spooled
from scopes.store.repository import Repository

MAX_WAITING_BYTES = 64 << 20  # of messages that are neither in the store nor in the spool
_RETRY_SECONDS = 0.1  # between two waits for a lock, each of which takes long
_FIRST_FAILURE_SECONDS = 1.0  # until the next try of a store that cannot be written; twice as long after each one
_MAX_FAILURE_SECONDS = 30.0
_FAILURES_OF_BRANCH = 2  # after which a session leaves a branch that cannot be read
_LAST_TRIES = 3  # after the end of the agent
_LAST_TRY_SECONDS = 0.5


@dataclass(slots=True)
class _Work:
    """A message for a session, or something else to do in its turn; `always`: after the recording has ended too."""

    writer: SessionWriter | None = None
    message: Message | None = None
    run: Callable[[], None] | None = None
    always: bool = False
    is_spooled: bool = False
    size: int | None = None  # of the encoded message, once it is known

    def spooled(self, writer: SessionWriter, message: Message) -> SpooledMessage:
        """Return the message as the spool takes it; one that is too large has no content, as in the store."""
        if self.size is None:
            try:
                self.size = len(encode(message))
            except Invalid as error:
                self.message = message = without_content(message, error.message)
                self.size = len(encode(message))
        return spooled(writer, message)


class StoreWriter:
    """Takes messages from one thread, and writes them in another one, in their order."""

    def __init__(self, log: EventLog, spool: Spool, store_path: str) -> None:
        self._log = log
        self._spool = spool
        self._store_path = store_path
        self._work: deque[_Work] = deque()  # the first one is under way
        self._changed = threading.Condition()
        self._is_ending = False
        self._last_tries = _LAST_TRIES
        self._failure: str | None = None  # why the store cannot be written now
        self._delay: Exception | None = None  # why the message under way is not in the store yet
        self._unlogged = 0  # messages in the spool that the log does not have
        self.is_on = True

    @property
    def is_failing(self) -> bool:
        """Whether the last try to write the store has failed."""
        return self._failure is not None

    @property
    def delay(self) -> Exception | None:
        """Why the store has not taken the message under way, as far as it has said that."""
        return self._delay

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

    def spool_waiting(self, *, is_late: bool = False) -> None:
        """Put what is not written yet into the spool, once.

        It is in the log only if the store `is_late` or fails: in ordinary turns it is there for a moment.

        Raises:
            OSError, ScopesError: the spool cannot be written; what waits stays in memory, unless it is too much.
        """
        with self._changed:
            waiting = [each for each in self._work if each.message is not None and not each.is_spooled]
            messages = [
                each.spooled(each.writer, each.message)
                for each in waiting
                if each.writer is not None and each.message is not None
            ]
            if not self.is_on:
                return
            try:
                if messages:
                    self._spool.append(self._store_path, messages)
            except (ScopesError, OSError) as error:
                if sum(each.size or 0 for each in waiting) > MAX_WAITING_BYTES:
                    self.switch_off(error)
                raise
            for each in waiting:
                each.is_spooled = True
            self._unlogged += len(messages)
            logged = self._unlogged if is_late or self.is_failing else 0
            self._unlogged -= logged
        if logged:
            self._log.write("spooled", messages=logged)

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
                self._unlogged = 0

    def _do(self, work: _Work) -> None:
        failures = 0
        while True:
            try:
                self._try(work)
            except Busy as error:
                self._delay = error
                self._log.write("store-busy")
                time.sleep(_RETRY_SECONDS)
            except Invalid as error:  # of this message, whenever it is tried
                self.switch_off(error)
                return
            except (ScopesError, OSError) as error:
                failures += 1
                self._delay = error
                if isinstance(error, (NotFound, Corrupt)) and self._go_on_without(work, error, failures):
                    return
                self._wait_for_store(error, failures)
            else:
                self._delay = None
                self._recover()
                return

    def _go_on_without(self, work: _Work, error: ScopesError, failures: int) -> bool:
        """Leave a branch that cannot be read; return True if nothing is left to do: a retry would end the same way."""
        if work.message is None:
            self._log.write("not-done", error=error.message)
            return True
        if failures >= _FAILURES_OF_BRANCH and work.writer is not None and work.writer.is_unreadable:
            self._log.write("branch-left", session=work.writer.session, error=error.message, hint=error.hint)
            work.writer.leave_branch()
        return False

    def _wait_for_store(self, error: Exception, failures: int) -> None:
        """Wait before the next try of a store that cannot be written, which is in the spool meanwhile."""
        if str(error) != self._failure:
            self._failure = str(error)
            self._log.write("store-failed", error=str(error), hint=getattr(error, "hint", None))
        try:
            self.spool_waiting()
        except (ScopesError, OSError) as spool_error:
            self._log.write("spool-failed", error=str(spool_error))
        with self._changed:
            if not self._is_ending:
                seconds = min(_FIRST_FAILURE_SECONDS * 2 ** min(failures - 1, 10), _MAX_FAILURE_SECONDS)
                self._changed.wait_for(lambda: self._is_ending, seconds)
                return
            self._changed.wait_for(lambda: False, _LAST_TRY_SECONDS)
        self._last_tries -= 1
        if self._last_tries <= 0:
            self._leave(error)

    def _leave(self, error: Exception) -> None:
        """End the recording after the last try; the next start takes what is in the spool."""
        if all(each.is_spooled for each in self._work if each.message is not None):
            self._log.write("spool-left", error=str(error), hint="the next start takes what is in the spool")
            self.is_on = False
        else:
            self.switch_off(error)

    def _recover(self) -> None:
        if self._failure is not None and self.is_on:
            self._failure = None
            self._log.write("store-recovered")

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
            lost = sum(each.message is not None and not each.is_spooled for each in self._work)
            self._log.write(
                "recording-off", error=str(error), hint=getattr(error, "hint", None), not_recorded=lost or None
            )


def write_message(writer: SessionWriter, message: Message, log: EventLog) -> None:
    """Write a message of a session, and the commits of the turn that it ends.

    Raises:
        Busy, Inaccessible, ...: nothing was written.
    """
    before = None if writer.forked is not None else writer.recorded
    try:
        after = writer.append(message)
    except Invalid as error:
        log.write("message-shortened", error=error.message)
        after = writer.append(without_content(message, error.message))
    if before is not None and before.name != after.name:
        log.write("recording-moved", session=writer.session, where=after.name, before=before.name)
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
