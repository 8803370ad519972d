"""Render the address of an MCP server, and what was done to the configuration of a program that uses such servers."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from scopes.render.dispatch import render_text
from scopes.render.text.phrases import write_hint, write_outcome, write_unchanged
from scopes.render.view import Column, View

if TYPE_CHECKING:
    from scopes.hosts.mcp_servers import HostConfigured
    from scopes.server.mcp.address import McpServer

_COLUMNS = (Column("Address"), Column("Token"))
_SENTENCES = {
    "added": "Added scopes to {file}",
    "replaced": "Replaced the entry of scopes in {file}",
    "unchanged": "{file} has this entry already",
    "removed": "Removed scopes from {file}",
    "absent": "{file} has no entry of scopes",
}


@render_text.register
def render_host_configured(result: HostConfigured, view: View) -> None:
    """Write what happened; with --print the entry alone."""
    if result.state == "shown":
        for line in result.text.splitlines():
            view.line(line)
        if view.terminal:
            write_hint(view, f"goes into {result.file}")
        return
    sentence = _SENTENCES.get(result.state, "{file}").format(file=result.file)
    write_outcome(view, result.file, sentence)
    write_unchanged(view, result.state, sentence)
    if result.advice is not None:
        view.aside(result.advice)
    if not view.terminal:
        return
    if result.state in {"added", "replaced"}:
        write_hint(view, f"to remove it: scopes setup {quote(result.host)} --only mcp --remove")
    if result.backup is not None:
        write_hint(view, f"the file as it was: {result.backup}")


@render_text.register
def render_mcp_server(result: McpServer, view: View) -> None:
    """Write the address, and a new token; for scripts as a row, in which a token that is known is empty."""
    if not view.terminal:
        view.rows(_COLUMNS, [(result.address, result.token or "")])
        return
    view.line(f"serving {result.address}")
    if result.token is not None:
        view.line(f"token: {result.token}")
