"""What earlier proxies have left in the spool comes into the store before the messages of this one.

It is taken at the start, before a session continues, so that the agent is told of it. What cannot be taken then,
because the store is locked or cannot be written, or a proxy that was killed has not ended yet, is taken before the
messages of a session are written. So the record has the sessions in their order, and each goes on where it was.
"""

from __future__ import annotations

import os
import threading

from scopes.errors import Busy, Inaccessible, NotFound, ScopesError
from scopes.live.event_log import EventLog
from scopes.server.acp.options import RecordingTarget
from scopes.server.acp.recorder import SessionStart
from scopes.server.acp.recordings import RecordedBranch, SessionWriter
from scopes.server.acp.spool import list_spooled


class LeftInSpool:
    """The files that were left, for a store; `tried` is to be set when `take_now` has ended, even with a bug."""

    def __init__(self, target: RecordingTarget, state_directory: str, log: EventLog) -> None:
        self._target = target
        self._state_directory = state_directory
        self._log = log
        self._ends: dict[tuple[str, str], RecordedBranch] = {}
        self.tried = threading.Event()

    def take_now(self) -> None:
        """Take what can be taken within about a second; a failure is only logged."""
        try:
            self._take(is_patient=False)
        except Busy:
            self._log.write("store-busy")
        except Inaccessible as error:
            self._log.write("spool-not-taken", error=error.message)

    def take_before(self, writer: SessionWriter, started: SessionStart) -> None:
        """Take what is left before a session is written; a resumed one goes on after what is taken of it.

        Raises:
            Busy, Inaccessible: the store is locked or cannot be written, and can take nothing else either.
        """
        self.tried.wait()
        self._take(is_patient=True)
        end = self._ends.get((writer.identity.agent, writer.session))
        if end is not None and started.notes.get("resumed") is True:
            writer.follow(end)

    def _take(self, *, is_patient: bool) -> None:
        if not list_spooled(self._state_directory):
            return
        try:
            from scopes.server.acp.take_spool import waiting_messages

            waiting = waiting_messages(self._state_directory)
            is_wanted = os.path.realpath(self._target.store_path) in {each.store for each in waiting}
            from scopes.server.acp.take_spool import take_spooled

            take_spooled(
                self._state_directory, self._target.open_for_writing(create=is_patient or is_wanted), self._log,
                ends=self._ends, is_patient=is_patient,
            )  # fmt: skip
        except NotFound:
            return  # there is no store yet
        except (Busy, Inaccessible):
            raise
        except (ScopesError, OSError) as error:
            self._log.write("spool-not-taken", error=str(error))
