"""The official client of the Model Context Protocol, connected to our server in this process or in another one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.types import CallToolResult, Implementation

from scopes.server.mcp.access import StoreAccess
from scopes.server.mcp.server import build_server
from tests.cli.running import PRODUCT, PROGRAM
from tests.support.fork_server import StartedProgram
from tests.support.store import ROOT

NAME = "codex"
FORK_CLIENT = os.path.join(ROOT, "tests", "support", "fork_client.py")
_OWN = threading.local()


def use(server: Any, task: Callable[[Client], Awaitable[Any]], *, mode: str = "legacy", name: str = NAME) -> Any:
    """Connect a client to a server or a transport, and return what a task makes of it."""

    async def connect() -> Any:
        async with Client(server, mode=mode, client_info=Implementation(name=name, version="1")) as client:
            return await task(client)

    return anyio.run(connect)


class Agent:
    """An agent that calls tools of the server of a store, one connection for each call."""

    def __init__(
        self, store: object, name: str = NAME, *, fixed: str | None = None, settings: dict[str, str] | None = None
    ) -> None:
        self.access = StoreAccess(str(store), agent=fixed, settings=settings)
        self.name = name

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool, and return its answer whatever it is."""
        return self.do(lambda client: client.call_tool(tool, arguments))

    def get(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed, and return the object that it answers."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content
        return result.structured_content

    def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must fail, and return what the agent reads."""
        result = self.call(tool, **arguments)
        assert result.is_error, result.content
        return result.content[0].text

    def do(self, task: Callable[[Client], Awaitable[Any]]) -> Any:
        """Return what a task makes of a client."""
        return use(_server_of(self.access), task, name=self.name)


def _server_of(access: StoreAccess) -> Any:
    """Return the server of this thread for a store: to make one takes as long as twelve calls of a tool.

    All that a server keeps between requests is how it reaches its store.
    """
    if not hasattr(_OWN, "server"):
        _OWN.access = StoreAccess("")
        _OWN.server = build_server(_OWN.access)
    vars(_OWN.access).update(vars(access))
    return _OWN.server


def process(*arguments: str, cwd: object = ROOT, forks: object = None) -> Any:
    """Return the transport of a server in a process of its own, as a host starts it.

    `forks` is a socket of `fork_server.listen`, whose process is forked.
    """
    environment = {**os.environ, "PYTHONPATH": ROOT}
    words = ["-m", "scopes"] if forks is None else ["-I", "-S", FORK_CLIENT, str(forks)]
    words += arguments
    return stdio_client(StdioServerParameters(command=sys.executable, args=words, env=environment, cwd=str(cwd)))


def start(*arguments: str, stderr: Any = subprocess.DEVNULL, **environment: str) -> StartedProgram:
    """Start a server in a process of its own, which is forked: a new interpreter needs a second to import the library."""
    words = (PRODUCT, *map(str, arguments))
    return StartedProgram(PROGRAM, words, {**os.environ, "PYTHONPATH": ROOT, **environment}, stderr=stderr, cwd=ROOT)


def text_object(result: CallToolResult) -> dict[str, Any]:
    """Return the object that the text of an answer holds."""
    return json.loads(result.content[0].text)
