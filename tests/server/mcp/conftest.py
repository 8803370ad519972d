"""Messages and operations have different ids, as everywhere else; tests that only read share one server on HTTP."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import NamedTuple

import pytest

from scopes import clock
from tests.support.random_ids import hashed_counter
from tests.support.store import make_store

TOKEN = "a-token-of-the-test-suite"


class HttpServer(NamedTuple):
    """A server on the loopback interface: its address, and its store."""

    address: str
    store: Path


@pytest.fixture(autouse=True)
def different_ids(monkeypatch):
    monkeypatch.setattr(clock, "random_bytes", hashed_counter())


@pytest.fixture(scope="session")
def http_server(tmp_path_factory):
    """A server whose token is TOKEN; to start one for each test takes a second each."""
    directory = tmp_path_factory.mktemp("http")
    store = make_store(directory / "store").path
    from tests.support.mcp_client import start

    server = start(f"--store={store}", "mcp", "--http", "0", HOME=str(directory), SCOPES_MCP_TOKEN=TOKEN)
    try:
        yield HttpServer(re.search(r"http://127\.0\.0\.1:\d+/mcp", server.stdout.readline().decode())[0], store)
    finally:
        server.send_signal(signal.SIGTERM)
        server.close()


@pytest.fixture
def address(http_server):
    return http_server.address
