"""The address of an MCP server, and what was done to the configuration of a program that uses such servers, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scopes.model.encoding import without_none
from scopes.render.dispatch import to_wire

if TYPE_CHECKING:
    from scopes.hosts.mcp_servers import HostConfigured
    from scopes.server.mcp.address import McpServer


@to_wire.register
def format_host_configured(result: HostConfigured) -> dict[str, object]:
    """Return the file and what was done; `entry` is the text that is in it, or would be."""
    return without_none(
        kind="host",
        host=result.host,
        file=result.file,
        state=result.state,
        entry=result.text or None,
        backup=result.backup,
        advice=result.advice,
    )


@to_wire.register
def format_mcp_server(result: McpServer) -> dict[str, object]:
    """Return the address, and a new token."""
    return without_none(kind="mcp-server", address=result.address, token=result.token)
