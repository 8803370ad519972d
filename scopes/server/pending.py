"""Requests that wait for their answer, in one direction: both sides may use the same id at the same time."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any, NamedTuple

from scopes.server.envelope import key_of, method_of, session_of


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
