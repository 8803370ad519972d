"""Serve the Model Context Protocol on HTTP: on the loopback interface only, and only with the token."""

from __future__ import annotations

import errno
import hmac
import signal
import socket
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

import uvicorn
from starlette.responses import PlainTextResponse

from scopes.errors import Inaccessible, Refused
from scopes.server.mcp.access import StoreAccess
from scopes.server.mcp.server import build_server

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST = "127.0.0.1"
PATH = "/mcp"
_OTHER_PORT = "choose another port, or --http 0 for a free one"


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


def run_http(access: StoreAccess, port: int, token: str, on_start: Callable[[str], object]) -> None:
    """Serve until the process is interrupted; `on_start` gets the address, before the first request.

    TERM ends the process with 0.

    port: 0 for a free one.

    Raises:
        Refused: another process has the port.
        Inaccessible: the port may not be used.
    """
    with listen(port) as listening:
        served = build_server(access).streamable_http_app(host=HOST, streamable_http_path=PATH)
        server = uvicorn.Server(uvicorn.Config(RequireToken(served, token), log_level="warning", access_log=False))
        _end_cleanly(server)
        on_start(f"http://{HOST}:{listening.getsockname()[1]}{PATH}")
        server.run([listening])


def _end_cleanly(server: uvicorn.Server) -> None:
    """Let TERM end the server and the process with 0, also before it serves.

    The handler raises nothing: an exception in the middle of the start of an event loop may be lost. The server has its
    own handler while it serves, and raises the signal once more when it has ended.
    """

    def end(_signal: int, _frame: object) -> None:
        server.should_exit = True

    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)


def listen(port: int) -> socket.socket:
    """Return a socket that listens on the loopback interface: who connects from now on waits for the server.

    Raises:
        Refused, Inaccessible: as `run_http`.
    """
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port whose last server has just ended
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        if error.errno == errno.EADDRINUSE:
            raise Refused(f"another process has port {port} of {HOST}", hint=_OTHER_PORT) from error
        raise Inaccessible(f"cannot listen on port {port} of {HOST}: {error.strerror}", hint=_OTHER_PORT) from error
    return listening
