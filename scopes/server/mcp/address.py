"""What `scopes mcp --http` prints when it serves: nothing of it needs the package `mcp`."""

from __future__ import annotations

from dataclasses import dataclass

from scopes.result import Column, Result


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer(Result):
    """The address of a server, and its token if it is a new one."""

    columns = (Column("address"), Column("token"))

    address: str
    token: str | None = None

    @property
    def sentence(self) -> list[str]:
        """The address, and a new token."""
        return [f"serving {self.address}", f"token: {self.token}" if self.token is not None else ""]
