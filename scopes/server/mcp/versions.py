"""The versions of the protocol and of the package `mcp` that this server is built with."""

from __future__ import annotations

from importlib.metadata import version

from mcp.types import LATEST_PROTOCOL_VERSION

from scopes.server.mcp.access import StoreAccess
from scopes.server.mcp.server import build_server


def describe_versions() -> str:
    """Build a server and return both versions: that it can be built is the one way to know that they fit.

    Raises:
        ImportError, AttributeError, TypeError: another version of the package is installed.
    """
    build_server(StoreAccess(""))
    return f"version {LATEST_PROTOCOL_VERSION}, mcp {version('mcp')}"
