"""What earlier proxies left is taken by one thread after the other: at the start, and before a session is written."""

from __future__ import annotations

import threading

from scopes.errors import NotFound
from scopes.live.event_log import EventLog
from scopes.server.acp.left_in_spool import LeftInSpool
from scopes.server.acp.options import RecordingTarget
from scopes.server.acp.recorder import SessionStart
from scopes.server.acp.recordings import Identity, SessionWriter
from scopes.server.acp.spool import Spool
from tests.server.acp.test_spool_files import STORE, waiting

STARTED = SessionStart("s", "/project", None, {}, {})


def writer_of(store):
    return SessionWriter(store, Identity("stub", "/project"), "s", "run", None)


def test_a_session_is_not_written_while_the_start_still_takes_what_was_left(tmp_path, repository):
    """Else the new session would come before the one that was killed, whichever thread the machine runs first."""
    Spool(str(tmp_path)).append(STORE, [waiting()])
    order, is_waiting = [], threading.Event()

    def open_store(_create):
        order.append(threading.current_thread().name)
        assert is_waiting.wait(30), "the other thread waits for this one"
        raise NotFound("there is no store yet")

    class Tried(threading.Event):
        def wait(self, timeout=None):
            is_waiting.set()
            return super().wait(timeout)

    left = LeftInSpool(RecordingTarget(open_store, "/no/store", "stub"), str(tmp_path), EventLog(str(tmp_path)))
    left.tried = Tried()
    writing = threading.Thread(target=left.take_before, args=(writer_of(repository), STARTED), name="writer")
    writing.start()
    left.take_now()
    left.tried.set()
    writing.join()
    assert order == [threading.current_thread().name, "writer"]


def test_a_start_with_nothing_left_opens_no_store(tmp_path, repository):
    left = LeftInSpool(
        RecordingTarget(lambda _create: 1 / 0, "/no/store", "stub"), str(tmp_path), EventLog(str(tmp_path))
    )
    left.take_now()
    left.tried.set()
    left.take_before(writer_of(repository), STARTED)
