"""How a request reaches the store: opened for each one, as the agent that asks.

A store must not be shared by threads, and the tools run in threads. A new one also sees what other programs wrote.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from threading import Lock
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import MCPServerError, ResourceError, ResourceNotFoundError, ToolError

from scopes.api.store import Store, open_store
from scopes.errors import Ambiguous, Invalid, NotFound, ScopesError
from scopes.ids import MAX_NAME_BYTES, AgentName
from scopes.live.lost_store import require_store_not_lost
from scopes.model.message import Author
from scopes.result import Note
from scopes.sanitize import clip, for_prompt
from scopes.secret_scan.clearance import without_store
from scopes.secrets.gates import gate_of
from scopes.server.mcp.clearing import answering, clear_text
from scopes.server.mcp.hints import agent_hint, agent_text
from scopes.server.mcp.positions import current_directory
from scopes.store.objects import header_safe
from scopes.store.projects import cache_directory, find_here, index_directory, state_directory
from scopes.store.repository import is_store

Client = Context[Any, Any]
NO_STORE = Note("nothing has been recorded yet: there is no store", "conversation_record makes one")
_UNKNOWN_CLIENT = "agent"
_MAX_ERROR_CHARACTERS = 1_000


class StoreAccess:
    """Opens the store for one request at a time; requests of several threads wait for each other."""

    def __init__(self, path: str, *, agent: str | None = None, settings: Mapping[str, str] | None = None) -> None:
        """Remember where the store is.

        agent: the author of what is written; default: the name that the client gives.
        settings: values that override the configuration.
        """
        self.path = path
        self._agent = agent
        self._settings = settings
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
        """Return the name under which a client writes: a commit can store it as it is."""
        if self._agent is not None:
            return AgentName(self._agent)
        parameters = None if client is None else client.session.client_params
        given = "" if parameters is None else parameters.client_info.name
        short = " ".join(given.split()).encode(errors="ignore")[:MAX_NAME_BYTES].decode(errors="ignore")
        return AgentName(header_safe(short) if short else _UNKNOWN_CLIENT)

    @contextmanager
    def open(
        self,
        client: Client | None = None,
        *,
        create: bool = False,
        writes: bool = False,
        alone: bool = True,
        refusal: type[MCPServerError] = ToolError,
    ) -> Iterator[Store]:
        """Open the store as an agent; an error becomes one that the agent can read, with its cure.

        create: make the store if it does not exist.
        writes: a branch needs its whole name, as for every command that writes.
        alone: other requests wait; False for what takes long.
        refusal: the class of this error.

        Raises:
            ToolError, ResourceError: the request cannot be carried out.
        """
        author = Author(self.name_of(client), "agent")
        with (
            self._lock if alone else nullcontext(),
            answering(without_store()),
            readable_errors(refusal),
            open_store(self._path(create=create), create=create, author=author, settings=self._settings) as store,
            answering(gate_of(store.repository, "redact")),
            readable_errors(refusal),  # inside of the gate: an error may quote what is recorded
        ):
            caller = store.repository.caller
            store.repository.caller = caller._replace(
                full_branch_names=writes,
                find_project=lambda: find_here(current_directory(), self.path),
                command_operations=[],
            )
            yield store

    @contextmanager
    def find(
        self, client: Client | None = None, *, refusal: type[MCPServerError] = ToolError
    ) -> Iterator[Store | None]:
        """Open the store to read it, as `open` does; None if there never was one: that has an answer too."""
        if is_store(self.path) or not _is_absent(self.path):
            with self.open(client, refusal=refusal) as store:
                yield store
        else:
            with answering(without_store()), readable_errors(refusal):
                self._path(create=True)
                yield None

    def _path(self, *, create: bool) -> str:
        """Return the path of the store; raises Inaccessible if it may be created, but one that was there is gone."""
        if create:
            require_store_not_lost(self.path, self.cache, state_directory(os.environ))
        return self.path


def _is_absent(path: str) -> bool:
    """Return True if a store can be created at a path: there is nothing, or an empty directory."""
    return not os.path.lexists(path) or (os.path.isdir(path) and not os.listdir(path))


@contextmanager
def readable_errors(refusal: type[MCPServerError] = ToolError) -> Iterator[None]:
    """Raise a refusal in place of every ScopesError: of other errors the agent would only read that the tool failed.

    An address that names no resource is an error of the request, not of the server.
    """
    try:
        yield
    except ScopesError as error:
        if refusal is ResourceError and isinstance(error, (NotFound, Ambiguous, Invalid)):
            refusal = ResourceNotFoundError
        raise refusal(describe_error(error)) from error


def describe_error(error: ScopesError) -> str:
    """Return an error and its cure in the words of the tools, without the secrets that it quotes; a long one is cut."""
    retry = " (try again)" if error.retryable else ""
    hint = None if error.hint is None else agent_hint(clear_text(error.hint))
    if isinstance(error, NotFound) and error.message.startswith("there is no store at "):
        hint = NO_STORE.hint
    lines = (f"{clip(agent_text(clear_text(error.message)), _MAX_ERROR_CHARACTERS)}{retry}", hint or "")
    return clear_text(for_prompt("\n".join(clip(line, _MAX_ERROR_CHARACTERS) for line in lines if line)))
