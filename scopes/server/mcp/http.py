"""Serve the Model Context Protocol on HTTP: on the loopback interface only, and only with the token."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn
from starlette.responses import PlainTextResponse

from scopes.server.mcp.access import StoreAccess
from scopes.server.mcp.server import build_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
PATH = "/mcp"


class RequireToken:
    """Answers a request without the token by 401, whatever it asks for."""

    def __init__(self, application: ASGIApp, token: str) -> None:
        self._application = application
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it has the token; the comparison takes the same time wherever they differ."""
        if scope["type"] == "http":
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                refusal = PlainTextResponse("the token is missing or wrong\n", 401, {"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
        await self._application(scope, receive, send)


def run_http(access: StoreAccess, port: int, token: str, on_start: Callable[[str], None]) -> None:
    """Serve until the process is interrupted; `on_start` gets the address, before the first request.

    port: 0 for a free one.
    """
    application = RequireToken(build_server(access).streamable_http_app(host=HOST, streamable_http_path=PATH), token)
    config = uvicorn.Config(application, host=HOST, port=port, log_level="warning", access_log=False)
    socket = config.bind_socket()
    socket.listen()  # who connects from now on waits until the server has started
    on_start(f"http://{HOST}:{socket.getsockname()[1]}{PATH}")
    uvicorn.Server(config).run([socket])
