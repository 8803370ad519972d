"""The agent as a child process: in a process group of its own, with our environment and standard error.

Signals that we get are passed on to its group. When the editor has gone, the agent's input is closed first; it is
stopped, and then killed, only if it does not end by itself.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

from scopes.child_process import kill_group
from scopes.errors import Inaccessible, NotFound
from scopes.server.acp.lines import LineWriter

GRACE_SECONDS = 5.0
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SIGNAL_BASE = 128


class AgentProcess:
    """A running agent; `stdin` takes lines, `stdout` is the descriptor of what it writes."""

    def __init__(self, command: Sequence[str], grace_seconds: float = GRACE_SECONDS) -> None:
        """Start the agent.

        Raises:
            NotFound: there is no such program.
            Inaccessible: it cannot be started.
        """
        read, write = os.pipe()
        try:
            self._process = subprocess.Popen(list(command), stdin=read, stdout=subprocess.PIPE, start_new_session=True)
        except FileNotFoundError as error:
            os.close(write)
            raise NotFound(f"the agent {command[0]!a} was not found", hint="check the command after --") from error
        except OSError as error:
            os.close(write)
            raise Inaccessible(f"the agent {command[0]!a} cannot be started: {error.strerror}") from error
        finally:
            os.close(read)
        self.stdin = LineWriter(write)
        self.stdout = self._process.stdout.fileno() if self._process.stdout is not None else -1
        self._grace = grace_seconds
        self._ended = threading.Event()
        self._ending = threading.Lock()

    @property
    def pid(self) -> int:
        """The process id, which is that of its group."""
        return self._process.pid

    def pass_on_signals(self) -> None:
        """Pass signals on to the agent from now on; call it in the main thread."""
        for number in PASSED_ON:
            signal.signal(number, self._pass_on)

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        self.send_signal(number)
        if number != signal.SIGINT:  # an agent may take that as a wish to stop what it does, and go on
            threading.Thread(target=self.end, daemon=True).start()

    def send_signal(self, number: int) -> None:
        """Send a signal to the agent and its children."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def end(self) -> None:
        """Close the input of the agent, and wait for its end; stop and then kill it if it takes too long."""
        self.stdin.close()
        with self._ending:
            for number in (signal.SIGTERM, signal.SIGKILL):
                if self._ended.wait(self._grace):
                    return
                self.send_signal(number)

    def wait(self) -> int:
        """Wait for the end of the agent and return the exit code that stands for it."""
        code = self._process.wait()
        self._ended.set()
        return code if code >= 0 else _SIGNAL_BASE - code

    def kill_rest(self) -> None:
        """Kill what the agent has left running."""
        kill_group(self._process)
