"""Requests that wait for their answer, in one direction: both sides may use the same id at the same time.

One that opens a session may wait for several requests of our own: it is a `PendingStart`.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from scopes.server.acp.envelope import key_of, method_of, params_of, session_of

if TYPE_CHECKING:
    from scopes.context.history_block import HistoryBlock
    from scopes.server.acp.recordings import RecordedBranch


class Request(NamedTuple):
    """What is known about a request until it is answered."""

    id: Any
    method: str
    session: str | None


class PendingRequests:
    """The requests of one side that the other one has not answered."""

    def __init__(self) -> None:
        self._requests: dict[str, Request] = {}
        self._lock = threading.Lock()

    def add(self, message: Mapping[str, Any]) -> None:
        """Add a request."""
        request = Request(message["id"], method_of(message), session_of(message))
        with self._lock:
            self._requests[key_of(request.id)] = request

    def take(self, message: Mapping[str, Any]) -> Request | None:
        """Return the request that a response answers, once; None if there is none."""
        with self._lock:
            return self._requests.pop(key_of(message["id"]), None)

    def take_all(self) -> list[Request]:
        """Return all requests, once, in their order."""
        with self._lock:
            requests = list(self._requests.values())
            self._requests.clear()
        return requests


@dataclass(slots=True)
class PendingStart:
    """A session that an editor waits for, while a way to continue is tried."""

    line: bytes
    message: dict[str, Any]
    recorded: RecordedBranch | None = None
    block: HistoryBlock | None = None
    system_prompt: str | None = None  # goes before the history
    ways: list[str] = field(default_factory=list)
    failures: list[dict[str, Any]] = field(default_factory=list)
    is_fork: bool = False  # the session that it continues stays as it is
    attempt: int = 0  # an answer to an earlier one is too late

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the editor's request."""
        return params_of(self.message)
