"""The two sides of a proxy: where their lines go, what they have asked for, and requests of our own to the agent.

Whatever is not an answer to a line just read is written by one extra thread: the thread that reads a side must never
wait for that side to read.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any

from scopes.clock import new_id
from scopes.server.acp.envelope import encode_line
from scopes.server.acp.lines import LineWriter
from scopes.server.acp.pending import PendingRequests

_OWN_PREFIX = "scopes:"  # of the ids of our own requests

Answer = Callable[[dict[str, Any] | None], None]


class Peers:
    """The editor and the agent of one proxy."""

    def __init__(self, editor: LineWriter, agent: LineWriter) -> None:
        self.editor = editor
        self.agent = agent
        self.from_editor = PendingRequests()
        self.from_agent = PendingRequests()
        self._own: dict[str, Answer] = {}
        self._asked: set[str] = set()
        self._prefix = f"{_OWN_PREFIX}{new_id()}:"  # an editor has ids of its own, perhaps with our prefix
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._work: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._start_worker()

    def run_in_worker(self, work: Callable[[], None]) -> None:
        """Run something in the extra thread, after what was given before."""
        self._work.put(work)

    def _start_worker(self) -> None:
        threading.Thread(target=self._run_work, name="acp worker", daemon=True).start()

    def _run_work(self) -> None:
        try:
            while True:
                self._work.get()()
        finally:
            self._start_worker()  # after a bug: what waits is done all the same

    def ask_agent(self, method: str, params: Mapping[str, Any], answer: Answer, seconds: float) -> None:
        """Send a request of our own to the agent, in the extra thread.

        `answer` gets the response in the thread that reads the agent, or None in the extra thread when the time is
        over; only one of them.
        """
        key = f"{self._prefix}{next(self._numbers)}"
        self._asked.add(key)
        self._own[key] = answer
        timer = threading.Timer(seconds, lambda: self.run_in_worker(lambda: self._give_up(key)))
        timer.daemon = True
        timer.start()
        self.agent.write(encode_line({"id": key, "method": method, "params": params}))

    def answer_editor(self, request: Mapping[str, Any], line: bytes) -> None:
        """Answer a request of the editor, unless it has been answered."""
        if self.from_editor.take(request) is not None:
            self.editor.write(line)

    def _give_up(self, key: str) -> None:
        answer = self._take(key)
        if answer is not None:
            answer(None)

    def take_own_answer(self, message: dict[str, Any]) -> bool:
        """Hand the response to a request of our own to whoever waits for it; return False for any other message."""
        key = message.get("id")
        if not isinstance(key, str) or key not in self._asked or "method" in message:
            return False
        answer = self._take(key)
        if answer is not None:
            answer(message)
        return True

    def _take(self, key: str) -> Answer | None:
        with self._lock:
            return self._own.pop(key, None)
