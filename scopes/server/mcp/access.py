"""How a request reaches the store: opened for each one, as the agent that asks.

A store must not be shared by threads, and the tools run in threads. A new one also sees what other programs wrote.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import MCPServerError, ToolError

from scopes.api.store import Store, open_store
from scopes.errors import ScopesError
from scopes.ids import AgentName
from scopes.index.database import index_directory
from scopes.model.message import Author
from scopes.store.discovery import cache_directory

Client = Context[Any, Any]
_UNKNOWN_CLIENT = "agent"
_MAX_NAME = 100


class StoreAccess:
    """Opens the store for one request at a time; requests of several threads wait for each other."""

    def __init__(self, path: str, *, agent: str | None = None) -> None:
        """Remember where the store is.

        agent: the author of what is written; default: the name that the client gives.
        """
        self.path = path
        self._agent = agent
        self._lock = Lock()

    @property
    def cache(self) -> str:
        """The cache directory of scopes."""
        return cache_directory(os.environ)

    @property
    def index(self) -> str:
        """The directory of the index of the store."""
        return index_directory(self.cache, self.path)

    def name_of(self, client: Client | None) -> AgentName:
        """Return the name under which a client writes."""
        if self._agent is not None:
            return AgentName(self._agent)
        parameters = None if client is None else client.session.client_params
        given = "" if parameters is None else parameters.client_info.name
        return AgentName(" ".join(given.split())[:_MAX_NAME] or _UNKNOWN_CLIENT)

    @contextmanager
    def open(
        self, client: Client | None = None, *, create: bool = False, refusal: type[MCPServerError] = ToolError
    ) -> Iterator[Store]:
        """Open the store as an agent; an error becomes one that the agent can read, with its cure.

        create: make the store if it does not exist.
        refusal: the class of this error.

        Raises:
            ToolError, ResourceError: the request cannot be carried out.
        """
        author = Author(self.name_of(client), "agent")
        with self._lock, readable_errors(refusal), open_store(self.path, create=create, author=author) as store:
            yield store


@contextmanager
def readable_errors(refusal: type[MCPServerError] = ToolError) -> Iterator[None]:
    """Raise a refusal in place of every ScopesError: of other errors the agent would only read that the tool failed."""
    try:
        yield
    except ScopesError as error:
        retry = " (try again)" if error.retryable else ""
        raise refusal(f"{error}{retry}" + (f"\n{error.hint}" if error.hint else "")) from error
