"""What `scopes mcp --http` prints when it serves: nothing of it needs the package `mcp`."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.result import Result


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer(Result):
    """The address of a server, and its token if it is a new one."""

    address: str
    token: str | None = None
